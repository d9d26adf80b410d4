"""Webhooks of the sandbox provider, signed by Stripe's scheme and sent again until a 2xx answers.

What is due is a row, written in the transaction of its event, so no crash loses a message: it is delivered at least once. The
script chooses how the messages misbehave: `normal`; `mute` (never sent); `double` (each twice); `reorder` (held for a moment, then
sent newest first); `delay` (late). While an outage is on nothing is sent, and what is due goes out afterwards.
"""

import asyncio
import hashlib
import hmac
import sys
import time
import urllib.request
from random import Random
from sqlite3 import Row

from app.sandbox.script import Script
from app.sandbox.store import Store

MODES = ("normal", "mute", "double", "reorder", "delay")
SEND_SECONDS = 10
TRIES_MAX = 40
RETRY_SECONDS_MAX = 30
BATCH_MAX = 50
REORDER_HOLD_SECONDS = 1.0
DELAY_SECONDS = (3.0, 8.0)
IDLE_SECONDS = 1.0
_HELD_SECONDS = {"reorder": (REORDER_HOLD_SECONDS, REORDER_HOLD_SECONDS), "delay": DELAY_SECONDS}


class Webhooks:
    def __init__(self, store: Store, script: Script, random: Random, url: str, secret: str):
        if url and not secret:
            sys.exit("SANDBOX_WEBHOOK_URL needs SANDBOX_WEBHOOK_SECRET: what is not signed would be refused")
        self._store = store
        self._script = script
        self._random = random
        self._url = url
        self._secret = secret
        self._news = asyncio.Event()

    def announce(self, event: str) -> None:
        """Note that this event is to be sent; called inside the transaction that makes it."""
        mode = self._script["webhooks"]
        if not self._url or mode == "mute":
            return
        due = time.time() + self._random.uniform(*_HELD_SECONDS.get(mode, (0, 0)))
        for _ in range(2 if mode == "double" else 1):
            self._store.run("INSERT INTO deliveries (event, due) VALUES (?, ?)", event, due)
        self._news.set()

    def wake(self) -> None:
        self._news.set()

    async def run(self) -> None:
        """Deliver for ever."""
        while True:
            self._news.clear()
            due = [] if self._script["outage"] else self._due()
            for row in due:
                await self._deliver(row)
            if not due:
                await self._wait()

    def _due(self) -> list[Row]:
        newest_first = self._script["webhooks"] == "reorder"
        rows = self._store.rows(
            "SELECT d.seq, d.tries, e.body FROM deliveries d JOIN events e ON e.id = d.event WHERE d.due <= ?"
            " ORDER BY d.seq LIMIT ?",
            time.time(),
            BATCH_MAX,
        )
        return rows[::-1] if newest_first else rows

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await self._news.wait()
        except TimeoutError:
            pass

    async def _deliver(self, row: Row) -> None:
        taken = await asyncio.to_thread(self._send, row["body"].encode())
        tries = row["tries"] + 1
        with self._store.transaction():
            if taken or tries >= TRIES_MAX:
                self._store.run("DELETE FROM deliveries WHERE seq = ?", row["seq"])
            else:
                due = time.time() + min(2.0 ** (tries - 1), RETRY_SECONDS_MAX)
                self._store.run("UPDATE deliveries SET tries = ?, due = ? WHERE seq = ?", tries, due, row["seq"])

    def _send(self, body: bytes) -> bool:
        """-> whether the receiver took it."""
        signed = signature(body, self._secret, int(time.time()))
        headers = {"Content-Type": "application/json; charset=utf-8", "Stripe-Signature": signed}
        request = urllib.request.Request(self._url, body, headers)
        try:
            with _opener.open(request, timeout=SEND_SECONDS) as response:
                return 200 <= response.status < 300
        except (OSError, ValueError):
            return False


def signature(body: bytes, secret: str, timestamp: int) -> str:
    """-> the value of the header `Stripe-Signature`."""
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
