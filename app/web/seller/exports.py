"""Files for the books: orders, and money as it moved, as CSV and as workbooks (XLSX).

Guarantees: whatever a buyer typed opens as text in a spreadsheet, never as a formula (A17), and a reader of CSV finds every column
and row; amounts are numbers of their currency, times carry the shop's offset, or in a workbook are dates of its zone (cells.py).
Rows are read a few hundred at a time, each time by a short question of their own: memory stays the same for a hundred thousand
orders, and a slow reader holds neither a connection nor a transaction, and keeps no other shop waiting (handing.py). Every order
that was there at the start comes exactly once, as it is when its line is written. CSV is handed out while it is written: the ledger
lost on the way, the transfer breaks off, so that no half file looks like a whole one. A workbook is handed out when it is whole
(workbook.py). Who took which file is written down before its first byte leaves.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from litestar import Response, get

from app.clock import now
from app.domain.addresses import FIELDS, as_stored
from app.domain.money import included_tax, percent_of
from app.domain.roles import Right
from app.errors import BadInput
from app.languages import N_, spoken
from app.ledger import Ledger, MoneyLine, MoneySpot, OrderFilter, OrderLine, OrderPage, Seller, Spot
from app.web.call import Call
from app.web.doors import Doors, TheseDoors, ThisCall
from app.web.seller.access import ThisSeller
from app.web.seller.cells import PLAIN, Amount, Cell, Dialect, as_csv, excel_in, in_slices, zoned
from app.web.seller.handing import Handed, Handing, seated
from app.web.seller.orders import asked_for, wanted_of
from app.web.seller.telling import Teller
from app.web.seller.workbook import MEDIA_TYPE, Workbooks, chunks_of, refuse_rows, size_of
from app.workbook_child import ROWS_MAX

ROWS_AT_ONCE = 500  # of one reading
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

handing = Handing()  # of this process
workbooks = Workbooks()


@dataclass(frozen=True, slots=True)
class Export:
    """What a file is to hold."""

    name: str
    columns: tuple[str, ...]
    pieces: AsyncIterator[list[list[Cell]]]
    wanted: OrderFilter


@get("/exports/orders.csv", right=Right.ORDERS)
async def export_orders(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """The orders that the list shows under the same address, oldest first."""
    return await streamed(call, doors, seller, orders_of(call, doors, seller))


@get("/exports/orders.xlsx", right=Right.ORDERS)
async def export_orders_book(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """The same as a workbook."""
    export = orders_of(call, doors, seller)
    wanted = export.wanted
    if wanted == OrderFilter(drop_id=wanted.drop_id, since=wanted.since, until=wanted.until):  # known before it is begun
        reserved = await doors.office.ledger.shop_orders_reserved(
            seller.shop_id, wanted.drop_id, wanted.since, wanted.until, ROWS_MAX + 1
        )
        refuse_rows(reserved)
    return await whole(doors, seller, export)


@get("/exports/money.csv", right=Right.ORDERS)
async def export_money(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """Payments and refunds of a drop or of the shop, within the same days, in the order in which the money moved."""
    return await streamed(call, doors, seller, money_of(call, doors, seller))


@get("/exports/money.xlsx", right=Right.ORDERS)
async def export_money_book(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """The same as a workbook."""
    return await whole(doors, seller, money_of(call, doors, seller))


def orders_of(call: Call, doors: Doors, seller: Seller) -> Export:
    wanted = wanted_by(call, seller)
    return Export("orders", ORDER_COLUMNS, order_pieces(doors.office.ledger, seller, wanted), wanted)


def money_of(call: Call, doors: Doors, seller: Seller) -> Export:
    wanted = wanted_by(call, seller)
    pieces = money_pieces(doors.office.ledger, seller, wanted.drop_id, wanted.since, wanted.until)
    return Export("money", MONEY_COLUMNS, pieces, wanted)


def wanted_by(call: Call, seller: Seller) -> OrderFilter:
    """-> what the address asks for, until now at the latest: a file has an end."""
    wanted = wanted_of(asked_for(call, None), seller, None)
    return replace(wanted, until=now() if wanted.until is None else min(wanted.until, now()))


async def streamed(call: Call, doors: Doors, seller: Seller, export: Export) -> Response:
    """CSV. Read the first piece before answering, so that what is wrong is said as an error; the rest while it is handed out."""
    with ExitStack() as held:
        held.enter_context(seated(handing.seats, seller.shop_id))
        pieces = handing.in_turns(export.pieces)
        first = await anext(pieces, [])
        dialect = excel_in(spoken()) if call.query("excel") == "yes" else PLAIN
        await write_down(doors, seller, export, "csv")
        stamp = Teller(seller.time_zone).stamp
        content = csv_chunks(export.columns, first, pieces, stamp, dialect)
        return Handed(content, held.pop_all(), media_type="text/csv", headers=headers_of(f"{dated(export, seller)}.csv"))


async def whole(doors: Doors, seller: Seller, export: Export) -> Response:
    """A workbook."""

    async def before_it_leaves() -> None:
        await write_down(doors, seller, export, "xlsx")

    name = f"{dated(export, seller)}.xlsx"
    pieces = handing.in_turns(export.pieces)
    return await as_workbook(seller, name, export.name, export.columns, pieces, before_it_leaves)


async def as_workbook(
    seller: Seller,
    name: str,
    title: str,
    columns: Sequence[str],
    pieces: AsyncIterator[list[list[Cell]]],
    before_it_leaves: Callable[[], Awaitable[None]] | None = None,
) -> Response:
    """-> the file, whole, on its way as `name`. `title`: of its sheet."""
    with ExitStack() as held:
        held.enter_context(seated(handing.seats, seller.shop_id))
        zone = Teller(seller.time_zone).zone
        file = await workbooks.write(seller.shop_id, title, zoned(columns, str(zone)), pieces, zone)
        held.callback(file.close)
        if before_it_leaves is not None:
            await before_it_leaves()
        headers = headers_of(name) | {"content-length": str(size_of(file))}
        return Handed(chunks_of(file), held.pop_all(), media_type=MEDIA_TYPE, headers=headers)


async def write_down(doors: Doors, seller: Seller, export: Export, kind: str) -> None:
    wanted = export.wanted
    told: dict[str, Any] = {"drop": wanted.drop_id, "since": wanted.since, "until": wanted.until, "searched": bool(wanted.words)}
    action = f"{export.name} exported"
    await doors.office.ledger.audit(seller.shop_id, seller.actor, action, seller.shop_name, None, told | {"file": kind})


def dated(export: Export, seller: Seller) -> str:
    """-> 'orders-2026-11-30', of the shop's own today."""
    return f"{export.name}-{now().astimezone(Teller(seller.time_zone).zone):%Y-%m-%d}"


def headers_of(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}


async def csv_chunks(
    columns: tuple[str, ...], first: list, pieces: AsyncIterator[list], stamp: Callable[[datetime], str], dialect: Dialect
) -> AsyncIterator[bytes]:
    """-> the file, piece by piece."""
    yield (dialect.head + as_csv([columns], stamp, dialect)).encode()
    async for rows in in_slices(first, pieces):
        yield as_csv(rows, stamp, dialect).encode()


async def order_pieces(ledger: Ledger, seller: Seller, wanted: OrderFilter) -> AsyncIterator[list]:
    """-> rows of ORDER_COLUMNS, ROWS_AT_ONCE at a time, oldest first. BadInput at the first for a search that means too much."""
    spot = BEGINNING
    while True:
        page: OrderPage = await ledger.shop_orders(seller.shop_id, wanted, ROWS_AT_ONCE, newer_than=spot)
        if page.cut:
            raise BadInput(N_("The search means too many orders to look up: narrow it, or export without it."), field="q")
        if page.lines:
            yield [order_row(line) for line in reversed(page.lines)]
            spot = page.lines[0].spot
        if not page.newer:
            return


async def money_pieces(
    ledger: Ledger, seller: Seller, drop_id: int | None, since: datetime | None, until: datetime
) -> AsyncIterator[list]:
    """-> rows of MONEY_COLUMNS, ROWS_AT_ONCE at a time, oldest first."""
    spot: MoneySpot | None = None
    while lines := await ledger.shop_money(
        seller.shop_id, drop_id=drop_id, since=since, until=until, after=spot, limit=ROWS_AT_ONCE
    ):
        yield [money_row(line) for line in lines]
        spot = lines[-1].spot


def order_row(line: OrderLine) -> list[Cell]:
    """-> ORDER_COLUMNS of one order."""
    where, currency = line.address, line.currency
    return [
        str(line.order_id), line.drop_slug, line.drop_title, line.variant, line.quantity, line.state, line.reason, line.payment,
        Amount(line.amount_minor, currency), Amount(line.captured_minor, currency), Amount(line.refunded_minor, currency), currency,
        line.reserved_at, line.paid_at, line.ended_at, line.email, *(as_stored(where).values() if where else [None] * len(FIELDS)),
        line.parcel, line.parcel_number, line.tracking, line.intent_id, Amount(line.shipping_minor, currency),
        percent_of(line.tax_basis_points), Amount(included_tax(line.amount_minor, line.tax_basis_points), currency),
        line.invoice,
    ]  # fmt: skip


def money_row(line: MoneyLine) -> list[Cell]:
    """-> MONEY_COLUMNS of one movement."""
    return [
        line.at, line.kind, str(line.order_id), line.drop_slug, line.drop_title, line.variant, line.quantity,
        Amount(line.amount_minor, line.currency), line.currency, line.purpose.removesuffix(":in"), line.reference,
        Amount(line.shipping_minor, line.currency), Amount(line.tax_minor, line.currency), line.invoice,
    ]  # fmt: skip


ROUTES = [export_orders, export_orders_book, export_money, export_money_book]
