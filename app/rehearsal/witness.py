"""The witness: looks at the stage from outside while it plays and writes down what it sees; it neither causes nor judges.

Four looks, each at its own pace: the gate (several times a second), the books (every second), other pages over their own connection
(several times a second), the processors. A look that fails is written down as such, with the reason: nothing is made up.

It runs in a thread of its own, past the wires, so that neither the director's work nor a cut network blinds it.
"""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import httptools

from app import wiring
from app.domain.drops import phase_of
from app.errors import DoormanError, GateUnreachable
from app.purchase.books import books_of
from app.rehearsal.crowd import Line, Lost
from app.settings import Settings

GATE_SECONDS = 0.1
BOOKS_SECONDS = 1.0
PAGES_SECONDS = 0.2
PAGE_SECONDS_MAX = 5.0
MACHINE_SECONDS = 1.0
DRAINED_SECONDS_MAX = 5.0


class Witness:
    """`start`, then read `books_now`; `stop` ends it. All times are milliseconds since 1970."""

    def __init__(self, settings: Settings, drop_id: int, slug: str, pages: dict[str, str], units: int):
        self.settings, self.drop_id, self.slug, self.pages, self.units = settings, drop_id, slug, pages, units
        self.gate: list[tuple[int, int, str] | tuple[int, None, str]] = []  # (gate's ms, left, phase); left None: why not
        self.books: list[dict] = []  # {"at", "until", "books" or None, "why"}
        self.page_looks: list[tuple[int, str, int | None, float]] = []  # (asked at, page, status or None, seconds)
        self.machine: list[tuple[int, float]] = []  # (ms, share of all processors that is busy)
        self.final: dict | None = None  # the orders and the rest, read by `finish`
        self._stop = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="witness", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)
        if self._failed is not None:
            raise self._failed

    @property
    def books_now(self) -> dict | None:
        return next((sample["books"] for sample in reversed(self.books) if sample["books"]), None)

    def _run(self) -> None:
        try:
            asyncio.run(self._watch())
        except BaseException as error:  # told to whoever stops it
            self._failed = error

    async def _watch(self) -> None:
        async with wiring.office(self.settings, "witness") as office:
            looks = [
                asyncio.create_task(self._every(GATE_SECONDS, lambda: self._look_at_gate(office))),
                asyncio.create_task(self._every(BOOKS_SECONDS, lambda: self._look_at_books(office))),
                asyncio.create_task(self._every(MACHINE_SECONDS, self._look_at_machine)),
                *(asyncio.create_task(self._look_at_page(name, path)) for name, path in self.pages.items()),
            ]
            while not self._stop.is_set():  # noqa: ASYNC110 (another thread sets it)
                await asyncio.sleep(0.05)
                for look in looks:
                    if look.done():
                        look.result()
            for look in looks:
                look.cancel()
            await asyncio.gather(*looks, return_exceptions=True)
            orders = await office.ledger.orders_to_judge(self.drop_id)
            self.final = {"orders": orders, "books": await books_of(office.ledger, office.gate, self.drop_id, self.slug)}

    async def _every(self, seconds: float, look: Callable[[], Awaitable[None]]) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            await look()
            due = max(due + seconds, loop.time())
            await asyncio.sleep(due - loop.time())

    async def _look_at_gate(self, office) -> None:
        asked = _now_ms()
        try:
            peek = await office.gate.peek(self.drop_id)
        except GateUnreachable as error:
            self.gate.append((asked, None, type(error).__name__))
            return
        if peek is None:
            self.gate.append((asked, None, "empty"))
            return
        phase = phase_of(peek.door, peek.opens_ms, peek.closes_ms, peek.now_ms, peek.left, peek.held)
        self.gate.append((peek.time_us // 1000, sum(peek.left.values()), str(phase)))

    async def _look_at_books(self, office) -> None:
        at, found, why = _now_ms(), None, None
        try:
            found = await books_of(office.ledger, office.gate, self.drop_id, self.slug)
        except (DoormanError, OSError) as error:
            why = f"{type(error).__name__}: {error}"
        self.books.append({"at": at, "until": _now_ms(), "books": found, "why": why})

    async def _look_at_machine(self) -> None:
        before = getattr(self, "_cpu", None)
        with suppress(OSError, ValueError):
            self._cpu = idle, total = _idle_and_total()
            if before is not None and total > before[1]:
                self.machine.append((_now_ms(), round(1 - (idle - before[0]) / (total - before[1]), 3)))

    async def _look_at_page(self, name: str, path: str) -> None:
        """Ask for one page over and over on a connection of its own; as in a browser, one that was closed is no failure."""
        host, _, port = self.settings.public_url.partition("://")[2].partition(":")
        request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/html\r\n\r\n".encode()
        line: Line | None = None
        while True:
            at, began = _now_ms(), time.perf_counter()
            status = None
            for _ in range(2 if line is not None and line.transport is not None else 1):
                try:
                    async with asyncio.timeout(PAGE_SECONDS_MAX):
                        if line is None or line.transport is None:
                            _, line = await asyncio.get_running_loop().create_connection(Line, host, int(port))
                        status = (await line.ask(request)).status
                        break
                except (Lost, httptools.HttpParserError):
                    line.hang_up()
                except OSError:  # TimeoutError too: this is the answer
                    if line is not None:
                        line.hang_up()
                    break
            self.page_looks.append((at, name, status, round(time.perf_counter() - began, 4)))
            await asyncio.sleep(PAGES_SECONDS)


def _idle_and_total() -> tuple[int, int]:
    """-> time that all processors had nothing to do, and all of their time, in the kernel's ticks."""
    numbers = [int(number) for number in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return numbers[3] + numbers[4], sum(numbers)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
