"""The seller's verbs on a drop: create, pause, resume, close, cancel, add units. Ledger first, gate second.

The gate out of reach: the ledger has the change, and the reconciler or the sweeper brings the gate after it.
"""

from datetime import datetime
from typing import Protocol
from uuid import UUID, uuid4

import structlog

from app import clock
from app.clock import to_ms
from app.domain.drops import ENDS, Door, Drop
from app.domain.plan import HAS_ENDED, SOLD_MEANWHILE
from app.errors import BadInput, GateUnreachable, NotFound
from app.gate import Gate
from app.ledger import Ledger, NewDrop
from app.live import Feed
from app.purchase.reconciling import reconcile
from app.purchase.waiting import heirs_of_variant
from app.settings import Settings

TELLS_MAX = 5  # of one change, to a gate whose drop keeps moving; the reconciler has the last word

log = structlog.get_logger("drops")


class Office(Protocol):
    """What the seller's verbs need of a process."""

    ledger: Ledger
    gate: Gate
    feed: Feed
    settings: Settings


async def create_drop(office: Office, new: NewDrop, *, actor: str | None = None) -> Drop:
    """Publish a drop and arm its gate -> the drop. BadInput names the field that is wrong.

    `actor`, here and below: who did it, for the audit log.
    """
    drop = await office.ledger.create_drop(new, actor=actor)
    await arm(office, drop)
    return drop


async def arm(office: Office, drop: Drop) -> None:
    """The gate learns of a drop that was just published."""
    try:
        await reconcile(office.ledger, office.gate, office.feed, drop.id, office.settings.journal_entries_max)
    except GateUnreachable:
        log.warning("the reconciler will arm the gate", drop=drop.slug)
    await office.feed.publish("drop", drop=drop.id)


async def change_door(
    office: Office,
    slug: str,
    door: Door,
    *,
    opens_at: datetime | None = None,
    closes_at: datetime | None = None,
    actor: str | None = None,
) -> Drop:
    """Pause, resume (open), close or cancel -> the drop afterwards. A door that stands so already is no change.

    BadInput: the drop is over, by the seller's word or its closing time. The ledger judges that under the drop's lock: of a resume
    and an end at once, the end stays whichever came first.
    """
    drop = await _known(office.ledger, slug)
    changed = await office.ledger.change_door(drop.id, door, opens_at=opens_at, closes_at=closes_at, actor=actor)
    drop = await _known(office.ledger, slug)
    if not changed and (drop.door is not door or (door not in ENDS and drop.over(clock.now()))):
        raise BadInput(HAS_ENDED, field="door")
    return await tell_gate_of_door(office, drop)


async def tell_gate_of_door(office: Office, drop: Drop) -> Drop:
    """The gate's door and times become the ledger's -> the drop as the gate was told of it.

    Of two sellers at once the slower word may be the older one: whoever has told the gate looks into the ledger once more, so that
    the last word is what holds. And the gate itself never opens a closed door again (../lua/door.lua).
    """
    try:
        for _ in range(TELLS_MAX):
            closes_ms = to_ms(drop.closes_at) if drop.closes_at else None
            await office.gate.set_door(drop.id, drop.door.at_gate, to_ms(drop.opens_at), closes_ms)
            told, drop = drop, await office.ledger.drop_by_id(drop.id)
            if (drop.door, drop.opens_at, drop.closes_at) == (told.door, told.opens_at, told.closes_at):
                break
    except GateUnreachable:
        log.warning("the reconciler will move the gate's door", drop=drop.slug)
    await office.feed.publish("drop", drop=drop.id)
    return drop


async def add_units(
    office: Office, slug: str, variant_name: str | None, units: int, op_id: UUID | None = None, *, actor: str | None = None
) -> Drop:
    """Add units to a variant (its name may be left out when there is one) -> the drop afterwards.

    Negative units take unsold ones away, whole or not at all. `op_id` makes a repeat harmless, and belongs to this one wish.
    BadInput: the drop is over, fewer are unsold than are taken away, or the variant would be too large.
    """
    drop = await _known(office.ledger, slug)
    variant = drop.variants[0] if variant_name is None and len(drop.variants) == 1 else drop.variant_named(variant_name or "")
    if variant is None:
        raise BadInput(f"{slug} has these variants: {', '.join(v.name for v in drop.variants)}", field="variant")
    op_id = op_id or uuid4()
    if not await office.ledger.add_units(drop.id, variant.id, units, op_id, actor=actor):
        raise BadInput(SOLD_MEANWHILE, field="units")
    try:
        await confirm_adjustments(office.ledger, office.gate, office.feed, drop.id)
    except GateUnreachable:
        log.warning("the sweeper will add the units at the gate", drop=slug)
    if await office.ledger.adjustment(op_id) is None:  # the gate had sold them, which the ledger did not know yet
        raise BadInput(SOLD_MEANWHILE, field="units")
    await office.feed.publish("drop", drop=drop.id)
    return await _known(office.ledger, slug)


async def confirm_adjustments(ledger: Ledger, gate: Gate, feed: Feed, drop_id: int) -> None:
    """Bring unconfirmed adjustments of a drop to the gate, each once per id, until it confirms; who waits gets the units."""
    for adjustment in await ledger.unconfirmed_adjustments(drop_id):
        heirs = await heirs_of_variant(ledger, gate, drop_id, adjustment.variant_id) if adjustment.units > 0 else ()
        verdict = await gate.adjust(drop_id, adjustment.id, adjustment.variant_id, adjustment.units, heirs)
        if verdict in ("done", "repeated"):
            await ledger.confirm_adjustment(adjustment.id)
            await feed.publish("stock", drop=drop_id)
        elif verdict == "too_few":  # sold meanwhile: the wish is undone whole
            await ledger.withdraw_adjustment(adjustment.id)


async def _known(ledger: Ledger, slug: str) -> Drop:
    drop = await ledger.drop_by_slug(slug)
    if drop is None:
        raise NotFound(f"there is no drop named {slug}")
    return drop
