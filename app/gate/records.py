"""What goes into the gate and what comes out of it.

Ids are whole numbers or UUIDs; times are milliseconds since the epoch by the gate's clock.
"""

from dataclasses import dataclass, field
from uuid import UUID

from app.domain.drops import Door
from app.domain.keys import digest_of

PLACE = "place:"  # what the key of an accepted offer starts with; the number of the waitlist place follows


@dataclass(slots=True)
class Reservation:
    """A request for `quantity` units of one variant. `order_id` (or its text) is fresh and becomes the order's id if granted."""

    buyer: int
    key: str
    digest: str
    variant_id: int
    quantity: int
    order_id: UUID | str


@dataclass(slots=True)
class Heir:
    """A waitlist place that may take over released units. `order_id` is fresh; `hold_ms` None: as long as the drop's holds."""

    place_id: int
    buyer: int
    variant_id: int
    quantity: int
    order_id: UUID
    hold_ms: int | None = None

    @property
    def digest(self) -> str:
        return digest_of(self.variant_id, self.quantity)


@dataclass(slots=True)
class Released:
    """`verdict`: released | offered | absent (all three confirm that nothing is left to put back) | not_ready (no confirmation)."""

    verdict: str
    heirs: tuple[Heir, ...] = ()  # who was served, in order

    @property
    def heir(self) -> Heir | None:
        return self.heirs[0] if self.heirs else None

    @property
    def offered_order(self) -> UUID | None:
        return self.heirs[0].order_id if self.heirs else None


@dataclass(slots=True)
class Receipt:
    order_id: UUID
    buyer: int
    variant_id: int
    quantity: int
    pay_by_ms: int
    paid: bool


@dataclass(slots=True)
class KeyRecord:
    """A key under which something was granted. `key` 'place:N' is an accepted offer to place N."""

    buyer: int
    key: str
    order_id: UUID
    digest: str
    pay_by_ms: int
    variant_id: int
    quantity: int


@dataclass(slots=True)
class Peek:
    """One atomic read of a drop. Units per variant id; `held` are units in unpaid checkouts."""

    drop_id: int
    time_us: int  # Redis TIME of this read: a later read has a larger one
    stamp: str
    door: Door
    opens_ms: int
    closes_ms: int | None
    left: dict[int, int]
    held: dict[int, int]
    total: dict[int, int]
    holders: frozenset[int]  # everyone ever granted in this drop; filled only when nothing is left of any variant
    journal: int  # entries the ledger does not have yet
    clock_offset_ms: int = 0

    @property
    def now_ms(self) -> int:
        """The clock that opens and closes this drop, at the moment of the read."""
        return self.time_us // 1000 + self.clock_offset_ms


@dataclass(slots=True)
class Snapshot:
    """One atomic read of everything the reconciler compares."""

    stamp: str
    journal: int
    stock: dict[int, int]
    receipts: dict[UUID, Receipt]
    door: Door
    opens_ms: int
    closes_ms: int | None
    adjustments: frozenset[UUID]
    time_us: int
    totals: dict[int, int]
    per_person: int
    hold_ms: int
    clock_offset_ms: int
    journal_entries_max: int


@dataclass(slots=True)
class Image:
    """What the ledger says; mend makes the gate equal to it."""

    door: Door
    opens_ms: int
    closes_ms: int | None
    per_person: int
    hold_ms: int
    clock_offset_ms: int
    journal_entries_max: int
    totals: dict[int, int]  # per variant: units the gate may hand out or has handed out
    receipts: list[Receipt] = field(default_factory=list)  # the live orders
    keys: list[KeyRecord] = field(default_factory=list)  # of every recorded order that is not REFUSED
    adjustments: list[UUID] = field(default_factory=list)  # operations that `totals` contains


@dataclass(slots=True)
class JournalEntry:
    """One reservation as the journal has it. `raw`: what stands there; `fault`: why it is none of ours and nobody can record it."""

    entry_id: str
    order_id: UUID
    buyer: int
    variant_id: int
    quantity: int
    key: str
    digest: str
    reserved_ms: int
    pay_by_ms: int
    place_id: int | None
    raw: dict[str, str]
    fault: str | None = None
