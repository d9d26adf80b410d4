"""Refunds: wanted as a row first, then asked of the provider under the key (order, purpose) until it confirms, then done, once.

A PAID order whose money went back in full is REFUNDED; its units go back on sale if the refund says so, else they leave the drop.
Late money leaves its order as it ended.
"""

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from app.domain.orders import MoneyState, Refusal
from app.errors import BadInput
from app.ledger.events import CHARGER, PROVIDER, SELLER, note
from app.ledger.invoices import number_correction
from app.ledger.parcels import hold_parcel_back
from app.ledger.pool import Asker, Pool
from app.ledger.returns import return_units

LATE_MONEY = "late_money"  # the purpose of returning a capture that no order wants
WHOLE = "seller:whole"  # the seller gives all back that is left; asked twice it is one refund
PART = "seller:part:"  # the seller gives a part back; a number, or a word of the asker's, follows
DROP_CANCELLED = "drop_cancelled"
PURPOSE_CHARACTERS_MAX = 100
REFUND_ASKS_MAX = 5  # times that no refund was the answer before a person is asked to look
ASK_AGAIN_SECONDS = 2.0  # the first pause between two questions; doubles
ASK_AGAIN_SECONDS_MAX = 900.0
WHY_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class RefundRow:
    order_id: UUID
    drop_id: int
    purpose: str
    intent_id: str
    amount_minor: int
    currency: str
    state: str  # wanted, done
    refund_id: str | None
    restock: bool


class DueRefund(NamedTuple):
    order_id: UUID
    purpose: str
    enqueues: int


class RefundsPart(Pool):
    async def want_refund(self, order_id: UUID, purpose: str, amount_minor: int, *, restock: bool = False) -> bool:
        """The seller wants money to go back -> False: wanted before under this purpose, or more than is left of the capture.

        `restock`: once all of it is back, the units go on sale again.
        """
        if amount_minor < 1 or not 1 <= len(purpose) <= PURPOSE_CHARACTERS_MAX or not purpose.isprintable():
            raise BadInput("a refund needs an amount and a purpose", field="amount")
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None or not await ask.count("want_refund", order_id, purpose, amount_minor, restock):
                return False
            await note(ask, order_id, order["drop_id"], "refund wanted", SELLER, amount_minor=amount_minor, purpose=purpose)
            if await ask.value("nothing_kept", order_id):
                await hold_parcel_back(ask, order)
            return True

    async def want_rest(self, order_id: UUID, purpose: str, *, restock: bool, by: str = SELLER) -> int | None:
        """Want all back that nobody wants back yet -> how much; None: nothing left, or wanted before under this purpose."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            amount_minor = await ask.value("want_rest", order_id, purpose, restock) if order else None
            if amount_minor is None:
                return None
            await note(ask, order_id, order["drop_id"], "refund wanted", by, amount_minor=amount_minor, purpose=purpose)
            await hold_parcel_back(ask, order)
            return amount_minor

    async def left_to_refund(self, order_id: UUID) -> int:
        """-> minor units of the order's own capture that nobody wants back yet."""
        return await self._value("left_to_refund", order_id) or 0

    async def refunds_of(self, order_id: UUID) -> list[RefundRow]:
        """-> the refunds of an order, oldest first."""
        return [RefundRow(**row) for row in await self._rows("refunds_of", order_id)]

    async def refund_unsettled(self, order_id: UUID, purpose: str, why: str) -> bool:
        """The provider did not refund, or nobody knows -> False: it is done. Asked again ever more slowly; after REFUND_ASKS_MAX
        questions a person is asked to look, told `why`."""
        why = f"refund not confirmed: {why}".replace("\x00", "")[:WHY_CHARACTERS_MAX]
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            asked = await ask.value(
                "refund_unsettled", order_id, purpose, why, ASK_AGAIN_SECONDS, ASK_AGAIN_SECONDS_MAX, REFUND_ASKS_MAX
            )
            if asked is None:
                return False
            await note(ask, order_id, order["drop_id"], "refund not confirmed", CHARGER, purpose=purpose, asked=asked, why=why)
            return True

    async def refund_again_now(self, order_id: UUID) -> int:
        """A person wants the wanted refunds of an order asked for at once -> how many there are."""
        return await self._count("refund_again_now", order_id)

    async def due_refunds(self, limit: int, queue_retry_seconds: float) -> list[DueRefund]:
        """-> wanted refunds that no queue holds (or holds for longer than `queue_retry_seconds`), oldest first."""
        return [DueRefund(**row) for row in await self._rows("due_refunds", limit, queue_retry_seconds)]

    async def mark_refund_enqueued(self, order_id: UUID, purpose: str) -> bool:
        return await self._count("mark_refund_enqueued", order_id, purpose) == 1

    async def refund(self, order_id: UUID, purpose: str) -> RefundRow | None:
        row = await self._row("refund", order_id, purpose)
        return RefundRow(**row) if row else None

    async def refund_done(self, order_id: UUID, purpose: str, refund_id: str) -> bool:
        """The provider confirmed: the buyer is told -> False: that was known."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            done = await ask.row("refund_done", order_id, purpose, refund_id)
            if done is None:
                return False
            await note(ask, order_id, order["drop_id"], "refunded", PROVIDER, amount_minor=done["amount_minor"], purpose=purpose)
            money = await ask.value("money_refunded", order_id, done["intent_id"], done["amount_minor"])
            if money == MoneyState.REFUNDED:
                await _end_paid_order(ask, order_id, done["restock"])
            about = f"{order_id}:{purpose}"
            await ask.count("tell_of_money_back", order_id, about, _why_back(order, purpose), done["amount_minor"])
            if money is not None:  # it was the order's own capture, not a foreign one
                await number_correction(ask, order_id, purpose, done["amount_minor"])
            return True


def _why_back(order, purpose: str) -> str:
    """-> the word that the buyer's mail goes by (templates/mail/money_back.html)."""
    if purpose == LATE_MONEY:
        return "late" if order["reason"] == Refusal.LATE_MONEY else "mismatch"
    return purpose.partition(":")[0]  # seller, drop_cancelled, foreign


async def add_refund(ask: Asker, order, purpose: str, intent_id: str, amount_minor: int) -> bool:
    """Want a capture back in the transaction that learned of it -> False: wanted before, or nothing was captured."""
    if amount_minor < 1 or not await ask.count("add_refund", order["id"], purpose, intent_id, amount_minor, False):
        return False
    await note(ask, order["id"], order["drop_id"], "refund wanted", CHARGER, amount_minor=amount_minor, purpose=purpose)
    return True


async def _end_paid_order(ask: Asker, order_id: UUID, restock: bool) -> None:
    ended = await ask.row("order_refunded", order_id, restock)
    if ended is None:
        return  # late money: the order ended long ago
    if restock:
        await return_units(ask, [ended], "units returned", SELLER)
    else:
        await ask.count("withdraw_units", ended["variant_id"], ended["quantity"])
        await note(ask, order_id, ended["drop_id"], "units withdrawn", SELLER, units=ended["quantity"])
