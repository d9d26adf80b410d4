"""A drop, its variants, and the phase a shopper sees. Pure: the caller brings the clock and the counts."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

LAST_SECONDS = 10  # the "last ten seconds" scene

# What a drop may be at most.
TITLE_CHARACTERS_MAX = 200
DESCRIPTION_CHARACTERS_MAX = 10_000
VARIANTS_MAX = 100
VARIANT_CHARACTERS_MAX = 80
UNITS_MAX = 1_000_000  # of one variant
PER_PERSON_MAX = 1000
HOLD_SECONDS_MAX = 86_400  # of offers too
ATTEMPTS_MAX = 10
PICTURES_MAX = 12
FEES_MAX = 300  # countries with a shipping fee of their own
EVERYWHERE_ELSE = "*"  # stands for a country in a table of shipping fees
ALT_CHARACTERS_MAX = 300
SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


class Door(StrEnum):
    """What the seller (or a rebuild) decided; the clock is judged apart from it."""

    OPEN = "open"  # armed: open between opens_at and closes_at
    PAUSED = "paused"
    CLOSED = "closed"
    CANCELLED = "cancelled"
    NOT_READY = "not_ready"  # gate only: shut while it is being mended

    @property
    def at_gate(self) -> "Door":
        """-> the same door in the gate's words: it knows no cancelled drop, to it that is a closed one."""
        return Door.CLOSED if self is Door.CANCELLED else self


ENDS = (Door.CLOSED, Door.CANCELLED)  # doors that never open again


class Waitlist(StrEnum):
    """What happens when a unit comes back while people wait."""

    OFFERS = "offers"  # it is held for the next in line
    NOTIFY = "notify"  # everybody is told at once, first come


class Phase(StrEnum):
    ANNOUNCED = "announced"
    LAST_SECONDS = "last_seconds"
    OPEN = "open"
    ALL_HELD = "all_held"
    SOLD_OUT = "sold_out"
    PAUSED = "paused"
    CLOSED = "closed"
    CANCELLED = "cancelled"
    NOT_READY = "not_ready"  # the gate is out of reach: "one moment"


@dataclass(frozen=True, slots=True)
class Variant:
    id: int
    name: str
    units_total: int
    waiting: int = 0  # places of its waitlist that wait
    called: int = 0  # the highest number of its waitlist that was ever offered units


@dataclass(frozen=True, slots=True)
class DropPicture:
    hash: str  # of its content
    alt: str  # what it shows, for those who do not see it; "": said by the title already


@dataclass(frozen=True, slots=True)
class Drop:
    """A published drop as the ledger knows it. Times are aware datetimes in UTC."""

    id: int
    shop_id: int
    shop_name: str
    slug: str
    title: str
    description: str
    price_minor: int
    currency: str
    opens_at: datetime
    closes_at: datetime | None
    per_person: int
    hold_seconds: float
    payment_attempts: int
    door: Door
    clock_offset_ms: int
    picture: str | None  # content hash of the picture, None: none
    retired: bool  # the books closed and the keys left Redis
    variants: tuple[Variant, ...]
    offer_seconds: float = 600.0  # how long a unit is held for the person whose turn it is
    waitlist: Waitlist = Waitlist.OFFERS
    ships: bool = False  # an address is asked for before paying
    version: int = 1  # raised by every change of words, pictures and times
    time_zone: str = "UTC"  # in which its seller planned it
    shipping_countries: tuple[str, ...] | None = None  # ISO 3166-1 alpha-2; None: everywhere
    pictures: tuple[DropPicture, ...] = ()  # in the order they are shown; the first one is `picture`
    updated_at: datetime | None = None
    updated_by: str | None = None  # who changed it last; None: nobody since it was published
    tax_basis_points: int = 0  # included in the price; 1900: 19 %; 0: nothing is said about tax
    shipping_fees: Mapping[str, int] | None = None  # country, or EVERYWHERE_ELSE -> minor units; None: sent free of charge
    law: tuple[str, ...] = ()  # which pages its shop has: imprint, terms, privacy, refunds

    def shipping_to(self, country: str) -> int | None:
        """-> what sending an order there costs, in minor units; None: it is not sent there."""
        if self.shipping_countries is not None and country not in self.shipping_countries:
            return None
        return fee_in(self.shipping_fees, country)

    def over(self, now: datetime) -> bool:
        """Whether nobody buys any more, by the seller's word or by the clock: such a drop never opens again."""
        offset = timedelta(milliseconds=self.clock_offset_ms)
        return self.door in ENDS or (self.closes_at is not None and self.closes_at <= now + offset)

    @property
    def waiting(self) -> int:
        """How many places wait, of all variants."""
        return sum(variant.waiting for variant in self.variants)

    @property
    def units_total(self) -> int:
        return sum(variant.units_total for variant in self.variants)

    def variant_named(self, name: str) -> Variant | None:
        return next((variant for variant in self.variants if variant.name == name), None)


def fee_in(fees: Mapping[str, int] | None, country: str) -> int | None:
    """-> the fee of a country in a table of fees; None: nothing is sent there. Without a table it is free."""
    return 0 if fees is None else fees.get(country, fees.get(EVERYWHERE_ELSE))


def phase_of(
    door: Door, opens_ms: int, closes_ms: int | None, now_ms: int, left: Mapping[int, int], held: Mapping[int, int]
) -> Phase:
    """-> the phase at `now_ms` (milliseconds since the epoch, gate clock). `left`, `held`: units per variant id."""
    if door is Door.CANCELLED:
        return Phase.CANCELLED
    if door is Door.CLOSED or (closes_ms is not None and now_ms >= closes_ms):
        return Phase.CLOSED
    if door is Door.NOT_READY:
        return Phase.NOT_READY
    if door is Door.PAUSED:
        return Phase.PAUSED
    if now_ms < opens_ms:
        return Phase.LAST_SECONDS if opens_ms - now_ms <= LAST_SECONDS * 1000 else Phase.ANNOUNCED
    if any(left.values()):
        return Phase.OPEN
    return Phase.ALL_HELD if any(held.values()) else Phase.SOLD_OUT
