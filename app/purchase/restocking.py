"""The one way a unit returns (R3): ledger first, then the gate by receipt, repeated until the gate confirms.

Who is next on the waitlist takes the unit over in the same step of the gate that takes it from the old receipt; it is public for no
moment. Only what nobody in line may have goes on sale again.

Nothing records that a release was tried. `released`, `offered` and `absent` are confirmations; `not_ready` and silence are not, and
the next sweep asks again.
"""

from uuid import UUID

import structlog

from app.errors import GateUnreachable
from app.gate import Gate
from app.ledger import Ledger
from app.live import Feed
from app.purchase.waiting import heirs_of_order

CONFIRMATIONS = frozenset({"released", "offered", "absent"})

log = structlog.get_logger("restock")


async def restock(ledger: Ledger, gate: Gate, feed: Feed, order_id: UUID, drop_id: int) -> bool:
    """Return the units of an order that is already given back in the ledger -> whether the gate confirmed.

    Safe at any time and any number of times: the licence is the receipt of this reservation, which exists once.
    """
    try:
        heirs = await heirs_of_order(ledger, gate, drop_id, order_id)
        answer = await gate.release(drop_id, order_id, heirs)
    except GateUnreachable:
        log.info("release waits", order=str(order_id), why="gate unreachable")
        return False
    if answer.verdict not in CONFIRMATIONS and not await _retired(ledger, drop_id):
        log.info("release waits", order=str(order_id), why=answer.verdict)
        return False
    if answer.heirs:
        log.info("passed on", order=str(order_id), places=[heir.place_id for heir in answer.heirs])
    await ledger.confirm_released(order_id)
    await feed.publish("stock", drop=drop_id)
    await feed.publish("order", order=str(order_id))
    return True


async def _retired(ledger: Ledger, drop_id: int) -> bool:
    """A retired drop has no gate any more: nothing there is left to put back."""
    drop = await ledger.drop_by_id(drop_id)
    return drop is not None and drop.retired
