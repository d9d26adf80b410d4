"""After the drop: its report, printable and as JSON, and what each drop brought in, on a page, as CSV and as a workbook.

Guarantees: nothing here names a person, so whoever may see drops may see it; another shop's drop is not there. Amounts in files are
plain numbers with the currency beside them, never added up across currencies. A drop that is still open is reported as it is by
now, and says so. The ledger gone: 503.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from litestar import Response, get
from litestar.params import FromPath

from app.clock import iso, now
from app.domain.drops import Door, Drop
from app.domain.roles import Right
from app.errors import NotFound
from app.languages import N_, _, count, ngettext, tenths
from app.ledger import Account, Seller
from app.purchase.reporting import REACH_SHARE, Accounting, Report, Tally, accounting_of, report_of
from app.web.doors import TheseDoors, ThisCall, document
from app.web.seller.access import ThisSeller
from app.web.seller.cells import Amount, Cell, as_csv
from app.web.seller.charts import stacked
from app.web.seller.exports import as_workbook, headers_of

CSV = "text/csv"
COLUMNS = (
    "drop", "drop_title", "opens_at", "currency", "orders", "units", "gross", "refunds", "net", "refunds_under_way",
    "tax_rate_percent", "tax_included", "fees", "shipping",
)  # fmt: skip
FEES_UNKNOWN = "unknown"  # the provider keeps them before it pays out

VERDICTS = {
    "reserved": N_("took something"),
    "already_yours": N_("had their share already"),
    "sold_out": N_("sold out"),
    "all_held": N_("everything in checkouts"),
    "not_open": N_("too early"),
    "paused": N_("paused"),
    "closed": N_("over"),
    "not_ready": N_("one moment: the gate was shut"),
    "too_fast": N_("too many presses of one person"),
    "key_conflict": N_("the same key for something else"),
}
REFUNDS = {
    "seller": N_("by the shop"),
    "drop_cancelled": N_("the drop was cancelled"),
    "late_money": N_("paid too late"),
}
PARCELS = {
    "waiting": N_("to be packed"),
    "unknown": N_("unknown at the warehouse"),
    "made": N_("at the warehouse"),
    "sent": N_("on their way"),
    "withdrawn": N_("withdrawn"),
}
PLACES = {
    "taken": N_("got one and paid"),
    "offered": N_("have an offer right now"),
    "lapsed": N_("had an offer and let it pass"),
    "left": N_("left the list"),
    "waiting": N_("wait still"),
    "closed": N_("were told when it closed"),
}


@dataclass(frozen=True, slots=True)
class Totals:
    """All drops of one currency, in minor units."""

    currency: str
    orders: int
    gross_minor: int
    refunded_minor: int
    net_minor: int
    shipping_minor: int
    tax_minor: int


@get("/drops/{drop_id:int}/report", right=Right.VIEW)
async def show_report(drop_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    drop = await doors.office.ledger.seller_drop(seller.shop_id, drop_id)
    if drop is None:
        raise NotFound(f"there is no drop {drop_id}")
    report = await report_of(doors.office.ledger, drop)
    if call.wants_json:
        return document(document_of(report))
    demand = report.demand
    return doors.seller_page(
        call,
        seller,
        "seller/report.html",
        title=_("Report: %(drop)s", drop=drop.title),
        drop=drop,
        report=report,
        over=is_over(drop),
        chart=stacked(demand.taken, demand.nothing_left, demand.other) if demand.since else None,
        rows=rows_of(report),
        share=f"{REACH_SHARE:.0%}".replace("%", "\u00a0%"),
        duration=duration,
        words={"verdicts": VERDICTS, "refunds": REFUNDS, "parcels": PARCELS, "places": PLACES},
        fallen=fallen_of(report),
    )


@get("/drops/{drop_id:int}/accounts.csv", right=Right.VIEW)
async def export_drop(drop_id: FromPath[int], doors: TheseDoors, seller: ThisSeller) -> Response:
    accounts = await doors.office.ledger.accounts(seller.shop_id, drop_id)
    if not accounts:
        raise NotFound(f"there is no drop {drop_id}")
    return as_file([accounting_of(account) for account in accounts], f"accounts-{accounts[0].slug}")


@get("/drops/{drop_id:int}/accounts.xlsx", right=Right.VIEW)
async def export_drop_book(drop_id: FromPath[int], doors: TheseDoors, seller: ThisSeller) -> Response:
    accounts = await doors.office.ledger.accounts(seller.shop_id, drop_id)
    if not accounts:
        raise NotFound(f"there is no drop {drop_id}")
    return await as_book(seller, [accounting_of(account) for account in accounts], f"accounts-{accounts[0].slug}")


@get("/accounts", right=Right.VIEW)
async def show_accounts(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    accounts = await doors.office.ledger.accounts(seller.shop_id)
    if call.wants_json:
        return document({"drops": [account_document(accounting_of(account)) for account in accounts]})
    return doors.seller_page(
        call, seller, "seller/accounts.html", title=_("Accounts"), accounts=accounts, totals=totals_of(accounts)
    )


@get("/accounts.csv", right=Right.VIEW)
async def export_accounts(doors: TheseDoors, seller: ThisSeller) -> Response:
    accounts = await doors.office.ledger.accounts(seller.shop_id)
    return as_file([accounting_of(account) for account in accounts], "accounts")


@get("/accounts.xlsx", right=Right.VIEW)
async def export_accounts_book(doors: TheseDoors, seller: ThisSeller) -> Response:
    accounts = await doors.office.ledger.accounts(seller.shop_id)
    return await as_book(seller, [accounting_of(account) for account in accounts], "accounts")


def is_over(drop: Drop) -> bool:
    ended = drop.closes_at is not None and drop.closes_at <= now()
    return drop.retired or ended or drop.door in (Door.CLOSED, Door.CANCELLED)


def rows_of(report: Report) -> list[tuple[Any, int, int, int]]:
    """The chart for reading: (from, took something, nothing left, other answers) per bucket in which somebody pressed."""
    demand = report.demand
    if demand.since is None:
        return []
    series = zip(demand.taken, demand.nothing_left, demand.other, strict=True)
    return [
        (demand.since + timedelta(seconds=place * demand.bucket_seconds), *counts)
        for place, counts in enumerate(series)
        if any(counts)
    ]


def fallen_of(report: Report) -> list[tuple[str, Tally]]:
    """Who fell out after taking something, by where, the most first; who fell out nowhere is left out."""
    funnel = report.funnel
    ways = [
        (_("let the time run out without paying"), funnel.expired_untried),
        (_("tried to pay, and ran out of time"), funnel.expired_tried),
        (_("were declined"), funnel.declined),
        (_("gave it back"), funnel.by_shopper),
        (_("were cancelled by the shop"), funnel.by_seller),
        (_("paid too late or another amount: the money went back"), funnel.other),
        (_("paid, and got their money back"), funnel.refunded),
    ]
    return sorted((way for way in ways if way[1].orders), key=lambda way: -way[1].orders)


def duration(span: timedelta) -> str:
    """-> '3.2 s', '4 min 10 s', '2 h 5 min', '3 days 4 h'."""
    seconds = span.total_seconds()
    if seconds < 60:
        return _("%(seconds)s s", seconds=tenths(seconds))
    whole = round(seconds)
    days, hours, minutes, rest = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if days:
        return ngettext("%(num)s day %(hours)s h", "%(num)s days %(hours)s h", days, hours=hours)
    if hours:
        return _("%(hours)s h %(minutes)s min", hours=count(hours), minutes=minutes)
    return _("%(minutes)s min %(seconds)s s", minutes=minutes, seconds=rest)


# numbers for programs


def document_of(report: Report) -> dict[str, Any]:
    """Times ISO 8601, spans in seconds, amounts in minor units."""
    demand, funnel = report.demand, report.funnel
    return {
        "drop": report.drop.slug,
        "at": iso(report.at),
        "over": is_over(report.drop),
        "opens_at": iso(report.drop.opens_at),
        "total": report.drop.units_total,
        "demand": {
            "pressed": demand.presses,
            "by_verdict": demand.by_verdict,
            "unmet": demand.unmet,
            "peak_per_second": None if demand.peak is None else {"at": iso(demand.peak[0]), "pressed": demand.peak[1]},
            "since": None if demand.since is None else iso(demand.since),
            "bucket_seconds": demand.bucket_seconds,
            "taken": demand.taken,
            "nothing_left": demand.nothing_left,
            "other": demand.other,
            "not_counted": [{"after": iso(gap.counted_until), "died": gap.died, "forgotten": gap.uncounted} for gap in demand.gaps],
        },
        "funnel": {
            "pressed": funnel.presses,
            **{name: tally_document(getattr(funnel, name)) for name in type(funnel).__dataclass_fields__ if name != "presses"},
        },
        "sold_out_after_seconds": None if report.sold_out_after is None else report.sold_out_after.total_seconds(),
        "paid_out_after_seconds": None if report.paid_out_after is None else report.paid_out_after.total_seconds(),
        "waitlist": {state: {"places": row.places, "units": row.units} for state, row in report.places.items()},
        "parcels": {state: row.parcels for state, row in report.parcels.items()},
        "refunds": [
            {"purpose": row.purpose, "confirmed": row.done, "refunds": row.refunds, "amount_minor": row.amount_minor}
            for row in report.refunds
        ],
        "accounts": account_document(report.accounting),
    }


def tally_document(tally: Tally) -> dict[str, int]:
    return {"orders": tally.orders, "units": tally.units}


def account_document(accounting: Accounting) -> dict[str, Any]:
    account = accounting.account
    return {
        "drop": account.slug,
        "currency": account.currency,
        "orders": account.orders,
        "units": account.units,
        "gross_minor": account.gross_minor,
        "refunded_minor": account.refunded_minor,
        "refunding_minor": account.refunding_minor,
        "net_minor": account.net_minor,
        "tax_rate_percent": None if accounting.tax_rate_percent is None else str(accounting.tax_rate_percent),
        "tax_minor": accounting.tax_minor,
        "fees_minor": None,
        "shipping_minor": account.shipping_minor,
    }


def totals_of(accounts: Iterable[Account]) -> list[Totals]:
    """-> per currency, never across."""
    of: dict[str, list[Account]] = defaultdict(list)
    for account in accounts:
        of[account.currency].append(account)
    return [
        Totals(
            currency,
            sum(account.orders for account in some),
            sum(account.gross_minor for account in some),
            sum(account.refunded_minor for account in some),
            sum(account.net_minor for account in some),
            sum(account.shipping_minor for account in some),
            sum(account.tax_minor for account in some),
        )
        for currency, some in sorted(of.items())
    ]


def as_file(accountings: list[Accounting], name: str) -> Response:
    return Response(as_csv([COLUMNS, *map(row_of, accountings)], iso).encode(), media_type=CSV, headers=headers_of(f"{name}.csv"))


async def as_book(seller: Seller, accountings: list[Accounting], name: str) -> Response:
    async def rows() -> AsyncIterator[list[list[Cell]]]:
        yield [row_of(accounting) for accounting in accountings]

    return await as_workbook(seller, f"{name}.xlsx", "accounts", COLUMNS, rows())


def row_of(accounting: Accounting) -> list[Cell]:
    """-> COLUMNS of one drop."""
    account, currency = accounting.account, accounting.account.currency
    return [
        account.slug,
        account.title,
        account.opens_at,
        currency,
        account.orders,
        account.units,
        Amount(account.gross_minor, currency),
        Amount(account.refunded_minor, currency),
        Amount(account.net_minor, currency),
        Amount(account.refunding_minor, currency),
        accounting.tax_rate_percent,
        None if accounting.tax_minor is None else Amount(accounting.tax_minor, currency),
        FEES_UNKNOWN,
        Amount(account.shipping_minor, currency),
    ]


ROUTES = [show_report, export_drop, export_drop_book, show_accounts, export_accounts, export_accounts_book]
