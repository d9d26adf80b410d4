"""What a seller watches while a drop is open: units, sales, happenings, how charges end, money.

Every method is bounded: by what is in checkouts right now, by a window of seconds, or by a number of events. Only `watch_money`
reads all payments of the drop; whoever calls it again and again does so less often where it takes longer.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.ledger.pool import Pool

CHARGE_EVENTS_MAX = 2_000  # how far back outcomes of charges are looked for
CHARGES_MAX = 50


@dataclass(frozen=True, slots=True)
class VariantUnits:
    """Units of one variant by the ledger, and how many places wait for it."""

    variant_id: int
    name: str
    total: int
    sold: int
    withdrawn: int
    offered: int
    held: int
    processing: int
    waiting: int

    @property
    def paid(self) -> int:
        return self.sold - self.withdrawn - self.offered - self.held - self.processing


class Sales(NamedTuple):
    """Units paid for in one second."""

    second: datetime
    units: int


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of a drop or of one of its orders. Holds nothing of a person."""

    id: int
    order_id: UUID | None
    kind: str
    detail: dict
    at: datetime


class Charge(NamedTuple):
    """How one charge ended. `seconds` from its claim to the answer; None: it was learnt some other way."""

    kind: str
    at: datetime
    seconds: float | None


class WatchedMoney(NamedTuple):
    """Minor units of the drop's currency, and counts of payments."""

    captured_minor: int
    refunded_minor: int
    unknown: int
    needs_attention: int


class WatchPart(Pool):
    async def watch_variants(self, drop_id: int) -> list[VariantUnits]:
        """-> in the seller's order."""
        return [VariantUnits(**row) for row in await self._rows("watch_variants", drop_id)]

    async def watch_sales(self, drop_id: int, since: datetime) -> list[Sales]:
        """-> oldest first; a second without a sale is not in it."""
        return [Sales(*row) for row in await self._rows("watch_sales", drop_id, since)]

    async def watch_events(self, drop_id: int, limit: int) -> list[Happening]:
        """-> newest first."""
        return [
            Happening(row["id"], row["order_id"], row["kind"], json.loads(row["detail"]), row["at"])
            for row in await self._rows("watch_events", drop_id, limit)
        ]

    async def watch_charges(self, drop_id: int) -> list[Charge]:
        """-> newest first, at most CHARGES_MAX."""
        return [Charge(*row) for row in await self._rows("watch_charges", drop_id, CHARGE_EVENTS_MAX, CHARGES_MAX)]

    async def watch_money(self, drop_id: int) -> WatchedMoney:
        return WatchedMoney(*await self._row("watch_money", drop_id))
