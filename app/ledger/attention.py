"""What a person must look at: every payment, refund and parcel whose outcome cannot be learnt, or must not be guessed.

Also what the cancelling of a drop still has to do, read from the rows themselves: whoever dies in between, the next sweep goes on.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.ledger.events import SELLER, note
from app.ledger.pool import Pool


class AttentionSpot(NamedTuple):
    """A place in the list of what needs a person."""

    reserved_at: datetime
    order_id: UUID
    kind: str
    purpose: str  # of a refund; "" for anything else


@dataclass(frozen=True, slots=True)
class Attention:
    """One thing a person must look at, with what is known."""

    kind: str  # payment, refund, parcel
    order_id: UUID
    drop_slug: str
    state: str  # of the order
    payment: str | None  # of its money
    purpose: str | None  # of the refund
    parcel: str | None  # state of the parcel
    why: str
    asked_again: int  # questions without an answer
    reference: str | None  # the outside's own name for it: intent or parcel number
    amount_minor: int
    currency: str
    reserved_at: datetime

    @property
    def spot(self) -> AttentionSpot:
        return AttentionSpot(self.reserved_at, self.order_id, self.kind, self.purpose or "")


class CancelledHold(NamedTuple):
    order_id: UUID
    drop_id: int
    intent_id: str | None


@dataclass(frozen=True, slots=True)
class Cancelling:
    """Orders of a cancelled drop. Done once nothing is `open` and nothing is left `to_refund`."""

    orders: int
    open: int  # holds and charges
    to_refund: int  # still paid
    refunded: int
    needs_attention: int

    @property
    def done(self) -> bool:
        return not self.open and not self.to_refund


class AttentionPart(Pool):
    async def attention(self, limit: int) -> list[Attention]:
        """-> what needs a person, the oldest order first."""
        return [Attention(**row) for row in await self._rows("attention", limit)]

    async def looked_at(self, order_id: UUID) -> bool:
        """A person has seen to it -> False: nothing was shown, or it is still unknown and stays shown."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None:
                return False
            seen = await ask.count("payment_looked_at", order_id) + await ask.count("parcel_looked_at", order_id)
            if seen:
                await note(ask, order_id, order["drop_id"], "looked at", SELLER)
            return bool(seen)

    async def holds_of_cancelled_drops(self, limit: int) -> list[CancelledHold]:
        return [CancelledHold(**row) for row in await self._rows("holds_of_cancelled_drops", limit)]

    async def kept_money_of_cancelled_drops(self, limit: int) -> list[UUID]:
        """-> paid orders of cancelled drops whose money nobody has asked back yet."""
        return [row["id"] for row in await self._rows("kept_money_of_cancelled_drops", limit)]

    async def cancelling(self, drop_id: int) -> Cancelling:
        return Cancelling(**await self._row("cancelling", drop_id))
