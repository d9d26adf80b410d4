"""Orders, refunds, mails and parcels, and what needs a person: the same purchase calls as the dashboard's pages make."""

from uuid import UUID

from app.domain.addresses import Address, as_stored
from app.domain.money import included_tax
from app.domain.scopes import Scope
from app.errors import BadInput, NotFound
from app.languages import N_
from app.ledger import OrderFilter, OrderLine, Spot, Story, order_number
from app.purchase.tending import refund_now, submit_parcel_again
from app.web.api import shapes
from app.web.api.operation import Ask, operation
from app.web.api.paging import YEARS, cursor_of, place_in
from app.web.problems import Problem, Refused
from app.web.seller.attention import SHOWN_MAX
from app.web.seller.orders import audited, own_order, story_of

NO_MAIL_AGAIN = N_("This mail was not sent: it is not true any more, or it went out often enough this hour.")
NO_PARCEL_AGAIN = N_("Nothing was submitted: the parcel is made or withdrawn, or somebody acts on it just now.")
NO_MOMENT = N_("This time is too far away.")


@operation("GET", "/orders", scope=Scope.ORDERS, title="List orders", query=shapes.OrdersWanted, answer=shapes.Orders)
async def list_orders(ask: Ask) -> shapes.Orders:
    """The shop's orders, newest first; a page costs the same however many there are."""
    wanted, place = ask.query, place_in(ask.query.cursor, tuple[shapes.Moment, UUID])
    for field in ("since", "until"):
        moment = getattr(wanted, field)
        if moment is not None and moment.year not in YEARS:
            raise BadInput(NO_MOMENT, field=field)
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
    return story_told(await story_of(ask.path["order_id"], ask.doors, ask.key))


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
    told = await refund_now(
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
        raise Refused(Problem(409, NO_MAIL_AGAIN))
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
        await submit_parcel_again(doors.office, doors.jobs, row.order_id, parcel_dead_seconds=doors.settings.parcel_dead_seconds)
    except (BadInput, NotFound) as error:
        raise Refused(Problem(409, NO_PARCEL_AGAIN)) from error
    await audited(doors, ask.key, "parcel submitted again", row, {"parcel": row.parcel}, None)
    return shapes.Done(done=True)


@operation("GET", "/attention", scope=Scope.ORDERS, title="What needs a person", answer=shapes.Attention)
async def get_attention(ask: Ask) -> shapes.Attention:
    """Payments, refunds and parcels that nobody can decide about, and mails that did not arrive. The dashboard offers what may be
    done."""
    ledger, shop_id = ask.doors.office.ledger, ask.key.shop_id
    found, mails = await ledger.shop_attention(shop_id, SHOWN_MAX + 1), await ledger.shop_undelivered(shop_id, SHOWN_MAX + 1)
    return shapes.Attention(
        items=[
            shapes.Trouble(
                kind=one.kind,
                order_id=one.order_id,
                drop=one.drop_slug,
                state=one.state,
                payment=one.payment,
                purpose=one.purpose,
                parcel=one.parcel,
                why=one.why,
                asked_again=one.asked_again,
                reference=one.reference,
                amount_minor=one.amount_minor,
                currency=one.currency,
                reserved_at=one.reserved_at,
            )
            for one in found[:SHOWN_MAX]
        ],
        mails=[
            shapes.Undelivered(
                id=one.id,
                kind=one.kind,
                order_id=one.order_id,
                recipient=one.recipient,
                state=one.state,
                error=one.error,
                created_at=one.created_at,
            )
            for one in mails[:SHOWN_MAX]
        ],
        more=len(found) > SHOWN_MAX or len(mails) > SHOWN_MAX,
    )


# ---- what they share


def address_told(address: Address | None) -> shapes.Address | None:
    return None if address is None else shapes.Address(**as_stored(address))


def line_told(line: OrderLine) -> shapes.OrderLine:
    return shapes.OrderLine(
        id=line.order_id,
        number=order_number(line.order_id),
        drop_id=line.drop_id,
        drop=line.drop_slug,
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
    )


def story_told(story: Story) -> shapes.Order:
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
    )


OPERATIONS = [list_orders, get_order, refund_order, resend_mail, resubmit_parcel, get_attention]
