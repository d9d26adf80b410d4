"""Reconcile and rebuild are one operation: make the gate equal to the ledger (PROTOCOL section 5).

The gate is never corrected by adding a difference. A mend replaces receipts, buyers, keys and stock in one script, and only if the
gate has not moved since it was read and its journal was empty; otherwise it starts again later. An empty gate stays shut until
then.
"""

import asyncio
import logging
from enum import StrEnum

import structlog

from app.clock import monotonic, to_ms
from app.domain.drops import Door
from app.errors import GateUnreachable, LedgerUnreachable, NotFound
from app.gate import Gate, Image, KeyRecord, Receipt, Snapshot
from app.ledger import Ledger, LedgerImage
from app.live import Feed

FULL_CHECK_SECONDS = 60.0  # a gate whose counts agree is still compared receipt by receipt this often
MOVED_MAX = 3  # mends refused in a row before the door is shut to let the recorders drain
DRAIN_SECONDS_MAX = 30.0
DRAIN_POLL_SECONDS = 0.02

log = structlog.get_logger("reconcile")


class Reconciled(StrEnum):
    AGREED = "agreed"
    MENDED = "mended"  # gate and ledger differed, or the gate was empty
    RECORDING = "recording"  # unread journal entries: nothing can be compared yet
    RELEASING = "releasing"  # units on their way back: their releases come first, they may belong to the next in line
    MOVED = "moved"  # the gate changed while we read the ledger


async def reconcile(ledger: Ledger, gate: Gate, feed: Feed, drop_id: int, journal_entries_max: int) -> Reconciled:
    """Compare one drop's gate with the ledger, mend it where they differ. GateUnreachable, LedgerUnreachable: nothing changed."""
    snapshot = await gate.snapshot(drop_id)  # the gate first: an order recorded between the two reads is then never lost
    if snapshot is not None and snapshot.journal:
        return Reconciled.RECORDING
    found = await ledger.image(drop_id)
    image = to_gate_image(found, journal_entries_max)
    if snapshot is not None and agree(snapshot, image):
        return Reconciled.AGREED
    if snapshot is not None and found.releasing:
        return Reconciled.RELEASING
    verdict = await gate.mend(drop_id, snapshot.stamp if snapshot else None, image)
    if verdict != "mended":
        return Reconciled.MOVED
    if snapshot is None:
        log.info("gate filled", drop=drop_id, receipts=len(image.receipts))  # a new drop, or a Redis that came back empty
    else:
        differed = differences(snapshot, image)
        log.log(logging.INFO if differed == ["door"] else logging.WARNING, "gate mended", drop=drop_id, differed=differed)
    await feed.publish("stock", drop=drop_id)
    return Reconciled.MENDED


def to_gate_image(image: LedgerImage, journal_entries_max: int) -> Image:
    """What the ledger says, in the gate's words."""
    return Image(
        door=image.door.at_gate,
        opens_ms=to_ms(image.opens_at),
        closes_ms=to_ms(image.closes_at) if image.closes_at else None,
        per_person=image.per_person,
        hold_ms=round(image.hold_seconds * 1000),
        clock_offset_ms=image.clock_offset_ms,
        journal_entries_max=journal_entries_max,
        totals=dict(image.totals),
        receipts=[Receipt(o.order_id, o.buyer, o.variant_id, o.quantity, to_ms(o.pay_by), o.paid) for o in image.live_orders],
        keys=[KeyRecord(k.buyer, k.key, k.order_id, k.digest, to_ms(k.pay_by), k.variant_id, k.quantity) for k in image.keys],
        adjustments=list(image.adjustments),
    )


def agree(snapshot: Snapshot, image: Image) -> bool:
    return not differences(snapshot, image)


def differences(snapshot: Snapshot, image: Image) -> list[str]:
    """-> one word a kind of difference, for the log; empty: gate and ledger say the same."""
    taken: dict[int, int] = dict.fromkeys(image.totals, 0)
    for receipt in image.receipts:
        taken[receipt.variant_id] += receipt.quantity
    stock = {variant: total - taken[variant] for variant, total in image.totals.items()}
    receipts = {receipt.order_id: receipt for receipt in image.receipts}
    found = []
    if snapshot.stock != stock:
        found.append("stock")
    if snapshot.receipts.keys() != receipts.keys():
        found.append("receipts")
    elif any(snapshot.receipts[order_id].paid != receipt.paid for order_id, receipt in receipts.items()):
        found.append("paid marks")
    if Door(snapshot.door) is not Door(image.door):
        found.append("door")
    if (snapshot.opens_ms, snapshot.closes_ms) != (image.opens_ms, image.closes_ms):
        found.append("times")
    if snapshot.adjustments != frozenset(image.adjustments):
        found.append("adjustments")
    return found


async def rebuild(ledger: Ledger, gate: Gate, feed: Feed, drop_id: int, journal_entries_max: int) -> Reconciled:
    """Shut the door, let the recorders drain, mend, open again: for a gate too busy to be mended, or on the seller's word."""
    image = await ledger.image(drop_id)
    await gate.set_door(drop_id, Door.NOT_READY, to_ms(image.opens_at), to_ms(image.closes_at) if image.closes_at else None)
    give_up_at = monotonic() + DRAIN_SECONDS_MAX
    while True:
        outcome = await reconcile(ledger, gate, feed, drop_id, journal_entries_max)  # the image carries the ledger's own door
        if outcome in (Reconciled.AGREED, Reconciled.MENDED) or monotonic() > give_up_at:
            return outcome
        await asyncio.sleep(DRAIN_POLL_SECONDS)


class Reconciler:
    """The loop over all live drops, every `every_seconds`."""

    def __init__(self, ledger: Ledger, gate: Gate, feed: Feed, every_seconds: float, journal_entries_max: int):
        self._ledger, self._gate, self._feed = ledger, gate, feed
        self._every, self._journal_max = every_seconds, journal_entries_max
        self._moved: dict[int, int] = {}
        self._full_check_at: dict[int, float] = {}

    async def run(self) -> None:
        """For ever; what a neighbour's outage stops is tried again at the next turn."""
        while True:
            try:
                for drop_id in await self._ledger.live_drop_ids():
                    await self.step(drop_id)
            except (GateUnreachable, LedgerUnreachable, NotFound) as error:
                log.warning("reconciler waits", error=str(error))
            await asyncio.sleep(self._every)

    async def step(self, drop_id: int) -> Reconciled:
        if await self._counts_agree(drop_id):
            return Reconciled.AGREED
        outcome = await reconcile(self._ledger, self._gate, self._feed, drop_id, self._journal_max)
        if outcome is Reconciled.MOVED:
            self._moved[drop_id] = self._moved.get(drop_id, 0) + 1
            if self._moved[drop_id] >= MOVED_MAX:
                log.warning("gate too busy to mend: shutting the door for a moment", drop=drop_id)
                outcome = await rebuild(self._ledger, self._gate, self._feed, drop_id, self._journal_max)
        if outcome in (Reconciled.AGREED, Reconciled.MENDED):
            self._moved.pop(drop_id, None)
            self._full_check_at[drop_id] = monotonic() + FULL_CHECK_SECONDS
        return outcome

    async def _counts_agree(self, drop_id: int) -> bool:
        """The cheap look: units left and held per variant against the ledger's sums. True: nothing to do now."""
        if monotonic() >= self._full_check_at.get(drop_id, 0.0):
            return False
        peek = await self._gate.peek(drop_id)
        if peek is None or peek.journal:
            return False
        books = await self._ledger.counts(drop_id)
        return (peek.left, peek.held, Door(peek.door)) == (books.left, books.held, books.door.at_gate)
