"""What one web process reads for the sellers who watch: each drop once a second, however many watch it.

Pages, fragments and sockets share a reading. A word of the feed that a drop changed makes the next one at once; whoever wrote
something says `forget` and is never shown what was read before.
"""

import asyncio
from datetime import UTC
from typing import Any

from app.clock import monotonic
from app.domain.schedule import zone_named
from app.errors import NotFound
from app.jobs import Jobs
from app.languages import Language, in_zone, language_named, speaking
from app.live import Hub, Room
from app.purchase.watching import Look, Lookout
from app.web.render import Renderer
from app.web.seller.watch_view import chart_sentence, revenue, view_of
from app.wiring import Office

LOOK_SECONDS = 1.0  # pages may show a reading that is this old
LOOKOUTS_MAX = 200  # drops remembered by one process


class Watch:
    """One per web process: what it reads for sellers who watch."""

    def __init__(self, office: Office, jobs: Jobs, hub: Hub, renderer: Renderer):
        self.office, self.jobs, self.hub, self.renderer = office, jobs, hub, renderer
        self.room = Room(lambda drop_id: lambda: self.look(drop_id, fresh=True), self.draw)
        self._lookouts: dict[int, Lookout] = {}
        self._latest: dict[int, tuple[Look, float]] = {}
        self._looking: dict[int, asyncio.Task] = {}

    async def look(self, drop_id: int, *, fresh: bool = False) -> Look:
        """-> the drop now; at most LOOK_SECONDS old unless it must be `fresh`. Who asks meanwhile gets the same. NotFound."""
        latest, read_at = self._latest.get(drop_id, (None, float("-inf")))
        if latest is not None and not fresh and monotonic() - read_at < LOOK_SECONDS:
            return latest
        task = self._looking.get(drop_id)
        if task is None or task.done():
            task = self._looking[drop_id] = asyncio.create_task(self._look(drop_id))
        return await asyncio.shield(task)

    async def _look(self, drop_id: int) -> Look:
        if len(self._lookouts) >= LOOKOUTS_MAX:
            self._lookouts.clear()
            self._latest.clear()
        lookout = self._lookouts.setdefault(drop_id, Lookout(self.office, self.jobs, drop_id))
        started = monotonic()
        look = await lookout.look()
        if look is None:
            raise NotFound(f"there is no drop {drop_id}")
        if self._looking.get(drop_id) is asyncio.current_task():
            self._latest[drop_id] = (look, started)
            del self._looking[drop_id]
        return look

    def forget(self, drop_id: int) -> None:
        """Something was written: what was read before, or is being read, is no answer any more."""
        self._latest.pop(drop_id, None)
        self._looking.pop(drop_id, None)

    def hear(self, message: dict[str, Any]) -> None:
        """A message of the feed: the drop itself changed, so those who watch it see it at once."""
        match message:
            case {"kind": "drop", "drop": int(drop_id)}:
                self.forget(drop_id)
                self.room.touch(drop_id)

    def draw(self, look: Look, flavour: str) -> str:
        """-> the fragment in one language and time zone."""
        language, _, zone = flavour.partition(" ")
        with speaking(language_named(language, mirrored=True)), in_zone(zone_named(zone) or UTC):
            return self.renderer.fragment("watch.html", **self.words(look))

    def words(self, look: Look) -> dict[str, Any]:
        """-> what the fragment needs."""
        view = view_of(look, self.hub.watching(look.drop.id))
        return {"view": view, "chart_sentence": chart_sentence(view), "revenue": revenue(view)}


def flavour_of(language: Language, time_zone: str) -> str:
    """-> what `draw` is told by: a shop's staff reads one clock, each in their own language."""
    return f"{language.tag} {time_zone}"
