"""Orders of the sandbox warehouse: made, listed (late), and given a tracking number (later still)."""

import asyncio
import json
import time
from datetime import UTC, datetime
from random import Random
from sqlite3 import Row

from app.sandbox.http import HangUp, Reply, Request, json_reply
from app.sandbox.script import Script, bearer
from app.sandbox.store import Store

LIST_MAX = 100
LINES_MAX = 50
TEXT_CHARACTERS_MAX = 200
QUANTITY_MAX = 100_000
NUMBER_FIRST = 4711


class BadOrder(Exception):
    """The text says what is wrong with the request."""


class Warehouse:
    def __init__(self, store: Store, script: Script, token: str, random: Random):
        self._store = store
        self._script = script
        self._token = token
        self._random = random

    def routes(self) -> list:
        return [("POST", "/orders", self._answering(self._create)), ("GET", "/orders", self._answering(self._list))]

    def ledger(self) -> list[dict]:
        """-> every order, oldest first, without any lag."""
        rows = self._store.rows("SELECT number, reference, created FROM orders ORDER BY seq")
        return [{"number": row["number"], "reference": row["reference"], "created": _iso(row["created"])} for row in rows]

    def _answering(self, answer):
        async def handler(request: Request) -> Reply:
            if self._script["outage"]:
                return _refusal(503, "The warehouse is closed at the moment.")
            if not bearer(request, self._token):
                return _refusal(401, "This warehouse needs Authorization: Bearer and its token.")
            try:
                return await answer(request)
            except BadOrder as error:
                return _refusal(400, str(error))

        return handler

    async def _create(self, request: Request) -> Reply:
        reference, lines, address = _order(request)
        await asyncio.sleep(self._random.uniform(*self._script["latency"]))
        if self._script["outage"]:
            return _refusal(503, "The warehouse is closed at the moment.")
        created = _now_ms()
        with self._store.transaction():
            made = self._store.row("SELECT coalesce(max(seq), 0) AS n FROM orders")["n"]
            number = str(NUMBER_FIRST + made % self._script["numbers"])
            self._store.run(
                "INSERT INTO orders (number, reference, created, lines, address) VALUES (?, ?, ?, ?, ?)",
                number,
                reference,
                created,
                json.dumps(lines),
                json.dumps(address),
            )
        if self._script.spend("drop_after_create"):
            raise HangUp
        return json_reply({"number": number, "created": _iso(created)}, 201)

    async def _list(self, request: Request) -> Reply:
        """Newest first. What is younger than the lag is not listed yet."""
        reference, since = request.query.get("reference"), request.query.get("since")
        conditions, values = ["created <= ?"], [_now_ms() - round(self._script["lag"] * 1000)]
        if reference is not None:
            conditions.append("reference = ?")
            values.append(reference)
        if since is not None:
            conditions.append("created >= ?")
            values.append(_moment_ms(since))
        where = " AND ".join(conditions)
        rows = self._store.rows(f"SELECT * FROM orders WHERE {where} ORDER BY seq DESC LIMIT ?", *values, LIST_MAX)  # noqa: S608
        return json_reply({"orders": [self._shown(row) for row in rows]})

    def _shown(self, row: Row) -> dict:
        sent = _now_ms() - row["created"] >= self._script["tracking"] * 1000
        return {
            "number": row["number"],
            "reference": row["reference"],
            "created": _iso(row["created"]),
            "lines": json.loads(row["lines"]),
            "state": "sent" if sent else "packing",
            "tracking": f"SBX{row['seq']:09d}" if sent else None,
        }


def _order(request: Request) -> tuple[str, list[dict], dict]:
    """-> (reference, lines, address) of the body; BadOrder names the first thing that is wrong."""
    try:
        body = request.json()
    except ValueError as error:
        raise BadOrder("The body is not JSON.") from error
    if not isinstance(body, dict):
        raise BadOrder("The body is not a JSON object.")
    reference, lines, address = body.get("reference"), body.get("lines"), body.get("address")
    if not isinstance(reference, str) or not 1 <= len(reference) <= TEXT_CHARACTERS_MAX:
        raise BadOrder(f"reference must be a text of 1 to {TEXT_CHARACTERS_MAX} characters.")
    if not isinstance(lines, list) or not 1 <= len(lines) <= LINES_MAX:
        raise BadOrder(f"lines must be a list of 1 to {LINES_MAX}.")
    for line in lines:
        if not isinstance(line, dict) or not isinstance(line.get("item"), str) or not _is_quantity(line.get("quantity")):
            raise BadOrder('Each line must be such as {"item": "Mug, blue", "quantity": 1}.')
    if not isinstance(address, dict):
        raise BadOrder("address must be an object.")
    return reference, lines, address


def _is_quantity(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= QUANTITY_MAX


def _moment_ms(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadOrder("since must be a moment such as 2026-11-30T20:00:00Z.") from error
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def _iso(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _refusal(status: int, message: str) -> Reply:
    return json_reply({"error": {"message": message}}, status)
