"""What is played: the drop, the people and the moments of the faults, all drawn from one seed.

The same seed, drop and numbers give the same people with the same intentions, and the same faults at the same moments. What they
meet is the machine's: who wins is decided by the gate, not here.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random

from app.errors import BadInput

CROWD_DEFAULT, CROWD_MAX = 2_000, 50_000
UNITS_DEFAULT = 100
SECONDS_DEFAULT, SECONDS_MIN, SECONDS_MAX = 45.0, 5.0, 3600.0
BROWSERS_MAX = 16
CONNECTIONS_DEFAULT, CONNECTIONS_MAX = 1_000, 10_000
SEED_MAX = 2**31 - 1

EARLY_SECONDS = 4.0  # the first people come this long before the opening
SPIKE_SECONDS = 1.5  # most of them press within this time of it
TRICKLE_SHARE_OF_TIME = 0.75  # the last newcomer comes at this share of the drop's time
HOLD_SHARE = 0.25  # of the drop's time: how long a hold lasts in quick motion
HOLD_SECONDS_MIN = 8.0
SITTERS_MAX = 400  # sockets that are watched message by message
WAITERS_PER_UNIT, WAITERS_EXTRA, WAITERS_MAX = 3, 40, 600  # people who would join the list
FAULT_FIRST_SECONDS = 0.4  # after the opening
FAULT_GAP_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The drop as it is rehearsed. `of`: the slug of the seller's own drop, None: the standard drop."""

    title: str
    variants: tuple[tuple[str, int], ...]
    price_minor: int
    currency: str
    per_person: int = 1
    hold_seconds: float = 600.0
    offer_seconds: float = 600.0
    payment_attempts: int = 3
    waitlist: str = "offers"
    ships: bool = False
    of: str | None = None

    @property
    def units(self) -> int:
        return sum(units for _, units in self.variants)


STANDARD = Piece(title="A hundred night lamps", variants=(("Standard", UNITS_DEFAULT),), price_minor=4900, currency="EUR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for. None: as deployed, or as the drop has it."""

    seed: int
    slug: str | None = None
    crowd: int = CROWD_DEFAULT
    units: int | None = None
    browsers: int = 0
    faults: tuple[str, ...] = ()
    seconds: float = SECONDS_DEFAULT
    web: int | None = None
    connections: int = CONNECTIONS_DEFAULT
    real_times: bool = False

    def command(self) -> str:
        """-> the command that plays the same again."""
        words = ["doorman", "rehearse", *([self.slug] if self.slug else []), "--crowd", str(self.crowd)]
        if self.units is not None:
            words += ["--units", str(self.units)]
        if self.browsers:
            words += ["--browsers", str(self.browsers)]
        words += ["--faults", ",".join(self.faults) or "none", "--seconds", f"{self.seconds:g}", "--seed", str(self.seed)]
        if self.web is not None:
            words += ["--web", str(self.web)]
        if self.connections != CONNECTIONS_DEFAULT:
            words += ["--connections", str(self.connections)]
        return " ".join([*words, *(["--real-times"] if self.real_times else [])])


@dataclass(frozen=True, slots=True)
class Person:
    """What somebody means to do. Moments are seconds from the opening; negative: before it."""

    number: int
    comes: float
    style: str  # how they press: once | double | hammer | lost_reply | early
    pays: str  # what they do with a hold: at_once | late | declined_first | abandons | gives_back
    after_no: str  # leaves | presses_again | waits_and_takes | waits_and_misses
    sits: bool  # watches the socket while there
    variant: str
    quantity: int
    salt: float  # 0 to 1: small differences of patience


STYLES = {"once": 0.55, "double": 0.15, "hammer": 0.08, "lost_reply": 0.12, "early": 0.10}
PAYS = {"at_once": 0.5, "late": 0.12, "declined_first": 0.13, "abandons": 0.17, "gives_back": 0.08}


def people(seed: int, crowd: int, piece: Piece, seconds: float, spike_share: float = 0.7) -> Iterator[Person]:
    """-> the crowd, in the order of their numbers."""
    random = Random(f"{seed}:people")
    names = [name for name, units in piece.variants if units] or [piece.variants[0][0]]
    waits = min(0.5, min(WAITERS_MAX, WAITERS_PER_UNIT * piece.units + WAITERS_EXTRA) / crowd)
    sits = min(0.5, SITTERS_MAX / crowd)
    for number in range(crowd):
        style = _one(random, STYLES)
        if style == "early":
            comes = -random.uniform(0.2, EARLY_SECONDS)
        elif random.random() < spike_share:
            comes = min(random.expovariate(3 / SPIKE_SECONDS), 2 * SPIKE_SECONDS)
        else:
            comes = random.uniform(SPIKE_SECONDS, max(SPIKE_SECONDS, TRICKLE_SHARE_OF_TIME * seconds))
        after_no = "leaves"
        if random.random() < waits:
            after_no = "waits_and_takes" if random.random() < 0.75 else "waits_and_misses"
        elif random.random() < 0.1:
            after_no = "presses_again"
        yield Person(
            number=number,
            comes=comes,
            style=style,
            pays=_one(random, PAYS),
            after_no=after_no,
            sits=random.random() < sits,
            variant=random.choice(names),
            quantity=random.randint(1, piece.per_person) if piece.per_person > 1 and random.random() < 0.3 else 1,
            salt=random.random(),
        )


def _one(random: Random, shares: dict[str, float]) -> str:
    return random.choices(list(shares), list(shares.values()))[0]


def in_quick_motion(piece: Piece, seconds: float) -> Piece:
    """-> the drop with holds and offers that end within the rehearsal; shorter ones stay as they are."""
    hold = max(HOLD_SECONDS_MIN, HOLD_SHARE * seconds)
    return replace(piece, hold_seconds=min(piece.hold_seconds, hold), offer_seconds=min(piece.offer_seconds, hold))


def with_units(piece: Piece, units: int | None) -> Piece:
    """-> the drop with this many units in all, spread over its variants as before."""
    if units is None:
        return piece
    if units < len(piece.variants):
        raise BadInput(f"{len(piece.variants)} variants need at least as many units", field="units")
    total = piece.units or 1
    shares = [max(1, units * of_variant // total) for _, of_variant in piece.variants]
    while sum(shares) != units:
        largest = max(range(len(shares)), key=lambda index: shares[index])
        shares[largest] += 1 if sum(shares) < units else -1
    return replace(piece, variants=tuple((name, share) for (name, _), share in zip(piece.variants, shares, strict=True)))


@dataclass(frozen=True, slots=True)
class Moment:
    """When a fault begins and ends, in seconds from the opening."""

    fault: str
    begins: float
    ends: float


def moments(seed: int, faults: Sequence[tuple[str, float]], seconds: float) -> list[Moment]:
    """-> the faults (name, how long each lasts) one after the other, in the given order and spread over the drop's time.

    Never closer than FAULT_GAP_SECONDS. BadInput when the drop is too short for them: it says how long it must be.
    """
    needed = FAULT_FIRST_SECONDS + sum(lasts + FAULT_GAP_SECONDS for _, lasts in faults)
    if needed > seconds:
        enough = math.ceil(needed)
        raise BadInput(f"these faults need {enough} s one after the other: give at least --seconds {enough}", field="seconds")
    random = Random(f"{seed}:faults")
    cuts = sorted(random.uniform(0, seconds - needed) for _ in faults)
    at, planned, shifted = FAULT_FIRST_SECONDS, [], 0.0
    for (name, lasts), cut in zip(faults, cuts, strict=True):
        at += cut - shifted
        shifted = cut
        planned.append(Moment(name, at, at + lasts))
        at += lasts + FAULT_GAP_SECONDS
    return planned


def as_plain(piece: Piece) -> dict:
    return asdict(piece)


def piece_from(plain: dict) -> Piece:
    return Piece(**{**plain, "variants": tuple((name, units) for name, units in plain["variants"])})
