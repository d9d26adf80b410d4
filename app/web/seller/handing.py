"""How files leave the dashboard: who may take one now, and how long a reader is waited for.

Guarantees: one shop takes at most FILES_OF_SHOP_MAX files of a process at once, so that it never keeps another shop from its own.
Rows are read from the ledger by READINGS_AT_ONCE_MAX files at a time, in turns of one piece, first come first served: whoever reads
slowly holds no turn, no connection and no transaction while a piece is on its way, only a seat. A piece that its reader has not
taken after READER_SECONDS_MAX ends the file, and the connection with it, so that half a file never looks like a whole one.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import structlog
from litestar.response import Stream

from app.languages import N_
from app.live.hub import cut_off
from app.web.call import SCOPE_KEY
from app.web.problems import Problem, Refused
from app.web.seats import NoSeat, Seats

FILES_AT_ONCE_MAX = 24  # on their way from this process
FILES_OF_SHOP_MAX = 3
READINGS_AT_ONCE_MAX = 2  # of the dashboard's few connections (app/wiring.py); the others are for its pages
READER_SECONDS_MAX = 60.0  # for one piece, some hundred KB
RETRY_SECONDS = 20
ENOUGH = N_("Your shop is taking several files already. Wait until one of them is there.")
BUSY = N_("Other files are being written. Try again in a moment.")

log = structlog.get_logger("files")


@contextmanager
def seated(seats: Seats, shop_id: int) -> Iterator[None]:
    """Have a seat of these; Refused with a sentence where there is none."""
    with ExitStack() as held:
        try:
            held.enter_context(seats.seat(shop_id))
        except NoSeat as error:
            raise Refused(Problem(503, ENOUGH if error.own else BUSY, retry_after_seconds=RETRY_SECONDS)) from error
        yield


class Handing:
    """One process's files on their way."""

    def __init__(self):
        self.seats = Seats(FILES_AT_ONCE_MAX, FILES_OF_SHOP_MAX)
        self._turn = asyncio.Semaphore(READINGS_AT_ONCE_MAX)

    async def in_turns(self, pieces: AsyncIterator[list]) -> AsyncIterator[list]:
        """-> the same pieces, each read when it is this file's turn."""
        while True:
            async with self._turn:
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece


class Handed(Stream):
    """A file on its way. What `held` holds (a seat, a file on disk) is let go when the file has left, or broke off."""

    def __init__(self, content: AsyncIterator[bytes], held: ExitStack, *, media_type: str, headers: dict[str, str]):
        super().__init__(content, media_type=media_type, headers=headers)
        self.held = held

    def to_asgi_response(self, *arguments: Any, **named: Any) -> "Sent":
        return Sent(super().to_asgi_response(*arguments, **named), self.held)


class TooSlow(Exception):
    """The reader did not take a piece in time."""


class Sent:
    """ASGI: the file, piece by piece, to a reader who keeps taking them."""

    def __init__(self, file, held: ExitStack):
        self.file, self.held = file, held

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        async def send_in_time(message: dict[str, Any]) -> None:
            try:
                async with asyncio.timeout(READER_SECONDS_MAX):
                    await send(message)
            except TimeoutError as error:
                raise TooSlow from error

        with self.held:
            try:
                await self.file(scope, receive, send_in_time)
            except* TooSlow:
                log.info("a file broke off", why="its reader was too slow", path=scope["path"])
                if not cut_off(scope[SCOPE_KEY].send):
                    raise
                await receive()  # the server has noticed
