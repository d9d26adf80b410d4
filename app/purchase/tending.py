"""The seller's care for one order: give money back now, end a hold, have a parcel submitted again.

Each is a row first; the queue is told at once so that nobody waits for a sweep, and a queue that is gone only makes it slower. No
call to the outside is made while a seller waits, except the one that must be: before a hold with payment attempts ends, its intent
is cancelled at the provider, and the answer decides. Asked twice, each happens once.
"""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from app.domain.orders import OrderState, Refusal
from app.errors import BadInput, NotFound
from app.gate import Gate
from app.jobs import Jobs
from app.ledger import Ledger
from app.live import Feed
from app.purchase.paying import Till
from app.purchase.refunding import Wanted, refund_order
from app.purchase.restocking import restock


class Desk(Protocol):
    """What these verbs need of a process."""

    ledger: Ledger
    gate: Gate
    feed: Feed


@dataclass(frozen=True, slots=True)
class Hold:
    """What became of a hold that was to end."""

    state: OrderState
    ended: bool  # it was ended by this, or has ended the same way before


async def refund_now(desk: Desk, jobs: Jobs, order_id: UUID, *, amount_minor: int | None, restock: bool, wish: str) -> Wanted:
    """As `refund_order`, and asked of the provider at once. `wish`: the same wish twice is one refund."""
    wanted = await refund_order(desk.ledger, order_id, amount_minor=amount_minor, restock=restock, ask=wish)
    if not wanted.repeated and await jobs.refund(order_id, wanted.purpose, 0):
        await desk.ledger.mark_refund_enqueued(order_id, wanted.purpose)
    await desk.feed.publish("order", order=str(order_id))
    return wanted


async def end_hold(desk: Desk, till: Till, order_id: UUID) -> Hold:
    """Cancel an order that is not paid, in the seller's name: its units go back on sale. NotFound: no such order.

    Not ended: it is paid, its payment is under way, or nobody can tell yet.
    """
    order = await desk.ledger.order(order_id)
    if order is None:
        raise NotFound("no such order")
    if await desk.ledger.cancel_unattempted(order_id, None, Refusal.BY_SELLER):
        await restock(desk.ledger, desk.gate, desk.feed, order_id, order.drop_id)
    elif order.state is OrderState.PENDING_PAYMENT:
        await till.give_back(order_id, OrderState.CANCELLED, Refusal.BY_SELLER)
    await desk.feed.publish("order", order=str(order_id))
    order = await desk.ledger.order(order_id)
    return Hold(order.state, order.state is OrderState.CANCELLED and order.reason == Refusal.BY_SELLER)


async def submit_parcel_again(desk: Desk, jobs: Jobs, order_id: UUID, *, parcel_dead_seconds: float) -> None:
    """The seller's word: a worker looks once more at the warehouse's list, and asks for the parcel only if there is none.

    NotFound: the order has no parcel. BadInput: it is made, withdrawn, or somebody acts on it just now.
    """
    parcel = await desk.ledger.parcel(order_id)
    if parcel is None:
        raise NotFound("this order has no parcel")
    if not await desk.ledger.parcel_may_be_made_again(order_id, parcel_dead_seconds):
        raise BadInput(f"the parcel of {order_id} cannot be submitted again", field="parcel")
    if await jobs.ship(order_id, await desk.ledger.parcel_enqueues(order_id)):
        await desk.ledger.mark_parcel_enqueued(order_id)
