"""The hub: one process's open sockets, and who is told what, when.

Guarantees
* A fragment is rendered once per change, process and flavour (HTML in one language, or JSON), and only for flavours that somebody
  watches; every socket of a drop and flavour is sent the same string.
* The first change goes out at once, later ones together: at most PUSHES_PER_SECOND_MAX per drop, and never more than half of the
  loop's time, all drops together. Everybody is told at least every 15 s, and at the moments when the clock alone changes the page.
* The newest reading wins: `seq` grows with every reading, and a socket is never sent an older one after a newer one.
* A slow reader costs one pending message and the right to the latest state, never a queue. After SEND_SECONDS_MAX it is cut off.
* A fan-out yields to the loop every SOCKETS_PER_SLICE sockets, so that buying goes on beneath it.
* A socket is counted from before its handshake until its task ends, whatever ends it: nothing leaks (joining and leaving are one
  `try`).

When neighbours die: without the feed, every watched drop is still read every FLOOR_SECONDS. Without the gate, sockets stay open and
are told `not_ready` after NOT_READY_AFTER_SECONDS; the first reading that succeeds puts it right. When this process dies, browsers
reconnect elsewhere and its watchers leave the count within WATCHING_FRESH_SECONDS.

The hub knows neither gate nor templates: it is given `read_state` and `render`.
"""

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from app.clock import monotonic
from app.domain.drops import LAST_SECONDS, Door, phase_of
from app.errors import GateUnreachable
from app.first_step import rest_of
from app.live.feed import Feed

PUSHES_PER_SECOND_MAX = 10
REST_FOR_WORK = 1.2  # seconds without a fan-out after each second of them; more than 1, for hearing and reading cost too
HEARTBEAT_SECONDS = 13.0  # the promise is 15; it is looked at every FLOOR_SECONDS
FLOOR_SECONDS = 1.5  # a watched drop is read this often even when nobody says it changed
FIRST_STATE_SECONDS_MAX = 3.0  # a new socket waits this long for its first state
NOT_READY_AFTER_SECONDS = 3.0  # the gate may be out of reach this long before pages say so
BOUNDARY_MARGIN_SECONDS = 0.005  # read this much after the clock changes the phase, not before

SEND_SECONDS_MAX = 5.0
SOCKETS_PER_SLICE = 100
SOCKETS_PER_PROCESS_MAX = 25_000
SOCKETS_PER_ADDRESS_MAX = 256
INBOUND_BYTES_MAX = 1024
INBOUND_SECONDS_MIN = 1.0  # between two messages of one socket

WATCHING_SECONDS = 2.0  # between two looks at who watches
WATCHING_REFRESH_SECONDS = 6.0  # every process repeats its counts this often
WATCHING_FRESH_SECONDS = 15.0  # a count not repeated for this long belongs to a dead process
WATCHING_DROPS_PER_MESSAGE = 200
WATCHING_PROCESSES_MAX = 1_000

HTML, JSON = "html", "json"
JSON_SUBPROTOCOL = "doorman.json"
CLOSE_POLICY, CLOSE_TOO_BIG, CLOSE_RESTART, CLOSE_TRY_LATER = 1008, 1009, 1012, 1013

log = logging.getLogger("doorman.live")


class State(Protocol):
    """One atomic reading of a drop at the gate (app.gate.Peek is one)."""

    time_us: int  # the gate server's clock at this reading, microseconds since the epoch
    now_ms: int  # the drop's clock at this reading, milliseconds since the epoch: what its times are judged by
    door: Door
    opens_ms: int
    closes_ms: int | None
    left: Mapping[int, int]
    held: Mapping[int, int]
    total: Mapping[int, int]


ReadState = Callable[[int], Awaitable[State | None]]  # drop id -> reading; None: the gate has no rules; GateUnreachable
Render = Callable[[int, State | None, int, int, str], str]  # drop id, reading (None: not ready), watching, seq, flavour -> text


@dataclass(frozen=True, slots=True)
class Fragments:
    """What everybody who watches a drop sees at one reading."""

    seq: int
    render: Callable[[str], str]  # flavour -> text
    shown: Any  # what it is drawn from: equal means nothing new to tell
    at: float  # monotonic
    messages: dict[str, dict] = field(default_factory=dict)  # flavour -> the ASGI message, shared by all sockets

    def message(self, flavour: str) -> dict:
        """-> the ASGI message in this flavour, rendered when it is first wanted."""
        message = self.messages.get(flavour)
        if message is None:
            message = self.messages[flavour] = {"type": "websocket.send", "text": self.render(flavour)}
        return message


class Socket:
    """One open connection. `seq` is what it was last sent."""

    __slots__ = ("address", "flavour", "last_inbound", "open", "send", "seq", "slow")

    def __init__(self, send, flavour: str, address: str | None):
        self.send, self.flavour, self.address = send, flavour, address
        self.seq = -1
        self.open = False  # accepted and not closed
        self.slow: asyncio.Task | None = None  # the send that waits for this reader
        self.last_inbound = float("-inf")


class Channel:
    """The sockets of one drop, the latest fragments, and the loop that keeps both together while anyone watches."""

    def __init__(self, hub: "Hub", drop_id: int):
        self.hub, self.drop_id = hub, drop_id
        self.sockets: set[Socket] = set()
        self.latest: Fragments | None = None
        self.drawn = asyncio.Event()  # there is a first state
        self.redraw = False  # the drop itself changed (title, price), not only its counts
        self._wake = asyncio.Event()
        self._state: State | None = None
        self._read_at = monotonic()  # of the last reading that succeeded
        self._unreachable_since: float | None = None
        self._watching_shown_at = float("-inf")
        self.task = asyncio.get_running_loop().create_task(self._run())

    def touch(self, redraw: bool = False) -> None:
        """Something may have changed: read again soon."""
        self.redraw |= redraw
        self._wake.set()

    async def _run(self) -> None:
        while True:
            worked_seconds = 0.0
            try:
                worked_seconds = await self._read_and_push()
            except Exception:
                log.exception("drop %s could not be shown; trying again", self.drop_id)
                self.redraw = True
            self.hub.worked(worked_seconds)
            await asyncio.sleep(1 / PUSHES_PER_SECOND_MAX - worked_seconds)
            await self.hub.rested()
            try:
                async with asyncio.timeout(self._seconds_until_due()):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _read_and_push(self) -> float:
        """-> seconds spent drawing and sending."""
        self._wake.clear()  # before reading: what changes from here on wakes us again
        redraw, self.redraw = self.redraw, False
        if not await self._read():
            self.redraw |= redraw
            return 0.0
        now = monotonic()
        watching = self.hub.watching(self.drop_id)
        shown = (_shown(self._state), self._watching_to_show(watching, now))
        latest = self.latest
        if latest is not None and latest.shown == shown and not redraw and now - latest.at < HEARTBEAT_SECONDS:
            return 0.0
        if latest is None or latest.shown[1] != shown[1]:
            self._watching_shown_at = now
        seq = self._next_seq()
        latest = Fragments(seq, partial(self.hub.render, self.drop_id, self._state, shown[1], seq), shown, now)
        for flavour in {socket.flavour for socket in self.sockets}:
            latest.message(flavour)  # what cannot be drawn fails here, before anybody is sent anything
        self.latest = latest
        self.drawn.set()
        await self._fan_out()
        return monotonic() - now

    async def _read(self) -> bool:
        """Read the gate into `_state` -> is there something to show? An outage is shown only after a while, or at the start."""
        now = monotonic()
        try:
            self._state = await self.hub.read_state(self.drop_id)
        except GateUnreachable:
            if self._unreachable_since is None:
                self._unreachable_since = now
            if self.latest is not None and now - self._unreachable_since < NOT_READY_AFTER_SECONDS:
                return False
            self._state = None
            return True
        self._unreachable_since = None
        self._read_at = monotonic()
        return True

    def _next_seq(self) -> int:
        """The gate's time of this reading; one more than the last where that clock is out of reach or went back (a failover)."""
        last = -1 if self.latest is None else self.latest.seq
        return max(0 if self._state is None else self._state.time_us, last + 1)

    def _watching_to_show(self, watching: int, now: float) -> int:
        """The count alone is no news more often than WATCHING_SECONDS."""
        if self.latest is not None and now - self._watching_shown_at < WATCHING_SECONDS:
            return self.latest.shown[1]
        return watching

    def _seconds_until_due(self) -> float:
        """Until the floor, or the moment when the clock changes the phase, whichever is first."""
        state = self._state
        if state is None or self._unreachable_since is not None:
            return FLOOR_SECONDS / 3  # out of reach or being mended: be right soon after it is back
        now_ms = state.now_ms + (monotonic() - self._read_at) * 1000
        moments_ms = [state.opens_ms - LAST_SECONDS * 1000, state.opens_ms, state.closes_ms or 0]
        to_boundary = min((moment - now_ms for moment in moments_ms if moment > state.now_ms), default=float("inf"))
        return max(0.0, min(FLOOR_SECONDS, to_boundary / 1000 + BOUNDARY_MARGIN_SECONDS))

    async def _fan_out(self) -> None:
        for position, socket in enumerate(list(self.sockets), start=1):
            self.deliver(socket)
            if position % SOCKETS_PER_SLICE == 0:
                await asyncio.sleep(0)

    def deliver(self, socket: Socket) -> None:
        """Send the latest state unless the socket has it.

        The send's first step is taken here; only a reader that makes it wait costs a task. (So `socket.send` must need no task.)
        """
        latest = self.latest
        if latest is None or not socket.open or socket.slow is not None or socket.seq >= latest.seq:
            return
        socket.seq = latest.seq
        sending = socket.send(latest.message(socket.flavour))
        try:
            pending = sending.send(None)
        except StopIteration:
            return
        except Exception:
            socket.open = False  # it is gone; its own task notices and takes it off
            return
        socket.slow = asyncio.get_running_loop().create_task(self._wait_for(socket, sending, pending))

    async def _wait_for(self, socket: Socket, sending, pending) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS_MAX):
                await rest_of(sending, pending)
        except TimeoutError:
            socket.open = False
            cut_off(socket.send)
            return
        except Exception:
            socket.open = False
            return
        finally:
            socket.slow = None
        self.deliver(socket)  # whatever it missed meanwhile: the newest only


class Hub:
    """All sockets of this process. Whoever subscribes to the feed passes its messages to `hear`; on `feed` the hub speaks."""

    def __init__(self, read_state: ReadState, render: Render, feed: Feed | None = None, *, count_loopback: bool = True):
        """`count_loopback`: whether callers on this machine fall under the per-address limit."""
        self.read_state, self.render = read_state, render
        self._feed = feed
        self._count_loopback = count_loopback
        self._channels: dict[int, Channel] = {}
        self._sockets_total = 0
        self._per_address: Counter[str] = Counter()
        self._closing = False
        self._process = secrets.token_hex(6)
        self._elsewhere: dict[str, dict[int, tuple[int, float]]] = {}  # process -> drop -> (count, monotonic when heard)
        self._told: dict[int, int] = {}
        self._told_all_at = float("-inf")
        self._counting: asyncio.Task | None = None
        self._rested_at = float("-inf")  # monotonic: until then the loop rests from fan-outs

    @property
    def sockets_total(self) -> int:
        return self._sockets_total

    @property
    def channels_total(self) -> int:
        return len(self._channels)

    def watching(self, drop_id: int) -> int:
        """-> people watching this drop, over all processes that were heard of lately."""
        channel = self._channels.get(drop_id)
        oldest = monotonic() - WATCHING_FRESH_SECONDS
        others = (counts.get(drop_id) for counts in self._elsewhere.values())
        return (len(channel.sockets) if channel else 0) + sum(count for count, at in filter(None, others) if at >= oldest)

    def worked(self, seconds: float) -> None:
        """A drop was drawn and sent: for as long as that took nobody else is to be."""
        self._rested_at = max(self._rested_at, monotonic()) + REST_FOR_WORK * seconds

    async def rested(self) -> None:
        """Wait until the drops together have rested as long as they worked: half of the loop's time belongs to the buyers."""
        while (rest := self._rested_at - monotonic()) > 0:
            await asyncio.sleep(rest)

    def hear(self, message: dict) -> None:
        """A message of the feed."""
        kind = message["kind"]
        if kind in ("stock", "drop"):
            channel = self._channels.get(message.get("drop"))
            if channel is not None:
                channel.touch(redraw=kind == "drop")
        elif kind == "gap":
            self._told_all_at = float("-inf")  # the others may not know our counts, nor we theirs
            for channel in self._channels.values():
                channel.touch(redraw=True)
        elif kind == "watching":
            self._hear_watching(message)

    # sockets

    async def serve_socket(self, scope, receive, send, drop_id: int, flavour: str, address: str | None = None) -> None:
        """A websocket's whole life, as a raw ASGI application. The caller has judged host, origin and whether the drop exists.

        `flavour`: JSON (accepted with the subprotocol), or whatever `render` understands: HTML in some language. `address`: whom
        the per-address limit counts; None: the peer.
        """
        address = self._counted(address or (scope.get("client") or ("",))[0])
        if self._closing or self._sockets_total >= SOCKETS_PER_PROCESS_MAX:
            return await _refuse(scope, receive, send, CLOSE_TRY_LATER)
        if address is not None and self._per_address[address] >= SOCKETS_PER_ADDRESS_MAX:
            return await _refuse(scope, receive, send, CLOSE_POLICY)
        socket = Socket(send, flavour, address)
        try:
            channel = self._join(socket, drop_id)
            await self._serve(channel, socket, receive)
        finally:
            self._leave(socket, drop_id)

    async def _serve(self, channel: Channel, socket: Socket, receive) -> None:
        if (await receive())["type"] != "websocket.connect":
            return
        try:
            async with asyncio.timeout(FIRST_STATE_SECONDS_MAX):
                await channel.drawn.wait()
        except TimeoutError:
            pass  # it is told when there is something to tell
        if self._closing:
            return await socket.send({"type": "websocket.close", "code": CLOSE_RESTART})
        await socket.send({"type": "websocket.accept", "subprotocol": JSON_SUBPROTOCOL if socket.flavour == JSON else None})
        socket.open = True
        channel.deliver(socket)
        while (message := await receive())["type"] == "websocket.receive":
            code = _judge_inbound(socket, message)
            if code is not None:
                await self._close(socket, code)

    def _join(self, socket: Socket, drop_id: int) -> Channel:
        self._sockets_total += 1
        if socket.address is not None:
            self._per_address[socket.address] += 1
        channel = self._channels.get(drop_id)
        if channel is None:
            channel = self._channels[drop_id] = Channel(self, drop_id)
        channel.sockets.add(socket)
        if self._counting is None and self._feed is not None:
            self._counting = asyncio.get_running_loop().create_task(self._count_for_ever())
        return channel

    def _leave(self, socket: Socket, drop_id: int) -> None:
        """Undo `_join`; no step of it can wait or fail."""
        socket.open = False
        if socket.slow is not None:
            socket.slow.cancel()
        self._sockets_total -= 1
        if socket.address is not None:
            self._per_address[socket.address] -= 1
            if not self._per_address[socket.address]:
                del self._per_address[socket.address]
        channel = self._channels[drop_id]
        channel.sockets.discard(socket)
        if not channel.sockets:
            channel.task.cancel()
            del self._channels[drop_id]

    async def _close(self, socket: Socket, code: int) -> None:
        """Say goodbye within SEND_SECONDS_MAX, or cut the line."""
        socket.open = False
        try:
            async with asyncio.timeout(SEND_SECONDS_MAX):
                await socket.send({"type": "websocket.close", "code": code})
        except TimeoutError:
            cut_off(socket.send)
        except Exception:
            log.debug("socket was gone before it could be closed", exc_info=True)

    async def close(self) -> None:
        """Close every socket (browsers reconnect to another process) and stop."""
        self._closing = True
        if self._counting is not None:
            self._counting.cancel()
        sockets = [socket for channel in self._channels.values() for socket in channel.sockets if socket.open]
        await asyncio.gather(*(self._close(socket, CLOSE_RESTART) for socket in sockets))

    def _counted(self, address: str) -> str | None:
        """-> the address as the per-address limit counts it; None: not counted."""
        if not address or (not self._count_loopback and (address.startswith("127.") or address in ("::1", "localhost"))):
            return None
        return address

    # who watches, over all processes

    async def _count_for_ever(self) -> None:
        while True:
            for message in self._counts_to_tell(monotonic()):
                await self._feed.publish("watching", process=self._process, counts=message)
            for drop_id, channel in self._channels.items():
                if channel.latest is not None and channel.latest.shown[1] != self.watching(drop_id):
                    channel.touch()
            await asyncio.sleep(WATCHING_SECONDS)

    def _counts_to_tell(self, now: float) -> list[dict[str, int]]:
        """-> counts that changed since they were told (all of them every WATCHING_REFRESH_SECONDS), in messages of bounded size."""
        counts = {drop_id: len(channel.sockets) for drop_id, channel in self._channels.items()}
        if now - self._told_all_at >= WATCHING_REFRESH_SECONDS:
            news, self._told_all_at = counts | {drop_id: 0 for drop_id in self._told if drop_id not in counts}, now
        else:
            news = {drop_id: counts.get(drop_id, 0) for drop_id in counts.keys() | self._told.keys()}
            news = {drop_id: count for drop_id, count in news.items() if self._told.get(drop_id) != count}
        self._told = counts
        items = [(str(drop_id), count) for drop_id, count in news.items()]
        return [
            dict(items[start : start + WATCHING_DROPS_PER_MESSAGE]) for start in range(0, len(items), WATCHING_DROPS_PER_MESSAGE)
        ]

    def _hear_watching(self, message: dict) -> None:
        process, counts = message.get("process"), message.get("counts")
        if process == self._process or not isinstance(process, str) or not isinstance(counts, dict):
            return
        now = monotonic()
        if process not in self._elsewhere:
            self._forget_the_dead(now)
            if len(self._elsewhere) >= WATCHING_PROCESSES_MAX:
                return
        heard = self._elsewhere.setdefault(process, {})
        for drop_id, count in counts.items():
            if count:
                heard[int(drop_id)] = (int(count), now)
            else:
                heard.pop(int(drop_id), None)

    def _forget_the_dead(self, now: float) -> None:
        oldest = now - WATCHING_FRESH_SECONDS
        alive = {
            process: {drop_id: told for drop_id, told in counts.items() if told[1] >= oldest}
            for process, counts in self._elsewhere.items()
        }
        self._elsewhere = {process: counts for process, counts in alive.items() if counts}


def _shown(state: State | None):
    """-> everything of a reading that a page shows, its phase included, but not the passing of time."""
    if state is None:
        return None
    phase = phase_of(state.door, state.opens_ms, state.closes_ms, state.now_ms, state.left, state.held)
    return phase, state.opens_ms, state.closes_ms, dict(state.left), dict(state.held), dict(state.total)


def _judge_inbound(socket: Socket, message: dict) -> int | None:
    """-> the code to close with, None: nothing wrong. Pages have nothing to say here, so what they say is not read."""
    content = message.get("bytes") or message.get("text") or ""
    size = len(content) if isinstance(content, bytes) else len(content.encode())
    now = monotonic()
    too_soon = now - socket.last_inbound < INBOUND_SECONDS_MIN
    socket.last_inbound = now
    if size > INBOUND_BYTES_MAX:
        return CLOSE_TOO_BIG
    return CLOSE_POLICY if too_soon else None


async def _refuse(scope, receive, send, code: int) -> None:
    """Before accepting: HTTP 503 where the server can say that, else a close."""
    await receive()
    if "websocket.http.response" in (scope.get("extensions") or {}):
        headers = [(b"retry-after", b"5"), (b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "websocket.http.response.start", "status": 503, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": b"too many sockets\n"})
    else:
        await send({"type": "websocket.close", "code": code})


def cut_off(send) -> bool:
    """Drop the connection without waiting for its reader -> whether that could be done. ASGI has no word for it: ask the transport
    behind the server's own `send` (uvicorn).

    Without it the peer would keep the descriptor and its buffer, outside our count, for as long as it likes.
    """
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        transport.abort()
    return transport is not None
