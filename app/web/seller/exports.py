"""Files for the books: orders, and money as it moved, as CSV.

Guarantees: whatever a buyer typed opens as text in a spreadsheet, never as a formula (A17), and a reader of CSV finds every column
and row; amounts are decimal numbers with their currency beside them, times are ISO 8601 with the shop's offset. A file is written
while it is read, a few hundred orders at a time, each from a short question of its own: memory stays the same for a hundred
thousand orders, and a slow reader holds neither a connection nor a transaction. Every order that was there at the start comes
exactly once, as it is when its line is written. The ledger lost on the way: the transfer breaks off, so that no half file looks
like a whole one.
"""

import csv
import io
import re
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from babel.numbers import get_decimal_symbol
from litestar import Response, get
from litestar.response import Stream

from app.clock import now
from app.domain.addresses import FIELDS, as_stored
from app.domain.money import as_decimal, included_tax, percent_of
from app.domain.roles import Right
from app.errors import BadInput
from app.languages import N_, Language, spoken
from app.ledger import Ledger, MoneyLine, MoneySpot, OrderFilter, OrderLine, OrderPage, Seller, Spot
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall
from app.web.problems import Problem, Refused
from app.web.seller.access import ThisSeller
from app.web.seller.orders import asked_for, wanted_of
from app.web.seller.telling import Teller

ROWS_AT_ONCE = 500  # of one reading: small enough that writing them keeps nobody waiting
EXPORTS_AT_ONCE_MAX = 3  # of one process
RETRY_SECONDS = 20
BYTE_ORDER_MARK = "\ufeff"  # with it Excel knows that a file is UTF-8
FORMULA_BEGINS = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "\uff1d",
    "\uff0b",
    "\uff0d",
    "\uff20",
)  # the last four: their full-width forms
# A spreadsheet of another country may part a line at another mark: what would then begin a cell is text as well.
FORMULA_BEHIND_A_MARK = re.compile(rf"([,;|][ \u00a0\"]*)(?=[{re.escape(''.join(FORMULA_BEGINS))}])")
BEGINNING = Spot(datetime(1, 1, 1, tzinfo=UTC), UUID(int=0))

ORDER_COLUMNS = (
    "order", "drop", "drop_title", "variant", "quantity", "state", "reason", "payment", "amount", "captured", "refunded",
    "currency", "reserved_at", "paid_at", "ended_at", "email", "name", "street", "more", "postcode", "town", "region", "country",
    "parcel", "parcel_number", "tracking", "payment_reference", "shipping", "tax_rate_percent", "tax_included", "invoice",
)  # fmt: skip
MONEY_COLUMNS = (
    "at", "kind", "order", "drop", "drop_title", "variant", "quantity", "amount", "currency", "purpose", "payment_reference",
    "shipping", "tax_included", "invoice",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file is written."""

    head: str
    delimiter: str
    decimal: str


PLAIN = Dialect("", ",", ".")


def excel_in(language: Language) -> Dialect:
    """-> what Excel opens by a double click: it expects the list separator and the decimal mark of its own language."""
    decimal = get_decimal_symbol(language.locale)
    return Dialect(BYTE_ORDER_MARK, ";" if decimal == "," else ",", decimal)


class Running:
    """How many files this process is writing."""

    def __init__(self):
        self.files = 0


running = Running()


@get("/exports/orders.csv", right=Right.ORDERS)
async def export_orders(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """The orders that the list shows under the same address, oldest first."""
    wanted = wanted_of(asked_for(call, None), seller, None)
    until = now() if wanted.until is None else min(wanted.until, now())
    pieces = order_pieces(doors.office.ledger, seller, replace(wanted, until=until))
    return await streamed(call, doors, seller, "orders", ORDER_COLUMNS, pieces, wanted)


@get("/exports/money.csv", right=Right.ORDERS)
async def export_money(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """Payments and refunds of a drop or of the shop, within the same days, in the order in which the money moved."""
    wanted = wanted_of(asked_for(call, None), seller, None)
    until = now() if wanted.until is None else min(wanted.until, now())
    pieces = money_pieces(doors.office.ledger, seller, wanted.drop_id, wanted.since, until)
    return await streamed(call, doors, seller, "money", MONEY_COLUMNS, pieces, wanted)


async def streamed(
    call: Call, doors: Doors, seller: Seller, name: str, columns: tuple[str, ...], pieces: AsyncIterator[list], wanted: OrderFilter
) -> Response:
    """Write the head and the first piece before answering, so that what is wrong is said as an error; the rest while it is read."""
    if running.files >= EXPORTS_AT_ONCE_MAX:
        busy = N_("Other files are being written. Try again in a moment.")
        raise Refused(Problem(503, busy, retry_after_seconds=RETRY_SECONDS))
    first = await anext(pieces, [])
    told = {"drop": wanted.drop_id, "since": wanted.since, "until": wanted.until, "searched": bool(wanted.words)}
    await doors.office.ledger.audit(seller.shop_id, seller.actor, f"{name} exported", seller.shop_name, None, told)
    dialect = excel_in(spoken()) if call.query("excel") == "yes" else PLAIN
    day = f"{now().astimezone(Teller(seller.time_zone).zone):%Y-%m-%d}"
    return Stream(
        written(dialect, columns, first, pieces),
        media_type="text/csv",
        headers={"content-disposition": f'attachment; filename="{name}-{day}.csv"', "cache-control": "no-store"},
    )


async def written(dialect: Dialect, columns: tuple[str, ...], first: list, pieces: AsyncIterator[list]) -> AsyncIterator[bytes]:
    """-> the file, piece by piece."""
    running.files += 1
    try:
        yield (dialect.head + as_csv([columns, *first], dialect)).encode()
        async for rows in pieces:
            yield as_csv(rows, dialect).encode()
    finally:
        running.files -= 1


async def order_pieces(ledger: Ledger, seller: Seller, wanted: OrderFilter) -> AsyncIterator[list]:
    """-> rows of ORDER_COLUMNS, ROWS_AT_ONCE at a time, oldest first. BadInput at the first for a search that means too much."""
    row = order_row_in(Teller(seller.time_zone))
    spot = BEGINNING
    while True:
        page: OrderPage = await ledger.shop_orders(seller.shop_id, wanted, ROWS_AT_ONCE, newer_than=spot)
        if page.cut:
            raise BadInput(N_("The search means too many orders to look up: narrow it, or export without it."), field="q")
        if page.lines:
            yield [row(line) for line in reversed(page.lines)]
            spot = page.lines[0].spot
        if not page.newer:
            return


async def money_pieces(
    ledger: Ledger, seller: Seller, drop_id: int | None, since: datetime | None, until: datetime
) -> AsyncIterator[list]:
    """-> rows of MONEY_COLUMNS, ROWS_AT_ONCE at a time, oldest first."""
    row = money_row_in(Teller(seller.time_zone))
    spot: MoneySpot | None = None
    while lines := await ledger.shop_money(
        seller.shop_id, drop_id=drop_id, since=since, until=until, after=spot, limit=ROWS_AT_ONCE
    ):
        yield [row(line) for line in lines]
        spot = lines[-1].spot


def order_row_in(tell: Teller) -> Callable[[OrderLine], list]:
    def row(line: OrderLine) -> list:
        where = line.address
        return [
            str(line.order_id), line.drop_slug, line.drop_title, line.variant, line.quantity, line.state, line.reason or "",
            line.payment, amount(line.amount_minor, line.currency), amount(line.captured_minor, line.currency),
            amount(line.refunded_minor, line.currency), line.currency, tell.stamp(line.reserved_at), stamp(tell, line.paid_at),
            stamp(tell, line.ended_at), line.email,
            *(as_stored(where).values() if where else [""] * len(FIELDS)),
            line.parcel or "", line.parcel_number or "", line.tracking or "", line.intent_id or "",
            amount(line.shipping_minor, line.currency), Number(percent_of(line.tax_basis_points)),
            amount(included_tax(line.amount_minor, line.tax_basis_points), line.currency), line.invoice,
        ]  # fmt: skip

    return row


def money_row_in(tell: Teller) -> Callable[[MoneyLine], list]:
    def row(line: MoneyLine) -> list:
        return [
            tell.stamp(line.at), line.kind, str(line.order_id), line.drop_slug, line.drop_title, line.variant, line.quantity,
            amount(line.amount_minor, line.currency), line.currency, line.purpose.removesuffix(":in"), line.reference or "",
            amount(line.shipping_minor, line.currency), amount(line.tax_minor, line.currency), line.invoice,
        ]  # fmt: skip

    return row


class Number(str):
    """Digits that a spreadsheet is to calculate with: written as they are, a minus included."""


def amount(minor: int, currency: str) -> Number:
    """1999, 'EUR' -> '19.99'; 80, 'JPY' -> '80'; -1250, 'KWD' -> '-1.250'."""
    return Number(f"{as_decimal(minor, currency):f}")


def stamp(tell: Teller, at: datetime | None) -> str:
    return "" if at is None else tell.stamp(at)


def as_csv(rows: Iterable[Iterable], dialect: Dialect = PLAIN) -> str:
    """RFC 4180: quotes where needed, CRLF."""
    text = io.StringIO()
    csv.writer(text, delimiter=dialect.delimiter).writerows([safe(cell, dialect) for cell in row] for row in rows)
    return text.getvalue()


def safe(cell: str | int, dialect: Dialect = PLAIN) -> str | int:
    """A cell that a spreadsheet would calculate is marked as text by an apostrophe, as every spreadsheet reads it."""
    if isinstance(cell, Number):
        return cell.replace(".", dialect.decimal)
    if isinstance(cell, int):
        return cell
    cell = FORMULA_BEHIND_A_MARK.sub(r"\1'", cell)
    return f"'{cell}" if cell.lstrip(" \u00a0").startswith(FORMULA_BEGINS) else cell


ROUTES = [export_orders, export_money]
