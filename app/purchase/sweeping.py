"""The sweeper: a plain loop over ledger rows that moves everything that is due.

It enqueues work that talks to the provider, and does it itself when it cannot enqueue or when the queue has not moved it within the
queue's own retry time. Work of the ledger and the gate alone it always does itself. Redis gone for minutes: holds in every
state still move. Any number of sweepers may run: every step is a claim.
"""

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import structlog

from app.clock import monotonic
from app.domain.drops import Phase, Waitlist, phase_of
from app.domain.orders import OrderState, Refusal
from app.errors import DoormanError, GateUnreachable, LedgerUnreachable
from app.gate import Gate
from app.jobs import Jobs
from app.ledger import Ledger
from app.live import Feed
from app.purchase.drops import confirm_adjustments
from app.purchase.fulfilling import Packer
from app.purchase.paying import Till
from app.purchase.refunding import want_back
from app.purchase.restocking import restock
from app.purchase.waiting import offer_public_stock

BATCH_ROWS_MAX = 500
BY_HAND_MAX = 8  # calls of one kind that the sweeper itself has under way at once: no kind keeps another waiting
RESTOCKS_AT_ONCE = 64
PICTURES_AT_ONCE_MAX = 20  # of one transaction: each is some megabytes
PICTURES_EVERY_SECONDS = 3600.0

log = structlog.get_logger("sweeper")


class Sweeper:
    def __init__(
        self,
        *,
        ledger: Ledger,
        gate: Gate,
        feed: Feed,
        jobs: Jobs,
        till: Till,
        sweep_seconds: float,
        grace_seconds: float,
        claim_dead_seconds: float,
        queue_retry_seconds: float,
        packer: Packer | None = None,
        parcel_dead_seconds: float = 180.0,
    ):
        """`packer` None: there is no warehouse, parcels wait."""
        self._ledger, self._gate, self._feed, self._jobs, self._till = ledger, gate, feed, jobs, till
        self._every, self._grace = sweep_seconds, grace_seconds
        self._claim_dead, self._queue_retry = claim_dead_seconds, queue_retry_seconds
        self._packer, self._parcel_dead = packer, parcel_dead_seconds
        self._parcel_retry = parcel_dead_seconds + queue_retry_seconds  # a job alive on its queue is never doubled
        self._asked: dict[tuple[str, UUID], tuple[float, int]] = {}  # what was put on a queue: when first, how often
        self._by_hand: dict[tuple[str, UUID], asyncio.Task] = {}
        self._pictures_at = monotonic()  # when pictures are looked through next

    async def run(self) -> None:
        """Sweep for ever."""
        while True:
            await self.sweep()
            await asyncio.sleep(self._every)

    async def sweep(self) -> None:
        """One pass. A step that a neighbour's outage stops does not stop the others."""
        for step in (
            self._close_lists,
            self._warn,
            self._expire,
            self._give_back,
            self._charge,
            self._take_over,
            self._look_up,
            self._look_for_money,
            self._cancel_drops,
            self._refund,
            self._ship,
            self._release,
            self._adjust,
            self._serve_lists,
            self._remove_pictures,
        ):
            try:
                await step()
            except (LedgerUnreachable, GateUnreachable) as error:
                log.warning("sweep step waits", step=step.__name__, error=str(error))
            except DoormanError:
                log.exception("sweep step failed", step=step.__name__)
        cutoff = monotonic() - 10 * self._queue_retry
        self._asked = {what: asked for what, asked in self._asked.items() if asked[0] > cutoff}

    async def finish(self) -> None:
        """Wait for the work this sweeper does by hand (graceful stop)."""
        await asyncio.gather(*self._by_hand.values(), return_exceptions=True)

    # ---- ledger and gate alone -----------------------------------------------------------------------------------------------

    async def _expire(self) -> None:
        """Overdue holds without a payment attempt."""
        while expired := await self._ledger.expire_unattempted(BATCH_ROWS_MAX):
            log.info("expired", orders=len(expired))
            await self._restock(expired)

    async def _release(self) -> None:
        """Units given back in the ledger that the gate has not confirmed yet."""
        await self._restock(await self._ledger.unreleased(BATCH_ROWS_MAX))

    async def _restock(self, orders: list[tuple[UUID, int]]) -> None:
        for start in range(0, len(orders), RESTOCKS_AT_ONCE):
            chunk = orders[start : start + RESTOCKS_AT_ONCE]
            await asyncio.gather(*(restock(self._ledger, self._gate, self._feed, order, drop) for order, drop in chunk))

    async def _warn(self) -> None:
        """Those whose hold ends soon are told."""
        await self._ledger.remind_due()
        while await self._ledger.warn_holds(BATCH_ROWS_MAX) == BATCH_ROWS_MAX:
            pass

    async def _close_lists(self) -> None:
        """A drop that is over has no list: everybody on it is told."""
        while drop_ids := await self._ledger.close_lists(BATCH_ROWS_MAX):
            log.info("list closed", places=len(drop_ids))
            for drop_id in set(drop_ids):
                await self._feed.publish("drop", drop=drop_id)

    async def _serve_lists(self) -> None:
        """Units that belong to nobody while somebody waits for them."""
        for found in await self._ledger.lists_with_stock():
            if found.waitlist == Waitlist.NOTIFY:
                await self._notify(found.drop_id, found.variant_id)
            else:
                await offer_public_stock(self._ledger, self._gate, self._feed, found.drop_id, found.variant_id)

    async def _notify(self, drop_id: int, variant_id: int) -> None:
        """Everybody is told at once, as soon as the units can be had."""
        peek = await self._gate.peek(drop_id)
        if peek is None or not peek.left.get(variant_id):
            return
        if phase_of(peek.door, peek.opens_ms, peek.closes_ms, peek.now_ms, peek.left, peek.held) is not Phase.OPEN:
            return
        while await self._ledger.notify_list(variant_id, BATCH_ROWS_MAX) == BATCH_ROWS_MAX:
            pass
        await self._feed.publish("drop", drop=drop_id)

    async def _adjust(self) -> None:
        """Units the seller added, until the gate has counted them."""
        for drop_id in await self._ledger.live_drop_ids():
            await confirm_adjustments(self._ledger, self._gate, self._feed, drop_id)

    async def _remove_pictures(self) -> None:
        """Pictures that were put up and that nothing shows, now and then."""
        if monotonic() < self._pictures_at:
            return
        self._pictures_at = monotonic() + PICTURES_EVERY_SECONDS
        while removed := await self._ledger.remove_unused_pictures(PICTURES_AT_ONCE_MAX):
            log.info("unused pictures removed", pictures=removed)

    # ---- work that talks to the provider -------------------------------------------------------------------------------------

    async def _give_back(self) -> None:
        """Overdue orders with payment attempts. Without an intent nothing was confirmed: no provider call, so it is done here."""
        for due in await self._ledger.due_give_backs(BATCH_ROWS_MAX, self._grace):
            work = self._giving_back(due.order_id)
            if due.intent_id is None:
                await work()
            else:
                await self._hand_over("give_back", due.order_id, self._jobs.give_back, work)

    def _giving_back(self, order_id: UUID) -> Callable[[], Awaitable]:
        return lambda: self._till.give_back(order_id, OrderState.EXPIRED, Refusal.DEADLINE)

    async def _charge(self) -> None:
        """Submitted payments that no worker has claimed."""
        for order_id, n, enqueues in await self._ledger.due_charges(BATCH_ROWS_MAX, self._queue_retry):
            if await self._jobs.charge(order_id, n, enqueues):
                await self._ledger.mark_enqueued(order_id, n)
            else:
                await self._do(("charge", order_id), lambda order_id=order_id, n=n: self._till.charge(order_id, n))

    async def _take_over(self) -> None:
        for order_id in await self._ledger.dead_claims(BATCH_ROWS_MAX, self._claim_dead):
            work = lambda order_id=order_id: self._till.take_over(order_id)  # noqa: E731
            await self._hand_over("take_over", order_id, self._jobs.take_over, work)

    async def _look_up(self) -> None:
        """Authentications under way: the shopper may have finished and never come back."""
        for order_id in await self._ledger.authentications(BATCH_ROWS_MAX):
            work = lambda order_id=order_id: self._till.look_up(order_id)  # noqa: E731
            if not await self._jobs.look_up(order_id, self._again("look_up", order_id)):
                await self._do(("look_up", order_id), work)

    async def _refund(self) -> None:
        for due in await self._ledger.due_refunds(BATCH_ROWS_MAX, self._queue_retry):
            if await self._jobs.refund(due.order_id, due.purpose, due.enqueues):
                await self._ledger.mark_refund_enqueued(due.order_id, due.purpose)
            else:
                await self._do(("refund", due.order_id), lambda due=due: self._till.refund(due.order_id, due.purpose))

    async def _look_for_money(self) -> None:
        """Orders that are gone while nobody knows whether they were charged."""
        for order_id in await self._ledger.lost_money(BATCH_ROWS_MAX):
            await self._do(("look_for_money", order_id), lambda order_id=order_id: self._till.look_for_money(order_id))

    async def _cancel_drops(self) -> None:
        """Cancelled drops: holds end, paid orders get their money back."""
        for hold in await self._ledger.holds_of_cancelled_drops(BATCH_ROWS_MAX):
            if await self._ledger.cancel_unattempted(hold.order_id, None, Refusal.BY_SELLER):
                await restock(self._ledger, self._gate, self._feed, hold.order_id, hold.drop_id)
            elif hold.intent_id is None:
                await self._till.give_back(hold.order_id, OrderState.CANCELLED, Refusal.BY_SELLER)
            else:
                work = lambda hold=hold: self._till.give_back(hold.order_id, OrderState.CANCELLED, Refusal.BY_SELLER)  # noqa: E731
                await self._do(("cancel", hold.order_id), work)
        for order_id in await self._ledger.kept_money_of_cancelled_drops(BATCH_ROWS_MAX):
            await want_back(self._ledger, order_id)

    async def _ship(self) -> None:
        """Parcels to make, to look for, to follow. Without a warehouse they wait."""
        if self._packer is None:
            return
        for due in await self._ledger.due_parcels(BATCH_ROWS_MAX, self._parcel_retry, self._parcel_dead):
            if await self._jobs.ship(due.order_id, due.enqueues):
                await self._ledger.mark_parcel_enqueued(due.order_id)
            else:
                await self._do(("ship", due.order_id), lambda due=due: self._packer.ship(due.order_id))

    async def _hand_over(self, kind: str, order_id: UUID, enqueue, work: Callable[[], Awaitable]) -> None:
        """Put it on the queue; do it here when that fails, or when it is still due a queue-retry after it was first put there."""
        first, _ = self._asked.get((kind, order_id), (monotonic(), 0))
        overdue = monotonic() - first > self._queue_retry
        if overdue or not await enqueue(order_id, self._again(kind, order_id)):
            await self._do((kind, order_id), work)

    def _again(self, kind: str, order_id: UUID) -> int:
        """-> how often this was asked before: the salt of the job's key."""
        first, times = self._asked.get((kind, order_id), (monotonic(), 0))
        self._asked[(kind, order_id)] = (first, times + 1)
        return round(first * 1000) + times

    async def _do(self, what: tuple[str, UUID], work: Callable[[], Awaitable]) -> None:
        """Run it beside the sweep, at most BY_HAND_MAX of a kind at once and each only once; the rest is due again next time."""
        if what in self._by_hand or sum(kind == what[0] for kind, _ in self._by_hand) >= BY_HAND_MAX:
            return
        task = asyncio.create_task(work())
        self._by_hand[what] = task
        task.add_done_callback(lambda done: self._done(what, done))

    def _done(self, what: tuple[str, UUID], task: asyncio.Task) -> None:
        self._by_hand.pop(what, None)
        if not task.cancelled() and task.exception():
            log.error("by hand failed", what=what[0], order=str(what[1]), error=repr(task.exception()))
