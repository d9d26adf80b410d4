"""The buyer's orders: look, pay, cancel. "Not yours" and "not there" are one answer, because the query itself asks for the owner.

While the recorder has not written an order, the gate's receipt answers (CONFIRMING); see orders_view.py for what happens when
neither store knows it. The ledger gone: 503 with Retry-After; nothing here guesses.

What is done with an order (`status_of`, `pay_for`, `give_back`) does not care by which door its reader came: `Look` says who it is.
The other door is the secret link, in keepsake.py.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from litestar import Response, get, post
from litestar.params import FromPath

from app.clock import now_ms
from app.domain.drops import fee_in
from app.domain.ids import drop_of, parse_order_id
from app.domain.orders import CONFIRMING, OrderState
from app.errors import BadInput, NotFound
from app.languages import _
from app.ledger import KeptAddress, OrderRow, Submitted
from app.payments.stripe_provider import to_stripe
from app.web.address_fields import carries_address, give_address
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, document, redirect, shopper_of
from app.web.history import own_history
from app.web.orders_view import CHOICES, LOST, LOST_SECONDS, order_document, recorded, unrecorded
from app.web.render import CardForm, OrderView, PaymentChoice

ORDERS_MAX = 100
METHOD_CHARACTERS_MAX = 64
STRIPE_SCRIPT = "https://js.stripe.com/clover/stripe.js"


class Own(NamedTuple):
    """An order that its reader may act on."""

    order_id: UUID
    shopper_id: int  # its owner, in whose name it is acted on
    view: OrderView


Look = Callable[[], Awaitable[Own]]  # the order as it is now; NotFound for whoever has no business with it


@get("/orders")
async def list_orders(call: ThisCall, doors: TheseDoors) -> Response:
    rows = await doors.ledger.orders_of(shopper_of(call).shopper_id, ORDERS_MAX)
    views = [recorded(row) for row in rows]
    if call.wants_json:
        return document({"orders": [order_document(view) for view in views]})
    return doors.page(call, "orders.html", orders=views)


@get("/orders/{order:str}")
async def show_order(order: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return await checkout(await own_order(order, call, doors), call, doors)


@get("/orders/{order:str}/status")
async def show_status(order: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return status_of(await own_order(order, call, doors), call, doors)


@post("/orders/{order:str}/pay", status_code=202)
async def pay(order: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return await pay_for(lambda: own_order(order, call, doors), call, doors)


@post("/orders/{order:str}/cancel", status_code=200)
async def cancel(order: FromPath[str], call: ThisCall, doors: TheseDoors) -> Response:
    return await give_back(lambda: own_order(order, call, doors), call, doors)


async def checkout(own: Own, call: Call, doors: Doors) -> Response:
    """The order's page."""
    view = with_card_form(own.view, doors)
    if call.query("back") and view.authenticate_url is not None:
        await doors.jobs.look_up(own.order_id, now_ms())  # back from the bank: ask how it ended; the sweeper asks too
    if call.wants_json or call.partial:
        return status_of(own, call, doors)
    call.card_form = view.card_form is not None
    return doors.page(call, "order.html", order=view, cards=choices(doors), notice=view.notice)


def status_of(own: Own, call: Call, doors: Doors) -> Response:
    return document(order_document(own.view)) if call.wants_json else status_fragment(doors, own.view)


async def pay_for(look: Look, call: Call, doors: Doors) -> Response:
    own = order_id, shopper_id, view = await look()
    method = payment_method(call)
    if view.state in (CONFIRMING, LOST):
        return told(call, doors, view, 409, {"state": view.state})
    if view.authenticate_url is not None:
        return told(call, doors, view, 202, {"authenticate": view.authenticate_url})
    if view.can_pay and view.ships and not await has_address(call, doors, own):
        return redirect(call, f"{view.url}/address")
    if not await costs_as_shown(call, look):
        return told(call, doors, (await look()).view, 409, {"state": view.state, "reason": "amount_changed"})
    submitted = await doors.till.submit(order_id, shopper_id, method)
    view = (await look()).view
    if isinstance(submitted, Submitted):
        return told(call, doors, view, 202, {"state": OrderState.PROCESSING})
    return told(call, doors, view, 409, {"state": view.state})


async def give_back(look: Look, call: Call, doors: Doors) -> Response:
    order_id, shopper_id, view = await look()
    if view.state in (CONFIRMING, LOST):
        return told(call, doors, view, 409, {"state": view.state})
    state = await doors.till.cancel(order_id, shopper_id)
    view = (await look()).view
    return told(call, doors, view, 200 if state is OrderState.CANCELLED else 409, {"state": view.state})


async def own_order(text: str, call: Call, doors: Doors) -> Own:
    """-> the order as its owner may see it; NotFound for everything else, a malformed id included."""
    shopper_id = shopper_of(call).shopper_id
    try:
        order_id = parse_order_id(text)
    except BadInput as error:
        raise NotFound(text) from error
    row = await doors.ledger.order_for(order_id, shopper_id)
    if row is None:
        return Own(order_id, shopper_id, await unwritten_order(order_id, shopper_id, call, doors))
    view = await with_history(recorded(row), order_id, doors)
    if view.ships and view.can_pay and view.address is None:
        view = with_kept(view, row, next(iter(await doors.ledger.addresses_of(shopper_id)), None))
    return Own(order_id, shopper_id, view)


def with_kept(view: OrderView, row: OrderRow, kept: KeptAddress | None) -> OrderView:
    """-> the order with the address that paying would take over, and what sending there costs; none where it is not sent."""
    fee = None if kept is None else fee_in(row.shipping_fees, kept.address.country)
    if fee is None or row.shipping_countries is not None and kept.address.country not in row.shipping_countries:
        return view
    return replace(view, kept=kept, fee_quoted=fee)


async def has_address(call: Call, doors: Doors, own: Own) -> bool:
    """Is it known where this order goes? A payment may carry the address along."""
    if carries_address(call):
        return await give_address(call, doors, own.order_id, own.shopper_id, keep=not own.view.link)
    if own.view.address is None and call.wants_json:
        raise BadInput("Say where it goes before you pay.", field="address")
    return own.view.address is not None


async def costs_as_shown(call: Call, look: Look) -> bool:
    """Is the amount still the one that stood on the button? Another tab may have sent it elsewhere meanwhile."""
    shown = call.fields().get("amount")
    return shown in (None, "") or str(shown) == str((await look()).view.amount_minor)


async def unwritten_order(order_id: UUID, shopper_id: int, call: Call, doors: Doors) -> OrderView:
    """The ledger has no such order of this shopper: does the gate, or does this browser hold our own word for it?"""
    drop = await doors.catalogue.find_by_id(drop_of(order_id))
    if drop is None:
        raise NotFound("no such drop")
    token = call.query("t")
    word = doors.order_tokens.read(token)
    receipt = await doors.gate.receipt(drop.id, order_id)
    if receipt is not None and receipt.buyer == shopper_id:
        return unrecorded(order_id, drop, receipt, lost=False, token=token if word else "")
    match word:
        case [named_order, named_shopper, named_drop, reserved_ms] if [named_order, named_shopper, named_drop] == [
            str(order_id),
            shopper_id,
            drop.id,
        ]:
            row = await doors.ledger.order_for(order_id, shopper_id)  # written between the two looks
            if row is not None:
                return recorded(row)
            return unrecorded(order_id, drop, None, lost=now_ms() - reserved_ms > LOST_SECONDS * 1000, token=token)
    raise NotFound("no such order")


def told(call: Call, doors: Doors, view: OrderView, status: int, body: dict) -> Response:
    """The outcome of an action: JSON, the fragment with the same status, or back to the order's page."""
    if call.wants_json:
        return document(body, status=status)
    if call.partial:
        return status_fragment(doors, view, status=status)
    return redirect(call, view.url)


def status_fragment(doors: Doors, view: OrderView, status: int = 200) -> Response:
    view = with_card_form(view, doors)
    return doors.fragment("order_status.html", status=status, order=view, cards=choices(doors), notice=view.notice)


async def with_history(view: OrderView, order_id: UUID, doors: Doors) -> OrderView:
    history = own_history(await doors.ledger.events_of(order_id), view.currency, view.reserved_at)
    papers = tuple(await doors.ledger.invoices_of(order_id)) if view.paid_at else ()
    return replace(view, history=history, papers=papers)


def with_card_form(view: OrderView, doors: Doors) -> OrderView:
    """-> the order with the provider's own card form, where there is one and a card may still be asked for."""
    key = doors.settings.stripe_publishable_key
    if not key or not view.moving:
        return view
    form = CardForm(STRIPE_SCRIPT, key, to_stripe(view.to_pay_minor, view.currency), view.currency.lower())
    return replace(view, card_form=form)


def choices(doors: Doors) -> tuple[PaymentChoice, ...]:
    """Test cards, wherever the provider is a test one without a form of its own."""
    if doors.settings.stripe_publishable_key:
        return ()
    key = doors.settings.stripe_secret_key
    offered = CHOICES if not doors.settings.production or key.startswith("sk_test_") else ()
    return tuple(PaymentChoice(choice.value, _(choice.label)) for choice in offered)


def payment_method(call: Call) -> str:
    method = call.text_field("payment_method", METHOD_CHARACTERS_MAX)
    if not method or not method.replace("_", "a").isalnum() or not method.isascii():
        raise BadInput("choose a payment method", field="payment_method")
    return method
