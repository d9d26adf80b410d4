"""A drop as a shopper will see it at any moment, drawn from a plan by the shop's own page. Nothing here is live.

The page carries no script of the drop and its forms are inert: it cannot buy, join, or ask anything. What a plan does not say yet
is filled in with something that can be drawn, so a preview never waits for a plan to be complete.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from app import clock
from app.clock import to_ms
from app.domain.drops import Door, Drop, DropPicture, Phase, Variant, Waitlist, phase_of
from app.domain.plan import Plan, checked
from app.languages import N_, _
from app.web.render import Mine, Scene, VariantScene

PHASES = {
    Phase.ANNOUNCED: N_("Before it opens"),
    Phase.LAST_SECONDS: N_("The last ten seconds"),
    Phase.OPEN: N_("Open"),
    Phase.ALL_HELD: N_("All in checkouts"),
    Phase.SOLD_OUT: N_("Sold out"),
    Phase.PAUSED: N_("Paused"),
    Phase.CLOSED: N_("Closed"),
    Phase.CANCELLED: N_("Cancelled"),
}
SHARES = {  # phase -> shares of the pieces that are left and in checkouts
    Phase.ANNOUNCED: (1.0, 0.0),
    Phase.LAST_SECONDS: (1.0, 0.0),
    Phase.OPEN: (0.6, 0.15),
    Phase.PAUSED: (0.6, 0.15),
    Phase.ALL_HELD: (0.0, 0.2),
    Phase.CLOSED: (0.1, 0.0),
}
WATCHING = 128
UNNAMED = N_("Your drop")
OPENS_IN = timedelta(days=1)  # of a plan that does not say
VISITOR = Mine(signed_in=False, key="", allowed=0, orders=(), said=None)


def drop_of(plan: Plan, shop_id: int, shop_name: str, law: tuple[str, ...] = ()) -> Drop:
    """-> the drop that this plan would be, with what it does not say yet filled in. `law`: the pages that its shop has."""
    now = clock.now()
    values = {name: value for name, value in checked(plan, now).values.items() if value is not None}
    pictures = tuple(DropPicture(picture.hash, picture.alt) for picture in plan.pictures)
    opens_at = values.get("opens_at") or now.replace(microsecond=0) + OPENS_IN
    closes_at = values.get("closes_at")
    return Drop(
        id=0,
        shop_id=shop_id,
        shop_name=shop_name,
        slug=plan.address or "preview",
        title=values.get("title") or _(UNNAMED),
        description=plan.description,
        price_minor=max(0, values.get("price_minor", 0)),
        currency=values.get("currency", "EUR"),
        opens_at=opens_at,
        closes_at=closes_at if closes_at and closes_at > opens_at else None,
        per_person=values.get("per_person", 1),
        hold_seconds=values.get("hold_seconds", 600),
        payment_attempts=values.get("payment_attempts", 3),
        door=Door.OPEN,
        clock_offset_ms=0,
        picture=pictures[0].hash if pictures else None,
        retired=False,
        variants=tuple(Variant(number, name or f"#{number}", units) for number, (name, units) in enumerate(values["variants"], 1)),
        offer_seconds=values.get("offer_seconds", 600),
        waitlist=values.get("waitlist", Waitlist.OFFERS),
        ships=plan.ships,
        shipping_countries=values.get("shipping_countries"),
        tax_basis_points=values.get("tax_basis_points", 0),
        shipping_fees=values.get("shipping_fees"),
        law=law,
        time_zone=plan.time_zone,
        pictures=pictures,
    )


def scene_at(drop: Drop, at: datetime) -> Scene:
    """-> the scene at this moment, if nobody bought anything before."""
    everything = {variant.id: variant.units_total for variant in drop.variants}
    closes_ms = to_ms(drop.closes_at) if drop.closes_at else None
    phase = phase_of(Door.OPEN, to_ms(drop.opens_at), closes_ms, to_ms(at), everything, {})
    return _scene(drop, phase, at, (1.0, 0.0) if phase is Phase.OPEN else None)


def scene_in(drop: Drop, phase: Phase) -> Scene:
    """-> a scene of this phase, at a moment when it could be."""
    now, opens_at = clock.now(), drop.opens_at
    match phase:
        case Phase.ANNOUNCED:
            at = min(now.replace(second=0, microsecond=0), opens_at - timedelta(hours=1))
        case Phase.LAST_SECONDS:
            at = opens_at - timedelta(seconds=7)
        case Phase.CLOSED:
            at = drop.closes_at or opens_at + timedelta(days=1)
        case _:
            at = opens_at + timedelta(minutes=2)
    return _scene(drop, phase, at, None)


def visitor(drop: Drop) -> Mine:
    """-> somebody who came by and may buy."""
    return replace(VISITOR, allowed=drop.per_person)


def _scene(drop: Drop, phase: Phase, at: datetime, shares: tuple[float, float] | None) -> Scene:
    left_share, held_share = shares or SHARES.get(phase, (0.0, 0.0))
    variants = []
    for variant in drop.variants:
        left = round(variant.units_total * left_share)
        held = min(variant.units_total - left, -int(-variant.units_total * held_share // 1))
        variants.append(VariantScene(variant.id, variant.name, left, held, variant.units_total))
    return Scene(phase, 1, at, drop.opens_at, drop.closes_at, WATCHING, tuple(variants))
