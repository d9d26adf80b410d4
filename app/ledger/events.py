"""What happened to an order, in the words shown to seller and shopper; written in the transaction of the change itself."""

import json
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.ledger.pool import Asker

# Who did it: the `by` of every event's detail.
RECORDER, SWEEPER, CHARGER, PROVIDER, SHOPPER, SELLER = "recorder", "sweeper", "charge worker", "provider", "shopper", "seller"


@dataclass(frozen=True, slots=True)
class Event:
    kind: str  # 'held', 'payment submitted', 'declined', 'paid', 'expired', ...
    detail: dict  # {"by": who, ...}
    at: datetime


async def note(ask: Asker, order_id: UUID | None, drop_id: int, kind: str, by: str, **detail) -> None:
    """Write one event. None among the details is left out."""
    known = {"by": by} | {name: value for name, value in detail.items() if value is not None}
    await ask.count("note", order_id, drop_id, kind, json.dumps(known))


def event_from(row) -> Event:
    return Event(row["kind"], json.loads(row["detail"]), row["at"])
