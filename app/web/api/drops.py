"""Drops, drafts, and what moves them: the seller's verbs of app/purchase, as the dashboard calls them."""

from datetime import datetime

import msgspec

from app import clock
from app.domain import drops as domain
from app.domain import money
from app.domain.drops import Door
from app.domain.plan import EVERYWHERE, LISTED, Plan, PlannedFee, PlannedPicture, PlannedVariant, checked, duration_text
from app.domain.schedule import YEAR_MAX, YEAR_MIN, typed_in, zone_named
from app.domain.scopes import Scope
from app.errors import BadInput, NotFound
from app.languages import N_
from app.ledger.plan import Draft
from app.purchase import planning
from app.purchase.books import books_of
from app.web.api import shapes
from app.web.api.operation import Ask, operation
from app.web.api.paging import cursor_of, page_of, place_in
from app.web.seller.plan import own_draft
from app.web.seller.watch_view import document_of

NO_ZONE = N_("There is no such time zone. Use an IANA name such as Europe/Berlin.")
NO_MOMENT = N_("This time is too far away.")
WHICH_VARIANT = N_("Choose one of the variants.")
NO_UNITS = N_("Say how many pieces: a whole number.")


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


# ---- drafts


@operation("GET", "/drafts", scope=Scope.READ, title="List drafts", answer=shapes.Drafts)
async def list_drafts(ask: Ask) -> shapes.Drafts:
    """What is not published yet, the last one touched first. There are at most 200, on one page."""
    return shapes.Drafts(items=[draft_told(draft) for draft in await ask.doors.office.ledger.drafts(ask.key.shop_id)], next=None)


@operation("GET", "/drafts/{draft_id:int}", scope=Scope.READ, title="Get a draft", answer=shapes.Draft)
async def get_draft(ask: Ask) -> shapes.Draft:
    """One draft, with what is in the way of publishing it."""
    return draft_told(await own_draft(ask.doors, ask.key, ask.path["draft_id"]))


@operation("POST", "/drafts", scope=Scope.DROPS, title="Create a draft", body=shapes.NewDraft, answer=shapes.Draft, status=201)
async def create_draft(ask: Ask) -> shapes.Draft:
    """Plan a drop. Nothing is on sale before the draft is published; the dashboard shows, previews and changes it too."""
    ledger, key, plan = ask.doors.office.ledger, ask.key, plan_of(ask.body, ask.key.time_zone)
    draft_id = await ledger.add_draft(key.shop_id, plan, key.actor)
    await ledger.audit(key.shop_id, key.actor, "draft made", plan.title, None, {"draft": draft_id})
    return draft_told(await own_draft(ask.doors, key, draft_id))


@operation(
    "POST",
    "/drafts/{draft_id:int}/publish",
    scope=Scope.DROPS,
    title="Publish a draft",
    body=shapes.Publication,
    answer=shapes.Drop,
    status=201,
)
async def publish_draft(ask: Ask) -> shapes.Drop:
    """The draft, in the version that was read, becomes a drop: price, opening and pieces are promised from then on."""
    office, key, draft_id = ask.doors.office, ask.key, ask.path["draft_id"]
    return drop_told(ask, await planning.publish_draft(office, key.shop_id, draft_id, ask.body.version, key.actor))


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


def draft_told(draft: Draft | None) -> shapes.Draft:
    if draft is None:
        raise NotFound("draft")
    return shapes.Draft(
        id=draft.id,
        version=draft.version,
        title=draft.plan.title,
        slug=draft.plan.address,
        updated_at=draft.updated_at,
        updated_by=draft.updated_by,
        drop_id=draft.drop_id,
        problems=checked(draft.plan, clock.now()).problems,
    )


def plan_of(new: shapes.NewDraft, shop_zone: str) -> Plan:
    """-> the same as the dashboard's form would have typed it."""
    zone = new.time_zone or shop_zone
    if zone_named(zone) is None:
        raise BadInput(NO_ZONE, field="time_zone")
    opens, opens_which = typed("opens_at", new.opens_at, zone)
    closes, closes_which = typed("closes_at", new.closes_at, zone)
    return Plan(
        title=new.title,
        slug=new.slug,
        description=new.description,
        price="" if new.price_minor is None else str(money.as_decimal(new.price_minor, new.currency)),
        currency=new.currency,
        time_zone=zone,
        opens=opens,
        opens_which=opens_which,
        closes=closes,
        closes_which=closes_which,
        per_person=str(new.per_person),
        hold=duration_text(new.hold_seconds),
        offer=duration_text(new.offer_seconds),
        waitlist=new.waitlist,
        attempts=str(new.payment_attempts),
        ships=new.ships,
        served=EVERYWHERE if new.shipping_countries is None else LISTED,
        countries=tuple(sorted(set(new.shipping_countries or ()))),
        tax=f"{money.percent_of(new.tax_basis_points):f}" if new.tax_basis_points else "",
        fees=tuple(PlannedFee(name, f"{money.as_decimal(fee, new.currency):f}") for name, fee in new.shipping_fees.items()),
        variants=tuple(PlannedVariant(one.name, str(one.units)) for one in new.variants),
        pictures=tuple(PlannedPicture(one.hash, one.alt) for one in new.pictures),
    )


def typed(field: str, moment: datetime | None, zone: str) -> tuple[str, str]:
    if moment is None:
        return "", ""
    if not YEAR_MIN < moment.year < YEAR_MAX:
        raise BadInput(NO_MOMENT, field=field)
    return typed_in(moment, zone)


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
    list_drafts,
    get_draft,
    create_draft,
    publish_draft,
]
