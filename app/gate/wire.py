"""One full-duplex connection to Redis or Valkey that many callers share.

Guarantees
- Calls leave together, in the order they were made: while more join with every turn of the event loop, those before wait, until
  they are BATCH_CALLS or BATCH_SECONDS_MAX have gone by. Nobody waits for anybody's answer.
- An answer reaches the caller who asked, or nobody: a caller who gave up or was cancelled leaves a place in the queue that swallows
  its answer. The queue belongs to one connection, so an answer can never be read on another.
- A caller waits at most `timeout_seconds`. A server that stays silent for as long again loses the connection.
- A script the server has forgotten is sent again with its source, once. Nothing else is ever sent twice.
- At most `waiting_max` calls wait; the next one is refused at once.

The neighbour dies: calls in flight fail with ConnectionLost (the outcome is unknown), a new connection is tried at once, then with
growing pauses up to RETRY_SECONDS_MAX. Calls made during the first try wait for it; after a failed try calls fail at once until the
server is back, so that an outage costs no caller its timeout.
"""

import asyncio
import logging
import random
import socket
import ssl
from collections import deque
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

import hiredis

from app.errors import GateUnreachable, SettingsError
from app.gate.scripts import Script, command

WAITING_CALLS_MAX = 10_000
RETRY_SECONDS_MIN, RETRY_SECONDS_MAX = 0.02, 0.5
BATCH_CALLS = 64
BATCH_SECONDS_MAX = 0.002  # the server syncs its log once a batch: a crowd is served sooner by few large ones
WATCH_SECONDS = 0.05  # how late a timeout may be noticed

# The server is there but cannot serve: it loads, lost its master, is a replica, is full, cannot persist, runs a long script.
UNABLE = frozenset(
    ("LOADING", "MASTERDOWN", "READONLY", "OOM", "MISCONF", "BUSY", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN",
     "NOAUTH", "WRONGPASS", "NOPERM")
)  # fmt: skip

log = logging.getLogger("doorman.gate")


class ConnectionLost(GateUnreachable):
    """The connection ended before the answer came: the call may or may not have run."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is and how to greet it."""

    host: str | None
    port: int | None
    path: str | None
    tls: ssl.SSLContext | None = field(repr=False)
    greeting: tuple[bytes, ...] = field(repr=False)

    @classmethod
    def parse(cls, url: str, name: str) -> "Address":
        """redis://[user:password@]host[:port][/db], rediss://…, unix://[user:password@]/path[?db=0]. SettingsError for others."""
        parts = urlsplit(url)
        query = {word: values[-1] for word, values in parse_qs(parts.query).items()}
        if parts.scheme not in ("redis", "rediss", "unix"):
            raise SettingsError("the gate's address must start with redis://, rediss:// or unix://")
        user = unquote(parts.username or query.get("username", ""))
        password = unquote(parts.password) if parts.password else query.get("password", "")
        db = query.get("db") or (parts.path.strip("/") if parts.scheme != "unix" else "") or "0"
        if not db.isdecimal():
            raise SettingsError(f"the gate's address names a database that is not a number: {db!r}")
        greeting = []
        if password:
            greeting.append(command("AUTH", user, password) if user else command("AUTH", password))
        if db != "0":
            greeting.append(command("SELECT", db))
        greeting.append(command("CLIENT", "SETNAME", name))
        if parts.scheme == "unix":
            return cls(None, None, unquote(parts.path), None, tuple(greeting))
        tls = ssl.create_default_context(cafile=query.get("ssl_ca_certs")) if parts.scheme == "rediss" else None
        return cls(parts.hostname or "localhost", parts.port or 6379, None, tls, tuple(greeting))


class _Call:
    __slots__ = ("future", "deadline", "payload", "script")

    def __init__(self, future: asyncio.Future, deadline: float, payload: bytes, script: Script | None):
        self.future, self.deadline, self.payload, self.script = future, deadline, payload, script


class _Link(asyncio.Protocol):
    """One connection: the calls that wait on it, and nothing of what came before or after it."""

    def __init__(self, silence_seconds: float, on_lost):
        self._loop = asyncio.get_running_loop()
        self._silence_seconds, self._on_lost = silence_seconds, on_lost
        self._reader = hiredis.Reader(encoding="utf-8", errors="replace")
        self._transport: asyncio.Transport | None = None
        self._out: list[bytes] = []
        self._out_before = 0  # how many of them there were a turn ago
        self._out_since = 0.0
        self._heard_at = self._loop.time()
        self._watch: asyncio.TimerHandle | None = None
        self.lost: Exception | None = None
        self.calls: deque[_Call] = deque()

    # ---- asyncio.Protocol --------------------------------------------------------------------------------------------
    def connection_made(self, transport) -> None:
        self._transport = transport
        raw = transport.get_extra_info("socket")
        if raw is not None and raw.family != socket.AF_UNIX:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._watch = self._loop.call_later(WATCH_SECONDS, self._look)

    def connection_lost(self, error: Exception | None) -> None:
        if self.lost is None:
            self.lost = error or ConnectionError("the server closed the connection")
        if self._watch:
            self._watch.cancel()
        self._transport = None
        calls, self.calls = self.calls, deque()
        for call in calls:
            if not call.future.done():
                call.future.set_exception(ConnectionLost(f"the connection to the gate was lost: {self.lost}"))
        self._on_lost(self)

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._loop.time()
        reader, calls = self._reader, self.calls
        try:
            reader.feed(data)
            while (reply := reader.gets()) is not False:
                call = calls.popleft()
                if reply.__class__ is hiredis.ReplyError:
                    self._refused(call, reply)
                elif not call.future.done():
                    call.future.set_result(reply)
        except (hiredis.ProtocolError, IndexError) as error:
            self.drop(ConnectionError(f"the server speaks out of turn: {error}"))

    # ---- calls -------------------------------------------------------------------------------------------------------
    def send(self, payload: bytes, script: Script | None, deadline: float) -> asyncio.Future:
        if self._transport is None:
            raise ConnectionLost(f"the connection to the gate was lost: {self.lost}")
        future = self._loop.create_future()
        self._put(_Call(future, deadline, payload, script))
        return future

    def drop(self, why: Exception) -> None:
        """End this connection now; connection_lost follows."""
        if self.lost is None:
            self.lost = why
        if self._transport is not None:
            self._transport.abort()

    def _put(self, call: _Call) -> None:
        if not self._out:
            self._out_before, self._out_since = 0, self._loop.time()
            self._loop.call_soon(self._flush)
        self._out.append(call.payload)
        self.calls.append(call)

    def _flush(self) -> None:
        count = len(self._out)
        if self._out_before < count < BATCH_CALLS and self._loop.time() - self._out_since < BATCH_SECONDS_MAX:
            self._out_before = count
            self._loop.call_soon(self._flush)
            return
        out, self._out = self._out, []
        if self.lost is None:
            self._transport.write(b"".join(out))

    def _refused(self, call: _Call, error: hiredis.ReplyError) -> None:
        if call.future.done():
            return
        code = str(error).partition(" ")[0]
        if code == "NOSCRIPT" and call.script is not None and (payload := call.script.with_source(call.payload)):
            call.payload = payload
            self._put(call)
        elif code in UNABLE:
            call.future.set_exception(GateUnreachable(f"the gate cannot serve: {error}"))
            if code == "READONLY":  # a former master: connect again, perhaps to its successor
                self.drop(ConnectionError("the server has become a replica"))
        else:
            call.future.set_exception(error)

    def _look(self) -> None:
        """Let callers go whose time is up, and the connection when the server has fallen silent."""
        now = self._loop.time()
        for call in self.calls:
            if call.deadline > now:
                break  # callers of one wire share one timeout: those behind have time too
            if not call.future.done():
                call.future.set_exception(GateUnreachable("the gate did not answer in time"))
        if self.calls and now > max(self.calls[0].deadline, self._heard_at) + self._silence_seconds:
            self.drop(ConnectionError("the server is silent"))
        else:
            self._watch = self._loop.call_later(WATCH_SECONDS, self._look)


class Wire:
    """A connection that comes back by itself. Make it with `await Wire.open(url, …)`."""

    def __init__(self, address: Address, timeout_seconds: float, waiting_max: int):
        self._address, self._timeout, self._waiting_max = address, timeout_seconds, waiting_max
        self._loop = asyncio.get_running_loop()
        self._link: _Link | None = None
        self._why_down: Exception | None = None  # why the last try to connect failed; None: connected, or in the first try
        self._up = asyncio.Event()  # connected
        self._tried = asyncio.Event()  # the first try since the start or the last loss has ended
        self._lost = asyncio.Event()
        self._at_the_door = 0  # callers who wait for a connection
        self._keeper: asyncio.Task | None = None

    @classmethod
    async def open(cls, url: str, *, timeout_seconds: float, name: str, waiting_max: int = WAITING_CALLS_MAX) -> "Wire":
        """-> a wire after its first try to connect, whether or not that succeeded. SettingsError for an address that is none."""
        wire = cls(Address.parse(url, name), timeout_seconds, waiting_max)
        wire._keeper = asyncio.create_task(wire._keep_connected(), name=f"wire {name}")
        try:
            await wire._tried.wait()
        except BaseException:
            await wire.close()
            raise
        return wire

    async def close(self) -> None:
        """Calls in flight fail with ConnectionLost."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        self._why_down = ConnectionError("closed")
        if (link := self._link) is not None:
            self._link = None
            link.drop(self._why_down)

    @property
    def connected(self) -> bool:
        return self._link is not None

    async def call(
        self, payload: bytes, script: Script | None = None, *, timeout_seconds: float | None = None, patient: bool = False
    ) -> str | int | list | None:
        """Send one encoded call -> the server's reply.

        GateUnreachable: no connection, too many waiting, or no answer within the timeout. ConnectionLost: the connection ended
        meanwhile. hiredis.ReplyError: the server answered with an error that no retry mends. `patient`: without a connection wait
        for one, up to the timeout, also while the server is known to be down.
        """
        deadline = self._loop.time() + (self._timeout if timeout_seconds is None else timeout_seconds)
        if self._link is None:
            await self._come_up(deadline, patient)
        return await self.ask(payload, script, deadline)

    @property
    def listens(self) -> bool:
        """Would `ask` send?"""
        return self._link is not None and len(self._link.calls) < self._waiting_max

    def ask(self, payload: bytes, script: Script | None = None, deadline: float | None = None) -> asyncio.Future:
        """Send one encoded call now -> its reply to come; it fails as `call` does. GateUnreachable: it was not sent."""
        link = self._link
        if link is None:
            raise GateUnreachable(f"the gate is out of reach: {self._why_down}")
        if len(link.calls) >= self._waiting_max:
            raise GateUnreachable(f"{len(link.calls)} calls already wait for the gate")
        return link.send(payload, script, self._loop.time() + self._timeout if deadline is None else deadline)

    async def _come_up(self, deadline: float, patient: bool) -> None:
        if self._why_down is not None and not patient:
            raise GateUnreachable(f"the gate is out of reach: {self._why_down}")
        if self._at_the_door >= self._waiting_max:
            raise GateUnreachable(f"{self._at_the_door} calls already wait for a connection to the gate")
        self._at_the_door += 1
        try:
            while self._link is None:
                news = self._up if patient else self._tried
                async with asyncio.timeout_at(deadline):
                    await news.wait()
                if self._link is None and not patient:
                    raise GateUnreachable(f"the gate is out of reach: {self._why_down}")
                if self._link is None:  # lost again before we woke
                    await asyncio.sleep(0)
        except TimeoutError:
            raise GateUnreachable(f"the gate is out of reach: {self._why_down or 'no connection in time'}") from None
        finally:
            self._at_the_door -= 1

    async def _keep_connected(self) -> None:
        failures = 0
        while True:
            self._lost.clear()
            try:
                link = await self._connect()
            except (OSError, GateUnreachable, hiredis.ReplyError, TimeoutError) as error:
                failures += 1
                if self._why_down is None:
                    log.warning("gate out of reach: %s", str(error) or "no answer in time")
                self._why_down = error if str(error) else ConnectionError("no answer in time")
                self._tried.set()
                pause = min(RETRY_SECONDS_MIN * 2 ** min(failures, 10), RETRY_SECONDS_MAX)
                await asyncio.sleep(pause * random.uniform(0.5, 1))
                continue
            if self._why_down is not None:
                log.warning("gate is back")
            connected_at = self._loop.time()
            self._link, self._why_down = link, None
            self._up.set()
            self._tried.set()
            if link.lost is None:
                await self._lost.wait()
            self._forget(link)
            if self._loop.time() - connected_at > RETRY_SECONDS_MAX:
                failures = 0
            else:  # it accepts and hangs up: not in a tight loop
                failures += 1
                await asyncio.sleep(min(RETRY_SECONDS_MIN * failures, RETRY_SECONDS_MAX))

    def _forget(self, link: _Link) -> None:
        if self._link is link:
            self._link = None
            self._up.clear()
            self._tried.clear()
            self._lost.set()

    async def _connect(self) -> _Link:
        address = self._address

        def link() -> _Link:
            return _Link(self._timeout, self._forget)

        async with asyncio.timeout(self._timeout):
            if address.path is not None:
                transport, made = await self._loop.create_unix_connection(link, address.path)
            else:
                transport, made = await self._loop.create_connection(link, address.host, address.port, ssl=address.tls)
            try:
                deadline = self._loop.time() + self._timeout
                await asyncio.gather(*(made.send(words, None, deadline) for words in address.greeting))
            except BaseException:
                transport.abort()
                raise
        return made
