"""Orders as the seller works with them: the list with search and filters, one order's whole story, and what may be done with it.

Guarantees: what is not of this seller's shop is answered as what does not exist, whatever is asked of it. Whatever moves money or
ends an order says first what will happen; a form sent twice happens once (the wish it carries is the key). What an order's state
forbids changes nothing and is said. A page of the list costs the same with ten orders and with a hundred thousand.

The provider, the warehouse and the queue are never waited for here, but for one thing: a hold with payment attempts ends only when
the provider has cancelled its payment, and where it gives no answer the order says so. The ledger gone: 503.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode
from uuid import UUID, uuid4

from babel.numbers import get_decimal_symbol
from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.addresses import FIELDS, Address, address_from, as_stored
from app.domain.drops import Drop, fee_in
from app.domain.ids import parse_order_id
from app.domain.money import as_decimal, minor_of, read_amount
from app.domain.orders import OrderState
from app.domain.roles import Right
from app.errors import BadInput, NotFound
from app.languages import N_, _, money, spoken
from app.ledger import OrderFilter, OrderPage, OrderRow, Seller, Spot, Story, order_number
from app.ledger.refunds import PART, WHOLE
from app.ledger.shop_orders import FOUND_MAX, SEARCH_CHARACTERS_MAX, SENDABLE, WISH_CHARACTERS_MAX
from app.purchase.refunding import ask_again, give_back_unasked
from app.purchase.tending import end_hold, refund_now, submit_parcel_again
from app.web.address_fields import countries_in
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall, redirect
from app.web.seller.access import PREFIX, ThisSeller
from app.web.seller.confirm import ask_first, is_sure
from app.web.seller.telling import PARCELS, PAYMENTS, STATES, Teller

PAGE_ORDERS = 50
DROPS_CHOICE_MAX = 200
AMOUNT_CHARACTERS_MAX = 20
YEARS = range(2000, 2200)

DONE: Mapping[str, tuple[str, str]] = {  # what the page says after an action: tone and sentence
    "refund": ("yours", N_("The refund is on its way. This page shows when the provider has confirmed it.")),
    "refund-before": ("plain", N_("This refund was asked for before: nothing was refunded twice.")),
    "mail": ("yours", N_("The mail is on its way once more.")),
    "no-mail": ("wait", N_("This mail was not sent: it is not true any more, or it went out often enough this hour.")),
    "parcel": ("yours", N_("The warehouse is asked for its list; only if there is no parcel yet is one made.")),
    "no-parcel": ("wait", N_("Nothing was submitted: the parcel is made or withdrawn, or somebody acts on it just now.")),
    "asked": ("yours", N_("It is asked again now. This page shows the answer when it comes.")),
    "not-asked": ("plain", N_("Nothing is unknown about this order any more.")),
    "given-back": ("yours", N_("The pieces went back. Should a charge come to light, it is refunded.")),
    "not-given-back": ("wait", N_("Nothing was given back: the outcome is known by now, or not shown as unknown yet.")),
    "seen": ("yours", N_("Marked as looked at.")),
    "not-seen": ("wait", N_("It stays shown: its outcome is still unknown.")),
    "address": ("yours", N_("The parcel goes to the corrected address.")),
    "cancelled": ("yours", N_("The hold is ended and the pieces are on sale again.")),
    "not-cancelled": ("wait", N_("The hold was not ended: it is paid, over, or its payment is under way.")),
}


@dataclass(frozen=True, slots=True)
class ListForm:
    """What the list was asked for, as its form shows it again."""

    words: str
    drop: str
    state: str
    payment: str
    parcel: str
    variant: str
    since: str  # dates, in the shop's time zone
    until: str

    def fields(self, drop_id: int | None = None) -> list[tuple[str, str]]:
        """-> the form's fields, without those that are not set. `drop_id`: of the drop whose list it is."""
        named = [("q", self.words), ("drop", str(drop_id or self.drop)), ("state", self.state), ("payment", self.payment),
                 ("parcel", self.parcel), ("variant", self.variant), ("from", self.since), ("to", self.until)]  # fmt: skip
        return [(name, value) for name, value in named if value]

    @property
    def query(self) -> str:
        return urlencode(self.fields())

    def __bool__(self) -> bool:
        return bool(self.query)


# ---- the list


@get("/orders", right=Right.ORDERS)
async def list_orders(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    return await show_list(call, doors, seller, None)


@get("/drops/{drop_id:int}/orders", right=Right.ORDERS)
async def list_orders_of_drop(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop = await doors.office.ledger.seller_drop(seller.shop_id, drop_id)
    if drop is None:
        raise NotFound("no such drop")
    return await show_list(call, doors, seller, drop)


async def show_list(call: Call, doors: Doors, seller: Seller, drop: Drop | None) -> Response:
    asked, problem = asked_for(call, drop), None
    try:
        wanted = wanted_of(asked, seller, drop)
    except BadInput as error:
        wanted, problem = None, _(str(error))
    page = OrderPage([], newer=False, older=False, cut=False)
    if wanted is not None:
        older, newer = spot_of(call.query("older")), spot_of(call.query("newer"))
        page = await doors.office.ledger.shop_orders(seller.shop_id, wanted, PAGE_ORDERS, older_than=older, newer_than=newer)
    return doors.seller_page(
        call,
        seller,
        "seller/orders.html",
        title=_("Orders"),
        drop=drop,
        drops=[] if drop else await doors.office.ledger.shop_drops(seller.shop_id, DROPS_CHOICE_MAX),
        asked=asked,
        problem=problem,
        lines=page.lines,
        cut=FOUND_MAX if page.cut else 0,
        newer=page_url(call.path, asked, "newer", page.lines[0].spot) if page.newer and page.lines else None,
        older=page_url(call.path, asked, "older", page.lines[-1].spot) if page.older and page.lines else None,
        number=order_number,
        states=STATES,
        payments=PAYMENTS,
        parcels=PARCELS,
        tell=Teller(seller.time_zone),
        status=200 if problem is None else 422,
    )


def asked_for(call: Call, drop: Drop | None) -> ListForm:
    """-> what the address asks for; a word that no list knows is as if it were not there."""
    state, payment, parcel = call.query("state"), call.query("payment"), call.query("parcel")
    return ListForm(
        words=call.query("q").strip()[:SEARCH_CHARACTERS_MAX],
        drop="" if drop else call.query("drop") if is_number(call.query("drop")) else "",
        state=state if state in STATES else "",
        payment=payment if payment in PAYMENTS else "",
        parcel=parcel if parcel in PARCELS else "",
        variant=call.query("variant") if is_number(call.query("variant")) else "",
        since=call.query("from"),
        until=call.query("to"),
    )


def wanted_of(asked: ListForm, seller: Seller, drop: Drop | None) -> OrderFilter:
    """-> the same for the ledger; BadInput for dates that are none."""
    return OrderFilter(
        drop_id=drop.id if drop else int(asked.drop) if asked.drop else None,
        words=asked.words,
        state=asked.state or None,
        payment=asked.payment or None,
        parcel=asked.parcel or None,
        variant_id=int(asked.variant) if asked.variant else None,
        since=midnight(asked.since, seller),
        until=midnight(asked.until, seller, days=1),
    )


def midnight(typed: str, seller: Seller, *, days: int = 0) -> datetime | None:
    """'2026-11-30' -> the first moment of that day, or of one `days` later, in the shop's time zone. None: nothing was typed."""
    if not typed:
        return None
    try:
        found = date.fromisoformat(typed)
    except ValueError:
        found = None
    if found is None or found.year not in YEARS or len(typed) != len("2026-11-30"):
        raise BadInput(N_("A date looks like 2026-11-30."), field="from")
    return datetime.combine(found + timedelta(days=days), time(), Teller(seller.time_zone).zone).astimezone(UTC)


def spot_of(typed: str) -> Spot | None:
    """-> the place in the list that a link carries; None for none, and for what no link of ours carries: the list's start."""
    at, _mark, order_id = typed.partition("_")
    try:
        spot = Spot(datetime.fromisoformat(at), UUID(order_id))
    except ValueError:
        return None
    return spot if spot.reserved_at.tzinfo is not None and spot.reserved_at.year in YEARS else None


def page_url(path: str, asked: ListForm, side: str, spot: Spot) -> str:
    place = urlencode({side: f"{spot.reserved_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}_{spot.order_id}"})
    return f"{path}?{asked.query}&{place}" if asked.query else f"{path}?{place}"


def is_number(text: str) -> bool:
    """Whether it can be the number of a row."""
    return text.isascii() and text.isdigit() and 0 < int(text[:11]) < 2**31 and len(text) <= 10


# ---- one order


@get("/orders/{order:str}", right=Right.ORDERS)
async def show_order(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    story = await story_of(order, doors, seller)
    tell = Teller(seller.time_zone, posts=bool(doors.settings.smtp_url))
    told = {
        "story": story,
        "order": story.order,
        "lines": tell.history(story),
        "url": url_of(story.order),
        "wish": uuid4().hex,
        "sendable": SENDABLE,
        "moving": is_moving(story),
        "alone": call.partial,
        "tell": tell,
        "papers": await doors.office.ledger.invoices_of(story.order.order_id),
    }
    if call.partial:
        return doors.fragment("order_story.html", **told)
    number = order_number(story.order.order_id)
    return doors.seller_page(
        call,
        seller,
        "seller/order.html",
        title=_("Order %(number)s", number=number),
        number=number,
        troubles=[tell.trouble(found) for found in story.attention],
        done=DONE.get(call.query("done")),
        may_decide=seller.may(Right.MONEY),
        can_refund=story.left_minor > 0,
        can_cancel=can_cancel(story),
        can_correct=can_correct(story),
        **told,
    )


@get("/orders/{order:str}/refund", right=Right.MONEY)
async def ask_refund(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    story = await story_of(order, doors, seller)
    unpacked = story.parcel is None or (story.parcel.state == "waiting" and not story.parcel.creates)
    return refund_form(call, doors, seller, story, Wish(wish=uuid4().hex, restock=unpacked))


@dataclass(frozen=True, slots=True)
class Wish:
    """A refund as its form carries it."""

    wish: str = ""  # names this refund: sent twice, it is one
    whole: bool = True
    amount: str = ""  # as typed
    restock: bool = False
    left: str = ""  # minor units that were left when the seller was asked; "": nobody was asked


@post("/orders/{order:str}/refund", status_code=200, right=Right.MONEY)
async def refund(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    story = await story_of(order, doors, seller)
    wish = wish_of(call)
    purpose = WHOLE if wish.whole else f"{PART}{wish.wish}"
    if any(known.purpose == purpose for known in story.refunds):
        return to_order(call, story.order, "refund-before")
    try:
        amount = story.left_minor if wish.whole else amount_of(wish.amount, story)
    except BadInput as error:
        return refund_form(call, doors, seller, story, wish, problem=_(str(error)))
    if story.left_minor <= 0:
        return refund_form(call, doors, seller, story, wish)
    if not is_sure(call) or wish.left not in ("", str(story.left_minor)):
        return refund_check(call, doors, seller, story, wish, amount)
    part = None if wish.whole else amount
    wanted = await refund_now(
        doors.office, doors.jobs, story.order.order_id, amount_minor=part, restock=wish.restock, wish=wish.wish
    )
    if wanted.repeated:
        return to_order(call, story.order, "refund-before")
    after = {"amount_minor": wanted.amount_minor, "currency": wanted.currency, "restock": wanted.restock, "purpose": wanted.purpose}
    await audited(doors, seller, "refunded", story.order, {"left_minor": story.left_minor}, after)
    return to_order(call, story.order, "refund")


def wish_of(call: Call) -> Wish:
    wish = call.text_field("wish", WISH_CHARACTERS_MAX)
    if not wish.isalnum() or not wish.isascii():
        raise BadInput(N_("This form is not whole. Open it again."), field="wish")
    return Wish(
        wish=wish,
        whole=call.text_field("what", 10) != "part",
        amount=call.text_field("amount", AMOUNT_CHARACTERS_MAX).strip(),
        restock=call.text_field("restock", 10) == "yes",
        left=call.text_field("left", 12),
    )


def amount_of(typed: str, story: Story) -> int:
    """'19,50' or '19.50' -> minor units of the order's currency; BadInput for what is no amount, or more than is left."""
    currency = story.order.currency
    number = read_amount(typed, spoken().locale)
    amount = None if number is None else minor_of(number, currency)
    if amount is None:
        raise BadInput(_("Type an amount such as %(example)s.", example=example_of(story)), field="amount")
    if amount < 1:
        raise BadInput(_("Nothing would be given back."), field="amount")
    if amount > story.left_minor:
        left = money(story.left_minor, currency)
        raise BadInput(_("That is more than the %(left)s that are left to give back.", left=left), field="amount")
    return amount


def example_of(story: Story) -> str:
    """-> what is left, as the reader's language writes it: '39.00', '39,00'."""
    return f"{as_decimal(story.left_minor, story.order.currency):f}".replace(".", get_decimal_symbol(spoken().locale))


def refund_form(call: Call, doors: Doors, seller: Seller, story: Story, wish: Wish, problem: str | None = None) -> Response:
    return doors.seller_page(
        call,
        seller,
        "seller/refund.html",
        title=_("Refund"),
        status=200 if problem is None else 422,
        story=story,
        order=story.order,
        number=order_number(story.order.order_id),
        url=url_of(story.order),
        wish=wish,
        problem=problem,
        example=example_of(story),
        on_the_way=[refund for refund in story.refunds if refund.state == "wanted"],
        tell=Teller(seller.time_zone),
    )


def refund_check(call: Call, doors: Doors, seller: Seller, story: Story, wish: Wish, amount: int) -> Response:
    """The page that says what will happen."""
    changed = [_("Something about this order has changed since you looked: check it once more.")] if is_sure(call) else []
    return ask_first(
        call,
        doors,
        seller,
        title=_("Refund %(amount)s?", amount=money(amount, story.order.currency)),
        consequences=[*changed, *refund_points(story, wish, amount)],
        verb=_("Refund %(amount)s", amount=money(amount, story.order.currency)),
        back=url_of(story.order),
        fields={**call.fields(), "left": str(story.left_minor)},
    )


def refund_points(story: Story, wish: Wish, amount: int) -> list[str]:
    """-> what a refund will do, a sentence each."""
    order, stays = story.order, story.left_minor - amount
    back = money(amount, order.currency)
    points = [_("%(amount)s goes back to the card it came from. This cannot be undone.", amount=back)]
    if stays:
        points.append(
            _("%(left)s stay with you. The order stays paid and the pieces stay sold.", left=money(stays, order.currency))
        )
    elif order.state is OrderState.PAID:
        points.append(_("The order becomes refunded as soon as the provider confirms."))
        points.append(
            _("The pieces (%(units)s) go back on sale, or to whoever is next on the list.", units=order.quantity)
            if wish.restock
            else _("The pieces (%(units)s) do not go back on sale.", units=order.quantity)
        )
        parcel = story.parcel
        if parcel and parcel.state == "waiting" and not parcel.creates:
            points.append(_("There will be no parcel."))
        elif parcel and parcel.state != "withdrawn":
            points.append(
                _("The warehouse has the parcel or may have it: stop it there yourself. It will be listed under attention.")
            )
    points.append(_("The buyer is told by e-mail once the money is on its way."))
    return points


# ---- what else may be done


@post("/orders/{order:str}/cancel", status_code=200, right=Right.ORDERS)
async def cancel(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    row = await own_order(order, doors, seller)
    if not is_sure(call):
        consequences = [
            _("The pieces go back on sale at once, or to whoever is next on the list."),
            _("The buyer can no longer pay for this order."),
            _("If a payment goes through before the hold is ended, the order stays and is paid."),
        ]
        return ask_about(call, doors, seller, row, _("End this hold?"), _("End the hold"), consequences)
    hold = await end_hold(doors.office, doors.till, row.order_id)
    if hold.ended and row.state is not hold.state:
        await audited(doors, seller, "hold ended", row, {"state": row.state}, {"state": hold.state})
    return to_order(call, row, "cancelled" if hold.ended else "not-cancelled")


@post("/orders/{order:str}/give-back", status_code=200, right=Right.MONEY)
async def give_back(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    row = await own_order(order, doors, seller)
    if not is_sure(call):
        consequences = [
            _("Nobody could learn yet whether the buyer was charged."),
            _("The order ends now and the pieces go back on sale, or to whoever is next on the list."),
            _("The provider is asked on and on. Should a charge come to light, it is refunded in full."),
        ]
        title = _("Give the pieces back although nobody knows?")
        return ask_about(call, doors, seller, row, title, _("Give the pieces back"), consequences)
    done = await give_back_unasked(doors.office, row.order_id)
    if done:
        state = (await own_order(order, doors, seller)).state
        await audited(doors, seller, "given back unasked", row, {"state": row.state}, {"state": state})
    return to_order(call, row, "given-back" if done else "not-given-back")


@post("/orders/{order:str}/ask-again", status_code=200, right=Right.ORDERS)
async def ask_outside(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    row = await own_order(order, doors, seller)
    done = await ask_again(doors.office.ledger, row.order_id)
    if done:
        await audited(doors, seller, "asked again", row, None, None)
    return to_order(call, row, "asked" if done else "not-asked")


@post("/orders/{order:str}/looked-at", status_code=200, right=Right.MONEY)
async def look_at(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    story = await story_of(order, doors, seller)
    done = await doors.office.ledger.looked_at(story.order.order_id)
    if done:
        await audited(doors, seller, "looked at", story.order, {"why": [found.why for found in story.attention]}, None)
    return to_order(call, story.order, "seen" if done else "not-seen")


@post("/orders/{order:str}/parcel", status_code=200, right=Right.ORDERS)
async def resubmit_parcel(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    row = await own_order(order, doors, seller)
    if not is_sure(call):
        consequences = [
            _("The warehouse is asked for its list first. If the parcel is there, it is only attached to this order."),
            _("If it is not there, the warehouse is asked to make it, once."),
            _("Look into the warehouse’s own system first if you can: two parcels cannot be told apart afterwards."),
        ]
        return ask_about(call, doors, seller, row, _("Submit the parcel again?"), _("Submit it again"), consequences)
    try:
        dead = doors.settings.parcel_dead_seconds
        await submit_parcel_again(doors.office, doors.jobs, row.order_id, parcel_dead_seconds=dead)
    except (BadInput, NotFound):
        return to_order(call, row, "no-parcel")
    await audited(doors, seller, "parcel submitted again", row, {"parcel": row.parcel}, None)
    return to_order(call, row, "parcel")


@post("/orders/{order:str}/mails/{mail_id:int}/again", status_code=200, right=Right.ORDERS)
async def send_mail_again(
    order: FromPath[str], mail_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller
) -> Response:
    row = await own_order(order, doors, seller)
    wish = wish_of(call).wish
    known = 0 < mail_id < 2**63
    done = known and await doors.office.ledger.send_again(seller.shop_id, row.order_id, mail_id, wish)
    if done:
        await doors.jobs.deliver()
        await audited(doors, seller, "mail sent again", row, None, {"mail": mail_id})
    return to_order(call, row, "mail" if done else "no-mail")


# ---- the address


@get("/orders/{order:str}/address", right=Right.ORDERS)
async def ask_address(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    story = await story_of(order, doors, seller)
    known = story.order.address
    typed = as_stored(known) if known else dict.fromkeys(FIELDS, "")
    return address_form(call, doors, seller, story, typed, known)


@post("/orders/{order:str}/address", status_code=200, right=Right.ORDERS)
async def correct_address(order: FromPath[str], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    story = await story_of(order, doors, seller)
    fields = call.fields()
    typed = {name: str(fields.get(name, "")) for name in FIELDS}
    known = known_address(fields)
    try:
        address = address_from(typed)
    except BadInput as error:
        return address_form(call, doors, seller, story, typed, known, problem={"field": error.field, "text": _(str(error))})
    if await doors.office.ledger.correct_address(seller.shop_id, story.order.order_id, address, known):
        changed = [name for name in FIELDS if known is None or getattr(known, name) != getattr(address, name)]
        await audited(doors, seller, "address corrected", story.order, None, {"changed": changed})  # never what it says
        return to_order(call, story.order, "address")
    story = await story_of(order, doors, seller)
    if can_correct(story) and story.order.address != known:
        text = _("The buyer has changed the address meanwhile: it is shown below. Check it, then send again what you want.")
        return address_form(call, doors, seller, story, typed, story.order.address, problem={"field": "", "text": text}, stale=True)
    text = why_not_corrected(story, address)
    return address_form(call, doors, seller, story, typed, known, problem={"field": "", "text": text})


def why_not_corrected(story: Story, address: Address) -> str:
    """-> why an order whose address nobody else has changed does not go there, in the reader's language."""
    if can_correct(story) and not story.order.attempts and fee_in(story.order.shipping_fees, address.country) is None:
        return _("This drop has no shipping fee for that country, so it is not sent there. Nothing was changed.")
    return _("It is too late: the warehouse knows of the parcel, or the order has ended. Nothing was changed.")


def known_address(fields: Mapping[str, object]) -> Address | None:
    """-> the address as it was when the form was drawn."""
    known = {name: str(fields.get(f"known_{name}", "")) for name in FIELDS}
    return Address(**known) if any(known.values()) else None


def address_form(
    call: Call,
    doors: Doors,
    seller: Seller,
    story: Story,
    typed: Mapping[str, str],
    known: Address | None,
    problem: Mapping[str, str] | None = None,
    stale: bool = False,
) -> Response:
    """`known`: what the form's own fields were drawn over; `stale`: the buyer changed it meanwhile."""
    return doors.seller_page(
        call,
        seller,
        "seller/order_address.html",
        title=_("Address of order %(number)s", number=order_number(story.order.order_id)),
        status=200 if problem is None else 409 if stale else 422,
        order=story.order,
        number=order_number(story.order.order_id),
        url=url_of(story.order),
        typed=typed,
        known=as_stored(known) if known else dict.fromkeys(FIELDS, ""),
        problem=problem,
        stale=stale,
        open=can_correct(story),
        countries=countries_in(spoken()),
    )


# ---- what they share


async def story_of(text: str, doors: Doors, seller: Seller) -> Story:
    """-> the order's story; NotFound for what is not of this shop, a malformed number included."""
    story = await doors.office.ledger.story(seller.shop_id, order_id_of(text))
    if story is None:
        raise NotFound("no such order")
    return story


async def own_order(text: str, doors: Doors, seller: Seller) -> OrderRow:
    row = await doors.office.ledger.shop_order(seller.shop_id, order_id_of(text))
    if row is None:
        raise NotFound("no such order")
    return row


def order_id_of(text: str) -> UUID:
    try:
        return parse_order_id(text)
    except BadInput as error:
        raise NotFound(text) from error


def ask_about(call: Call, doors: Doors, seller: Seller, row: OrderRow, title: str, verb: str, consequences: list[str]) -> Response:
    return ask_first(call, doors, seller, title=title, consequences=consequences, verb=verb, back=url_of(row))


def can_cancel(story: Story) -> bool:
    return story.order.state is OrderState.PENDING_PAYMENT


def is_moving(story: Story) -> bool:
    """Whether something about it will change by itself soon: its page looks again."""
    charged = story.order.state is OrderState.PROCESSING or any(attempt.state == "open" for attempt in story.attempts)
    return charged or any(refund.state == "wanted" for refund in story.refunds)


def can_correct(story: Story) -> bool:
    order, parcel = story.order, story.parcel
    unpacked = parcel is not None and parcel.state == "waiting" and not parcel.creates and not parcel.claimed
    return order.ships and (order.state is OrderState.PENDING_PAYMENT or (order.state is OrderState.PAID and unpacked))


def url_of(order: OrderRow) -> str:
    return f"{PREFIX}/orders/{order.order_id}"


def to_order(call: Call, order: OrderRow, done: str) -> Response:
    return redirect(call, f"{url_of(order)}?done={done}")


async def audited(
    doors: Doors, seller: Seller, action: str, order: OrderRow, before: Mapping | None, after: Mapping | None
) -> None:
    await doors.office.ledger.audit(seller.shop_id, seller.actor, action, f"order {order.order_id}", before, after)


ROUTES = [
    list_orders,
    list_orders_of_drop,
    show_order,
    ask_refund,
    refund,
    cancel,
    give_back,
    ask_outside,
    look_at,
    resubmit_parcel,
    send_mail_again,
    ask_address,
    correct_address,
]
