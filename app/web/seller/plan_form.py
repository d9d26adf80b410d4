"""A plan as a form, and a form as a plan. Nothing that was typed is lost or corrected on the way.

Rows (variants, pictures) carry their number in the names of their fields; a button of the form (`do`) adds, removes or moves one,
which changes the form that comes back and nothing else, so that it works without JavaScript. Only saving writes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from babel.numbers import format_decimal

from app.domain.addresses import COUNTRIES
from app.domain.drops import EVERYWHERE_ELSE, FEES_MAX, PICTURES_MAX, VARIANTS_MAX
from app.domain.plan import LISTED, Checked, Plan, PlannedFee, PlannedPicture, PlannedVariant, amount_in, price_typed
from app.errors import BadInput
from app.languages import N_, Language, _, spoken
from app.ledger.pictures import HASH
from app.web.address_fields import country_name

TEXTS = (
    "title", "slug", "description", "currency", "time_zone", "opens", "opens_which", "closes", "closes_which", "per_person", "hold",
    "offer", "waitlist", "attempts", "served",
)  # fmt: skip
LABELS = {  # field -> what it is called, in the order of the page
    "title": N_("Title"),
    "slug": N_("Address"),
    "description": N_("Description"),
    "price": N_("Price"),
    "currency": N_("Currency"),
    "tax": N_("Tax included"),
    "time_zone": N_("Time zone"),
    "opens": N_("Opens"),
    "opens_which": N_("Opens: which of the two"),
    "closes": N_("Closes"),
    "closes_which": N_("Closes: which of the two"),
    "variants": N_("Variants and pieces"),
    "per_person": N_("Pieces per person"),
    "hold": N_("Time to pay"),
    "attempts": N_("Attempts to pay"),
    "waitlist": N_("Waiting list"),
    "offer": N_("Time to take an offer"),
    "ships": N_("Sent by parcel"),
    "served": N_("Sent to"),
    "countries": N_("Countries"),
    "fees": N_("Shipping fees"),
    "pictures": N_("Pictures"),
}
WAITLISTS = {
    "offers": N_("A piece that comes back is held for the next"),
    "notify": N_("Everybody is told, first come first served"),
}
SERVED = {"everywhere": N_("Everywhere"), "listed": N_("Only these countries")}
VERSION_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Form:
    """What a template draws. `checked` None: nothing is said yet about what is missing."""

    plan: Plan
    version: int
    price: str  # as the reader's language writes it
    tax: str
    fees: tuple[PlannedFee, ...]
    checked: Checked | None = None
    unsaved: bool = False
    more: Mapping[str, str] = field(default_factory=dict)  # problems beyond those of the plan itself: field -> sentence

    @property
    def problems(self) -> dict[str, str]:
        return (self.checked.problems if self.checked else {}) | dict(self.more)

    def problem(self, name: str) -> str:
        return self.problems.get(name, "")

    def asked(self, name: str) -> Any:
        """-> the two moments that a repeated time means, None without."""
        return self.checked.asked.get(name) if self.checked else None


def form_of(plan: Plan, version: int, **more: Any) -> Form:
    language = spoken()
    fees = tuple(PlannedFee(fee.country, number_shown(fee.amount, language)) for fee in plan.fees)
    return Form(plan, version, price_shown(plan, language), number_shown(plan.tax, language), fees, **more)


def price_shown(plan: Plan, language: Language) -> str:
    """'1234.50' -> '1.234,50' for a German; what is no number as it was typed."""
    return number_shown(plan.price, language)


def number_shown(text: str, language: Language) -> str:
    """-> the same of any amount that a plan keeps."""
    amount = amount_in(text)
    if amount is None:
        return text
    decimals = max(0, -amount.as_tuple().exponent)
    return format_decimal(amount, format=f"#,##0{'.' if decimals else ''}{'0' * decimals}", locale=language.locale)


def plan_from(fields: Mapping[str, Any], base: Plan) -> Plan:
    """The fields of a form -> the plan as it was typed. What the form does not have stays as in `base`."""
    changes: dict[str, Any] = {name: _text(fields, name) for name in TEXTS if name in fields}
    if "price" in fields:
        typed = _text(fields, "price")
        changes["price"] = base.price if typed == price_shown(base, spoken()) else price_typed(typed, spoken().locale)
    if "tax" in fields:
        changes["tax"] = number_typed(_text(fields, "tax"), base.tax)
    if "has_fees" in fields:
        rows = [
            (_text(fields, f"fee-{n}-country"), _text(fields, f"fee-{n}-amount"))
            for n in range(1, FEES_MAX + 1)
            if f"fee-{n}-country" in fields
        ]
        before = {fee.country: fee.amount for fee in base.fees}
        changes["fees"] = tuple(PlannedFee(country, number_typed(amount, before.get(country, ""))) for country, amount in rows)
    if "description" in changes:
        changes["description"] = changes["description"].replace("\r\n", "\n")  # as forms send the ends of lines
    if "currency" in changes:
        changes["currency"] = changes["currency"].strip().upper()
    if "has_shipping" in fields:
        changes["ships"] = fields.get("ships") == "on"
    if "has_countries" in fields:
        changes["countries"] = tuple(sorted(code for code in COUNTRIES if fields.get(f"country-{code}") == "on"))
    if "has_variants" in fields:
        changes["variants"] = tuple(
            PlannedVariant(_text(fields, f"variant-{n}-name"), _text(fields, f"variant-{n}-units"))
            for n in range(1, VARIANTS_MAX + 1)
            if f"variant-{n}-name" in fields
        )
    if "has_pictures" in fields:
        changes["pictures"] = tuple(
            PlannedPicture(_hash(fields, f"picture-{n}-hash"), _text(fields, f"picture-{n}-alt"))
            for n in range(1, PICTURES_MAX * 2 + 1)
            if f"picture-{n}-hash" in fields
        )
    return msgspec.structs.replace(base, **changes)


def number_typed(typed: str, before: str) -> str:
    """-> as a plan keeps it: what stood there, where it was not touched, else what it means in the reader's language."""
    return before if typed == number_shown(before, spoken()) else price_typed(typed.strip(), spoken().locale)


def version_from(fields: Mapping[str, Any]) -> int:
    """-> the version that the form was made of; 0, which none has, for anything odd."""
    text = fields.get("version", "")
    number = int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 11 else 0
    return number if number <= VERSION_MAX else 0


def rearranged(plan: Plan, do: str) -> Plan | None:
    """A button's word ('variant-add', 'picture-up-2', ...) -> the plan with that row added, removed or moved; None: no such."""
    kind, _dash, rest = do.partition("-")
    verb, _dash, number = rest.partition("-")
    name = {"variant": "variants", "picture": "pictures", "fee": "fees"}.get(kind)
    if name is None:
        return None
    rows = list(getattr(plan, name))
    if do == "variant-add":
        rows = [*rows, PlannedVariant()] if len(rows) < VARIANTS_MAX else rows
    elif do == "fee-add":
        named = {row.country for row in rows}
        country = "" if EVERYWHERE_ELSE in named or not rows else EVERYWHERE_ELSE  # the second line is most often that
        rows = [*rows, PlannedFee(country)] if len(rows) < FEES_MAX else rows
    elif number.isascii() and number.isdigit() and 1 <= int(number[:6]) <= len(rows) and verb in ("remove", "up", "down"):
        at = int(number) - 1
        row = rows.pop(at)
        if verb != "remove":
            rows.insert(max(0, at - 1) if verb == "up" else at + 1, row)
    else:
        return None
    if name == "variants" and not rows:
        rows = [PlannedVariant()]
    return msgspec.structs.replace(plan, **{name: tuple(rows)})


def with_pictures(plan: Plan, hashes: Sequence[str]) -> Plan:
    """-> the plan with these pictures behind its own; one that it has already is not added again."""
    known = {picture.hash for picture in plan.pictures}
    new = tuple(PlannedPicture(hash) for hash in dict.fromkeys(hashes) if hash not in known)
    return msgspec.structs.replace(plan, pictures=plan.pictures + new)


def differences(mine: Plan, theirs: Plan) -> list[tuple[str, str, str]]:
    """-> (what it is called, mine, theirs) of every field in which the two differ, in words."""
    return [
        (_(LABELS[name]), said(name, mine), said(name, theirs)) for name in LABELS if getattr(mine, name) != getattr(theirs, name)
    ]


def said(name: str, plan: Plan) -> str:
    """-> a field of the plan in words; "" where nothing was typed."""
    value = getattr(plan, name)
    match name:
        case "price":
            return price_shown(plan, spoken())
        case "variants":
            return "\n".join(f"{variant.name or '–'}: {variant.units or '–'}" for variant in value)
        case "pictures":
            return "\n".join(f"{number}. {picture.alt or picture.hash[:8]}" for number, picture in enumerate(value, 1))
        case "fees":
            return "\n".join(f"{fee_country(fee.country)}: {number_shown(fee.amount, spoken()) or '–'}" for fee in value)
        case "tax":
            return number_shown(value, spoken())
        case "countries":
            return ", ".join(value)
        case "ships":
            return _("Yes") if value else _("No")
        case "waitlist":
            return _(WAITLISTS.get(value, value))
        case "served":
            return _(SERVED.get(value, value))
        case "opens" | "closes":
            return value.replace("T", " ")
    return value


def hidden_fields(plan: Plan) -> dict[str, str]:
    """-> the plan as the fields of a form, to be sent again as it is."""
    fields = {name: getattr(plan, name) for name in TEXTS} | {"price": price_shown(plan, spoken())}
    fields |= {"tax": number_shown(plan.tax, spoken())}
    fields |= {name: "1" for name in ("has_shipping", "has_countries", "has_fees", "has_variants", "has_pictures")}
    if plan.ships:
        fields["ships"] = "on"
    fields |= {f"country-{code}": "on" for code in plan.countries}
    for number, variant in enumerate(plan.variants, 1):
        fields |= {f"variant-{number}-name": variant.name, f"variant-{number}-units": variant.units}
    for number, fee in enumerate(plan.fees, 1):
        fields |= {f"fee-{number}-country": fee.country, f"fee-{number}-amount": number_shown(fee.amount, spoken())}
    for number, picture in enumerate(plan.pictures, 1):
        fields |= {f"picture-{number}-hash": picture.hash, f"picture-{number}-alt": picture.alt}
    return fields


def fee_country(code: str) -> str:
    """-> a country in a table of fees, by its name."""
    return _("Everywhere else") if code == EVERYWHERE_ELSE else country_name(code, spoken()) if code else "–"


def sends_parcels_to_listed(plan: Plan) -> bool:
    return plan.ships and plan.served == LISTED


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise BadInput(f"{name} must be text", field=name)
    return value


def _hash(fields: Mapping[str, Any], name: str) -> str:
    value = _text(fields, name)
    if not HASH.fullmatch(value):
        raise BadInput(f"{name} is no picture", field="pictures")
    return value
