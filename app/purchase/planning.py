"""From a plan to a drop at the gate, and what may still change about it: publish, words, opening, units, the door.

Guarantees: ledger first, gate second, as for every verb of the seller (drops.py); everything asks for the seller's own shop; what
is refused says why. A stale version changes nothing: `Stale` says that somebody was faster, and the caller shows both.

The gate out of reach: the ledger has the change, and the reconciler or the sweeper brings the gate after it.
"""

from datetime import datetime
from uuid import UUID

import structlog

from app import clock
from app.domain.drops import Door, Drop
from app.domain.plan import PICTURE_GONE, Plan, checked, checked_words, refuse_postponing
from app.errors import BadInput, DoormanError, NotFound
from app.ledger import Ledger, NewDrop
from app.ledger.plan import Words
from app.purchase.drops import Office, add_units, arm, change_door, tell_gate_of_door

log = structlog.get_logger("planning")


class Stale(DoormanError):
    """Somebody changed it since this version was read; nothing was written."""


class Incomplete(BadInput):
    """The plan is no drop yet. `problems`: field -> sentence."""

    def __init__(self, problems: dict[str, str]):
        field, sentence = next(iter(problems.items()))
        super().__init__(sentence, field=field)
        self.problems = problems


async def publish_draft(office: Office, shop_id: int, draft_id: int, version: int, actor: str) -> Drop:
    """The plan, in the version that was seen, becomes a drop and its gate is armed -> the drop.

    Repeated, it is the drop that it became. Incomplete or BadInput say what is wrong; Stale: it changed meanwhile.
    """
    draft = await office.ledger.draft(shop_id, draft_id)
    if draft is None:
        raise NotFound("draft")
    if draft.drop_id is not None:
        return await office.ledger.drop_by_id(draft.drop_id)
    if draft.version != version:
        raise Stale("draft")
    drop = await office.ledger.publish_draft(await new_drop(office.ledger, shop_id, draft.plan), draft_id, version, actor)
    if drop is None:  # somebody was faster: with the publication, or with a change
        draft = await office.ledger.draft(shop_id, draft_id)
        if draft is None or draft.drop_id is None:
            raise Stale("draft")
        return await office.ledger.drop_by_id(draft.drop_id)
    await arm(office, drop)
    return drop


async def new_drop(ledger: Ledger, shop_id: int, plan: Plan) -> NewDrop:
    """-> what this plan publishes. Incomplete: not yet."""
    found = checked(plan, clock.now())
    if not found.complete:
        raise Incomplete(found.problems)
    await _check_own_pictures(ledger, shop_id, plan)
    return NewDrop(shop_id=shop_id, **found.values)


async def edit_words(office: Office, shop_id: int, drop_id: int, version: int, plan: Plan, actor: str) -> Drop:
    """Title, description, pictures and countries of the plan become the drop's -> it. Incomplete, Stale, NotFound."""
    drop = await own_drop(office.ledger, shop_id, drop_id)
    found = checked_words(plan)
    found.problems.pop("slug", None)  # the address is not among what changes
    if not found.complete:
        raise Incomplete(found.problems)
    await _check_own_pictures(office.ledger, shop_id, plan)
    values = found.values
    words = Words(values["title"], values["description"], values["pictures"], values["shipping_countries"] if drop.ships else None)
    if not await office.ledger.edit_drop(shop_id, drop_id, version, words, actor):
        raise Stale("drop")
    await office.feed.publish("drop", drop=drop_id)
    return await own_drop(office.ledger, shop_id, drop_id)


async def postpone(
    office: Office, shop_id: int, drop_id: int, version: int, opens_at: datetime, closes_at: datetime | None, actor: str
) -> int:
    """A later opening; whoever is concerned is told -> how many. BadInput says why not; Stale: changed meanwhile."""
    drop = await own_drop(office.ledger, shop_id, drop_id)
    why_not = refuse_postponing(drop, opens_at, closes_at, clock.now())
    if why_not:
        raise BadInput(why_not, field="closes" if closes_at and closes_at <= opens_at else "opens")
    told = await office.ledger.postpone_drop(shop_id, drop_id, version, opens_at, closes_at, actor)
    if told is None:
        raise Stale("drop")
    await tell_gate_of_door(office, await own_drop(office.ledger, shop_id, drop_id))
    return told


async def change_units(office: Office, shop_id: int, drop_id: int, variant_id: int, units: int, op_id: UUID, actor: str) -> Drop:
    """Add units to a variant, or (negative) take unsold ones away, whole or not at all -> the drop. Repeats change nothing.

    BadInput: the drop is over, fewer are unsold than are taken away, the variant would be too large, or `op_id` is of another wish.
    """
    drop = await own_drop(office.ledger, shop_id, drop_id)
    variant = next((variant for variant in drop.variants if variant.id == variant_id), None)
    if variant is None:
        raise NotFound("variant")
    return await add_units(office, drop.slug, variant.name, units, op_id, actor=actor)


async def move_door(office: Office, shop_id: int, drop_id: int, door: Door, actor: str) -> Drop:
    """Pause, resume (OPEN), end for good (CLOSED), or cancel: every hold ends and all money goes back (CANCELLED) -> the drop.

    A door that stands so already is no change and no audit. BadInput: the drop has ended.
    """
    drop = await own_drop(office.ledger, shop_id, drop_id)
    return await change_door(office, drop.slug, door, actor=actor)


async def own_drop(ledger: Ledger, shop_id: int, drop_id: int) -> Drop:
    """-> the drop; NotFound for one that is unknown or another shop's."""
    drop = await ledger.seller_drop(shop_id, drop_id)
    if drop is None:
        raise NotFound("drop")
    return drop


async def _check_own_pictures(ledger: Ledger, shop_id: int, plan: Plan) -> None:
    hashes = [picture.hash for picture in plan.pictures]
    if hashes and set(hashes) - await ledger.pictures_of_shop(shop_id, hashes):
        raise BadInput(PICTURE_GONE, field="pictures")
