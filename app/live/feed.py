"""The feed: small messages from any process to all of them, over Redis pub/sub.

Guarantees: a subscriber comes back by itself after any loss (CLIENT KILL, a restart, a peer that went silent) within about a second
of the server's return, and its handler hears {"kind": "gap"} after every (re)subscribe, so that whatever was missed is read again
from the stores. Publishing never raises and never makes its caller wait.

The feed is a hint: a message may be lost, doubled or late, and nobody may depend on one. While the server is away subscribers are
`deaf` (readiness says so) and messages are dropped; each outage writes one line to the log when it begins and one when it ends.

Connections are plain redis-py connections of the feed's own, used without its pools and retries: a retry would hide the gap.
"""

import asyncio
import contextlib
import json
import logging
import random
from collections.abc import Callable

from redis.asyncio.connection import Connection, ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

CHANNEL = "doorman:feed"
CONNECT_SECONDS_MAX = 1.0  # one attempt to connect
SILENCE_SECONDS_MAX = 1.0  # quiet for this long: ask the server whether it is there
PONG_SECONDS_MAX = 1.0  # and it must answer within this
PONG_TURNS = 4
RETRY_SECONDS_FIRST = 0.05
RETRY_SECONDS_MAX = 1.0
PUBLISH_SECONDS_MAX = 0.5  # one batch of messages, connect not counted
PENDING_MESSAGES_MAX = 1_000  # waiting to be published; more are dropped
MESSAGE_BYTES_MAX = 16_384

log = logging.getLogger("doorman.feed")

Handler = Callable[[dict], None]
FAULTS = (RedisError, OSError, asyncio.TimeoutError, EOFError)


class Feed:
    """One process's ear and mouth. `subscribe` runs for ever in a task of its own; `publish` may be called anywhere in the loop."""

    def __init__(self, url: str, *, name: str = "feed"):
        self.deaf = True  # not subscribed right now
        self._pool = ConnectionPool.from_url(
            url,
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=CONNECT_SECONDS_MAX,
            client_name=f"doorman-{name}",
        )
        self._pending: dict[str, None] = {}  # in order, equal messages once
        self._publisher: asyncio.Task | None = None
        self._mouth: Connection | None = None
        self._mute_logged = False

    @classmethod
    async def open(cls, url: str, *, name: str = "feed") -> "Feed":
        """-> a feed; does not fail while the server is away."""
        return cls(url, name=name)

    async def close(self) -> None:
        """Publish what is waiting (bounded), then hang up."""
        if self._publisher is not None:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._publisher, CONNECT_SECONDS_MAX + PUBLISH_SECONDS_MAX)
        if self._mouth is not None:
            await _hang_up(self._mouth)
            self._mouth = None

    # hearing

    async def subscribe(self, handler: Handler) -> None:
        """Call `handler` with every message, for ever (cancel to stop). A handler that raises is logged and ends nothing."""
        delay = RETRY_SECONDS_FIRST
        logged = False
        while True:
            connection = self._pool.make_connection()
            try:
                await self._subscribed(connection)
                if logged:
                    log.warning("live feed is back")
                logged, delay, self.deaf = False, RETRY_SECONDS_FIRST, False
                _tell(handler, {"kind": "gap"})
                await _listen(connection, handler)
            except FAULTS as error:
                if not logged:
                    log.warning("live feed lost (%s: %s); subscribing again until it is back", type(error).__name__, error)
                    logged = True
            finally:
                self.deaf = True
                await _hang_up(connection)
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # many processes must not come back at the same instant
            delay = min(2 * delay, RETRY_SECONDS_MAX)

    async def _subscribed(self, connection: Connection) -> None:
        async with asyncio.timeout(CONNECT_SECONDS_MAX + PONG_SECONDS_MAX):
            await connection.connect()
            await connection.send_command("SUBSCRIBE", CHANNEL)
            await connection.read_response()

    # speaking

    async def publish(self, kind: str, **fields) -> None:
        """Put a message on its way, best effort: never raises, never waits. Equal messages that still wait are sent once."""
        message = json.dumps({"kind": kind, **fields}, separators=(",", ":"))
        if len(message) > MESSAGE_BYTES_MAX or (len(self._pending) >= PENDING_MESSAGES_MAX and message not in self._pending):
            log.debug("message dropped: %.80s", message)
            return
        self._pending[message] = None
        if self._publisher is None or self._publisher.done():
            self._publisher = asyncio.get_running_loop().create_task(self._publish_pending())

    async def _publish_pending(self) -> None:
        while self._pending:
            batch, self._pending = list(self._pending), {}
            try:
                await self._publish_batch(batch)
                if self._mute_logged:
                    log.warning("publishing on the live feed works again")
                self._mute_logged = False
            except FAULTS as error:
                if not self._mute_logged:
                    log.warning(
                        "cannot publish on the live feed (%s: %s), dropping messages",
                        type(error).__name__,
                        error,
                    )
                    self._mute_logged = True
                if self._mouth is not None:
                    await _hang_up(self._mouth)
                    self._mouth = None

    async def _publish_batch(self, batch: list[str]) -> None:
        """One write for all. A connection that the server closed meanwhile is opened once more: messages are harmless twice."""
        for fresh in (self._mouth is None, True):
            if fresh:
                self._mouth = self._pool.make_connection()
                async with asyncio.timeout(CONNECT_SECONDS_MAX):  # greeting included: redis-py bounds only the bare connect
                    await self._mouth.connect()
            try:
                async with asyncio.timeout(PUBLISH_SECONDS_MAX):
                    await self._mouth.send_packed_command(
                        self._mouth.pack_commands([("PUBLISH", CHANNEL, message) for message in batch])
                    )
                    for _ in batch:
                        await self._mouth.read_response()
                return
            except FAULTS:
                await _hang_up(self._mouth)
                self._mouth = None
                if fresh:
                    raise


async def _listen(connection: Connection, handler: Handler) -> None:
    """Until the connection fails. A quiet server is asked with PING and must answer; any traffic counts as an answer.

    The wait for the answer has several turns: in a busy process time may run out in the very turn in which the answer arrived.
    """
    turns = 0
    while True:
        response = await connection.read_response(timeout=PONG_SECONDS_MAX / PONG_TURNS if turns else SILENCE_SECONDS_MAX)
        if response is not None:
            turns = 0
            if response[0] == b"message":
                _hear(response[2], handler)
        elif turns == 0:
            await connection.send_command("PING")
            turns = PONG_TURNS
        elif turns == 1:
            raise TimeoutError(f"no answer for {SILENCE_SECONDS_MAX + PONG_SECONDS_MAX:g} s")
        else:
            turns -= 1


def _hear(payload: bytes, handler: Handler) -> None:
    try:
        message = json.loads(payload)
        kind = message["kind"]
    except (ValueError, TypeError, KeyError):
        log.warning("a message on the live feed is not ours: %.80r", payload)
        return
    if kind != "gap":  # only a feed itself says so
        _tell(handler, message)


def _tell(handler: Handler, message: dict) -> None:
    try:
        handler(message)
    except Exception:
        log.exception("a listener of the live feed failed on %.80s", message)


async def _hang_up(connection: Connection) -> None:
    with contextlib.suppress(*FAULTS):
        await connection.disconnect(nowait=True)
