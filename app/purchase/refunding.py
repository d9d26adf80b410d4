"""The seller's money matters: give back part or all, cancel a drop and give everything back, decide what nobody could learn.

A refund is wanted as a row, under a key made of order and purpose, and asked of the provider by a worker until it confirms; the
ledger never lets more be wanted than was captured. Asking for the whole twice is one refund. The rows are the work: cancelling a
drop writes one word, its door, and every sweep goes on from what the orders say, whoever died in between.
"""

from dataclasses import dataclass
from uuid import UUID, uuid4

from app.domain.drops import Door, Drop
from app.domain.orders import OrderState
from app.errors import BadInput, NotFound
from app.ledger import Cancelling, Ledger
from app.ledger.refunds import DROP_CANCELLED, PART, WHOLE
from app.purchase.drops import Office, change_door
from app.purchase.restocking import restock


@dataclass(frozen=True, slots=True)
class Wanted:
    """A refund that is on its way."""

    order_id: UUID
    purpose: str
    amount_minor: int
    currency: str
    restock: bool
    repeated: bool  # it was wanted before


async def refund_order(
    ledger: Ledger, order_id: UUID, *, amount_minor: int | None = None, restock: bool = False, ask: str | None = None
) -> Wanted:
    """Give `amount_minor` back, or (None) all that is left. `restock`: with the last of the money the units go on sale again.

    `ask` names this wish: the same wish twice is one refund. BadInput: nothing was captured, or less is left than that.
    """
    order = await ledger.order(order_id)
    if order is None:
        raise NotFound("no such order")
    purpose = WHOLE if amount_minor is None else f"{PART}{ask or uuid4()}"
    if amount_minor is None:
        amount = await ledger.want_rest(order_id, purpose, restock=restock)
    else:
        amount = amount_minor if await ledger.want_refund(order_id, purpose, amount_minor, restock=restock) else None
    if amount is not None:
        return Wanted(order_id, purpose, amount, order.currency, restock, repeated=False)
    known = await ledger.refund(order_id, purpose)
    if known is None:
        left = await ledger.left_to_refund(order_id)
        raise BadInput(f"{left} minor units of this order are left to give back", field="amount")
    return Wanted(order_id, purpose, known.amount_minor, known.currency, known.restock, repeated=True)


async def cancel_drop(office: Office, slug: str) -> Drop:
    """Close the drop for good. Holds end, every payment goes back in full; the sweeper does it, `progress` tells how far it is."""
    return await change_door(office, slug, Door.CANCELLED)


async def progress(ledger: Ledger, drop_id: int) -> Cancelling:
    return await ledger.cancelling(drop_id)


async def give_back_unasked(office: Office, order_id: UUID) -> bool:
    """The seller's word, where nobody can learn the outcome: the unit goes back; a charge that comes to light is refunded (R7).

    False: this order is not shown as needing attention for an unknown outcome.
    """
    if not await office.ledger.give_back_unasked(order_id):
        return False
    order = await office.ledger.order(order_id)
    await restock(office.ledger, office.gate, office.feed, order_id, order.drop_id)
    await office.feed.publish("order", order=str(order_id))
    return True


async def ask_again(ledger: Ledger, order_id: UUID) -> bool:
    """The seller wants to know now: whatever is unknown about this order is due at once -> False: nothing is."""
    charge = await ledger.ask_again_now(order_id)
    refunds = await ledger.refund_again_now(order_id)
    parcel = await ledger.parcel_again_now(order_id)
    return bool(charge or refunds or parcel)


async def want_back(ledger: Ledger, order_id: UUID) -> bool:
    """One paid order of a cancelled drop: all of its money is wanted back, its units return."""
    return await ledger.want_rest(order_id, DROP_CANCELLED, restock=True) is not None


def lawful_actions(kind: str, state: str) -> list[str]:
    """-> what the seller may do about something that needs attention, as words of the command line."""
    match kind:
        case "payment" if state == OrderState.PROCESSING:
            return ["ask again", "give back"]
        case "payment":
            return ["ask again", "refund", "looked at"]
        case "refund":
            return ["ask again"]
        case _:
            return ["resubmit", "refund", "looked at"]
