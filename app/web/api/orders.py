"""Orders, refunds, holds, addresses, mails and parcels: the same purchase calls as the dashboard's pages make."""

import asyncio
from uuid import UUID

import msgspec

from app.domain.addresses import FIELDS, Address, address_from, as_stored
from app.domain.money import included_tax
from app.domain.scopes import Scope
from app.errors import BadInput, NotFound
from app.ledger import NumberedPaper, OrderFilter, OrderLine, OrderRow, Spot, Story, order_number
from app.purchase import refunding, tending
from app.web.api import shapes
from app.web.api.operation import Ask, File, changed_meanwhile, operation
from app.web.api.paging import YEARS, cursor_of, place_in
from app.web.api.plans import NO_MOMENT
from app.web.invoice_pdf import drawn
from app.web.law import PDF, invoice_named
from app.web.problems import Problem, Refused
from app.web.seller.orders import DONE, audited, can_correct, own_order, story_of, why_not_corrected

SPANS = ("since", "until")


@operation("GET", "/orders", scope=Scope.ORDERS, title="List orders", query=shapes.OrdersWanted, answer=shapes.Orders)
async def list_orders(ask: Ask) -> shapes.Orders:
    """The shop's orders, newest first; a page costs the same however many there are."""
    wanted, place = ask.query, place_in(ask.query.cursor, tuple[shapes.Moment, UUID])
    check_span(wanted)
    sought = OrderFilter(
        drop_id=wanted.drop,
        words=wanted.q,
        state=wanted.state,
        payment=wanted.payment,
        parcel=wanted.parcel,
        variant_id=wanted.variant,
        since=wanted.since,
        until=wanted.until,
    )
    page = await ask.doors.office.ledger.shop_orders(ask.key.shop_id, sought, wanted.limit, older_than=place and Spot(*place))
    following = cursor_of(*page.lines[-1].spot) if page.older and page.lines else None
    return shapes.Orders(items=[line_told(line) for line in page.lines], next=following, cut=page.cut)


@operation("GET", "/orders/{order_id:str}", scope=Scope.ORDERS, title="Get an order", answer=shapes.Order)
async def get_order(ask: Ask) -> shapes.Order:
    """One order with everything that happened to it."""
    return await order_told(ask)


@operation(
    "POST",
    "/orders/{order_id:str}/refund",
    scope=Scope.MONEY,
    title="Refund",
    body=shapes.NewRefund,
    answer=shapes.WantedRefund,
    status=202,
)
async def refund_order(ask: Ask) -> shapes.WantedRefund:
    """Money goes back to the card it came from: all that is left, or a part. A worker asks the provider until it confirms; the
    order shows it as done then. It cannot be undone."""
    story = await story_of(ask.path["order_id"], ask.doors, ask.key)
    order, wanted = story.order, ask.body
    told = await tending.refund_now(
        ask.doors.office,
        ask.doors.jobs,
        order.order_id,
        amount_minor=wanted.amount_minor,
        restock=wanted.restock,
        wish=ask.wish.hex,
    )
    if not told.repeated:
        after = {"amount_minor": told.amount_minor, "currency": told.currency, "restock": told.restock, "purpose": told.purpose}
        await audited(ask.doors, ask.key, "refunded", order, {"left_minor": story.left_minor}, after)
    return shapes.WantedRefund(
        order_id=told.order_id,
        purpose=told.purpose,
        amount_minor=told.amount_minor,
        currency=told.currency,
        restock=told.restock,
        repeated=told.repeated,
    )


@operation(
    "POST",
    "/orders/{order_id:str}/mails/{mail_id:int}/resend",
    scope=Scope.ORDERS,
    title="Send a mail again",
    answer=shapes.Done,
    status=202,
)
async def resend_mail(ask: Ask) -> shapes.Done:
    """A confirmation, a notice of a parcel or of money on its way, once more to where the buyer reads mail now."""
    story, mail_id = await story_of(ask.path["order_id"], ask.doors, ask.key), ask.path["mail_id"]
    if mail_id not in {mail.id for mail in story.mails}:
        raise NotFound("no such mail")
    if not await ask.doors.office.ledger.send_again(ask.key.shop_id, story.order.order_id, mail_id, ask.wish.hex):
        raise Refused(Problem(409, DONE["no-mail"][1]))
    await ask.doors.jobs.deliver()
    await audited(ask.doors, ask.key, "mail sent again", story.order, None, {"mail": mail_id})
    return shapes.Done(done=True)


@operation(
    "POST",
    "/orders/{order_id:str}/parcel/resubmit",
    scope=Scope.ORDERS,
    title="Submit a parcel again",
    answer=shapes.Done,
    status=202,
)
async def resubmit_parcel(ask: Ask) -> shapes.Done:
    """The warehouse is asked for its list first; only if there is no parcel yet is one made."""
    row, doors = await own_order(ask.path["order_id"], ask.doors, ask.key), ask.doors
    try:
        await tending.submit_parcel_again(
            doors.office, doors.jobs, row.order_id, parcel_dead_seconds=doors.settings.parcel_dead_seconds
        )
    except (BadInput, NotFound) as error:
        raise Refused(Problem(409, DONE["no-parcel"][1])) from error
    await audited(doors, ask.key, "parcel submitted again", row, {"parcel": row.parcel}, None)
    return shapes.Done(done=True)


@operation("POST", "/orders/{order_id:str}/cancel", scope=Scope.ORDERS, title="End a hold", answer=shapes.EndedOrder)
async def end_hold(ask: Ask) -> shapes.EndedOrder:
    """An order that is not paid ends now, and its pieces go back on sale or to whoever is next on the list. Payment attempts are
    cancelled at the provider first: if one goes through before, the order stays and is paid."""
    row, doors = await own_order(ask.path["order_id"], ask.doors, ask.key), ask.doors
    hold = await tending.end_hold(doors.office, doors.till, row.order_id)
    if not hold.ended:
        raise Refused(Problem(409, DONE["not-cancelled"][1]))
    if row.state is not hold.state:
        await audited(doors, ask.key, "hold ended", row, {"state": row.state}, {"state": hold.state})
    return ended_told(await own_order(ask.path["order_id"], doors, ask.key))


@operation(
    "POST",
    "/orders/{order_id:str}/give-back",
    scope=Scope.MONEY,
    title="Give pieces back unasked",
    answer=shapes.EndedOrder,
)
async def give_back_order(ask: Ask) -> shapes.EndedOrder:
    """Where nobody could learn whether the buyer was charged: the order ends and its pieces go back. The provider is asked on and
    on; should a charge come to light, it is refunded in full."""
    row, doors = await own_order(ask.path["order_id"], ask.doors, ask.key), ask.doors
    if not await refunding.give_back_unasked(doors.office, row.order_id):
        raise Refused(Problem(409, DONE["not-given-back"][1]))
    ended = await own_order(ask.path["order_id"], doors, ask.key)
    await audited(doors, ask.key, "given back unasked", row, {"state": row.state}, {"state": ended.state})
    return ended_told(ended)


@operation(
    "POST", "/orders/{order_id:str}/ask-again", scope=Scope.ORDERS, title="Ask outside again", answer=shapes.Done, status=202
)
async def ask_order_again(ask: Ask) -> shapes.Done:
    """Whatever is unknown about the order (a charge, a refund, a parcel) is asked again now, not when its turn comes."""
    row, doors = await own_order(ask.path["order_id"], ask.doors, ask.key), ask.doors
    if not await refunding.ask_again(doors.office.ledger, row.order_id):
        raise Refused(Problem(409, DONE["not-asked"][1]))
    await audited(doors, ask.key, "asked again", row, None, None)
    return shapes.Done(done=True)


@operation("POST", "/orders/{order_id:str}/looked-at", scope=Scope.MONEY, title="Mark an order as looked at", answer=shapes.Done)
async def look_at_order(ask: Ask) -> shapes.Done:
    """A person has seen to its payment or parcel, and it leaves the list of what needs one. What is unknown still stays there."""
    story, doors = await story_of(ask.path["order_id"], ask.doors, ask.key), ask.doors
    done = await doors.office.ledger.looked_at(story.order.order_id)
    if done:
        await audited(doors, ask.key, "looked at", story.order, {"why": [found.why for found in story.attention]}, None)
    elif story.attention:
        raise Refused(Problem(409, DONE["not-seen"][1]))
    return shapes.Done(done=done)


@operation(
    "POST",
    "/orders/{order_id:str}/address",
    scope=Scope.ORDERS,
    title="Correct an address",
    body=shapes.AddressCorrection,
    answer=shapes.Order,
)
async def correct_address(ask: Ask) -> shapes.Order:
    """Where the order goes, until the warehouse knows of its parcel. `known` is the address that was read: if the buyer has changed
    it meanwhile nothing is overwritten, and 409 says what stands there now."""
    text, doors, key = ask.path["order_id"], ask.doors, ask.key
    story = await story_of(text, doors, key)
    address = address_from(msgspec.structs.asdict(ask.body.address))
    if story.order.address == address:
        return await order_told(ask)
    known = ask.body.known and Address(**msgspec.structs.asdict(ask.body.known))
    if await doors.office.ledger.correct_address(key.shop_id, story.order.order_id, address, known):
        changed = [name for name in FIELDS if known is None or getattr(known, name) != getattr(address, name)]
        await audited(doors, key, "address corrected", story.order, None, {"changed": changed})  # never what it says
        return await order_told(ask)
    story = await story_of(text, doors, key)
    if can_correct(story) and story.order.address != known:
        raise changed_meanwhile(address=address_told(story.order.address))
    raise Refused(Problem(409, why_not_corrected(story, address)))


@operation(
    "GET",
    "/orders/{order_id:str}/invoices/{name:str}",
    scope=Scope.ORDERS,
    title="Get an invoice",
    answer=File,
    media=PDF,
)
async def get_invoice(ask: Ask) -> File:
    """An invoice or a correction as a PDF, by its number: 2026-000012.pdf; or invoice.pdf for the order's invoice."""
    row = await own_order(ask.path["order_id"], ask.doors, ask.key)
    invoice = await invoice_named(ask.doors.office.ledger, row, ask.path["name"])
    return File(f"{invoice.number}.pdf", await asyncio.to_thread(drawn, invoice, "" if invoice.buyer else row.email))


# ---- what they share


def check_span(wanted: shapes.OrdersWanted | shapes.MovesWanted) -> None:
    """BadInput for a time that no order can have."""
    for field in SPANS:
        moment = getattr(wanted, field)
        if moment is not None and moment.year not in YEARS:
            raise BadInput(NO_MOMENT, field=field)


def address_told(address: Address | None) -> shapes.Address | None:
    return None if address is None else shapes.Address(**as_stored(address))


def line_told(line: OrderLine) -> shapes.OrderLine:
    return shapes.OrderLine(
        id=line.order_id,
        number=order_number(line.order_id),
        drop_id=line.drop_id,
        drop=line.drop_slug,
        drop_title=line.drop_title,
        variant=line.variant,
        quantity=line.quantity,
        state=line.state,
        reason=line.reason,
        amount_minor=line.amount_minor,
        currency=line.currency,
        payment=line.payment,
        captured_minor=line.captured_minor,
        refunded_minor=line.refunded_minor,
        email=line.email,
        address=address_told(line.address),
        parcel=line.parcel,
        tracking=line.tracking,
        reserved_at=line.reserved_at,
        paid_at=line.paid_at,
        ended_at=line.ended_at,
        shipping_minor=line.shipping_minor,
        tax_basis_points=line.tax_basis_points,
        tax_minor=included_tax(line.amount_minor, line.tax_basis_points),
        parcel_number=line.parcel_number,
        payment_reference=line.intent_id,
        invoice=line.invoice or None,
    )


def ended_told(row: OrderRow) -> shapes.EndedOrder:
    return shapes.EndedOrder(
        id=row.order_id,
        number=order_number(row.order_id),
        state=row.state.value,
        reason=row.reason,
        payment=row.payment.value,
        ended_at=row.ended_at,
    )


async def order_told(ask: Ask) -> shapes.Order:
    story = await story_of(ask.path["order_id"], ask.doors, ask.key)
    return story_told(story, await ask.doors.office.ledger.invoices_of(story.order.order_id))


def story_told(story: Story, papers: list[NumberedPaper]) -> shapes.Order:
    order = story.order
    return shapes.Order(
        id=order.order_id,
        number=order_number(order.order_id),
        drop_id=order.drop_id,
        drop=order.drop_slug,
        variant=order.variant,
        quantity=order.quantity,
        state=order.state.value,
        reason=order.reason,
        amount_minor=order.amount_minor,
        shipping_minor=order.shipping_minor,
        tax_minor=included_tax(order.amount_minor, order.tax_basis_points),
        currency=order.currency,
        payment=order.payment.value,
        left_to_refund_minor=story.left_minor,
        email=order.email,
        address=address_told(order.address),
        parcel=order.parcel,
        tracking=order.tracking,
        reserved_at=order.reserved_at,
        pay_by=order.pay_by,
        paid_at=order.paid_at,
        ended_at=order.ended_at,
        attempts=[
            shapes.Attempt(n=one.n, state=one.state, reason=one.reason, submitted_at=one.submitted_at) for one in story.attempts
        ],
        refunds=[
            shapes.Refund(
                purpose=one.purpose,
                amount_minor=one.amount_minor,
                restock=one.restock,
                state=one.state,
                wanted_at=one.wanted_at,
                done_at=one.done_at,
            )
            for one in story.refunds
        ],
        mails=[
            shapes.Mail(
                id=one.id, kind=one.kind, recipient=one.recipient, state=one.state, created_at=one.created_at, sent_at=one.sent_at
            )
            for one in story.mails
        ],
        events=[shapes.Event(kind=one.kind, by=str(one.detail.get("by", "")), at=one.at) for one in story.events],
        attention=[one.why for one in story.attention],
        invoices=[
            shapes.Paper(
                number=one.number,
                correction=one.corrects,
                amount_minor=one.amount_minor,
                tax_minor=one.tax_minor,
                currency=one.currency,
                made_at=one.made_at,
            )
            for one in papers
        ],
    )


OPERATIONS = [
    list_orders,
    get_order,
    refund_order,
    end_hold,
    give_back_order,
    ask_order_again,
    look_at_order,
    correct_address,
    resend_mail,
    resubmit_parcel,
    get_invoice,
]
