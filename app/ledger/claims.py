"""A claim: the right to act on one order, won by a conditional UPDATE, named by a token that only its holder knows."""

from dataclasses import dataclass
from uuid import UUID

from app.domain.orders import OrderState
from app.ledger.pool import Asker


@dataclass(frozen=True, slots=True)
class Claimed:
    """What the holder of a claim needs to know."""

    order_id: UUID
    drop_id: int
    variant_id: int
    quantity: int
    shopper_id: int
    amount_minor: int
    currency: str
    n: int | None  # the unfinished attempt, None: there is none
    payment_method: str | None  # of that attempt
    intent_id: str | None  # None: nothing was ever confirmed at the provider
    leaving: OrderState | None  # the unit is being given back, to this state
    overdue: bool  # the deadline has passed (grace not counted)
    email: str  # of the shopper, as written


async def claimed_order(ask: Asker, order_id: UUID) -> Claimed:
    """-> the order that the caller's transaction has just claimed."""
    row = dict(await ask.row("claimed_order", order_id))
    return Claimed(**row | {"leaving": row["leaving"] and OrderState(row["leaving"])})
