"""Retire: once a drop is over and its books are closed, its keys leave Redis.

Ledger first: from then on every door answers `closed` without asking the gate, and a unit that still comes back (a refund with
restock, months later) needs no gate to confirm it. A death between the two steps leaves keys that nobody reads; asking again
removes them.
"""

from app.clock import now
from app.domain.drops import Drop
from app.errors import BadInput, NotFound
from app.purchase.books import books_of
from app.purchase.drops import Office

TRIES_MAX = 5  # a gate that moves meanwhile: a settled mark, a late release


async def retire(office: Office, slug: str, *, actor: str | None = None) -> Drop:
    """-> the retired drop. BadInput says what is still open; GateUnreachable: ask again. Safe to repeat.

    `actor`: who did it, for the audit log.
    """
    drop = await office.ledger.drop_by_slug(slug)
    if drop is None:
        raise NotFound(f"there is no drop named {slug}")
    if not drop.retired:
        await _close_the_books(office, drop, actor)
        await office.feed.publish("drop", drop=drop.id)
    for _ in range(TRIES_MAX):
        snapshot = await office.gate.snapshot(drop.id)
        if snapshot is None or await office.gate.retire(drop.id, snapshot.stamp) != "moved":
            return await office.ledger.drop_by_id(drop.id)
    raise BadInput(f"the gate of {slug} still moves; ask again in a moment")


async def _close_the_books(office: Office, drop: Drop, actor: str | None) -> None:
    if not drop.over(now()):
        raise BadInput(f"{drop.slug} is not over; close it first")
    books = await books_of(office.ledger, office.gate, drop.id, drop.slug)
    if not books["balanced"]:
        raise BadInput(f"the books of {drop.slug} are not closed: {', '.join(books['findings']) or 'still recording'}")
    for name in ("offered", "held", "processing", "returning"):
        if books[name]:
            raise BadInput(f"{drop.slug} has {books[name]} units {name}; they end by themselves, ask again later")
    if not await office.ledger.retire_drop(drop.id, actor=actor):
        raise BadInput(f"an order of {drop.slug} has moved meanwhile; ask again")
