"""What the judge of a rehearsal reads: every order of a drop with its money and parcel, and whether anything can still move.

Read-only. Postgres gone: LedgerUnreachable, and the judge could not tell.
"""

from dataclasses import dataclass
from uuid import UUID

from app.ledger.pool import Pool


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What of a drop can still move. Counts, but for `parcels_shown`: orders whose parcel a person has to look at."""

    orders: int
    refunds: int
    parcels: int
    parcels_shown: list[UUID]
    waiting: int

    @property
    def nothing(self) -> bool:
        return not (self.orders or self.refunds or self.parcels or self.waiting)


class JudgingPart(Pool):
    async def orders_to_judge(self, drop_id: int) -> list[dict]:
        """-> every order of the drop as plain values, oldest first; ids are text."""
        rows = await self._rows("orders_to_judge", drop_id)
        return [{**row, "order_id": str(row["order_id"])} for row in rows]

    async def unfinished_of_drop(self, drop_id: int) -> Unfinished:
        return Unfinished(**await self._row("unfinished_of_drop", drop_id))
