"""What stands in the cells of a file: one row of values, drawn as text for CSV and as numbers and dates for a workbook.

Guarantees, for whatever a buyer typed: in CSV it opens as text in a spreadsheet, never as a formula (A17); in a workbook it is
typed as text. Amounts are numbers of their currency. A time is ISO 8601 with its offset in CSV; in a workbook it is a date of the
zone that the column names, and where the clock of that zone shows a time twice, or the format counts its days wrongly, the same ISO
8601.
"""

import asyncio
import csv
import io
import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import NamedTuple

from babel.numbers import get_decimal_symbol

from app import workbook_child
from app.domain.money import as_decimal, exponent
from app.languages import Language

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
SLICE_ROWS = 100  # drawn in one go: some 3 ms
DATES_FROM_YEAR = 1901  # the format counts a 29 February 1900


class Amount(NamedTuple):
    """Money in minor units."""

    minor: int
    currency: str


Cell = str | int | Decimal | Amount | datetime | None  # None: nothing stands there


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written."""

    head: str
    delimiter: str
    decimal: str


PLAIN = Dialect("", ",", ".")


def excel_in(language: Language) -> Dialect:
    """-> what Excel opens by a double click: it expects the list separator and the decimal mark of its own language."""
    decimal = get_decimal_symbol(language.locale)
    return Dialect(BYTE_ORDER_MARK, ";" if decimal == "," else ",", decimal)


async def in_slices(first: Sequence, pieces: AsyncIterator[Sequence]) -> AsyncIterator[Sequence]:
    """-> the rows of these pieces, SLICE_ROWS at a time, and everybody else in between: drawing cells is work."""
    piece: Sequence | None = first
    while piece is not None:
        for start in range(0, len(piece), SLICE_ROWS):
            yield piece[start : start + SLICE_ROWS]
            await asyncio.sleep(0)
        piece = await anext(pieces, None)


def as_csv(rows: Iterable[Iterable[Cell]], stamp: Callable[[datetime], str], dialect: Dialect = PLAIN) -> str:
    """RFC 4180: quotes where needed, CRLF. `stamp`: how a time is written."""
    text = io.StringIO()
    csv.writer(text, delimiter=dialect.delimiter).writerows([in_text(cell, stamp, dialect) for cell in row] for row in rows)
    return text.getvalue()


def in_text(cell: Cell, stamp: Callable[[datetime], str], dialect: Dialect) -> str:
    """19.99 EUR -> '19.99', -1.250 KWD -> '-1.250': a spreadsheet is to calculate with it, so a minus is no formula."""
    match cell:
        case None:
            return ""
        case str():
            return safe(cell)
        case datetime():
            return stamp(cell)
        case Amount():
            cell = as_decimal(*cell)
    return f"{cell:f}".replace(".", dialect.decimal) if isinstance(cell, Decimal) else str(cell)


def safe(text: str) -> str:
    """A cell that a spreadsheet would calculate is marked as text by an apostrophe, as every spreadsheet reads it."""
    text = FORMULA_BEHIND_A_MARK.sub(r"\1'", text)
    return f"'{text}" if text.lstrip(" \u00a0").startswith(FORMULA_BEGINS) else text


def in_a_workbook(row: Iterable[Cell], zone: tzinfo) -> list[workbook_child.Cell]:
    return [in_a_sheet(cell, zone) for cell in row]


def in_a_sheet(cell: Cell, zone: tzinfo) -> workbook_child.Cell:
    match cell:
        case Amount():
            return workbook_child.Amount(cell.minor, exponent(cell.currency), cell.currency)
        case datetime():
            return date_in(cell, zone)
        case Decimal():
            return float(cell)
    return cell


def date_in(at: datetime, zone: tzinfo) -> workbook_child.Moment | str:
    """-> the time that the clocks of this zone show; as text with its offset where they show it twice."""
    local = at.astimezone(zone)
    if local.year < DATES_FROM_YEAR or local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset():
        return local.isoformat(timespec="milliseconds")
    return workbook_child.Moment(local.replace(tzinfo=None, fold=0))


def zoned(columns: Sequence[str], zone_name: str) -> list[str]:
    """-> the names of the columns; those of times say in which zone they are."""
    return [f"{name} ({zone_name})" if name == "at" or name.endswith("_at") else name for name in columns]
