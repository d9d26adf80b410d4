"""Recording: a batch of the gate's journal becomes orders, in one transaction and a handful of round trips.

Guarantees: whatever the gate granted, no more units than the drop released are in live orders, nobody holds more than the limit,
one key is one order, and a place of the waitlist is offered units once and only while it waits. The drop's stock rows are locked
before anything is read, so batches of one drop follow one another. Recording the same entries again, here or in another recorder at
the same moment, changes nothing. The recorder dies: nothing of the batch exists, or all.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.domain.orders import OrderState
from app.errors import BrokenInvariant
from app.ledger.deciding import Decision, Entry, Fate, check_entries, decide
from app.ledger.pool import Asker, Pool, reachable

ERROR_CHARACTERS_MAX = 500

STATES = {Fate.HELD: OrderState.PENDING_PAYMENT, Fate.UNWANTED: OrderState.CANCELLED, Fate.REFUSED: OrderState.REFUSED}

# A drop that does not exist has no variants and a price that no quantity offends: every entry is then bad for its variant.
NO_TERMS = {"per_person": 0, "price_minor": 0, "currency": ""}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the ledger says of one entry now. `fresh`: this call wrote it."""

    order_id: UUID
    state: OrderState
    reason: str | None
    fresh: bool


class RecordingPart(Pool):
    async def record(self, drop_id: int, entries: Sequence[Entry]) -> list[Recorded]:
        """-> one answer an entry, in the same order. `entries`: of this drop, in journal order; about 500 at most.

        BadEntry: nothing was written; leave that entry out and call again. LedgerUnreachable: all or nothing was written, nobody
        knows which; call again with the same entries.
        """
        if not entries:
            return []
        with reachable():
            async with asyncio.timeout(self._statement_timeout_seconds), self._transaction() as ask:
                return await _record(ask, drop_id, entries)

    async def reject(self, drop_id: int, entry_id: str, entry: Mapping[str, str], error: str) -> None:
        """Keep an entry raw that cannot be recorded; the books report it."""
        raw = json.dumps(dict(entry)).replace("\\u0000", "\\ufffd")
        await self._count("reject", drop_id, entry_id, raw, error.replace("\x00", "")[:ERROR_CHARACTERS_MAX])


async def _record(ask: Asker, drop_id: int, entries: Sequence[Entry]) -> list[Recorded]:
    stock = await ask.rows("lock_stock", drop_id)
    terms = stock[0] if stock else NO_TERMS
    buyers = sorted({entry.buyer for entry in entries if 0 < entry.buyer < 2**63})
    check_entries(
        drop_id,
        entries,
        variants=[row["variant_id"] for row in stock],
        shoppers=[row["id"] for row in await ask.rows("known_shoppers", buyers)],
        price_minor=terms["price_minor"],
    )
    known = {row["id"]: row for row in await ask.rows("recorded_orders", [entry.order_id for entry in entries])}
    standing = await ask.rows("standing_of_buyers", drop_id, buyers)
    places = [entry.place_id for entry in entries if entry.place_id is not None]
    live_units: Counter[int] = Counter()
    for row in standing:
        live_units[row["shopper_id"]] += row["quantity"] if row["live"] else 0
    decisions = decide(
        entries,
        known=known,
        units_left={row["variant_id"]: row["total"] - row["sold"] for row in stock},
        live_units=live_units,
        taken_keys={(row["shopper_id"], row["key"]) for row in standing},
        per_person=terms["per_person"],
        waiting=[row["id"] for row in await ask.rows("waiting_places", places)] if places else (),
    )
    fresh = [decision for decision in decisions if decision.fate is not Fate.KNOWN]
    if fresh:
        await _write(ask, drop_id, fresh, terms)
    now = {order_id: (OrderState(row["state"]), row["reason"]) for order_id, row in known.items()}
    now |= {decision.entry.order_id: (_state(decision), decision.reason) for decision in fresh}
    return [Recorded(d.entry.order_id, *now[d.entry.order_id], fresh=d.fate is not Fate.KNOWN) for d in decisions]


async def _write(ask: Asker, drop_id: int, decisions: Sequence[Decision], terms: Mapping) -> None:
    columns = zip(
        *(
            (
                entry.order_id,
                entry.variant_id,
                entry.buyer,
                entry.quantity,
                entry.key,
                entry.digest,
                _state(decision).value,
                decision.reason and decision.reason.value,
                entry.quantity * terms["price_minor"],
                entry.reserved_at,
                entry.pay_by,
            )
            for decision in decisions
            for entry in (decision.entry,)
        ),
        strict=True,
    )
    written = await ask.rows("record", drop_id, *map(list, columns), terms["currency"])
    if len(written) != len(decisions):  # only possible if somebody writes orders without the stock lock
        raise BrokenInvariant(f"drop {drop_id}: {len(decisions)} orders decided under the lock, {len(written)} written")
    offers = [d.entry for d in decisions if d.fate is Fate.HELD and d.entry.place_id is not None]
    if offers:
        served = await ask.count("offer_places", [entry.place_id for entry in offers], [entry.order_id for entry in offers])
        if served != len(offers):
            raise BrokenInvariant(f"drop {drop_id}: {len(offers)} places were offered units, {served} of them waited")


def _state(decision: Decision) -> OrderState:
    return STATES[decision.fate]
