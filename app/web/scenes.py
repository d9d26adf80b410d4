"""What everybody sees of a drop: read from the gate, drawn once, the same for page, fragment, socket and JSON.

Guarantees: however many ask, the gate is read at most once per drop at a time and every READING_SECONDS; a reading is never mixed
with another. The gate out of reach: the scene says `not_ready` (or what the ledger knows for certain: cancelled, closed) and
nothing fails.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from app.clock import from_ms, iso, monotonic, now
from app.domain.drops import Door, Drop, Phase, phase_of
from app.errors import GateUnreachable
from app.gate import Gate, Peek
from app.languages import Language, language_named, speaking
from app.live import HTML, JSON
from app.web.catalogue import Catalogue
from app.web.render import Card, Renderer, Scene, VariantScene

READING_SECONDS = 0.1  # pages and JSON may be this old


class Scenes:
    def __init__(self, gate: Gate, catalogue: Catalogue, renderer: Renderer):
        self.gate = gate
        self.catalogue = catalogue
        self.renderer = renderer
        self._latest: dict[int, tuple[Peek | None, float]] = {}
        self._reading: dict[int, asyncio.Task] = {}

    async def read(self, drop_id: int) -> Peek | None:
        """-> a reading of the gate, None: it has no rules for this drop. Raises GateUnreachable."""
        task = self._reading.get(drop_id)
        if task is None:
            task = self._reading[drop_id] = asyncio.create_task(self._read(drop_id))
            task.add_done_callback(lambda done: self._reading.pop(drop_id, None))
        return await asyncio.shield(task)

    async def _read(self, drop_id: int) -> Peek | None:
        asked_at = monotonic()
        peek = await self.gate.peek(drop_id)
        self._latest[drop_id] = (peek, asked_at)
        return peek

    async def cards(self, drops: Sequence[Drop], watching: Callable[[int], int]) -> list[Card]:
        """-> the drops with their scenes. `watching`: drop id -> people."""
        scenes = await asyncio.gather(*(self.scene(drop, watching(drop.id)) for drop in drops))
        return [Card(drop, scene) for drop, scene in zip(drops, scenes, strict=True)]

    def forget(self, drop_id: int) -> None:
        """Something was written: what was read before is no answer any more."""
        self._latest.pop(drop_id, None)

    async def scene(self, drop: Drop, watching: int) -> Scene:
        """-> the drop at this moment, at most READING_SECONDS old."""
        peek, read_at = self._latest.get(drop.id, (None, float("-inf")))
        if drop.retired:
            peek = None
        elif monotonic() - read_at > READING_SECONDS:
            try:
                peek = await self.read(drop.id)
            except GateUnreachable:
                peek = None
        return scene_of(drop, peek, watching, 0 if peek is None else peek.time_us)

    def draw(self, drop_id: int, peek: Peek | None, watching: int, seq: int, flavour: str) -> str:
        """-> what the sockets of a drop and flavour are sent, JSON or HTML in one language: the hub's `render`."""
        drop = self.catalogue.by_id(drop_id)
        scene = scene_of(drop, peek, watching, seq)
        if flavour == JSON:
            return stock_json(scene).decode()
        with speaking(language_named(flavour.removeprefix(html_in()), mirrored=True)):
            return self.renderer.fragment("scene.html", drop=drop, scene=scene)


def html_in(language: Language | None = None) -> str:
    """-> the hub's flavour for a scene in this language; without one, what all of them begin with."""
    return f"{HTML}:{language.tag if language else ''}"


def scene_of(drop: Drop, peek: Peek | None, watching: int, seq: int) -> Scene:
    """A drop of the catalogue and a reading of the gate -> what is shown. `peek` None: the gate cannot be asked."""
    if peek is None:
        return Scene(
            phase=phase_without_gate(drop),
            seq=seq,
            server_time=now(),
            opens_at=drop.opens_at,
            closes_at=drop.closes_at,
            watching=watching,
            variants=tuple(
                VariantScene(variant.id, variant.name, 0, 0, variant.units_total, variant.waiting, variant.called)
                for variant in drop.variants
            ),
        )
    door = drop.door if drop.door in (Door.CANCELLED, Door.CLOSED) else Door(peek.door)  # the ledger is told first
    return Scene(
        phase=phase_of(door, peek.opens_ms, peek.closes_ms, peek.now_ms, peek.left, peek.held),
        seq=seq,
        server_time=from_ms(peek.now_ms),
        opens_at=from_ms(peek.opens_ms),
        closes_at=None if peek.closes_ms is None else from_ms(peek.closes_ms),
        watching=watching,
        variants=tuple(
            VariantScene(
                variant.id,
                variant.name,
                peek.left.get(variant.id, 0),
                peek.held.get(variant.id, 0),
                peek.total.get(variant.id, variant.units_total),
                variant.waiting,
                variant.called,
            )
            for variant in drop.variants
        ),
    )


def phase_without_gate(drop: Drop) -> Phase:
    """What is certain without the gate: a door that will not open again, else nothing."""
    if drop.door is Door.CANCELLED:
        return Phase.CANCELLED
    if drop.retired or drop.door is Door.CLOSED:
        return Phase.CLOSED
    return Phase.NOT_READY


def stock_json(scene: Scene) -> bytes:
    """The public contract's stock document."""
    return msgspec.json.encode(
        {
            "phase": scene.phase,
            "server_time": iso(scene.server_time),
            "opens_at": iso(scene.opens_at),
            "closes_at": None if scene.closes_at is None else iso(scene.closes_at),
            "seq": scene.seq,
            "watching": scene.watching,
            "variants": [{"name": variant.name, "left": variant.left, "held": variant.held} for variant in scene.variants],
        }
    )
