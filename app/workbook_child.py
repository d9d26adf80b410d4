"""The child process in which a workbook (XLSX) is written: rows come in on standard input, the file goes out on standard output.

Run by app/web/seller/workbook.py, which says what is promised. Rows are written as they come and forgotten, so a hundred thousand
take the memory of one; what a sheet of them takes on disk meanwhile stands in a folder that the parent removes, and that this
process removes when the parent is gone (its input then ends without the word that it is whole). Memory and the size of a file are
bounded by the operating system before the first row is read.

Guarantees: text is text. Nothing is a formula or a link, whatever it begins with, and no text is read as markup.
"""

import errno
import os
import resource
import shutil
import struct
import sys
from datetime import datetime
from typing import BinaryIO

import msgspec
from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileSizeError
from xlsxwriter.worksheet import Worksheet

ROWS_MAX = 1_048_575  # of the format, beside the head
CHILD_BYTES_MAX = 512 * 1024**2  # of address space
FILE_BYTES_MAX = 2**31 - 1  # of a sheet before it is packed: what an archive of the plain kind holds
NICE = 10  # it gives way to whoever serves shoppers
COLUMN_WIDTH = 18
WHEN = "yyyy-mm-dd hh:mm:ss"
TOO_LARGE = 3  # exit code: the sheet would be larger than FILE_BYTES_MAX, or than a cell of the format may be
LENGTH = struct.Struct(">I")  # before each message; 0: that was all, and it is whole
UNWRITABLE = str.maketrans({"\ufffe": "\ufffd", "\uffff": "\ufffd"})  # what no XML may hold and the library lets through


class Head(msgspec.Struct):
    """The first message."""

    folder: str  # for what stands on disk meanwhile
    title: str  # of the sheet
    columns: list[str]


class Amount(msgspec.Struct, array_like=True, tag="amount"):
    """Money, as a number that shows its currency."""

    minor: int
    decimals: int
    currency: str


class Moment(msgspec.Struct, array_like=True, tag="moment"):
    """A time of the clock in the zone that the column names."""

    local: datetime


Cell = str | int | float | Amount | Moment | None  # None and "": nothing stands there

encoder = msgspec.msgpack.Encoder()
_head = msgspec.msgpack.Decoder(Head)
_rows = msgspec.msgpack.Decoder(list[list[Cell]])  # every other message: some rows


class Sheet(Worksheet):
    """The library takes a text between <r> and </r> for markup of its own: here nothing that was typed is."""

    def _xml_rich_inline_string(self, string, attributes=()):
        self._xml_inline_string(string, True, attributes)


class Writer:
    def __init__(self, head: Head, out: BinaryIO):
        self.book = Workbook(out, {"constant_memory": True, "tmpdir": head.folder})
        self.sheet = self.book.add_worksheet(head.title, worksheet_class=Sheet)
        self.sheet.freeze_panes(1, 0)
        self.sheet.set_column(0, len(head.columns) - 1, COLUMN_WIDTH)
        self.when = self.book.add_format({"num_format": WHEN})
        self.currencies: dict[tuple[str, int], object] = {}
        self.next_row = 0
        bold = self.book.add_format({"bold": True})
        self.add(head.columns, bold)

    def add(self, row: list[Cell], text_format=None) -> None:
        for column, cell in enumerate(row):
            if cell is not None and cell != "" and self.put(self.next_row, column, cell, text_format):
                raise FileSizeError("a cell, or the sheet, is larger than the format allows")
        self.next_row += 1

    def put(self, row: int, column: int, cell: Cell, text_format) -> int:
        """-> 0, or what the library says of a cell that it left out or shortened."""
        match cell:
            case str():
                return self.sheet.write_string(row, column, cell.translate(UNWRITABLE), text_format)
            case Amount():
                number = cell.minor / 10**cell.decimals
                return self.sheet.write_number(row, column, number, self.currency(cell.currency, cell.decimals))
            case Moment():
                return self.sheet.write_datetime(row, column, cell.local, self.when)
            case _:
                return self.sheet.write_number(row, column, cell)

    def currency(self, code: str, decimals: int):
        """-> the format '#,##0.00 "EUR"': marks are those of the reader's own language."""
        if (code, decimals) not in self.currencies:
            digits = "#,##0" + (f".{'0' * decimals}" if decimals else "")
            self.currencies[code, decimals] = self.book.add_format({"num_format": f'{digits} "{code}"'})
        return self.currencies[code, decimals]


def read(source: BinaryIO) -> bytes | None:
    """-> the next message; None: there is none, though the end was not said."""
    length = source.read(LENGTH.size)
    if len(length) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(length)
    message = source.read(size)
    return message if len(message) == size else None


def main() -> int:
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_BYTES_MAX, CHILD_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, FILE_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    source = sys.stdin.buffer
    message = read(source)
    if message is None:
        return 1
    head = _head.decode(message)
    try:
        writer = Writer(head, sys.stdout.buffer)
        while message := read(source):
            for row in _rows.decode(message):
                writer.add(row)
        if message is None:  # whoever asked is gone
            shutil.rmtree(head.folder, ignore_errors=True)
            return 1
        writer.book.close()
        return 0
    except FileSizeError:
        return TOO_LARGE
    except OSError as error:
        return TOO_LARGE if error.errno == errno.EFBIG else 1


if __name__ == "__main__":
    sys.exit(main())
