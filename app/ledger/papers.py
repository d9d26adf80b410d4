"""What a shop says about itself, in versions: the newest holds, every older one stays as it was, each change is in the audit log.

A change is made from the version that its editor saw, or not at all.
"""

from dataclasses import asdict, dataclass
from datetime import datetime

from app.domain.papers import Papers
from app.ledger.audit import note_audit
from app.ledger.drops import ID_MAX
from app.ledger.pool import Pool

AUDITED_CHARACTERS_MAX = 300  # of a text in the audit log
SHOPS_LISTED_MAX = 200


@dataclass(frozen=True, slots=True)
class ShopPapers:
    """The version that holds; version 0: nothing was said yet."""

    shop_id: int
    shop_name: str
    version: int
    papers: Papers
    written_at: datetime | None
    written_by: str | None


@dataclass(frozen=True, slots=True)
class ShopPage:
    """A shop that has a page of its own of one kind."""

    shop_id: int
    shop_name: str


class PapersPart(Pool):
    async def papers(self, shop_id: int) -> ShopPapers | None:
        """-> None: there is no such shop."""
        return _papers(await self._row("papers", shop_id)) if 0 < shop_id <= ID_MAX else None

    async def write_papers(self, shop_id: int, version: int, papers: Papers, actor: str) -> bool:
        """-> False: this is not the version that holds: somebody wrote another meanwhile. What changes nothing is no version."""
        async with self._transaction() as ask:
            if await ask.value("lock_papers", shop_id) != version:
                return False
            before = _papers(await ask.row("papers", shop_id))
            if before.papers == papers:
                return True
            old, new = asdict(before.papers), asdict(papers)
            await ask.count("write_papers", shop_id, version + 1, *new.values(), actor)
            await ask.count("papers_hold", shop_id, version + 1)
            changed = [name for name in old if old[name] != new[name]]
            audited = ({name: _short(words[name]) for name in changed} for words in (old, new))
            await note_audit(ask, shop_id, actor, "shop settings changed", before.shop_name, *audited)
            return True

    async def set_time_zone(self, shop_id: int, zone: str, actor: str) -> None:
        """In which zone the shop's dashboard tells times. `zone`: an IANA name that app/domain/schedule.py knows."""
        async with self._transaction() as ask:
            shop = await ask.row("set_time_zone", shop_id, zone)
            if shop["time_zone_before"] != zone:
                before, after = {"time_zone": shop["time_zone_before"]}, {"time_zone": zone}
                await note_audit(ask, shop_id, actor, "shop settings changed", shop["name"], before, after)

    async def shops_with_page(self, page: str) -> list[ShopPage]:
        """-> the shops that have this page, the oldest first."""
        return [ShopPage(**row) for row in await self._rows("shops_with_page", page, SHOPS_LISTED_MAX)]


def _papers(row) -> ShopPapers | None:
    if row is None:
        return None
    said = Papers(**{name: row[name] or "" for name in Papers.__slots__})
    return ShopPapers(row["shop_id"], row["shop_name"], row["version"], said, row["written_at"], row["written_by"])


def _short(text: str) -> str:
    return text if len(text) <= AUDITED_CHARACTERS_MAX else f"{text[:AUDITED_CHARACTERS_MAX]}…"
