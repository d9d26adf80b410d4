"""What a drop looks like afterwards: how much was asked for, how far people came, where they fell out, what it brought in.

Everything comes from the ledger and is about one drop; nothing in it names a person. Asked while the drop is still open it says
what is so by then. What the counts of the crowd lack (a web process that died) is part of the answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil

from app.clock import now
from app.domain.drops import Drop
from app.domain.money import percent_of
from app.domain.orders import OrderState, Refusal
from app.domain.verdicts import Verdict
from app.ledger import Account, CountingGap, Ledger, OrdersLike, ParcelsLike, PlacesLike, RefundsLike, Stretch

REACH_SHARE = 0.98  # the chart ends when so much of all demand had come ...
REACH_MARGIN = 1.25  # ... and a bit
SECONDS_SHOWN_MIN = 30
BARS_MAX = 240
BUCKETS_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600)

NOTHING_LEFT = frozenset({Verdict.SOLD_OUT, Verdict.ALL_HELD})
NOT_SELLING = frozenset({Verdict.NOT_OPEN, Verdict.PAUSED, Verdict.CLOSED, Verdict.NOT_READY})


@dataclass(frozen=True, slots=True)
class Tally:
    """Orders, and the units in them."""

    orders: int = 0
    units: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.orders + other.orders, self.units + other.units)


@dataclass(frozen=True, slots=True)
class Funnel:
    """Asked, taken, tried to pay, paid; and whoever fell out on the way, by where."""

    presses: int  # of Buy
    taken: Tally  # every order that had units, those of offers included
    offered: Tally  # of these, from the waitlist
    tried: Tally  # a payment was submitted
    paid: Tally  # at some time
    open: Tally  # in a checkout, or being charged
    expired_untried: Tally
    expired_tried: Tally
    declined: Tally
    by_shopper: Tally
    by_seller: Tally
    other: Tally  # the money was late or wrong: it went back
    refunded: Tally
    refused: Tally  # the gate granted them, the ledger had nothing: never in anybody's hands
    unwanted: Tally  # offers to people who had left the list


@dataclass(frozen=True, slots=True)
class Demand:
    """Presses of Buy. Buckets of `bucket_seconds` from `since` on, oldest first, all as long: no gap between them."""

    presses: int
    by_verdict: dict[str, int]
    first: datetime | None
    last: datetime | None
    peak: tuple[datetime, int] | None
    since: datetime | None
    bucket_seconds: int
    taken: list[int]
    nothing_left: list[int]
    other: list[int]
    gaps: list[CountingGap]

    @property
    def unmet(self) -> int:
        """Presses for which nothing was left."""
        return sum(self.by_verdict.get(verdict, 0) for verdict in NOTHING_LEFT)

    @property
    def not_selling(self) -> int:
        """Presses while nobody could buy: too early, paused, over, or the gate shut."""
        return sum(self.by_verdict.get(verdict, 0) for verdict in NOT_SELLING)

    @property
    def whole(self) -> bool:
        """Whether nothing is known to be missing."""
        return not self.gaps


@dataclass(frozen=True, slots=True)
class Accounting:
    """What one drop brought in, in minor units. The provider's fees are not known here: it keeps them before it pays out."""

    account: Account
    tax_rate_percent: Decimal | None  # None: no rate is set, and nothing is said about tax
    tax_minor: int | None  # included in the net amount

    @property
    def net_minor(self) -> int:
        return self.account.net_minor


@dataclass(frozen=True, slots=True)
class Report:
    drop: Drop
    at: datetime
    demand: Demand
    funnel: Funnel
    last_unit_at: datetime | None  # nothing was left for the first time
    first_paid_at: datetime | None
    last_paid_at: datetime | None
    paid_units: int  # paid now
    places: dict[str, PlacesLike]
    parcels: dict[str, ParcelsLike]
    refunds: list[RefundsLike]
    accounting: Accounting

    @property
    def sold_out_after(self) -> timedelta | None:
        """From the opening until nothing was left for the first time; None: something always was."""
        return None if self.last_unit_at is None else max(timedelta(), self.last_unit_at - self.drop.opens_at)

    @property
    def paid_out_after(self) -> timedelta | None:
        """From the opening until every unit was paid; None: not all of them are."""
        if self.last_paid_at is None or self.paid_units < self.drop.units_total:
            return None
        return max(timedelta(), self.last_paid_at - self.drop.opens_at)


async def report_of(ledger: Ledger, drop: Drop) -> Report:
    """-> the report of a drop that the caller found by its shop."""
    orders = await ledger.report_orders(drop.id)
    demand = await demand_of(ledger, drop.id)
    paid = await ledger.report_paid(drop.id)
    [account] = await ledger.accounts(drop.shop_id, drop.id)
    return Report(
        drop=drop,
        at=now(),
        demand=demand,
        funnel=funnel_of(orders, demand.presses),
        last_unit_at=await ledger.report_last_unit(drop.id),
        first_paid_at=paid.first,
        last_paid_at=paid.last,
        paid_units=paid.units,
        places={row.state: row for row in await ledger.report_places(drop.id)},
        parcels={row.state: row for row in await ledger.report_parcels(drop.id)},
        refunds=await ledger.report_refunds(drop.id),
        accounting=accounting_of(account),
    )


async def demand_of(ledger: Ledger, drop_id: int) -> Demand:
    totals = await ledger.demand_totals(drop_id)
    reach = await ledger.demand_reach(drop_id, REACH_SHARE)
    gaps = await ledger.counting_gaps(totals.first, totals.last, now()) if totals.first and totals.last else []
    since, bucket_seconds, places = span_of(reach)
    until = None if since is None else since + timedelta(seconds=bucket_seconds * places)
    buckets = await ledger.demand_buckets(drop_id, since, until, bucket_seconds) if since and until else []
    taken, nothing_left, other = series_of(buckets, since, bucket_seconds, places)
    return Demand(
        presses=totals.asks,
        by_verdict=totals.by_verdict,
        first=totals.first,
        last=totals.last,
        peak=await ledger.demand_peak(drop_id),
        since=since,
        bucket_seconds=bucket_seconds,
        taken=taken,
        nothing_left=nothing_left,
        other=other,
        gaps=gaps,
    )


def span_of(reach: tuple[datetime, datetime] | None) -> tuple[datetime | None, int, int]:
    """The first press and the one by which nearly all had come -> (begin of the chart, seconds of a bucket, buckets)."""
    if reach is None:
        return None, 1, 0
    first, last = reach
    seconds = max(SECONDS_SHOWN_MIN, ceil(((last - first).total_seconds() + 1) * REACH_MARGIN))
    bucket = next((size for size in BUCKETS_SECONDS if seconds / size <= BARS_MAX), BUCKETS_SECONDS[-1])
    return first, bucket, min(BARS_MAX, ceil(seconds / bucket))


def series_of(
    buckets: Iterable[Stretch], since: datetime | None, bucket_seconds: int, places: int
) -> tuple[list[int], list[int], list[int]]:
    """-> presses that took something, found nothing left, got any other answer; per bucket."""
    taken, nothing_left, other = ([0] * places for _ in range(3))
    for bucket in buckets:
        place = int((bucket.second - since).total_seconds()) // bucket_seconds
        series = taken if bucket.verdict == Verdict.RESERVED else nothing_left if bucket.verdict in NOTHING_LEFT else other
        series[place] += bucket.asks
    return taken, nothing_left, other


def funnel_of(orders: Iterable[OrdersLike], presses: int) -> Funnel:
    """Every order is counted once among where it ended, and once in each step that it reached."""
    tallies = {name: Tally() for name in Funnel.__dataclass_fields__ if name != "presses"}

    def add(name: str, row: OrdersLike) -> None:
        tallies[name] += Tally(row.orders, row.units)

    for row in orders:
        if row.state == OrderState.REFUSED:
            add("refused", row)
            continue
        if row.reason == Refusal.LEFT_LIST:
            add("unwanted", row)
            continue
        add("taken", row)
        if row.offered:
            add("offered", row)
        if row.tried:
            add("tried", row)
        if row.paid:
            add("paid", row)
        if (end := end_of(row)) is not None:
            add(end, row)
    return Funnel(presses=presses, **tallies)


def end_of(row: OrdersLike) -> str | None:
    """-> where these orders fell out, or that they are still open; None: paid and kept."""
    match row.state:
        case OrderState.PAID:
            return None
        case OrderState.PENDING_PAYMENT | OrderState.PROCESSING:
            return "open"
        case OrderState.REFUNDED:
            return "refunded"
        case OrderState.EXPIRED:
            return "expired_tried" if row.tried else "expired_untried"
        case OrderState.CANCELLED if row.reason == Refusal.BY_SELLER:
            return "by_seller"
        case OrderState.CANCELLED:
            return "by_shopper"
        case OrderState.FAILED if row.reason in ("", Refusal.DECLINED):
            return "declined"
    return "other"


def accounting_of(account: Account) -> Accounting:
    """Tax as invoices and their corrections say it; without a rate nothing is said about tax."""
    if not account.tax_basis_points:
        return Accounting(account, None, None)
    return Accounting(account, percent_of(account.tax_basis_points), account.tax_minor)
