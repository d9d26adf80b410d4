"""Which drops there are, from this process's memory: no request of the crowd asks the ledger what a slug means.

Guarantees: a known slug costs a dictionary look-up. The memory is filled at start, one drop is read again when the feed says that
it changed, all of them after a gap of the feed and every RELOAD_SECONDS (the floor under a lost message). An unknown slug is
looked up in the ledger once, however many ask at the same moment, and then stays unknown for UNKNOWN_SECONDS. With the ledger
gone, what is known goes on being served as it was. Several processes that are asked for the same unknown slug at the same moment
put one question to the ledger between them (app/gate/shared.py).
"""

import asyncio

import msgspec
import structlog

from app.clock import monotonic
from app.domain.drops import Drop
from app.errors import LedgerUnreachable
from app.gate import Shared
from app.ledger import Ledger

RELOAD_SECONDS = 30.0
UNKNOWN_SECONDS = 1.0
UNKNOWN_MAX = 10_000
SLUG_CHARACTERS_MAX = 64
DROP_ID_MAX = 2**31 - 1  # the ledger's integer; an order id that a stranger made up may name a larger one

log = structlog.get_logger("catalogue")
_drop = msgspec.json.Decoder(Drop | None)


class Catalogue:
    """One per web process."""

    def __init__(self, ledger: Ledger, shared: Shared | None = None):
        """`shared` None: this process is alone."""
        self.ledger = ledger
        self.shared = shared
        self.loaded = False
        self._by_slug: dict[str, Drop] = {}
        self._by_id: dict[int, Drop] = {}
        self._unknown: dict[str, float] = {}  # slug -> monotonic until which it stays unknown
        self._looking: dict[str, asyncio.Task] = {}

    def known(self, slug: str) -> Drop | None:
        """-> the drop, from memory alone."""
        return self._by_slug.get(slug)

    def by_id(self, drop_id: int) -> Drop | None:
        return self._by_id.get(drop_id)

    def drops(self) -> list[Drop]:
        """-> every known drop, the latest opening first."""
        return sorted(self._by_slug.values(), key=lambda drop: drop.opens_at, reverse=True)

    async def find(self, slug: str) -> Drop | None:
        """-> the drop; asks the ledger for a slug that is not known. LedgerUnreachable when that cannot be told."""
        drop = self._by_slug.get(slug)
        if drop is not None or not plausible(slug):
            return drop
        if self._unknown.get(slug, 0.0) > monotonic():
            return None
        task = self._looking.get(slug)
        if task is None:
            task = self._looking[slug] = asyncio.create_task(self._look_up(slug))
            task.add_done_callback(lambda _: self._looking.pop(slug, None))
        return await asyncio.shield(task)  # one asker's hanging up is not the others' problem

    async def find_by_id(self, drop_id: int) -> Drop | None:
        """-> the drop; asks the ledger for an id that is not known, unless no drop could have it."""
        if drop_id in self._by_id or not 1 <= drop_id <= DROP_ID_MAX:
            return self._by_id.get(drop_id)
        return await self.refresh(drop_id)

    async def _look_up(self, slug: str) -> Drop | None:
        if self.shared is None:
            drop = await self.ledger.drop_by_slug(slug)
        else:
            drop = _drop.decode(await self.shared.value(f"drop:{slug}", lambda: self._asked(slug)))
        if drop is None:
            if len(self._unknown) >= UNKNOWN_MAX:
                self._unknown.clear()
            self._unknown[slug] = monotonic() + UNKNOWN_SECONDS
        else:
            self._keep(drop)
        return drop

    async def _asked(self, slug: str) -> str:
        return msgspec.json.encode(await self.ledger.drop_by_slug(slug)).decode()

    async def refresh(self, drop_id: int) -> Drop | None:
        """Read one drop again."""
        drop = await self.ledger.drop_by_id(drop_id)
        if drop is not None:
            self._keep(drop)
        return drop

    async def load(self) -> None:
        """Read all drops again."""
        for drop in await self.ledger.drops():
            self._keep(drop)
        self.loaded = True

    async def reload_for_ever(self) -> None:
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            await self.load_if_possible()

    async def load_if_possible(self) -> None:
        try:
            await self.load()
        except LedgerUnreachable as error:
            log.warning("drops not read again, serving them as they were", error=str(error))

    async def refresh_if_possible(self, drop_id: int) -> None:
        try:
            await self.refresh(drop_id)
        except LedgerUnreachable as error:
            log.warning("drop not read again, serving it as it was", drop=drop_id, error=str(error))

    def _keep(self, drop: Drop) -> None:
        before = self._by_id.get(drop.id)
        if before == drop:
            return
        if before is not None:
            self._by_slug.pop(before.slug, None)
        self._by_slug[drop.slug] = self._by_id[drop.id] = drop
        self._unknown.pop(drop.slug, None)


def plausible(slug: str) -> bool:
    """Whether a drop could have this slug at all: anything else is unknown without asking."""
    return 0 < len(slug) <= SLUG_CHARACTERS_MAX and slug.isascii() and slug.replace("-", "a").isalnum() and slug == slug.lower()
