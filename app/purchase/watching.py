"""A drop as its seller watches it: gate and ledger read together, again and again, by one process for all who watch there.

Guarantees: only the office's own pools are used (R13). What is read every time is bounded; the rest (books, money, how charges end,
queues) is read again when it is due, and never more than a share of the time is spent on it: the longer it takes, the rarer it is.

The gate gone: the ledger's numbers stand alone and the look says so. The queue gone: its depths are unknown. The ledger gone:
LedgerUnreachable, and whoever watches keeps the last look.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Protocol

from app.clock import monotonic, now
from app.domain.drops import Drop
from app.errors import GateUnreachable
from app.gate import Peek
from app.ledger import Charge, Happening, Sales, Stretch, VariantUnits, WatchedMoney
from app.purchase.books import books_of
from app.purchase.drops import Office

WINDOW_SECONDS = 120  # of demand and sales per second
HAPPENINGS_MAX = 400  # the newest; equal ones in a row are told as one
AUDIT_SECONDS = 1.0  # between two readings of books, money, charges and queues ...
AUDIT_SHARE = 0.1  # ... but never more than this share of the time is spent on them
BOOKS_READS_MAX = 2  # a gate that moves is no news while a drop is open
CHARGES_RECENT_SECONDS = 300
SILENT_CHARGES = 5  # of the newest so many ...
SILENT_UNKNOWN = 2  # ... so many without an answer: the provider is silent
SLOW_SECONDS = 6.0  # a provider whose answers usually take longer is slow


class Depths(Protocol):
    """The sending side of the queues."""

    async def depths(self) -> dict[str, int] | None: ...


@dataclass(frozen=True, slots=True)
class Provider:
    """How the newest charges ended. `state`: quiet (none lately), well, slow, silent (no answers)."""

    state: str
    taken: int = 0
    declined: int = 0
    asked: int = 0  # for an authentication
    unknown: int = 0
    usual_seconds: float | None = None
    longest_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """What is read less often where it takes longer."""

    at: datetime
    balanced: bool | None  # None: still recording, or moving
    findings: tuple[str, ...]
    returning: int  # given back in the ledger, not yet confirmed by the gate
    refunded: int  # orders
    refused: int  # orders
    money: WatchedMoney
    provider: Provider
    queues: dict[str, int] | None  # jobs per queue, None: unknown


@dataclass(frozen=True, slots=True)
class Look:
    """A drop at one moment. Units, except where said."""

    drop: Drop
    at: datetime
    peek: Peek | None  # None: the gate has nothing to say
    gate_reachable: bool
    variants: tuple[VariantUnits, ...]
    demand: tuple[Stretch, ...]  # of the last WINDOW_SECONDS
    sales: tuple[Sales, ...]
    happenings: tuple[Happening, ...]  # newest first
    audit: Audit

    def left(self, variant: VariantUnits) -> int:
        """-> what anybody could buy now, by the gate; without it what the ledger has not sold."""
        return variant.total - variant.sold if self.peek is None else self.peek.left.get(variant.variant_id, 0)

    @property
    def total(self) -> int:
        return sum(variant.total for variant in self.variants)

    @property
    def left_units(self) -> int:
        return sum(map(self.left, self.variants))

    @property
    def checkouts(self) -> int:
        """Units in somebody's checkout: offered, held, or being charged."""
        return sum(variant.offered + variant.held + variant.processing for variant in self.variants)

    @property
    def paid(self) -> int:
        return sum(variant.paid for variant in self.variants)

    @property
    def waiting(self) -> int:
        """Places on the waitlist."""
        return sum(variant.waiting for variant in self.variants)

    @property
    def journal(self) -> int | None:
        """Reservations that the ledger does not have yet; None: unknown."""
        return None if self.peek is None else self.peek.journal


class Lookout:
    """Looks at one drop for one process."""

    def __init__(self, office: Office, jobs: Depths, drop_id: int):
        self.office = office
        self.jobs = jobs
        self.drop_id = drop_id
        self._audit: Audit | None = None
        self._audit_due_at = float("-inf")

    async def look(self) -> Look | None:
        """-> the drop now; None: it is gone. LedgerUnreachable."""
        ledger = self.office.ledger
        drop = await ledger.drop_by_id(self.drop_id)
        if drop is None:
            return None
        peek, reachable = await self._peek(drop)
        since = now() - timedelta(seconds=WINDOW_SECONDS)
        return Look(
            drop=drop,
            at=now(),
            peek=peek,
            gate_reachable=reachable,
            variants=tuple(await ledger.watch_variants(drop.id)),
            demand=tuple(await ledger.demand_since(drop.id, since - timedelta(seconds=60))),
            sales=tuple(await ledger.watch_sales(drop.id, since)),
            happenings=tuple(await ledger.watch_events(drop.id, HAPPENINGS_MAX)),
            audit=await self._audited(drop),
        )

    async def _peek(self, drop: Drop) -> tuple[Peek | None, bool]:
        """-> (reading, whether the gate answered); of a retired drop there is none."""
        if drop.retired:
            return None, True
        try:
            return await self.office.gate.peek(drop.id), True
        except GateUnreachable:
            return None, False

    async def _audited(self, drop: Drop) -> Audit:
        started = monotonic()
        if self._audit is None or started >= self._audit_due_at:
            self._audit = await self._read_audit(drop)
            took = monotonic() - started
            self._audit_due_at = started + max(AUDIT_SECONDS, took / AUDIT_SHARE)
        return self._audit

    async def _read_audit(self, drop: Drop) -> Audit:
        ledger = self.office.ledger
        books = await books_of(ledger, self.office.gate, drop.id, drop.slug, reads_max=BOOKS_READS_MAX)
        return Audit(
            at=now(),
            balanced=books["balanced"],
            findings=tuple(books["findings"]),
            returning=books["returning"],
            refunded=books["refunded"],
            refused=books["refused"],
            money=await ledger.watch_money(drop.id),
            provider=provider_of(await ledger.watch_charges(drop.id), now()),
            queues=await self.jobs.depths(),
        )


def provider_of(charges: list[Charge], moment: datetime) -> Provider:
    """How charges ended, newest first -> how the provider is doing at this moment."""
    recent = [charge for charge in charges if moment - charge.at <= timedelta(seconds=CHARGES_RECENT_SECONDS)]
    if not recent:
        return Provider("quiet")
    unknown = [charge.kind == "outcome unknown" for charge in recent]
    seconds = [charge.seconds for charge in recent if charge.seconds is not None and charge.kind != "outcome unknown"]
    usual = median(seconds) if seconds else None
    silent = sum(unknown[:SILENT_CHARGES]) >= min(SILENT_UNKNOWN, len(recent))
    return Provider(
        state="silent" if silent else "slow" if usual is not None and usual > SLOW_SECONDS else "well",
        taken=sum(charge.kind == "paid" for charge in recent),
        declined=sum(charge.kind in ("declined", "nothing was charged") for charge in recent),
        asked=sum(charge.kind == "authentication asked" for charge in recent),
        unknown=sum(unknown),
        usual_seconds=usual,
        longest_seconds=max(seconds, default=None),
    )
