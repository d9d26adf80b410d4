"""Shops and drops: what is on sale, when, and how many units the seller released."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from app.domain import emails, money
from app.domain.addresses import COUNTRIES
from app.domain.drops import (
    ATTEMPTS_MAX,
    DESCRIPTION_CHARACTERS_MAX,
    ENDS,
    EVERYWHERE_ELSE,
    FEES_MAX,
    HOLD_SECONDS_MAX,
    PER_PERSON_MAX,
    SLUG,
    TITLE_CHARACTERS_MAX,
    UNITS_MAX,
    VARIANT_CHARACTERS_MAX,
    VARIANTS_MAX,
    Door,
    Drop,
    DropPicture,
    Variant,
    Waitlist,
)
from app.domain.names import as_seen, refuse_name
from app.domain.plan import ANOTHER_WISH, NO_UNITS_ANY_MORE, PICTURE_GONE, TOO_MANY_UNITS
from app.errors import BadInput, NotFound
from app.languages import _, count
from app.ledger.audit import note_audit
from app.ledger.events import SELLER, note
from app.ledger.pictures import want
from app.ledger.pool import Asker, Pool

DROPS_MAX = 1000  # rows of one list
SHOP_CHARACTERS_MAX = 200
ID_MAX = 2**31 - 1  # the largest id its column holds
MOVED = {Door.PAUSED: "paused", Door.OPEN: "resumed", Door.CLOSED: "ended", Door.CANCELLED: "drop cancelled"}  # in the audit log


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDrop:
    """A drop to publish. `variants`: (name, units) in the order to show; times are aware."""

    shop_id: int
    slug: str
    title: str
    price_minor: int
    currency: str
    opens_at: datetime
    variants: tuple[tuple[str, int], ...]
    description: str = ""
    closes_at: datetime | None = None
    per_person: int = 1
    hold_seconds: float = 600.0
    payment_attempts: int = 3
    clock_offset_ms: int = 0  # tests and rehearsals only
    picture: str | None = None
    offer_seconds: float = 600.0
    waitlist: Waitlist = Waitlist.OFFERS
    ships: bool = False  # ask where it goes before paying
    pictures: tuple[DropPicture, ...] = ()  # in the order to show them; the first one is `picture`
    time_zone: str = "UTC"  # in which its seller planned it
    shipping_countries: tuple[str, ...] | None = None  # None: everywhere
    tax_basis_points: int = 0  # included in the price; 1900: 19 %
    shipping_fees: Mapping[str, int] | None = None  # country or EVERYWHERE_ELSE -> minor units; None: free of charge


@dataclass(frozen=True, slots=True)
class Adjustment:
    """The seller added units to a variant, or took unsold ones away (negative)."""

    id: UUID
    drop_id: int
    variant_id: int
    units: int
    confirmed: bool  # the gate has counted it


class DropsPart(Pool):
    async def create_shop(self, name: str, owner_email: str, *, actor: str | None = None) -> int:
        """-> the new shop's id. BadInput for an empty name or an address that is none. `actor`: for the audit log."""
        name = _name(name, "name", SHOP_CHARACTERS_MAX)
        async with self._transaction() as ask:
            shop_id = await ask.value("add_shop", name)
            await ask.count("add_seller", shop_id, emails.normalise(owner_email), emails.written(owner_email), "owner")
            if actor is not None:
                await note_audit(ask, shop_id, actor, "shop made", name, None, {"owner": emails.written(owner_email)})
        return shop_id

    async def shop_named(self, name: str) -> int | None:
        return await self._value("shop_named", name)

    async def first_shop(self) -> int | None:
        return await self._value("first_shop")

    async def create_drop(self, new: NewDrop, *, actor: str | None = None) -> Drop:
        """-> the published drop. BadInput names the field that is wrong; a slug that is taken is one.

        `actor`, here and below: who did it, for the audit log; None: nobody it knows.
        """
        check_new_drop(new)
        with known_to_the_ledger():
            async with self._transaction() as ask:
                drop = await publish(ask, new)
                if actor is not None:
                    await note_audit(ask, new.shop_id, actor, "drop published", drop.title, None, as_published(drop))
                return drop

    async def drop_by_slug(self, slug: str) -> Drop | None:
        return drop_from(await self._row("drop_by_slug", slug)) if SLUG.fullmatch(slug) else None

    async def drop_by_id(self, drop_id: int) -> Drop | None:
        """-> None for a number no drop can have, too: anybody can make an order id that names one."""
        return drop_from(await self._row("drop_by_id", drop_id)) if 0 < drop_id <= ID_MAX else None

    async def drops(self, *, live_only: bool = False, limit: int = DROPS_MAX) -> list[Drop]:
        """-> the latest openings first. `live_only`: without those whose keys have left Redis."""
        return [drop_from(row) for row in await self._rows("drops", live_only, limit)]

    async def live_drop_ids(self) -> list[int]:
        """-> every drop whose keys are still in Redis."""
        return [row["id"] for row in await self._rows("live_drop_ids")]

    async def change_door(
        self,
        drop_id: int,
        door: Door,
        *,
        opens_at: datetime | None = None,
        closes_at: datetime | None = None,
        actor: str | None = None,
    ) -> bool:
        """-> whether anything changed: False for an unknown drop, one that stands so already, and one that is over, unless this
        closes or cancels it. Whoever was told of an opening that moves is told again before the new one."""
        try:
            async with self._transaction() as ask:
                before = await ask.row("lock_drop", drop_id)
                if before is None or before["door"] == Door.CANCELLED or (before["over"] and door not in ENDS):
                    return False
                if not await ask.count("change_door", drop_id, door.value, opens_at, closes_at):
                    return False
                times = {name: at for name, at in (("opens_at", opens_at), ("closes_at", closes_at)) if at}
                said = {name: at.isoformat() for name, at in times.items()}
                await note(ask, None, drop_id, f"door {door.value}", SELLER, **said)
                if opens_at is not None:
                    await ask.count("remind_again", drop_id)
                if door is Door.CANCELLED:
                    await ask.count("tell_of_cancelled_drop", drop_id)
                if actor is not None:
                    was = {"door": before["door"], **{name: before[name] for name in times}}
                    await note_audit(ask, before["shop_id"], actor, MOVED[door], before["slug"], was, {"door": door.value, **times})
                return True
        except asyncpg.CheckViolationError as error:
            raise BadInput(_why(error), field="closes_at" if error.constraint_name == "closes_after_opening" else "door") from error

    async def retire_drop(self, drop_id: int, *, actor: str | None = None) -> bool:
        """-> False while an order can still move units or the gate has not confirmed everything, or when it was retired before."""
        async with self._transaction() as ask:
            drop = await ask.row("lock_drop", drop_id)
            if drop is None or not await ask.count("retire_drop", drop_id):
                return False
            await note(ask, None, drop_id, "retired", SELLER)
            if actor is not None:
                await note_audit(ask, drop["shop_id"], actor, "drop retired", drop["slug"], {"retired": False}, {"retired": True})
            return True

    async def add_units(self, drop_id: int, variant_id: int, units: int, op_id: UUID, *, actor: str | None = None) -> bool:
        """Change the total under the id of the wish, which may be repeated -> False: fewer unsold units than are taken away.

        BadInput: the drop is over, the variant would be too large, or the id belongs to another wish. The audit log hears of it
        once the gate has confirmed it.
        """
        if not 1 <= abs(units) <= UNITS_MAX:
            raise BadInput(f"units must be between 1 and {UNITS_MAX}, or as many taken away", field="units")
        async with self._transaction() as ask:
            drop = await ask.row("lock_drop", drop_id)
            if drop is None:
                raise NotFound("there is no such drop")
            if await _wished_before(ask, op_id, drop_id, variant_id, units):
                return True
            if drop["over"]:
                raise BadInput(NO_UNITS_ANY_MORE, field="units")
            if not await ask.count("add_adjustment", op_id, drop_id, variant_id, units, actor):
                if await _wished_before(ask, op_id, drop_id, variant_id, units):  # of another drop, in the same moment: it raises
                    return True
                raise NotFound("there is no such variant")
            total = await ask.value("adjust_total", variant_id, units)
            if total is None:
                await ask.row("withdraw_adjustment", op_id)
                return False
            if total > UNITS_MAX:
                raise BadInput(_(TOO_MANY_UNITS, most=count(UNITS_MAX)), field="units")
            await ask.count("adjusted_to", op_id, total)
            await note(ask, None, drop_id, "units added", SELLER, variant=variant_id, units=units, id=str(op_id))
            return True

    async def adjustment(self, op_id: UUID) -> Adjustment | None:
        """-> the wish under this id; None: never wished, or withdrawn."""
        row = await self._row("adjustment", op_id)
        return None if row is None else Adjustment(**row)

    async def unconfirmed_adjustments(self, drop_id: int | None = None) -> list[Adjustment]:
        """-> what the gate has not counted yet, oldest first; of one drop, or of all."""
        return [Adjustment(**row) for row in await self._rows("unconfirmed_adjustments", drop_id)]

    async def confirm_adjustment(self, op_id: UUID) -> bool:
        """The gate has counted it, and the audit log says so -> False when it was confirmed or withdrawn before."""
        async with self._transaction() as ask:
            done = await ask.row("confirm_adjustment", op_id)
            if done is None:
                return False
            if done["actor"] is not None:
                more, total = done["units"], done["total_after"]
                told = done["slug"], {done["variant"]: total - more}, {done["variant"]: total}
                await note_audit(ask, done["shop_id"], done["actor"], "units added" if more > 0 else "units taken away", *told)
            return True

    async def withdraw_adjustment(self, op_id: UUID) -> bool:
        """The gate said too_few: undo the wish -> False when it was confirmed or withdrawn before."""
        async with self._transaction() as ask:
            undone = await ask.row("withdraw_adjustment", op_id)
            if undone is None:
                return False
            await ask.value("adjust_total", undone["variant_id"], -undone["units"])
            await note(ask, None, undone["drop_id"], "units not added", SELLER, variant=undone["variant_id"], units=undone["units"])
            return True


async def _wished_before(ask: Asker, op_id: UUID, drop_id: int, variant_id: int, units: int) -> bool:
    """Whether this very wish is known. BadInput: its id belongs to another one, which may be of another drop."""
    known = await ask.row("adjustment", op_id)
    if known is not None and (known["drop_id"], known["variant_id"], known["units"]) != (drop_id, variant_id, units):
        raise BadInput(ANOTHER_WISH, field="op")
    return known is not None


async def publish(ask: Asker, new: NewDrop) -> Drop:
    """Write a checked drop in the caller's transaction -> it. BadInput for a slug that is taken."""
    names, totals = [name for name, _ in new.variants], [units for _, units in new.variants]
    pictures = new.pictures or ((DropPicture(new.picture, ""),) if new.picture else ())
    drop_id = await ask.value(
        "add_drop", new.shop_id, new.slug, new.title, new.description, new.price_minor, new.currency, new.opens_at,
        new.closes_at, new.per_person, new.hold_seconds, new.payment_attempts, new.clock_offset_ms,
        pictures[0].hash if pictures else None, new.offer_seconds, Waitlist(new.waitlist).value, new.ships, new.time_zone,
        new.shipping_countries, new.tax_basis_points, json.dumps(dict(new.shipping_fees)) if new.shipping_fees else None,
    )  # fmt: skip
    if drop_id is None:
        raise BadInput(f"there is already a drop named {new.slug}", field="slug")
    await ask.count("add_variants", drop_id, names, totals)
    await hang(ask, drop_id, pictures)
    await note(ask, None, drop_id, "published", SELLER, units=sum(totals))
    return drop_from(await ask.row("drop_by_id", drop_id))


async def hang(ask: Asker, drop_id: int, pictures: Sequence[DropPicture]) -> None:
    """These are the pictures of a drop that has none, in this order."""
    await want(ask, (picture.hash for picture in pictures))
    await ask.count("hang_pictures", drop_id, [picture.hash for picture in pictures], [picture.alt for picture in pictures])


@contextmanager
def known_to_the_ledger() -> Iterator[None]:
    """A shop or a picture that does not exist is BadInput."""
    try:
        yield
    except asyncpg.ForeignKeyViolationError as error:
        if any(word in (error.constraint_name or "") for word in ("hash", "picture")):
            raise BadInput(PICTURE_GONE, field="pictures") from error
        raise BadInput("there is no such shop", field="shop") from error


def drop_from(row) -> Drop | None:
    if row is None:
        return None
    return Drop(
        id=row["id"],
        shop_id=row["shop_id"],
        shop_name=row["shop_name"],
        slug=row["slug"],
        title=row["title"],
        description=row["description"],
        price_minor=row["price_minor"],
        currency=row["currency"],
        opens_at=row["opens_at"],
        closes_at=row["closes_at"],
        per_person=row["per_person"],
        hold_seconds=row["hold_seconds"],
        payment_attempts=row["payment_attempts"],
        door=Door(row["door"]),
        clock_offset_ms=row["clock_offset_ms"],
        picture=row["picture"],
        retired=row["retired_at"] is not None,
        variants=tuple(
            map(
                Variant,
                row["variant_ids"],
                row["variant_names"],
                row["variant_totals"],
                row["variant_waiting"],
                row["variant_called"],
            )  # fmt: skip
        ),
        offer_seconds=row["offer_seconds"],
        waitlist=Waitlist(row["waitlist"]),
        ships=row["ships"],
        version=row["version"],
        time_zone=row["time_zone"],
        shipping_countries=None if row["shipping_countries"] is None else tuple(row["shipping_countries"]),
        pictures=tuple(map(DropPicture, row["picture_hashes"] or (), row["picture_alts"] or ())),
        updated_at=row["updated_at"],
        updated_by=row["updated_by"],
        tax_basis_points=row["tax_basis_points"],
        shipping_fees=fees_from(row["shipping_fees"]),
        law=tuple(row["law"]),
    )


def as_published(drop: Drop) -> dict[str, object]:
    """-> what a published drop promises, for the audit log."""
    return {
        "slug": drop.slug,
        "price_minor": drop.price_minor,
        "currency": drop.currency,
        "opens_at": drop.opens_at,
        "closes_at": drop.closes_at,
        "units": {variant.name: variant.units_total for variant in drop.variants},
    }


def fees_from(stored: str | None) -> dict[str, int] | None:
    return None if stored is None else json.loads(stored)


def check_new_drop(new: NewDrop) -> None:
    """BadInput with a sentence for the first field that no drop can have."""
    if not SLUG.fullmatch(new.slug):
        raise BadInput("a slug is 1 to 64 of a-z, 0-9 and - inside", field="slug")
    _name(new.title, "title", TITLE_CHARACTERS_MAX)
    _text(new.description, "description", 0, DESCRIPTION_CHARACTERS_MAX)
    money.exponent(new.currency)
    _within(new.price_minor, "price", 1, money.AMOUNT_MINOR_MAX)  # nothing could ever pay for a free unit
    _within(new.per_person, "per_person", 1, PER_PERSON_MAX)
    _within(new.hold_seconds, "hold", 1, HOLD_SECONDS_MAX)
    _within(new.offer_seconds, "offer", 1, HOLD_SECONDS_MAX)
    if new.waitlist not in set(Waitlist):
        raise BadInput(f"the waitlist is one of {', '.join(Waitlist)}", field="waitlist")
    _within(new.payment_attempts, "attempts", 1, ATTEMPTS_MAX)
    _within(new.tax_basis_points, "tax", 0, money.BASIS_POINTS)
    fees = new.shipping_fees or {}
    if fees and (not new.ships or not {*COUNTRIES, EVERYWHERE_ELSE}.issuperset(fees) or len(fees) > FEES_MAX):
        raise BadInput("shipping fees name countries, or everywhere else, of a drop that is sent", field="fees")
    for fee in fees.values():
        _within(fee, "fees", 0, money.AMOUNT_MINOR_MAX)
    if new.price_minor * new.per_person + max(fees.values(), default=0) > money.AMOUNT_MINOR_MAX:
        raise BadInput("one person could owe more than the largest amount; lower the price or the limit", field="per_person")
    if new.closes_at is not None and new.closes_at <= new.opens_at:
        raise BadInput("a drop closes after it opens", field="closes_at")
    _within(len(new.variants), "variants", 1, VARIANTS_MAX)
    if len({as_seen(name) for name, _units in new.variants}) != len(new.variants):
        raise BadInput("two variants have the same name", field="variants")
    for name, units in new.variants:
        _name(name, "variants", VARIANT_CHARACTERS_MAX)
        _within(units, "quantity", 0, UNITS_MAX)


def _text(text: str, field: str, least: int, most: int) -> str:
    if not least <= len(text) <= most or "\x00" in text or text != text.encode(errors="replace").decode():
        raise BadInput(f"{field} must have {least} to {most} characters", field=field)
    return text


def _name(text: str, field: str, most: int) -> str:
    why_not = refuse_name(_text(text, field, 1, most))
    if why_not:
        raise BadInput(why_not, field=field)
    return text


def _within(value: float, field: str, least: int, most: int) -> None:
    if not least <= value <= most:
        raise BadInput(f"{field} must be between {least} and {most}", field=field)


def _why(error: asyncpg.CheckViolationError) -> str:
    return "a drop closes after it opens" if error.constraint_name == "closes_after_opening" else "the ledger refuses this door"
