"""A drop while it is being planned: what a seller typed, field by field, and what is still in the way of publishing it. Pure.

Guarantees: a plan holds everything that was typed, right or wrong, so that saving never loses or refuses anything but what no
plan can hold (size). `checked` either gives every value that a drop needs or says, field by field and in the reader's language,
what is wrong; it never corrects in silence. Whoever publishes asks it once more.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from app.domain import money
from app.domain.addresses import COUNTRIES
from app.domain.drops import (
    ALT_CHARACTERS_MAX,
    ATTEMPTS_MAX,
    DESCRIPTION_CHARACTERS_MAX,
    EVERYWHERE_ELSE,
    FEES_MAX,
    HOLD_SECONDS_MAX,
    PER_PERSON_MAX,
    PICTURES_MAX,
    SLUG,
    TITLE_CHARACTERS_MAX,
    UNITS_MAX,
    VARIANT_CHARACTERS_MAX,
    VARIANTS_MAX,
    Door,
    Drop,
    DropPicture,
    Waitlist,
    fee_in,
)
from app.domain.names import as_seen, refuse_name
from app.domain.schedule import Gap, Moment, Repeated, moment_of, typed_in, zone_named
from app.errors import BadInput
from app.languages import N_, _, count

PLAN_BYTES_MAX = 240_000  # of all that was typed together, as JSON; the ledger's own bound has room for the spaces it adds
SLUG_CHARACTERS_MAX = 64
STANDARD = "Standard"  # the variant of a drop that has only one and does not name it
POSTPONE_SECONDS_MIN = 60  # before the opening: later than this a drop is paused instead
EVERYWHERE, LISTED = "everywhere", "listed"

TOO_LARGE = N_("This is more than a draft can hold. Shorten what is longest.")
TOO_MANY_DRAFTS = N_("There are too many drafts. Delete one that is not needed any more.")
PICTURE_GONE = N_("One of the pictures is not there any more. Remove it and put it up again.")
SOLD_MEANWHILE = N_("Not that many are unsold any more. Nothing was taken away.")
HAS_ENDED = N_("This drop has ended; its door does not move any more.")
NO_UNITS_ANY_MORE = N_("This drop has ended; its pieces do not change any more.")
TOO_MANY_UNITS = N_("A variant has at most %(most)s pieces.")
ANOTHER_WISH = N_("This form was sent already, for another change. Open it again.")
DOOR_SHUT = N_("This drop has ended; there is nothing to postpone.")
TOO_NEAR = N_("The door opens in less than a minute or is open already. Pause it instead.")
NOT_LATER = N_("A drop can only be postponed: choose a later time than the one that was promised.")
CLOSES_BEFORE = N_("The door closes after it opens.")

_DURATION = re.compile(r"([0-9]{1,5})(?::([0-5][0-9]))?")
_WHOLE = re.compile(r"[0-9]{1,9}|[0-9]{1,3}([ .,'\u2019\u202f\u00a0][0-9]{3}){1,2}")
_AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")


class PlannedVariant(msgspec.Struct, frozen=True):
    name: str = ""
    units: str = ""


class PlannedPicture(msgspec.Struct, frozen=True):
    hash: str
    alt: str = ""


class PlannedFee(msgspec.Struct, frozen=True):
    """What sending an order to one country costs; EVERYWHERE_ELSE stands for all that are not named."""

    country: str = ""
    amount: str = ""  # as a price: '4.90' whatever marks it was typed with


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """As it was typed. A `price` that is a number stands here as '49.00', whatever marks it was typed with."""

    title: str = ""
    slug: str = ""  # "": made of the title
    description: str = ""  # Markdown
    price: str = ""
    currency: str = "EUR"
    time_zone: str = "UTC"
    opens: str = ""  # local, '2026-12-01T20:00'
    opens_which: str = ""  # a schedule.Which, where the clock shows that time twice
    closes: str = ""  # "": never by itself
    closes_which: str = ""
    per_person: str = "1"
    hold: str = "10:00"  # minutes:seconds
    offer: str = "10:00"
    waitlist: str = Waitlist.OFFERS.value
    attempts: str = "3"
    ships: bool = False
    served: str = EVERYWHERE
    countries: tuple[str, ...] = ()
    tax: str = ""  # percent included in the price, '19' or '7.25'; "": nothing is said about tax
    fees: tuple[PlannedFee, ...] = ()  # none: sent free of charge
    variants: tuple[PlannedVariant, ...] = (PlannedVariant(),)
    pictures: tuple[PlannedPicture, ...] = ()

    @property
    def address(self) -> str:
        """-> the slug that was typed, or the one that the title makes."""
        return self.slug.strip() or slug_of(self.title)


@dataclass(frozen=True, slots=True)
class Asked:
    """A time that the clock shows twice: which of the two is meant? In UTC."""

    earlier: datetime
    later: datetime


@dataclass(slots=True)
class Checked:
    """`problems`: field -> sentence; empty: `values` are the fields of a drop to publish."""

    problems: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)  # field -> the two moments its time could mean

    @property
    def complete(self) -> bool:
        return not self.problems


def checked(plan: Plan, now: datetime) -> Checked:
    """-> what is in the way of publishing this plan at `now`, and every value that is not."""
    found = Checked()
    _check_words(plan, found)
    _check_price(plan, found)
    _check_times(plan, now, found)
    _check_rules(plan, found)
    _check_shipping(plan, found)
    _check_tax(plan, found)
    _check_fees(plan, found)
    _check_variants(plan.variants, found)
    check_pictures(plan.pictures, found)
    return found


def checked_times(plan: Plan, now: datetime) -> Checked:
    """-> the same of when it opens and closes."""
    found = Checked()
    _check_times(plan, now, found)
    return found


def checked_words(plan: Plan) -> Checked:
    """-> the same of what may still change once a drop is published: words, pictures, where it is sent."""
    found = Checked()
    _check_words(plan, found)
    _check_shipping(plan, found)
    check_pictures(plan.pictures, found)
    return found


def refuse_postponing(drop: Drop, opens_at: datetime, closes_at: datetime | None, now: datetime) -> str:
    """-> why this drop cannot open then instead; "": it can."""
    if drop.door not in (Door.OPEN, Door.PAUSED):
        return DOOR_SHUT
    if (drop.opens_at - now).total_seconds() < POSTPONE_SECONDS_MIN:
        return TOO_NEAR
    if opens_at <= drop.opens_at:
        return NOT_LATER
    return CLOSES_BEFORE if closes_at is not None and closes_at <= opens_at else ""


def slug_of(title: str) -> str:
    """'Nachtlampe Nº 4, Größe M' -> 'nachtlampe-no-4-grosse-m'; "" for a title without letters of ours."""
    plain = unicodedata.normalize("NFKD", title.replace("ß", "ss")).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:SLUG_CHARACTERS_MAX].strip("-")


def plan_of(drop: Drop, slug: str = "") -> Plan:
    """-> a published drop as a plan, for the next one like it or for changing its words. `slug`: "" for a new one."""
    opens, opens_which = typed_in(drop.opens_at, drop.time_zone)
    closes, closes_which = typed_in(drop.closes_at, drop.time_zone) if drop.closes_at else ("", "")
    return Plan(
        title=drop.title,
        slug=slug,
        description=drop.description,
        price=str(money.as_decimal(drop.price_minor, drop.currency)),
        currency=drop.currency,
        time_zone=drop.time_zone,
        opens=opens,
        opens_which=opens_which,
        closes=closes,
        closes_which=closes_which,
        per_person=str(drop.per_person),
        hold=duration_text(drop.hold_seconds),
        offer=duration_text(drop.offer_seconds),
        waitlist=drop.waitlist.value,
        attempts=str(drop.payment_attempts),
        ships=drop.ships,
        served=EVERYWHERE if drop.shipping_countries is None else LISTED,
        countries=drop.shipping_countries or (),
        tax=f"{money.percent_of(drop.tax_basis_points):f}" if drop.tax_basis_points else "",
        fees=tuple(
            PlannedFee(country, f"{money.as_decimal(fee, drop.currency):f}") for country, fee in (drop.shipping_fees or {}).items()
        ),
        variants=tuple(PlannedVariant(variant.name, str(variant.units_total)) for variant in drop.variants),
        pictures=tuple(PlannedPicture(picture.hash, picture.alt) for picture in drop.pictures),
    )


def copied(plan: Plan) -> Plan:
    """-> the same plan for another drop: it needs an address and times of its own."""
    return msgspec.structs.replace(plan, slug="", opens="", opens_which="", closes="", closes_which="")


def duration_text(seconds: float) -> str:
    """600.0 -> '10:00'; parts of a second are rounded up, so that a hold is never written as none."""
    whole = max(1, -int(-seconds // 1))
    return f"{whole // 60}:{whole % 60:02d}"


def seconds_of(text: str) -> int | None:
    """'10:00' or '10' -> 600; None for what is no duration."""
    found = _DURATION.fullmatch(text.strip())
    return int(found[1]) * 60 + int(found[2] or 0) if found else None


def whole_in(text: str) -> int | None:
    """'1,000' -> 1000; None for what is no whole number."""
    return int(re.sub(r"[^0-9]", "", text)) if _WHOLE.fullmatch(text.strip()) else None


def price_typed(text: str, locale: str) -> str:
    """-> a price as a plan keeps it: '49.00' for whatever is a number in `locale`, else what was typed."""
    amount = money.read_amount(text, locale)
    return text if amount is None else f"{amount:f}"


def amount_in(text: str) -> Decimal | None:
    """-> an amount as a plan keeps it, where it is a number."""
    return Decimal(text) if _AMOUNT.fullmatch(text) else None


def price_amount(plan: Plan) -> Decimal | None:
    return amount_in(plan.price)


def check_pictures(pictures: Sequence[PlannedPicture], found: Checked) -> None:
    if len(pictures) > PICTURES_MAX:
        found.problems["pictures"] = _("A drop has at most %(most)s pictures.", most=PICTURES_MAX)
    if len({picture.hash for picture in pictures}) != len(pictures):
        found.problems["pictures"] = _("The same picture stands here twice. Remove one.")
    for position, picture in enumerate(pictures, 1):
        if not picture.alt.strip():
            found.problems[f"picture-{position}-alt"] = _("Say what it shows, for those who do not see it.")
        elif len(picture.alt) > ALT_CHARACTERS_MAX:
            found.problems[f"picture-{position}-alt"] = _("At most %(most)s characters.", most=ALT_CHARACTERS_MAX)
    found.values["pictures"] = tuple(DropPicture(picture.hash, " ".join(picture.alt.split())) for picture in pictures)


def _check_words(plan: Plan, found: Checked) -> None:
    title = " ".join(plan.title.split())
    if not title:
        found.problems["title"] = _("What is it called?")
    elif len(title) > TITLE_CHARACTERS_MAX:
        found.problems["title"] = _("At most %(most)s characters.", most=TITLE_CHARACTERS_MAX)
    elif refuse_name(title):
        found.problems["title"] = _(refuse_name(title))
    if len(plan.description) > DESCRIPTION_CHARACTERS_MAX:
        found.problems["description"] = _("At most %(most)s characters.", most=count(DESCRIPTION_CHARACTERS_MAX))
    if (title or plan.slug.strip()) and not SLUG.fullmatch(plan.address):
        found.problems["slug"] = _("1 to 64 of a-z, 0-9 and -, not at the ends.")
    found.values |= {"title": title, "slug": plan.address, "description": plan.description.replace("\r\n", "\n").strip()}


def _check_price(plan: Plan, found: Checked) -> None:
    try:
        decimals = money.exponent(plan.currency)
    except BadInput:
        decimals = None
    if decimals is None or plan.currency not in money.current_currencies():  # gold, and marks of old, have codes as well
        found.problems["currency"] = _("Three letters, such as EUR, JPY or KWD.")
        return
    amount = price_amount(plan)
    if amount is None:
        found.problems["price"] = _("An amount, such as 49.00.") if plan.price.strip() else _("What does one cost?")
        return
    minor = money.minor_of(amount, plan.currency)
    if minor is None:
        found.problems["price"] = (
            _("%(currency)s has no decimals.", currency=plan.currency)
            if decimals == 0
            else _("%(currency)s has %(decimals)s decimals.", currency=plan.currency, decimals=decimals)
        )
    elif minor < 1:
        found.problems["price"] = _("More than nothing: nobody can pay for what is free.")
    elif minor > money.AMOUNT_MINOR_MAX:
        most = money.format_money(money.AMOUNT_MINOR_MAX, plan.currency)
        found.problems["price"] = _("At most %(most)s: the payment provider takes no more.", most=most)
    found.values |= {"price_minor": minor, "currency": plan.currency}


def _check_times(plan: Plan, now: datetime, found: Checked) -> None:
    if zone_named(plan.time_zone) is None:
        found.problems["time_zone"] = _("A time zone from the list, such as Europe/Berlin.")
        return
    opens_at = _moment("opens", plan.opens, plan, plan.opens_which, found)
    if not plan.opens.strip():
        found.problems["opens"] = _("When does the door open?")
    elif opens_at is not None and opens_at <= now:
        found.problems["opens"] = _("That is over. Choose a time to come.")
    closes_at = _moment("closes", plan.closes, plan, plan.closes_which, found) if plan.closes.strip() else None
    if opens_at and closes_at and closes_at <= opens_at:
        found.problems["closes"] = _(CLOSES_BEFORE)
    found.values |= {"opens_at": opens_at, "closes_at": closes_at, "time_zone": plan.time_zone}


def _moment(name: str, typed: str, plan: Plan, which: str, found: Checked) -> datetime | None:
    match moment_of(typed, plan.time_zone, which):
        case Moment(at):
            return at
        case Gap(before, after):
            found.problems[name] = _(
                "The clocks of %(zone)s leave this time out: after %(before)s comes %(after)s. Choose a time before or after.",
                zone=plan.time_zone, before=f"{before:%H:%M}", after=f"{after:%H:%M}",
            )  # fmt: skip
        case Repeated(earlier, later):
            found.problems[name] = _("The clocks of %(zone)s show this time twice. Choose which one you mean.", zone=plan.time_zone)
            found.asked[name] = Asked(earlier, later)
        case None:
            found.problems[name] = _("A date and a time, such as 2026-12-01 20:00.")
    return None


def _check_rules(plan: Plan, found: Checked) -> None:
    per_person = _whole("per_person", plan.per_person, 1, PER_PERSON_MAX, found)
    attempts = _whole("attempts", plan.attempts, 1, ATTEMPTS_MAX, found)
    for name, text in (("hold", plan.hold), ("offer", plan.offer)):
        seconds = seconds_of(text)
        if seconds is None or not 1 <= seconds <= HOLD_SECONDS_MAX:
            found.problems[name] = _("Minutes and seconds, such as 10:00; a day at most.")
        found.values[f"{name}_seconds"] = seconds
    if plan.waitlist not in set(Waitlist):
        found.problems["waitlist"] = _("Choose one of the two.")
    else:
        found.values["waitlist"] = Waitlist(plan.waitlist)
    price_minor = found.values.get("price_minor")
    if per_person and "price" not in found.problems and (price_minor or 0) * per_person > money.AMOUNT_MINOR_MAX:
        found.problems["per_person"] = _("One person could owe more than the payment provider takes. Lower the price or the limit.")
    found.values |= {"per_person": per_person, "payment_attempts": attempts}


def _check_shipping(plan: Plan, found: Checked) -> None:
    listed = plan.ships and plan.served == LISTED
    if listed and not plan.countries:
        found.problems["countries"] = _("Choose the countries that you send to, or everywhere.")
    if listed and not COUNTRIES.issuperset(plan.countries):
        found.problems["countries"] = _("Choose countries from the list.")
    found.values |= {"ships": plan.ships, "shipping_countries": tuple(sorted(set(plan.countries))) if listed else None}


def _check_tax(plan: Plan, found: Checked) -> None:
    points = money.basis_points_of(Decimal(plan.tax)) if _AMOUNT.fullmatch(plan.tax) else None
    if not plan.tax.strip():
        points = 0
    elif points is None:
        found.problems["tax"] = _("A percentage from 0 to 100 with at most two decimals, such as 19 or 7.25.")
    found.values["tax_basis_points"] = points


def _check_fees(plan: Plan, found: Checked) -> None:
    """A table of fees, if the drop is sent: each country once, amounts of the drop's currency; somewhere it must be sent."""
    fees: dict[str, int] = {}
    currency = plan.currency if "currency" not in found.problems else "EUR"
    rows = plan.fees if plan.ships else ()
    for position, row in enumerate(rows, 1):
        name = f"fee-{position}"
        if row.country not in COUNTRIES and row.country != EVERYWHERE_ELSE:
            found.problems[f"{name}-country"] = _("Choose a country, or everywhere else.")
        elif row.country in fees:
            found.problems[f"{name}-country"] = _("This country has a fee already.")
        minor = money.minor_of(Decimal(row.amount), currency) if _AMOUNT.fullmatch(row.amount) else None
        if minor is None or minor > money.AMOUNT_MINOR_MAX:
            found.problems[f"{name}-amount"] = _("An amount in the currency of the price; 0 is free of charge.")
        fees.setdefault(row.country, minor or 0)
    if len(rows) > FEES_MAX:
        found.problems["fees"] = _("At most %(most)s lines.", most=FEES_MAX)
    listed = found.values.get("shipping_countries")
    unserved = [country for country in listed or () if fees and fee_in(fees, country) is None]
    if unserved:
        there = ", ".join(unserved)
        found.problems["fees"] = _("No fee for: %(countries)s. Add them, or a line for everywhere else.", countries=there)
    owed = (found.values.get("price_minor") or 0) * (found.values.get("per_person") or 1) + max(fees.values(), default=0)
    if fees and owed > money.AMOUNT_MINOR_MAX and not found.problems.keys() & {"price", "per_person"}:
        found.problems["fees"] = _("With this fee one person could owe more than the payment provider takes.")
    found.values["shipping_fees"] = fees or None


def _check_variants(variants: Sequence[PlannedVariant], found: Checked) -> None:
    if not 1 <= len(variants) <= VARIANTS_MAX:
        found.problems["variants"] = _("A drop has 1 to %(most)s variants.", most=VARIANTS_MAX)
    names = [" ".join(variant.name.split()) or (STANDARD if len(variants) == 1 else "") for variant in variants]
    made: list[tuple[str, int]] = []
    for position, (variant, name) in enumerate(zip(variants, names, strict=True), 1):
        if not name:
            found.problems[f"variant-{position}-name"] = _("Each of several variants needs a name.")
        elif len(name) > VARIANT_CHARACTERS_MAX:
            found.problems[f"variant-{position}-name"] = _("At most %(most)s characters.", most=VARIANT_CHARACTERS_MAX)
        elif refuse_name(name):
            found.problems[f"variant-{position}-name"] = _(refuse_name(name))
        elif as_seen(name) in map(as_seen, names[: position - 1]):
            found.problems[f"variant-{position}-name"] = _("There is a variant of this name already.")
        units = _whole(f"variant-{position}-units", variant.units, 0, UNITS_MAX, found)
        made.append((name, units or 0))
    if not found.problems.keys() & {f"variant-{n}-units" for n in range(1, len(made) + 1)} and not any(units for _, units in made):
        found.problems["variants"] = _("Nothing to sell yet: say how many there are.")
    found.values["variants"] = tuple(made)


def _whole(name: str, text: str, least: int, most: int, found: Checked) -> int | None:
    number = whole_in(text)
    if number is not None and least <= number <= most:
        return number
    found.problems[name] = _("A whole number from %(least)s to %(most)s.", least=least, most=count(most))
    return None
