"""Drops, and what moves them: the seller's verbs of app/purchase, as the dashboard calls them."""

from dataclasses import asdict
from datetime import UTC, datetime

import msgspec

from app.domain import drops as domain
from app.domain.drops import Door
from app.domain.plan import plan_of
from app.domain.schedule import YEAR_MAX, YEAR_MIN
from app.domain.scopes import Scope
from app.errors import BadInput
from app.languages import N_
from app.ledger import Account
from app.purchase import planning
from app.purchase.books import books_of
from app.purchase.refunding import progress
from app.purchase.reporting import report_of
from app.web.api import shapes
from app.web.api.operation import Ask, changed_meanwhile, operation
from app.web.api.paging import cursor_of, page_of, place_in
from app.web.api.plans import NO_MOMENT, plan_with, said_in
from app.web.seller.report import document_of as document_of_report
from app.web.seller.watch_view import document_of

WHICH_VARIANT = N_("Choose one of the variants.")
NO_UNITS = N_("Say how many pieces: a whole number.")
NOT_SENT = N_("This drop is not sent by parcel.")


@operation("GET", "/drops", scope=Scope.READ, title="List drops", query=shapes.Paged, answer=shapes.Drops)
async def list_drops(ask: Ask) -> shapes.Drops:
    """Every published drop of the shop, the latest opening first."""
    after = place_in(ask.query.cursor, tuple[shapes.Moment, shapes.Id])
    found = await ask.doors.office.ledger.drops_from(ask.key.shop_id, after, ask.query.limit + 1)
    page, more = page_of(found, ask.query.limit)
    following = cursor_of(page[-1].opens_at, page[-1].id) if more else None
    return shapes.Drops(items=[drop_told(ask, drop) for drop in page], next=following)


@operation("GET", "/drops/{drop_id:int}", scope=Scope.READ, title="Get a drop", answer=shapes.Drop)
async def get_drop(ask: Ask) -> shapes.Drop:
    """One published drop."""
    return drop_told(ask, await drop_of(ask))


@operation("GET", "/drops/{drop_id:int}/live", scope=Scope.READ, title="Watch a drop", answer=shapes.Live)
async def get_live(ask: Ask) -> shapes.Live:
    """What is left, held and paid right now, as the live view shows it; at most a second old."""
    drop = await drop_of(ask)
    view = ask.doors.watch.words(await ask.doors.watch.look(drop.id))["view"]
    known = document_of(view)
    return msgspec.convert({name: known[name] for name in shapes.Live.__struct_fields__}, shapes.Live)


@operation("GET", "/drops/{drop_id:int}/books", scope=Scope.READ, title="Check the books", answer=shapes.Books)
async def get_books(ask: Ask) -> shapes.Books:
    """Whether everything adds up: stock, orders and the gate, read together. `balanced` is null while sales are being recorded."""
    drop, office = await drop_of(ask), ask.doors.office
    return shapes.Books(**await books_of(office.ledger, office.gate, drop.id, drop.slug))


@operation("POST", "/drops/{drop_id:int}/pause", scope=Scope.DROPS, title="Pause", answer=shapes.Drop)
async def pause_drop(ask: Ask) -> shapes.Drop:
    """Nobody gets a piece until it is resumed. What is in a checkout stays there and can be paid."""
    return await moved(ask, Door.PAUSED)


@operation("POST", "/drops/{drop_id:int}/resume", scope=Scope.DROPS, title="Resume", answer=shapes.Drop)
async def resume_drop(ask: Ask) -> shapes.Drop:
    """Buying goes on at once."""
    return await moved(ask, Door.OPEN)


@operation("POST", "/drops/{drop_id:int}/close", scope=Scope.DROPS, title="End for good", answer=shapes.Drop)
async def close_drop(ask: Ask) -> shapes.Drop:
    """Nobody can buy any more, and it cannot be opened again. What is in a checkout can still be paid."""
    return await moved(ask, Door.CLOSED)


@operation("POST", "/drops/{drop_id:int}/cancel", scope=Scope.DROPS, title="Cancel", answer=shapes.Drop)
async def cancel_drop(ask: Ask) -> shapes.Drop:
    """Every hold ends and all money goes back, order by order, within minutes. It cannot be undone."""
    return await moved(ask, Door.CANCELLED)


@operation(
    "POST",
    "/drops/{drop_id:int}/units",
    scope=Scope.DROPS,
    title="Add or take away pieces",
    body=shapes.UnitsChange,
    answer=shapes.Drop,
)
async def change_units(ask: Ask) -> shapes.Drop:
    """Release more pieces of a variant (who waits is offered them first), or with a negative number take unsold ones off sale."""
    drop = await drop_of(ask)
    if not ask.body.units:
        raise BadInput(NO_UNITS, field="units")
    variant_id = ask.body.variant or (drop.variants[0].id if len(drop.variants) == 1 else None)
    if variant_id not in {variant.id for variant in drop.variants}:
        raise BadInput(WHICH_VARIANT, field="variant")
    office, key = ask.doors.office, ask.key
    return drop_told(
        ask, await planning.change_units(office, key.shop_id, drop.id, variant_id, ask.body.units, ask.wish, key.actor)
    )


@operation("PATCH", "/drops/{drop_id:int}", scope=Scope.DROPS, title="Change its words", body=shapes.DropChange, answer=shapes.Drop)
async def change_drop(ask: Ask) -> shapes.Drop:
    """Title, description, pictures and countries, in the version that was read. If somebody saved meanwhile, nothing is
    overwritten: 409 names the version that stands there now. What was promised (price, pieces, opening) has operations of its
    own."""
    drop, office, key = await drop_of(ask), ask.doors.office, ask.key
    if not drop.ships and ask.body.shipping_countries is not msgspec.UNSET:
        raise BadInput(NOT_SENT, field="shipping_countries")
    plan = plan_with(plan_of(drop, drop.slug), said_in(ask.body, key.time_zone))
    try:
        return drop_told(ask, await planning.edit_words(office, key.shop_id, drop.id, ask.body.version, plan, key.actor))
    except planning.Stale as error:
        raise changed_meanwhile(version=(await drop_of(ask)).version) from error


@operation(
    "POST", "/drops/{drop_id:int}/postpone", scope=Scope.DROPS, title="Postpone", body=shapes.Postponement, answer=shapes.Postponed
)
async def postpone_drop(ask: Ask) -> shapes.Postponed:
    """A later opening, until a minute before the promised one. Whoever asked to be reminded, waits on the list or has an order
    gets a mail. A drop that opens then already is not changed, and nobody gets a second mail."""
    drop, office, key = await drop_of(ask), ask.doors.office, ask.key
    opens_at, closes_at = times_of(ask.body, drop)
    if (drop.opens_at, drop.closes_at) == (opens_at, closes_at):  # somebody asks again who has not heard the answer
        return shapes.Postponed(drop=drop_told(ask, drop), told=await office.ledger.told_of_opening(drop.id))
    try:
        told = await planning.postpone(office, key.shop_id, drop.id, ask.body.version, opens_at, closes_at, key.actor)
    except planning.Stale as error:
        raise changed_meanwhile(version=(await drop_of(ask)).version) from error
    except BadInput as error:
        raise BadInput(str(error), field=f"{error.field}_at") from error
    await ask.doors.jobs.deliver()
    ask.doors.watch.forget(drop.id)
    return shapes.Postponed(drop=drop_told(ask, await drop_of(ask)), told=told)


@operation("GET", "/drops/{drop_id:int}/cancelling", scope=Scope.READ, title="Follow a cancellation", answer=shapes.Cancelling)
async def get_cancelling(ask: Ask) -> shapes.Cancelling:
    """How far it is: holds that have still to end, orders whose money has still to go back."""
    drop = await drop_of(ask)
    far = await progress(ask.doors.office.ledger, drop.id)
    return shapes.Cancelling(door=drop.door.value, **asdict(far), done=far.done)


@operation("GET", "/drops/{drop_id:int}/report", scope=Scope.READ, title="Get the report", answer=shapes.Report)
async def get_report(ask: Ask) -> shapes.Report:
    """The after-action report: how much was asked for, how far people came, where they fell out, what it brought in. Of a drop
    that is still open: as it is by now."""
    report = await report_of(ask.doors.office.ledger, await drop_of(ask))
    accounts = msgspec.to_builtins(account_told(report.accounting.account))
    return msgspec.convert(document_of_report(report) | {"accounts": accounts}, shapes.Report)


# ---- what they share


async def drop_of(ask: Ask) -> domain.Drop:
    return await planning.own_drop(ask.doors.office.ledger, ask.key.shop_id, ask.path["drop_id"])


async def moved(ask: Ask, door: Door) -> shapes.Drop:
    office, key = ask.doors.office, ask.key
    drop = await planning.move_door(office, key.shop_id, ask.path["drop_id"], door, key.actor)
    ask.doors.watch.forget(drop.id)
    return drop_told(ask, drop)


def drop_told(ask: Ask, drop: domain.Drop) -> shapes.Drop:
    return shapes.Drop(
        id=drop.id,
        slug=drop.slug,
        url=f"{ask.doors.settings.public_url}/drops/{drop.slug}",
        title=drop.title,
        description=drop.description,
        price_minor=drop.price_minor,
        currency=drop.currency,
        opens_at=drop.opens_at,
        closes_at=drop.closes_at,
        time_zone=drop.time_zone,
        per_person=drop.per_person,
        hold_seconds=drop.hold_seconds,
        offer_seconds=drop.offer_seconds,
        payment_attempts=drop.payment_attempts,
        waitlist=drop.waitlist.value,
        door=drop.door.value,
        retired=drop.retired,
        ships=drop.ships,
        shipping_countries=None if drop.shipping_countries is None else list(drop.shipping_countries),
        shipping_fees=None if drop.shipping_fees is None else dict(drop.shipping_fees),
        tax_basis_points=drop.tax_basis_points,
        variants=[
            shapes.Variant(id=one.id, name=one.name, units_total=one.units_total, waiting=one.waiting) for one in drop.variants
        ],
        pictures=[shapes.Picture(hash=one.hash, alt=one.alt) for one in drop.pictures],
        version=drop.version,
        updated_at=drop.updated_at,
    )


def account_told(account: Account) -> shapes.Account:
    return shapes.Account(
        drop_id=account.drop_id,
        drop=account.slug,
        title=account.title,
        opens_at=account.opens_at,
        currency=account.currency,
        orders=account.orders,
        units=account.units,
        gross_minor=account.gross_minor,
        refunded_minor=account.refunded_minor,
        refunding_minor=account.refunding_minor,
        net_minor=account.net_minor,
        shipping_minor=account.shipping_minor,
        tax_basis_points=account.tax_basis_points,
        tax_minor=account.tax_minor if account.tax_basis_points else None,
    )


def times_of(wanted: shapes.Postponement, drop: domain.Drop) -> tuple[datetime, datetime | None]:
    """-> opening and closing, to the second, as the dashboard's form would have typed them."""
    opens_at, closes_at = wanted.opens_at, wanted.closes_at
    for field, moment in (("opens_at", opens_at), ("closes_at", closes_at)):
        if isinstance(moment, datetime) and not YEAR_MIN < moment.year < YEAR_MAX:
            raise BadInput(NO_MOMENT, field=field)
    opens_at = to_the_second(opens_at)
    if closes_at is msgspec.UNSET:
        closes_at = drop.closes_at and opens_at + (drop.closes_at - drop.opens_at)
        if closes_at is not None and closes_at.year >= YEAR_MAX:
            raise BadInput(NO_MOMENT, field="opens_at")
        return opens_at, closes_at
    return opens_at, closes_at and to_the_second(closes_at)


def to_the_second(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)


OPERATIONS = [
    list_drops,
    get_drop,
    get_live,
    get_books,
    pause_drop,
    resume_drop,
    close_drop,
    cancel_drop,
    change_units,
    change_drop,
    postpone_drop,
    get_cancelling,
    get_report,
]
