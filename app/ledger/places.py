"""The waitlist: places of a drop's variants in the order of joining.

Guarantees: a person has one place per variant at most. Nobody ever comes in before somebody who has a place already, so that how
many are ahead only falls. A place is never granted here: the gate offers units in somebody's name, the recorder writes that as an
order and ends the waiting in the same transaction, and whoever has left the list meanwhile is offered nothing (PROTOCOL section 3).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from app.ledger.messages import tell
from app.ledger.pool import Asker, Pool


@dataclass(frozen=True, slots=True)
class Wish:
    """Somebody wants to wait."""

    shopper_id: int
    variant_id: int
    quantity: int


@dataclass(frozen=True, slots=True)
class Place:
    """A place that waits or is offered."""

    place_id: int
    variant_id: int
    shopper_id: int
    quantity: int
    number: int  # what is shown: 1, 2, 3 … of its variant, the same for ever
    state: Literal["waiting", "offered"]
    order_id: UUID | None  # of the offer
    ahead: int  # how many wait before it


@dataclass(frozen=True, slots=True)
class Joined:
    """`place` None: refused, `why` says why."""

    place: Place | None
    fresh: bool = False
    why: Literal["closed", "already_yours"] | None = None


class NextInLine(NamedTuple):
    """A place that may take over units."""

    place_id: int
    buyer: int
    variant_id: int
    quantity: int
    offer_seconds: float


class ListWithStock(NamedTuple):
    drop_id: int
    variant_id: int
    waitlist: Literal["offers", "notify"]


class PlacesPart(Pool):
    async def join_list(self, drop_id: int, wishes: Sequence[Wish]) -> list[Joined]:
        """Give each wish a place at the end, in order -> one answer a wish. Who has a place of this variant keeps it as it is."""
        async with self._transaction() as ask:
            await ask.value("lock_list", drop_id)
            known = await _places(ask, drop_id, wishes)
            takes = await ask.value("list_open", drop_id)
            new = {(wish.shopper_id, wish.variant_id): wish for wish in reversed(wishes)} if takes else {}
            new = [wish for at, wish in reversed(new.items()) if at not in known]
            if new:
                columns = zip(*((wish.shopper_id, wish.variant_id, wish.quantity) for wish in new), strict=True)
                await ask.rows("join_list", drop_id, *map(list, columns))
            places = await _places(ask, drop_id, wishes) if new else known
        refused = Joined(None, why="already_yours" if takes else "closed")
        fresh = places.keys() - known.keys()  # the first wish of a new place is the one that made it
        answers = []
        for wish in wishes:
            at = (wish.shopper_id, wish.variant_id)
            answers.append(Joined(places[at], fresh=at in fresh) if at in places else refused)
            fresh = fresh - {at}
        return answers

    async def places_of(self, drop_id: int, shopper_id: int) -> list[Place]:
        """-> the places that this shopper has on the drop's list, oldest first."""
        return [Place(**row) for row in await self._rows("places_of", drop_id, shopper_id)]

    async def waiters(self, drop_id: int) -> frozenset[int]:
        """-> every shopper with a place on the drop's list."""
        return frozenset(row["shopper_id"] for row in await self._rows("waiters", drop_id))

    async def leave_list(self, drop_id: int, variant_id: int, shopper_id: int) -> bool:
        """-> False: no place of theirs waits there."""
        return await self._count("leave_list", drop_id, variant_id, shopper_id) == 1

    async def heirs_of_order(self, order_id: UUID, after: int, limit: int) -> list[NextInLine]:
        """-> who may take over the units of this order, in order, from behind place `after` on."""
        return [NextInLine(**row) for row in await self._rows("heirs_of_order", order_id, after, limit)]

    async def heirs_of_variant(self, variant_id: int, after: int, limit: int) -> list[NextInLine]:
        """-> who may have unsold units of this variant, in order, from behind place `after` on."""
        return [NextInLine(**row) for row in await self._rows("heirs_of_variant", variant_id, after, limit)]

    async def lists_with_stock(self) -> list[ListWithStock]:
        """-> variants with somebody waiting and units that no order holds."""
        return [ListWithStock(**row) for row in await self._rows("lists_with_stock")]

    async def notify_list(self, variant_id: int, limit: int) -> int:
        """Tell up to `limit` of those who wait for this variant that there are units, and end their places -> how many."""
        return len(await self._rows("notify_list", variant_id, limit))

    async def close_lists(self, limit: int) -> list[int]:
        """End up to `limit` places of drops that are over, each with a word to its owner -> the drop of each."""
        return [row["drop_id"] for row in await self._rows("close_lists", limit)]


async def end_offers(ask: Asker, order_ids: Iterable[UUID], kind: str) -> None:
    """These orders were given back, in the caller's transaction: offers among them have lapsed, and everybody is told.

    `kind`: what became of the orders, as their history says it. Who gives a unit back by hand knows it already.
    """
    order_ids = list(order_ids)
    await ask.count("places_lapsed", order_ids)
    if kind == "expired":
        await tell(ask, order_ids, "expired", offer="offer_lapsed")
    elif kind == "failed":
        await tell(ask, order_ids, "failed", offer="offer_lapsed")


async def _places(ask: Asker, drop_id: int, wishes: Sequence[Wish]) -> dict[tuple[int, int], Place]:
    rows = await ask.rows("places_of_many", drop_id, sorted({wish.shopper_id for wish in wishes}))
    return {(row["shopper_id"], row["variant_id"]): Place(**row) for row in rows}
