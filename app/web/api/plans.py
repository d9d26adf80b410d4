"""A draft's plan as programs read it, and as they say it.

A plan keeps what was typed (app/domain/plan.py). What a program says becomes the text that the dashboard's form would have typed;
what it leaves out stays as it is, right or wrong. So a program and a person may work on one draft, and neither overwrites what the
other has said.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from app import clock
from app.domain import money
from app.domain.plan import (
    EVERYWHERE,
    LISTED,
    Checked,
    Plan,
    PlannedFee,
    PlannedPicture,
    PlannedVariant,
    amount_in,
    checked,
    duration_text,
    whole_in,
)
from app.domain.schedule import YEAR_MAX, YEAR_MIN, Moment, moment_of, typed_in, zone_named
from app.errors import BadInput
from app.languages import N_
from app.ledger.plan import Draft
from app.web.api import shapes

NO_ZONE = N_("There is no such time zone. Use an IANA name such as Europe/Berlin.")
NO_MOMENT = N_("This time is too far away.")
AS_TYPED = ("title", "slug", "description", "currency", "waitlist", "ships")  # a plan calls and keeps them as we do


# ---- read


def line_told(draft: Draft) -> shapes.DraftLine:
    return shapes.DraftLine(**line_of(draft, checked(draft.plan, clock.now())))


def draft_told(draft: Draft) -> shapes.Draft:
    plan, found = draft.plan, checked(draft.plan, clock.now())
    value = found.values.get
    return shapes.Draft(
        **line_of(draft, found),
        description=plan.description,
        price_minor=minor_in(plan.price, plan.currency),
        currency=plan.currency,
        opens_at=moment_in(plan, plan.opens, plan.opens_which),
        closes_at=moment_in(plan, plan.closes, plan.closes_which),
        time_zone=plan.time_zone,
        per_person=value("per_person"),
        hold_seconds=value("hold_seconds"),
        offer_seconds=value("offer_seconds"),
        payment_attempts=value("payment_attempts"),
        waitlist=value("waitlist"),
        ships=plan.ships,
        shipping_countries=None if plan.served == EVERYWHERE else list(plan.countries),
        shipping_fees={fee.country: minor_in(fee.amount, plan.currency) for fee in plan.fees},
        tax_basis_points=value("tax_basis_points"),
        variants=[shapes.PlannedVariant(name=one.name, units=whole_in(one.units)) for one in plan.variants],
        pictures=[shapes.Picture(hash=one.hash, alt=one.alt) for one in plan.pictures],
    )


def line_of(draft: Draft, found: Checked) -> dict[str, Any]:
    return {
        "id": draft.id,
        "version": draft.version,
        "title": draft.plan.title,
        "slug": draft.plan.address,
        "updated_at": draft.updated_at,
        "updated_by": draft.updated_by,
        "drop_id": draft.drop_id,
        "problems": found.problems,
    }


def moment_in(plan: Plan, typed: str, which: str) -> datetime | None:
    """-> the moment that a plan means; None where it means none, or two."""
    match moment_of(typed, plan.time_zone, which):
        case Moment(at):
            return at
    return None


def minor_in(typed: str, currency: str) -> int | None:
    """-> an amount as a plan keeps it, in minor units; None for what is none in this currency."""
    amount = amount_in(typed)
    try:
        return None if amount is None else money.minor_of(amount, currency)
    except BadInput:  # the currency is none
        return None


# ---- said


def said_in(body: shapes.NewDraft | shapes.DraftChange | shapes.DropChange, shop_zone: str) -> dict[str, Any]:
    """-> what the request says, member by member, without what it leaves out."""
    said = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not msgspec.UNSET}
    if "time_zone" in said:
        said["time_zone"] = said["time_zone"] or shop_zone
    return said


def plan_with(base: Plan, said: Mapping[str, Any]) -> Plan:
    """-> the plan with what is said, as the dashboard's form would have typed it. BadInput for what no form could hold."""
    changes: dict[str, Any] = {name: said[name] for name in AS_TYPED if name in said}
    changes |= times_with(base, said)
    currency = said.get("currency", base.currency)
    if "price_minor" in said:
        changes["price"] = "" if said["price_minor"] is None else f"{money.as_decimal(said['price_minor'], currency):f}"
    if "shipping_fees" in said:
        fees = said["shipping_fees"].items()
        changes["fees"] = tuple(PlannedFee(country, f"{money.as_decimal(fee, currency):f}") for country, fee in fees)
    if "shipping_countries" in said:
        changes["served"] = EVERYWHERE if said["shipping_countries"] is None else LISTED
        changes["countries"] = tuple(sorted(set(said["shipping_countries"] or ())))
    if "tax_basis_points" in said:
        changes["tax"] = f"{money.percent_of(said['tax_basis_points']):f}" if said["tax_basis_points"] else ""
    for name, field in (("hold", "hold_seconds"), ("offer", "offer_seconds")):
        if field in said:
            changes[name] = duration_text(said[field])
    for name, field in (("per_person", "per_person"), ("attempts", "payment_attempts")):
        if field in said:
            changes[name] = str(said[field])
    if "variants" in said:
        changes["variants"] = tuple(PlannedVariant(one.name, str(one.units)) for one in said["variants"])
    if "pictures" in said:
        changes["pictures"] = tuple(PlannedPicture(one.hash, one.alt) for one in said["pictures"])
    return msgspec.structs.replace(base, **changes)


def times_with(base: Plan, said: Mapping[str, Any]) -> dict[str, str]:
    """-> opening, closing and time zone as they are typed: what is not said keeps its moment."""
    zone, changes = said.get("time_zone", base.time_zone), {}
    if "time_zone" in said:
        changes["time_zone"] = zone
    for name in ("opens", "closes"):
        if f"{name}_at" in said:
            moment = said[f"{name}_at"]
        elif zone != base.time_zone:
            moment = moment_in(base, getattr(base, name), getattr(base, f"{name}_which"))
            if moment is None:
                continue  # it stays as it was typed
        else:
            continue
        changes[name], changes[f"{name}_which"] = typed(f"{name}_at", moment, zone)
    if changes and zone_named(zone) is None:
        raise BadInput(NO_ZONE, field="time_zone")
    return changes


def typed(field: str, moment: datetime | None, zone: str) -> tuple[str, str]:
    if moment is None:
        return "", ""
    if not YEAR_MIN < moment.year < YEAR_MAX:
        raise BadInput(NO_MOMENT, field=field)
    return typed_in(moment, zone)
