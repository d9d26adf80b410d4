"""An order in the words and fields of its owner: the page's view and the contract's JSON.

Three sources, in this order: the ledger's row; the gate's receipt while the recorder has not written it (CONFIRMING); and, when
neither store knows an order that the shop itself announced more than LOST_SECONDS ago, nothing: the place was lost when the gate
lost its memory, and nothing was charged (LOST).
"""

from typing import Any
from uuid import UUID

from app.clock import from_ms, iso, now
from app.domain.drops import Drop
from app.domain.orders import CONFIRMING, MoneyState, OrderState, Refusal
from app.gate import Receipt
from app.ledger import OrderRow
from app.web.render import OrderView, PaymentChoice

LOST = "LOST"
LOST_SECONDS = 10.0

CHOICES = (
    PaymentChoice("pm_card_visa", "Visa ending in 4242"),
    PaymentChoice("pm_card_mastercard", "Mastercard ending in 4444"),
    PaymentChoice("pm_card_authenticationRequired", "Card that asks you to confirm at your bank"),
    PaymentChoice("pm_card_chargeDeclined", "Card that is declined"),
)

WORDS = {
    CONFIRMING: ("It is yours", "We are writing your order down. This takes a moment."),
    LOST: ("We lost your place", "The shop had to restart its counter before your order was written down. You were not charged."),
    OrderState.PENDING_PAYMENT: ("It is yours", "Pay before your hold ends, or the unit goes to the next person."),
    OrderState.PROCESSING: ("Talking to the bank", "Your payment is on its way. This page tells you as soon as it is through."),
    OrderState.PAID: ("Paid", "It is yours for good. A confirmation is on its way to you by e-mail."),
    OrderState.EXPIRED: ("Your hold ended", "The time to pay ran out and the unit went back. You were not charged."),
    OrderState.FAILED: ("Payment did not work", "No attempt went through and the unit went back. You were not charged."),
    OrderState.CANCELLED: ("Cancelled", "The unit went back. You were not charged."),
    OrderState.REFUNDED: ("Refunded", "Your money is on its way back to you."),
    OrderState.REFUSED: ("It did not work out", "We are sorry: this order could not be kept. You were not charged."),
}
REFUSED_WORDS = {
    Refusal.GATE_LEAKED: "We are sorry: our counter lost its memory and gave away a unit that was sold already. You were not
    charged.", Refusal.DUPLICATE_BUYER: "You have another order in this drop that reaches the limit per person. You were not
    charged.",
}
LATE_WORDS = "The payment came through after the unit had gone back, so your money is on its way back to you."
UNKNOWN_WORDS = "The payment provider has not answered yet. We ask until it does; you are never charged twice."
AUTHENTICATE_WORDS = "Your bank asks you to confirm this payment. Follow the link, then come back here."
AGAIN_WORDS = "That card was declined. You can try again before your hold ends."


def recorded(row: OrderRow) -> OrderView:
    """The ledger's row -> the view."""
    state = OrderState(row.state)
    waiting = state is OrderState.PENDING_PAYMENT
    busy = row.action_url is not None or row.attempt_open
    title, detail = WORDS[state]
    if state is OrderState.REFUSED and row.reason in REFUSED_WORDS:
        detail = REFUSED_WORDS[Refusal(row.reason)]
    elif row.payment == MoneyState.REFUNDED and state is not OrderState.REFUNDED:
        detail = LATE_WORDS
    elif row.payment == MoneyState.UNKNOWN and state is OrderState.PROCESSING:
        detail = UNKNOWN_WORDS
    elif waiting and row.action_url is not None:
        title, detail = "Confirm your payment", AUTHENTICATE_WORDS
    elif waiting and row.attempt_open:
        title, detail = WORDS[OrderState.PROCESSING]
    elif waiting and row.attempts:
        detail = AGAIN_WORDS
    return OrderView(
        id=str(row.id),
        drop_slug=row.drop_slug,
        drop_title=row.drop_title,
        variant=row.variant,
        quantity=row.quantity,
        state=state.value,
        payment=row.payment,
        pay_by=row.deadline,
        attempts_left=row.attempts_left,
        amount_minor=row.amount_minor,
        currency=row.currency,
        tracking=None,
        reason=row.reason,
        authenticate_url=row.action_url if waiting else None,
        title=title,
        detail=detail,
        can_pay=waiting and not busy and row.attempts_left > 0 and row.deadline > now(),
        can_cancel=waiting and not row.attempt_open,
        moving=state in (OrderState.PENDING_PAYMENT, OrderState.PROCESSING),
    )


def unrecorded(order_id: UUID, drop: Drop, receipt: Receipt | None, *, lost: bool) -> OrderView:
    """An order that the ledger does not have: the gate's receipt says what it is, without one only that there was one."""
    variant = next(
        (variant for variant in drop.variants if receipt is not None and variant.id == receipt.variant_id), drop.variants[0]
    )
    quantity = receipt.quantity if receipt is not None else 1
    title, detail = WORDS[LOST if lost else CONFIRMING]
    return OrderView(
        id=str(order_id),
        drop_slug=drop.slug,
        drop_title=drop.title,
        variant=variant.name,
        quantity=quantity,
        state=LOST if lost else CONFIRMING,
        payment=MoneyState.NONE.value,
        pay_by=from_ms(receipt.pay_by_ms) if receipt is not None else None,
        attempts_left=0 if lost else drop.payment_attempts,
        amount_minor=drop.price_minor * quantity,
        currency=drop.currency,
        tracking=None,
        reason="gate_lost" if lost else None,
        authenticate_url=None,
        title=title,
        detail=detail,
        can_pay=False,
        can_cancel=False,
        moving=not lost,
    )


def order_document(view: OrderView) -> dict[str, Any]:
    """The public contract's order."""
    return {
        "order": view.id,
        "drop": view.drop_slug,
        "variant": view.variant,
        "quantity": view.quantity,
        "state": view.state,
        "payment": view.payment,
        "pay_by": None if view.pay_by is None else iso(view.pay_by),
        "attempts_left": view.attempts_left,
        "amount_minor": view.amount_minor,
        "currency": view.currency,
        "tracking": view.tracking,
        "reason": view.reason,
    }
