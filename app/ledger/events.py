"""What happened to an order, in the words shown to seller and shopper; written in the transaction of the change itself.

The history is append-only and chained (migration 0002): the database gives every event the hash of the one before it and refuses to
change or delete any. Whoever goes around that breaks a chain, and `verify_history` names it.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.ledger.pool import Asker, Pool

# Who did it: the `by` of every event's detail.
RECORDER, SWEEPER, CHARGER, PROVIDER, SHOPPER, SELLER = "recorder", "sweeper", "charge worker", "provider", "shopper", "seller"
FULFILLER = "fulfilment worker"
BROKEN_SHOWN_MAX = 100


@dataclass(frozen=True, slots=True)
class Event:
    kind: str  # 'held', 'payment submitted', 'declined', 'paid', 'expired', ...
    detail: dict  # {"by": who, ...}
    at: datetime


@dataclass(frozen=True, slots=True)
class History:
    """Whether every history proves itself. `broken`: order ids, or 'drop N' for what happened to a drop itself."""

    events: int
    head: str  # one hash over the last event of every history
    broken: list[str]


class EventsPart(Pool):
    async def verify_history(self) -> History:
        """Follow every chain of events from its first link -> what does not prove itself, at most BROKEN_SHOWN_MAX of it."""
        async with self._snapshot() as ask:
            size = await ask.row("history_size")
            rows = [*await ask.rows("broken_chains", BROKEN_SHOWN_MAX), *await ask.rows("orders_without_history", BROKEN_SHOWN_MAX)]
        broken = dict.fromkeys(str(row["order_id"]) if row["order_id"] else f"drop {row['drop_id']}" for row in rows)
        return History(size["events"], size["head"], list(broken)[:BROKEN_SHOWN_MAX])


async def note(ask: Asker, order_id: UUID | None, drop_id: int, kind: str, by: str, **detail) -> None:
    """Write one event. None among the details is left out."""
    known = {"by": by} | {name: value for name, value in detail.items() if value is not None}
    await ask.count("note", order_id, drop_id, kind, json.dumps(known))


def event_from(row) -> Event:
    return Event(row["kind"], json.loads(row["detail"]), row["at"])
