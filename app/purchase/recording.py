"""The recorder: journal entries into the ledger, a batch per transaction.

Guarantees: every reservation the gate made becomes an order exactly once, in some state. An entry is acknowledged only after its
transaction committed; until then it stays pending in the consumer group and any recorder may take it over. Any number of
recorders may run; ON CONFLICT and the locked stock row make double work harmless.

Postgres gone: nothing is acknowledged, the journal grows to its bound, then the gate answers not_ready. Redis gone: the loop waits.
An entry that cannot be recorded after `TRIES_MAX` tries goes raw into journal_rejects and the books report it.
"""

import asyncio
import os
import secrets
import socket
from collections import Counter

import structlog

from app.clock import from_ms, monotonic
from app.errors import GateUnreachable, LedgerUnreachable
from app.gate import Gate, JournalEntry
from app.ledger import BadEntry, Entry, Ledger
from app.live import Feed

BATCH_ENTRIES_MAX = 500
BLOCK_MS = 200  # how long a read waits for news; also how soon a new drop is noticed
OUTAGE_PAUSE_SECONDS = 0.25
TRIES_MAX = 5

log = structlog.get_logger("recorder")


def to_entry(entry: JournalEntry) -> Entry:
    """The gate's journal entry in the ledger's words."""
    return Entry(
        order_id=entry.order_id,
        buyer=entry.buyer,
        variant_id=entry.variant_id,
        quantity=entry.quantity,
        key=entry.key,
        digest=entry.digest,
        reserved_at=from_ms(entry.reserved_ms),
        pay_by=from_ms(entry.pay_by_ms),
        place_id=entry.place_id,
    )


class Recorder:
    def __init__(self, ledger: Ledger, gate: Gate, feed: Feed, idle_seconds: float):
        """`idle_seconds`: after this long without an acknowledgement an entry's reader counts as dead."""
        self._ledger, self._gate, self._feed = ledger, gate, feed
        self._idle_ms = round(idle_seconds * 1000)
        self._tries: Counter[tuple[int, str]] = Counter()
        self.consumer = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"

    async def run(self) -> None:
        """Record for ever. Cancelling it loses nothing."""
        take_over_at = 0.0
        while True:
            try:
                drop_ids = await self._ledger.live_drop_ids()
                if monotonic() >= take_over_at:
                    take_over_at = monotonic() + self._idle_ms / 2000
                    await self.take_over(drop_ids)
                await self.step(drop_ids)
            except (GateUnreachable, LedgerUnreachable) as error:
                log.warning("recorder waits", error=str(error))
                await asyncio.sleep(OUTAGE_PAUSE_SECONDS)

    async def step(self, drop_ids: list[int], block_ms: int = BLOCK_MS) -> int:
        """Read what is new in the journals of these drops and record it -> number of entries."""
        if not drop_ids:
            await asyncio.sleep(block_ms / 1000)
            return 0
        done = 0
        for drop_id, entries in await self._gate.read_journal(drop_ids, self.consumer, BATCH_ENTRIES_MAX, block_ms):
            await self._record(drop_id, entries)
            done += len(entries)
        return done

    async def take_over(self, drop_ids: list[int], idle_ms: int | None = None) -> int:
        """Record the entries whose reader has died (or whose transaction failed) -> number of entries."""
        done = 0
        for drop_id in drop_ids:
            while entries := await self._gate.take_over(
                drop_id, self.consumer, self._idle_ms if idle_ms is None else idle_ms, BATCH_ENTRIES_MAX
            ):
                await self._record(drop_id, entries)
                done += len(entries)
        return done

    async def _record(self, drop_id: int, entries: list[JournalEntry]) -> None:
        """One transaction for the batch, then the acknowledgement. A bad entry is set apart so that it stops nobody else."""
        for entry in [entry for entry in entries if entry.fault]:
            entries.remove(entry)
            await self._set_apart(drop_id, entry, entry.fault)
        while entries:
            try:
                recorded = await self._ledger.record(drop_id, [to_entry(entry) for entry in entries])
            except BadEntry as error:
                bad = next(entry for entry in entries if entry.order_id == error.order_id)  # well-formed: ids are its own
                entries = [entry for entry in entries if entry is not bad]
                await self._set_apart(drop_id, bad, str(error))
                continue
            await self._gate.ack(drop_id, [entry.entry_id for entry in entries])
            refused = [order for order in recorded if order.fresh and order.state == "REFUSED"]
            for order in refused:
                log.error("refused", drop=drop_id, order=str(order.order_id), reason=order.reason)
            await self._feed.publish("stock", drop=drop_id)
            if any(entry.place_id is not None for entry in entries):
                await self._feed.publish("drop", drop=drop_id)  # pages call the numbers that were served
            return

    async def _set_apart(self, drop_id: int, entry: JournalEntry, error: str) -> None:
        at = (drop_id, entry.entry_id)
        self._tries[at] += 1
        if self._tries[at] < TRIES_MAX:
            log.warning("entry not recorded", drop=drop_id, entry=entry.entry_id, tries=self._tries[at], error=error)
            return
        await self._ledger.reject(drop_id, entry.entry_id, entry.raw, error)
        await self._gate.ack(drop_id, [entry.entry_id])
        del self._tries[at]
        log.error("entry rejected", drop=drop_id, entry=entry.entry_id, error=error)
