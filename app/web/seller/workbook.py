"""A workbook (XLSX) of any length, written by a process of its own (app/workbook_child.py) and handed out when it is whole.

Guarantees: this process's part is to hand rows over, some hundred at a time, so that shoppers never wait for a spreadsheet, and
memory stays the same for a hundred thousand rows. BUILDS_AT_ONCE_MAX are written at once, one of a shop; a few more wait in line.
The file stands on disk without a name and is gone with whoever reads it; what a sheet takes meanwhile (some 1.5 KB a row, 2 GiB at
most) stands in a folder for temporary files and is removed whatever happens. A sheet that the format cannot hold is refused with a
sentence, and nothing is handed out; the files as CSV have no such end.

The child cannot start, is killed or stops taking rows; the disk is full: a sentence, nothing is kept. The ledger lost: 503.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import BinaryIO

from app.errors import BadInput
from app.languages import N_, _, count
from app.web.problems import Problem, Refused
from app.web.seats import Seats
from app.web.seller.cells import Cell, in_a_workbook, in_slices
from app.web.seller.handing import BUSY, RETRY_SECONDS, seated
from app.workbook_child import LENGTH, ROWS_MAX, TOO_LARGE, Head, encoder

BUILDS_AT_ONCE_MAX = 2
WAITING_SECONDS_MAX = 30.0  # for one's turn
BUILD_SECONDS_MAX = 300.0
CHUNK_BYTES = 128 * 1024
ROOT = Path(__file__).resolve().parents[3]
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

TOO_MANY_ROWS = N_("A workbook ends at %(rows)s rows, and this would be more. Choose fewer days or one drop, or take it as CSV.")
TOO_LONG = N_("Writing this workbook took too long. Choose fewer days or one drop, or take it as CSV.")
NOT_WRITTEN = N_("The workbook could not be written. Try again in a moment, or take it as CSV.")


class Workbooks:
    """One process's workbooks in the making."""

    def __init__(self):
        self.seats = Seats(sys.maxsize, 1)
        self._turn = asyncio.Semaphore(BUILDS_AT_ONCE_MAX)

    async def write(
        self, shop_id: int, title: str, columns: Sequence[str], pieces: AsyncIterator[Sequence[Sequence[Cell]]], zone: tzinfo
    ) -> BinaryIO:
        """-> the file, open at its beginning; nothing else knows of it. BadInput and Refused say why there is none.

        `title`: of the sheet, at most 31 characters. `zone`: in which times are dates.
        """
        with seated(self.seats, shop_id):
            try:
                async with asyncio.timeout(WAITING_SECONDS_MAX):
                    await self._turn.acquire()
            except TimeoutError as error:
                raise Refused(Problem(503, BUSY, retry_after_seconds=RETRY_SECONDS)) from error
            try:
                return await self._write(title, columns, pieces, zone)
            finally:
                self._turn.release()

    async def _write(self, title, columns, pieces, zone) -> BinaryIO:
        try:
            file = tempfile.TemporaryFile()
            folder = tempfile.mkdtemp(prefix="doorman-workbook-")
        except OSError as error:
            raise Refused(Problem(503, NOT_WRITTEN, retry_after_seconds=RETRY_SECONDS)) from error
        try:
            async with asyncio.timeout(BUILD_SECONDS_MAX):
                await _written(file, Head(folder, title, list(columns)), pieces, zone)
        except BaseException as error:
            file.close()
            if isinstance(error, TimeoutError):
                raise BadInput(TOO_LONG) from error
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        file.seek(0)
        return file


async def _written(file: BinaryIO, head: Head, pieces, zone: tzinfo) -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app.workbook_child", cwd=ROOT, env={},
        stdin=asyncio.subprocess.PIPE, stdout=file, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        rows_total = 0
        await _say(child, encoder.encode(head))
        async for rows in in_slices((), pieces):
            rows_total += len(rows)
            refuse_rows(rows_total)
            if not await _say(child, encoder.encode([in_a_workbook(row, zone) for row in rows])):
                break  # it has ended; its word says why
        await _say(child, b"")
        code = await child.wait()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if code == TOO_LARGE:
        refuse_rows(ROWS_MAX + 1)
    if code:
        raise Refused(Problem(503, NOT_WRITTEN, retry_after_seconds=RETRY_SECONDS))


async def _say(child: asyncio.subprocess.Process, message: bytes) -> bool:
    """-> False: the child takes nothing any more."""
    try:
        child.stdin.write(LENGTH.pack(len(message)) + message)
        await child.stdin.drain()
    except ConnectionError:
        return False
    return True


def refuse_rows(rows_total: int) -> None:
    """BadInput where the format cannot hold so many."""
    if rows_total > ROWS_MAX:
        raise BadInput(_(TOO_MANY_ROWS, rows=count(ROWS_MAX)))


async def chunks_of(file: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(file.read, CHUNK_BYTES):
        yield chunk


def size_of(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size
