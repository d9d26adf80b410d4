"""The waitlist: joining, leaving, and who is next.

Guarantees: a place is given by the ledger alone, in the order in which joins reach it; whoever waits is never overtaken. A crowd
that joins at once goes to the ledger together, one transaction for all of a process's that came meanwhile, so that it occupies one
connection of the pages' pool and no page waits behind it. Units are never granted here: heirs are candidates for the gate, which
serves the first who may have them, each place once (PROTOCOL section 3).

The ledger gone: joining and leaving fail as LedgerUnreachable; nothing is promised. The gate gone: units wait with their receipts.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog

from app.clock import monotonic
from app.domain.ids import new_order_id
from app.errors import LedgerUnreachable
from app.gate import Gate, Heir, Limiter
from app.ledger import Joined, Ledger, NextInLine, Wish
from app.live import Feed

JOINS_AT_ONCE_MAX = 500  # of one transaction
JOINS_PENDING_MAX = 10_000  # of one drop in this process; more are turned away
TELL_SECONDS = 1.0  # pages hear of a list's length at most this often from one process
HEIRS_MAX = 100  # candidates of one call to the gate: more than units that come back at the same moment in all processes
DROPS_REMEMBERED_MAX = 256  # whose waiters one process remembers
PAGE_PLACES = 200  # places read at once in search of them

log = structlog.get_logger("waitlist")


class Lists:
    """The lists of all drops, as one web process serves them."""

    def __init__(self, ledger: Ledger, gate: Gate, feed: Feed, join_limit: tuple[int, float]):
        """`join_limit`: (joins, seconds) of one shopper, over all processes."""
        self._ledger, self._feed = ledger, feed
        self.pace = Limiter(gate, "waiter", *join_limit)
        self._waiters: dict[int, frozenset[int]] = {}
        self._asking: dict[int, asyncio.Task] = {}
        self._pending: dict[int, list[tuple[Wish, asyncio.Future]]] = {}
        self._flushing: dict[int, asyncio.Task] = {}
        self._told_at: dict[int, float] = {}
        self._telling: set[asyncio.Task] = set()

    async def join(self, drop_id: int, wish: Wish) -> Joined:
        """Wait for `wish.quantity` units of a variant -> the place, or why there is none. Joining again is the same place."""
        pending = self._pending.setdefault(drop_id, [])
        if len(pending) >= JOINS_PENDING_MAX:
            raise LedgerUnreachable("too many join this list at the same moment")
        joined = asyncio.get_running_loop().create_future()
        pending.append((wish, joined))
        if drop_id not in self._flushing:
            self._flushing[drop_id] = asyncio.create_task(self._flush(drop_id))
        return await asyncio.shield(joined)

    async def waits(self, drop_id: int, shopper_id: int) -> bool:
        """Has this shopper a place on the drop's list? From memory, which the feed's word for a changed list empties."""
        waiters = self._waiters.get(drop_id)
        if waiters is None:
            task = self._asking.get(drop_id)
            if task is None:
                task = self._asking[drop_id] = asyncio.create_task(self._ledger.waiters(drop_id))
                task.add_done_callback(lambda done: self._answered(drop_id, done))
            waiters = await asyncio.shield(task)
        return shopper_id in waiters

    def _answered(self, drop_id: int, task: asyncio.Task) -> None:
        if self._asking.get(drop_id) is not task:
            return  # the list has changed since it was asked for
        del self._asking[drop_id]
        if not task.cancelled() and task.exception() is None:
            if len(self._waiters) >= DROPS_REMEMBERED_MAX:
                self._waiters.clear()
            self._waiters[drop_id] = task.result()

    def forget(self, drop_id: int) -> None:
        """The list of this drop changed."""
        self._waiters.pop(drop_id, None)
        self._asking.pop(drop_id, None)

    def forget_all(self) -> None:
        """The feed was deaf for a while."""
        self._waiters.clear()
        self._asking.clear()

    async def leave(self, drop_id: int, variant_id: int, shopper_id: int) -> bool:
        """-> False: no place of theirs waits there (an offered one is an order, and is given back as one)."""
        left = await self._ledger.leave_list(drop_id, variant_id, shopper_id)
        if left:
            self.forget(drop_id)
            self._tell(drop_id)
        return left

    async def _flush(self, drop_id: int) -> None:
        """Bring the pending joins of a drop to the ledger, as many at once as have come meanwhile."""
        try:
            await self._flush_pending(drop_id)
        finally:
            del self._flushing[drop_id]  # at once: who joins now must start the next one

    async def _flush_pending(self, drop_id: int) -> None:
        while pending := self._pending.pop(drop_id, []):
            batch, rest = pending[:JOINS_AT_ONCE_MAX], pending[JOINS_AT_ONCE_MAX:]
            if rest:
                self._pending[drop_id] = rest
            try:
                answers = await self._ledger.join_list(drop_id, [wish for wish, _ in batch])
            except Exception as error:
                for _, joined in batch:
                    if not joined.done():
                        joined.set_exception(error)
                continue
            for (_, joined), answer in zip(batch, answers, strict=True):
                if not joined.done():
                    joined.set_result(answer)
            if any(answer.fresh for answer in answers):
                self.forget(drop_id)
                self._tell(drop_id)

    def _tell(self, drop_id: int) -> None:
        """Let pages know that the list changed: now, or once its pause is over."""
        now, told_at = monotonic(), self._told_at.get(drop_id, float("-inf"))
        if told_at > now:
            return  # it is about to be told
        self._told_at[drop_id] = max(now, told_at + TELL_SECONDS)
        task = asyncio.create_task(self._tell_after(drop_id, self._told_at[drop_id] - now))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell_after(self, drop_id: int, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._feed.publish("drop", drop=drop_id)


async def heirs_of_order(ledger: Ledger, gate: Gate, drop_id: int, order_id) -> list[Heir]:
    """-> who may take over the units of an order that was given back, in order; nobody where everybody is told instead."""
    return await _heirs(lambda after: ledger.heirs_of_order(order_id, after, PAGE_PLACES), gate, drop_id)


async def heirs_of_variant(ledger: Ledger, gate: Gate, drop_id: int, variant_id: int) -> list[Heir]:
    """-> who may have units of this variant that belong to nobody, in order."""
    return await _heirs(lambda after: ledger.heirs_of_variant(variant_id, after, PAGE_PLACES), gate, drop_id)


async def _heirs(page: Callable[[int], Awaitable[Sequence[NextInLine]]], gate: Gate, drop_id: int) -> list[Heir]:
    """Places that the gate has served already, and the ledger does not know it yet, do not use up the candidates."""
    heirs, after = [], 0
    while len(heirs) < HEIRS_MAX:
        places = await page(after)
        served = await gate.offered_places(drop_id, [place.place_id for place in places])
        heirs += [_heir(drop_id, place) for place in places if place.place_id not in served]
        if len(places) < PAGE_PLACES:
            break
        after = places[-1].place_id
    return heirs[:HEIRS_MAX]


def _heir(drop_id: int, place: NextInLine) -> Heir:
    return Heir(
        place.place_id, place.buyer, place.variant_id, place.quantity, new_order_id(drop_id), round(place.offer_seconds * 1000)
    )


async def offer_public_stock(ledger: Ledger, gate: Gate, feed: Feed, drop_id: int, variant_id: int) -> int:
    """Units in public stock while places wait (after a mend; a place too large until now) -> how many places were served."""
    served = 0
    while True:
        heirs = await heirs_of_variant(ledger, gate, drop_id, variant_id)
        offered = (await gate.offer(drop_id, heirs)).heirs if heirs else ()
        served += len(offered)
        if not offered or len(heirs) < HEIRS_MAX:
            break
    if served:
        log.info("offered", drop=drop_id, places=served)
        await feed.publish("stock", drop=drop_id)
    return served
