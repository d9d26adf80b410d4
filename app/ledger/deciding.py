"""What becomes of each journal entry: the recorder's rules as one pure function (PROTOCOL section 2).

The gate granted every entry that is decided here. It was right unless Redis lost writes, so a refusal means that somebody must be
told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from app.domain.ids import drop_of
from app.domain.keys import KEY_CHARACTERS_MAX
from app.domain.money import AMOUNT_MINOR_MAX
from app.domain.orders import Refusal
from app.errors import DoormanError

QUANTITY_MAX = 1000
PLACE_KEY_CHARACTERS_MAX = KEY_CHARACTERS_MAX + len("place:")


@dataclass(frozen=True, slots=True)
class Entry:
    """One reservation as the gate's journal tells it. Times are aware, by the gate's clock."""

    order_id: UUID
    buyer: int  # shopper id
    variant_id: int
    quantity: int
    key: str
    digest: str
    reserved_at: datetime
    pay_by: datetime
    place_id: int | None = None  # an offer: the place of the waitlist it was made to


class BadEntry(DoormanError):
    """No retry will record this entry: `order_id` names it, the text says why. The rest of its batch can be recorded without it."""

    def __init__(self, order_id: UUID, message: str):
        super().__init__(message)
        self.order_id = order_id


class Fate(StrEnum):
    KNOWN = "known"  # recorded before, or earlier in this batch: leave it alone whatever its state is now
    HELD = "held"
    UNWANTED = "unwanted"  # an offer to a place that no longer waits: its units go back
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Decision:
    entry: Entry
    fate: Fate
    reason: Refusal | None = None


def decide(
    entries: Iterable[Entry],
    *,
    known: Iterable[UUID],
    units_left: Mapping[int, int],
    live_units: Mapping[int, int],
    taken_keys: Iterable[tuple[int, str]],
    per_person: int,
    waiting: Iterable[int] = (),
) -> list[Decision]:
    """-> one decision an entry, in journal order; each sees what the ones before it took.

    `known`: recorded order ids · `units_left`: unsold units per variant · `live_units`: units in live orders per buyer ·
    `taken_keys`: (buyer, key) of every non-REFUSED order · `per_person`: the drop's limit in units · `waiting`: those of the
    entries' places that still wait.
    """
    seen, left, live, taken, waiting = set(known), dict(units_left), dict(live_units), set(taken_keys), set(waiting)
    decisions = []
    for entry in entries:
        if entry.order_id in seen:
            decisions.append(Decision(entry, Fate.KNOWN))
            continue
        seen.add(entry.order_id)
        over_limit = live.get(entry.buyer, 0) + entry.quantity > per_person
        if (entry.buyer, entry.key) in taken:
            decisions.append(Decision(entry, Fate.REFUSED, Refusal.DUPLICATE_BUYER))
        elif entry.place_id is not None and entry.place_id not in waiting:
            taken.add((entry.buyer, entry.key))
            decisions.append(Decision(entry, Fate.UNWANTED, Refusal.LEFT_LIST))
        elif over_limit:
            decisions.append(Decision(entry, Fate.REFUSED, Refusal.DUPLICATE_BUYER))
        elif left[entry.variant_id] < entry.quantity:
            decisions.append(Decision(entry, Fate.REFUSED, Refusal.GATE_LEAKED))
        else:
            left[entry.variant_id] -= entry.quantity
            live[entry.buyer] = live.get(entry.buyer, 0) + entry.quantity
            taken.add((entry.buyer, entry.key))
            decisions.append(Decision(entry, Fate.HELD))
    return decisions


def check_entries(
    drop_id: int, entries: Iterable[Entry], *, variants: Iterable[int], shoppers: Iterable[int], price_minor: int
) -> None:
    """BadEntry for the first entry that no table could hold. `variants`: of this drop · `shoppers`: those that exist."""
    variants, shoppers = set(variants), set(shoppers)
    for entry in entries:
        if drop_of(entry.order_id) != drop_id:
            raise BadEntry(entry.order_id, f"order {entry.order_id} was not made for drop {drop_id}")
        if entry.variant_id not in variants:
            raise BadEntry(entry.order_id, f"drop {drop_id} has no variant {entry.variant_id}")
        if entry.buyer not in shoppers:
            raise BadEntry(entry.order_id, f"there is no shopper {entry.buyer}")
        if not 1 <= entry.quantity <= QUANTITY_MAX or entry.quantity * price_minor > AMOUNT_MINOR_MAX:
            raise BadEntry(entry.order_id, f"{entry.quantity} is not a quantity of one order")
        if not 1 <= len(entry.key) <= PLACE_KEY_CHARACTERS_MAX or "\x00" in entry.key + entry.digest:
            raise BadEntry(entry.order_id, "the key or its digest is malformed")
