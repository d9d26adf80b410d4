"""What the hub's tests play with: a drop whose counts they set, and people who watch it over a socket without a network."""

import asyncio
import json
import time
from dataclasses import dataclass, field

from app.domain.drops import Door
from app.errors import GateUnreachable
from app.live.hub import HTML, JSON, Hub

SECONDS_MAX = 10.0
YEAR_MS = 365 * 86_400_000


@dataclass
class Reading:
    time_us: int
    door: Door
    opens_ms: int
    closes_ms: int | None
    left: dict[int, int]
    held: dict[int, int]
    total: dict[int, int]
    now_ms: int


@dataclass
class Shelf:
    """The gate of one or more drops, as the hub sees it."""

    left: int = 10
    opens_ms: int = 0
    closes_ms: int | None = None
    reachable: bool = True
    empty: bool = False
    reads: int = 0
    hold: asyncio.Event = field(default_factory=asyncio.Event)  # cleared: readings wait
    renders: list[tuple[int, int]] = field(default_factory=list)  # (left, seq) of every rendering
    flavours: list[str] = field(default_factory=list)  # of every rendering
    clock_us: int | None = None  # None: the real one
    clock_offset_ms: int = 0  # a rehearsal's

    def __post_init__(self):
        self.hold.set()

    async def read(self, drop_id):
        self.reads += 1
        reading = self._reading()
        await self.hold.wait()
        if not self.reachable:
            raise GateUnreachable
        return None if self.empty else reading

    def _reading(self):
        now_us = self.clock_us if self.clock_us is not None else time.time_ns() // 1000
        return Reading(
            now_us, Door.OPEN, self.opens_ms, self.closes_ms, {1: self.left}, {1: 0}, {1: 10}, now_us // 1000 + self.clock_offset_ms
        )

    def render(self, drop_id, state, watching, seq, flavour):
        left = -1 if state is None else state.left[1]
        self.renders.append((left, seq))
        self.flavours.append(flavour)
        said = {"drop": drop_id, "left": left, "watching": watching, "seq": seq, "at_us": state.time_us if state else None}
        return json.dumps(said) if flavour == JSON else f"<p>{json.dumps(said)}</p>"

    def hub(self, feed=None, **options):
        return Hub(self.read, self.render, feed, **options)


class Watcher:
    """A browser's socket. `reads = False`: a reader that does not read."""

    def __init__(self, hub, drop_id=7, flavour=HTML, address="192.0.2.1", extensions=None):
        self.flavour = flavour
        self.events: asyncio.Queue[dict] = asyncio.Queue()
        self.events.put_nowait({"type": "websocket.connect"})
        self.sent: asyncio.Queue[dict] = asyncio.Queue()
        self.everything: list[dict] = []
        self.readable = asyncio.Event()
        self.readable.set()
        self.gone = False
        scope = {"type": "websocket", "client": (address, 50_000), "extensions": extensions or {}}
        self.task = asyncio.create_task(hub.serve_socket(scope, self.events.get, self.send, drop_id, flavour))

    async def send(self, message):
        await self.readable.wait()
        if self.gone:
            raise OSError("client disconnected")
        self.everything.append(message)
        self.sent.put_nowait(message)
        if message["type"] == "websocket.close":
            self.leaves()

    async def next(self, kind="websocket.send"):
        async with asyncio.timeout(SECONDS_MAX):
            while (message := await self.sent.get())["type"] != kind:
                pass
            return message

    async def sees(self):
        """-> the next state this person is shown."""
        text = (await self.next())["text"]
        return json.loads(text.removeprefix("<p>").removesuffix("</p>"))

    async def sees_left(self, left):
        async with asyncio.timeout(SECONDS_MAX):
            while (seen := await self.sees())["left"] != left:
                pass
            return seen

    def says(self, text):
        self.events.put_nowait({"type": "websocket.receive", "text": text})

    def leaves(self):
        self.gone = True
        self.events.put_nowait({"type": "websocket.disconnect", "code": 1001})

    async def ended(self):
        async with asyncio.timeout(SECONDS_MAX):
            await asyncio.gather(self.task, return_exceptions=True)
