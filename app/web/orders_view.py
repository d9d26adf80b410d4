"""An order in the words and fields of its owner: the page's view and the contract's JSON.

Three sources, in this order: the ledger's row; the gate's receipt while the recorder has not written it (CONFIRMING); and, when
neither store knows an order that the shop itself announced more than LOST_SECONDS ago, nothing: the place was lost when the gate
lost its memory, and nothing was charged (LOST).
"""

from typing import Any
from uuid import UUID

from app.clock import from_ms, iso, now
from app.domain.addresses import as_stored
from app.domain.drops import Drop
from app.domain.money import included_tax
from app.domain.orders import CONFIRMING, GIVEN_BACK, AttemptState, MoneyState, OrderState, Refusal
from app.gate import Receipt
from app.languages import N_, _
from app.ledger import OrderRow
from app.web.render import OrderView, PaymentChoice

LOST = "LOST"
LOST_SECONDS = 10.0

CHOICES = (
    PaymentChoice("pm_card_visa", N_("Visa that works")),
    PaymentChoice("pm_card_mastercard", N_("Mastercard that works")),
    PaymentChoice("pm_card_authenticationRequired", N_("A card that asks you to authenticate")),
    PaymentChoice("pm_card_chargeDeclined", N_("A card that is declined")),
)

WORDS = {
    CONFIRMING: (N_("It is yours"), N_("We are writing your order down. This takes a moment.")),
    LOST: (N_("We lost your place"), N_("The shop had to restart its counter before your order was written down.")),
    OrderState.PENDING_PAYMENT: (N_("It is yours"), N_("Pay before the ring is empty, or the piece goes to the next person.")),
    OrderState.PROCESSING: (
        N_("Talking to the bank"),
        N_("Your payment is on its way. This page tells you as soon as it is through."),
    ),
    OrderState.PAID: (N_("Paid"), N_("It is yours for good. A confirmation is on its way to you by e-mail.")),
    OrderState.EXPIRED: (N_("Your hold ended"), N_("The time to pay ran out and the piece went back on sale.")),
    OrderState.FAILED: (N_("Payment did not work"), N_("No attempt went through and the piece went back on sale.")),
    OrderState.CANCELLED: (N_("Given back"), N_("The piece is on sale again.")),
    OrderState.REFUNDED: (N_("Refunded"), N_("You paid, and the whole amount was returned.")),
    OrderState.REFUSED: (N_("It did not work out"), N_("We are sorry: this order could not be kept.")),
}
REFUSED_WORDS = {
    Refusal.GATE_LEAKED: N_("We are sorry: our counter gave away a piece that was sold already."),
    Refusal.DUPLICATE_BUYER: N_("You have another order in this drop that reaches the limit per person."),
}
OFFER_WORDS = {  # of units that were held for a place of the list
    OrderState.PENDING_PAYMENT: (
        N_("It’s your turn"),
        N_("A piece came back and is held for you. Pay before the ring is empty, or it goes to the next on the list."),
    ),
    OrderState.EXPIRED: (N_("Your turn has passed"), N_("The time to pay ran out and the piece went to the next on the list.")),
    OrderState.CANCELLED: (N_("Given back"), N_("The piece goes to the next on the list.")),
}
LATE_WORDS = N_("The payment came through after the piece had gone back on sale.")
UNKNOWN_WORDS = N_("The payment provider has not answered yet. We ask until it does; you are never charged twice.")
AUTHENTICATE_WORDS = N_("Your bank asks you to confirm this payment. Follow the link, then come back here.")
DECLINE_WORDS = {
    "insufficient_funds": N_("The card has insufficient funds."),
    "expired_card": N_("The card has expired."),
    "incorrect_cvc": N_("The card's security code was wrong."),
    "invalid_payment_method": N_("That card has to be entered anew."),
    "authentication_unavailable": N_("Your bank has no page on which it could ask you about this card."),
    "payment_intent_authentication_failure": N_("Your bank did not confirm that it is you."),
}


def recorded(row: OrderRow) -> OrderView:
    """The ledger's row -> the view."""
    waiting = row.state is OrderState.PENDING_PAYMENT
    submitted = waiting and row.attempt_state is AttemptState.OPEN
    authenticate_url = row.action_url if waiting and row.attempt_state is AttemptState.ACTION else None
    declined = waiting and row.attempt_n is None and row.attempts > 0
    title, detail = map(_, words_for(row, submitted, authenticate_url is not None))
    return OrderView(
        id=str(row.order_id),
        drop_slug=row.drop_slug,
        drop_title=row.drop_title,
        variant=row.variant,
        quantity=row.quantity,
        state=(OrderState.PROCESSING if submitted else row.state).value,  # a submitted payment is under way, claimed or not
        payment=row.payment.value,
        pay_by=row.pay_by,
        hold_seconds=max(1.0, (row.pay_by - row.reserved_at).total_seconds()),
        reserved_at=row.reserved_at,
        attempts_left=row.attempts_left,
        amount_minor=row.amount_minor,
        currency=row.currency,
        tracking=row.tracking,
        reason=row.reason,
        authenticate_url=authenticate_url,
        title=title,
        detail=detail,
        notice=declined_words(row.decline_reason) if declined else None,
        can_pay=waiting and row.attempt_n is None and row.attempts_left > 0 and row.pay_by > now(),
        can_cancel=waiting and not submitted,
        moving=row.state in (OrderState.PENDING_PAYMENT, OrderState.PROCESSING),
        offered=row.offered,
        wristband=row.wristband,
        wristbands=row.wristbands,
        ships=row.ships,
        address=row.address,
        can_send=row.ships and (waiting and not submitted or row.state is OrderState.PAID and row.parcel in (None, "waiting")),
        paid_at=row.paid_at,
        shop_name=row.shop_name,
        contact=row.contact,
        shop_id=row.shop_id,
        shipping_minor=row.shipping_minor,
        tax_basis_points=row.tax_basis_points,
        law=tuple(row.law),
        shipping_asked=waiting and row.shipping_fees is not None and row.address is None,
    )


def words_for(row: OrderRow, submitted: bool, authenticating: bool) -> tuple[str, str]:
    """-> title and detail of a recorded order, as the catalog knows them."""
    title, detail = OFFER_WORDS.get(row.state, WORDS[row.state]) if row.offered else WORDS[row.state]
    if row.state is OrderState.REFUSED and row.reason in REFUSED_WORDS:
        return title, REFUSED_WORDS[Refusal(row.reason)]
    if row.state in GIVEN_BACK and row.payment in (MoneyState.CAPTURED, MoneyState.PART_REFUNDED, MoneyState.REFUNDED):
        return title, LATE_WORDS
    if row.state is OrderState.PROCESSING and row.payment is MoneyState.UNKNOWN:
        return title, UNKNOWN_WORDS
    if authenticating:
        return N_("Confirm your payment"), AUTHENTICATE_WORDS
    return WORDS[OrderState.PROCESSING] if submitted else (title, detail)


def declined_words(reason: str | None) -> str:
    return _(DECLINE_WORDS.get(reason or "", N_("That card was declined.")))


def unrecorded(order_id: UUID, drop: Drop, receipt: Receipt | None, *, lost: bool, token: str) -> OrderView:
    """An order that the ledger does not have: the gate's receipt says what it is, without one only that there was one."""
    variant = next(
        (variant for variant in drop.variants if receipt is not None and variant.id == receipt.variant_id), drop.variants[0]
    )
    quantity = receipt.quantity if receipt is not None else 1
    title, detail = map(_, WORDS[LOST if lost else CONFIRMING])
    return OrderView(
        id=str(order_id),
        drop_slug=drop.slug,
        drop_title=drop.title,
        variant=variant.name,
        quantity=quantity,
        state=LOST if lost else CONFIRMING,
        payment=MoneyState.NONE.value,
        pay_by=from_ms(receipt.pay_by_ms) if receipt is not None else None,
        hold_seconds=drop.hold_seconds,
        reserved_at=None,
        attempts_left=0 if lost else drop.payment_attempts,
        amount_minor=drop.price_minor * quantity,
        currency=drop.currency,
        tracking=None,
        reason="gate_lost" if lost else None,
        authenticate_url=None,
        title=title,
        detail=detail,
        notice=None,
        can_pay=False,
        can_cancel=False,
        moving=not lost,
        token=token,
        ships=drop.ships,
        shop_name=drop.shop_name,
        shop_id=drop.shop_id,
        tax_basis_points=drop.tax_basis_points,
        law=drop.law,
    )


def order_document(view: OrderView) -> dict[str, Any]:
    """The public contract's order; one that ships says where it goes and what of the amount that costs, one with a rate its tax."""
    more: dict[str, Any] = {}
    if view.ships:
        more |= {"address": None if view.address is None else as_stored(view.address), "shipping_minor": view.shipping_minor}
    if view.tax_basis_points:
        more["tax_minor"] = included_tax(view.amount_minor, view.tax_basis_points)
    return more | {
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
