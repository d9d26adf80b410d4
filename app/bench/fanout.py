"""`doorman bench fanout`: thousands of open sockets are told of a change, four times a second.

Ours is the hub as a web process runs it, theirs `websockets.broadcast` to plain connections of the same library. Both stand all
the time with all their sockets, pinned to the same core, and change in turn. Latency counts from the change to its arrival at the
watcher, fan-out included. Memory is what a server grew by while its sockets were opened.
"""

import argparse
import asyncio
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from app.bench import cores
from app.bench.bare import serving
from app.bench.paired import PAIRS_DEFAULT
from app.bench.report import Row, print_rows, whole

TARGET_CPU, TARGET_P99, TARGET_KIB, TARGET_SHARE, TARGET_LAST_SECONDS = 1.3, 1.6, 25.0, 0.5, 2.0
TICK_SECONDS = 0.25
SOCKETS_PER_ADDRESS_MAX = 20_000  # a client address has about 28,000 ports
CONNECTING_AT_ONCE = 200
HANDSHAKE = (
    b"GET /drops/lamp/live HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
TEXT, PING, CLOSE = 0x81, 0x89, 0x88
STAMP_BYTES = 16
ANSWER_SECONDS_MAX = 60.0


@dataclass(slots=True)
class Heard:
    """What the watchers of one server heard since it was cleared."""

    seconds: list[float] = field(default_factory=list)
    texts: int = 0
    closed: int = 0


class Watcher(asyncio.Protocol):
    """One socket: counts what it is told, answers pings."""

    __slots__ = ("buffer", "heard", "last", "opened", "transport")

    def __init__(self, heard: Heard):
        self.heard, self.opened, self.buffer, self.last = heard, asyncio.get_running_loop().create_future(), b"", b""

    def connection_made(self, transport) -> None:
        self.transport = transport
        transport.write(HANDSHAKE)

    def data_received(self, data: bytes) -> None:
        data = self.buffer + data if self.buffer else data
        if self.opened is not None:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                self.buffer = data
                return
            opened, self.opened = self.opened, None
            if not opened.done():
                opened.set_result(data.startswith(b"HTTP/1.1 101"))
            data = data[end + 4 :]
        now = time.monotonic_ns()
        while len(data) >= 2:
            kind, size = data[0], data[1]  # our texts are shorter than 126 bytes
            if len(data) < 2 + size:
                break
            content, data = data[2 : 2 + size], data[2 + size :]
            if kind == TEXT:
                self.heard.texts += 1
                self.heard.seconds.append((now - int(content[:STAMP_BYTES])) / 1e9)
                self.last = content
            elif kind == PING:
                self.transport.write(bytes((0x8A, 0x80 | size, 0, 0, 0, 0)) + content)
        self.buffer = data

    async def opened_well(self) -> bool:
        return True if self.opened is None else await self.opened

    def connection_lost(self, error) -> None:
        self.heard.closed += 1
        if self.opened is not None and not self.opened.done():
            self.opened.set_result(False)


class Side:
    """One server with its sockets."""

    def __init__(self, host: str, pid: int, process: subprocess.Popen):
        self.host, self.pid, self.process = host, pid, process
        self.heard, self.watchers, self.kib_per_socket = Heard(), [], 0.0

    async def fill(self, sockets: int) -> None:
        host, port = self.host.split(":")
        turns = asyncio.Semaphore(CONNECTING_AT_ONCE)

        async def one(number: int) -> None:
            async with turns:
                watcher = Watcher(self.heard)
                own = (f"127.0.0.{2 + number // SOCKETS_PER_ADDRESS_MAX}", 0)
                await asyncio.get_running_loop().create_connection(lambda: watcher, host, int(port), local_addr=own)
                if not await watcher.opened_well():
                    raise ConnectionError(f"a socket of {self.host} was refused")
                self.watchers.append(watcher)

        first = sockets // 10  # what the first sockets load and fill belongs to the process
        await asyncio.gather(*(one(number) for number in range(first)))
        before = cores.pss_bytes(self.pid)
        await asyncio.gather(*(one(number) for number in range(first, sockets)))
        await asyncio.sleep(0.5)
        self.kib_per_socket = (cores.pss_bytes(self.pid) - before) / (sockets - first) / 1024

    async def tick(self, ticks: int, seconds: float = TICK_SECONDS) -> tuple[float, float, float]:
        """-> (CPU seconds of the server, wall seconds, p99 seconds of what was heard).

        The hub tells changes together when they come faster than half the core can tell them: what counts is CPU a text.
        """
        self.heard.seconds.clear()
        self.heard.texts = 0
        cpu, wall = cores.cpu_seconds(self.pid), time.monotonic()
        self.process.stdin.write(f"{ticks} {seconds}\n".encode())
        self.process.stdin.flush()
        await asyncio.wait_for(asyncio.to_thread(self.process.stdout.readline), ANSWER_SECONDS_MAX)
        cpu, wall = cores.cpu_seconds(self.pid) - cpu, time.monotonic() - wall
        await asyncio.sleep(TICK_SECONDS)
        heard = sorted(self.heard.seconds)
        return cpu, wall, heard[int(0.99 * len(heard))] if heard else float("inf")

    def with_the_last_word(self) -> int:
        """-> sockets that heard the newest change."""
        newest = max(watcher.last for watcher in self.watchers)
        return sum(watcher.last == newest for watcher in self.watchers)


def run(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="doorman-fanout-") as folder:
        cores.pin(0, cores.LOAD)
        with _server("hub", Path(folder)) as hub:
            if arguments.hold:
                rows, findings = uvloop.run(_hold(Side(*hub), arguments.sockets))
            else:
                with _server("broadcast", Path(folder)) as plain:
                    rows, findings = uvloop.run(_measure(Side(*hub), Side(*plain), arguments))
    return print_rows("fanout", rows, findings, arguments, sockets=arguments.sockets)


async def _measure(ours: Side, theirs: Side, arguments: argparse.Namespace) -> tuple[list[Row], list[str]]:
    sockets, ticks = arguments.sockets, arguments.ticks
    for side in (ours, theirs):
        await side.fill(sockets)
    taken, findings = [], []
    for number in range(arguments.pairs + 1):
        sides = (ours, theirs) if number % 2 else (theirs, ours)
        told = {}
        for side in sides:
            cpu, _, p99 = await side.tick(ticks)
            told[side] = 1e6 * cpu / max(1, side.heard.texts), p99, side.heard.texts / sockets / ticks
            if not side.heard.texts:
                findings.append(f"nobody heard anything of {side.host}")
        taken.append((told[ours], told[theirs]))
    taken = taken[1:]
    hurried = await _share(ours, ticks)
    if ours.heard.closed or theirs.heard.closed:
        findings.append(f"{ours.heard.closed} sockets of ours and {theirs.heard.closed} of theirs were closed")
    return [
        _row("fan-out CPU", "CPU us a text", [(one[0], other[0]) for one, other in taken], TARGET_CPU, told=told_of(taken)),
        _row("fan-out p99", "seconds from the change to the watcher", [(one[1], other[1]) for one, other in taken], TARGET_P99),
        Row("memory a socket", "KiB", ours.kib_per_socket, ours.kib_per_socket, TARGET_KIB, False, theirs.kib_per_socket, AGAINST),
        Row("fan-out at full speed", "share of a core, changes every 5 ms", hurried, hurried, TARGET_SHARE, False),
    ], findings


AGAINST = "websockets.broadcast"


async def _share(side: Side, ticks: int) -> float:
    """-> the share of its core that the server used while it changed far too often."""
    cpu, wall, _ = await side.tick(40 * ticks, TICK_SECONDS / 50)
    return cpu / wall


def told_of(taken: list) -> list[float]:
    """-> changes that each side told one by one, as a share of all."""
    return [round(statistics.median(side[2] for side in sides), 2) for sides in zip(*taken, strict=True)]


def _row(name: str, unit: str, pairs: list[tuple[float, float]], target: float, **more) -> Row:
    ratios = [one / other for one, other in pairs]
    return Row(
        name, unit, statistics.median(one for one, _ in pairs), statistics.median(ratios), target, False,
        statistics.median(other for _, other in pairs), AGAINST, (min(ratios), max(ratios)), more,
    )  # fmt: skip


async def _hold(ours: Side, sockets: int) -> tuple[list[Row], list[str]]:
    """Many sockets on one process: does it hold, and when has everybody heard the last count?"""
    began = time.monotonic()
    await ours.fill(sockets)
    opened = time.monotonic() - began
    await ours.tick(8)
    last, deadline = time.monotonic(), time.monotonic() + ANSWER_SECONDS_MAX
    while ours.with_the_last_word() < sockets and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    late = time.monotonic() - last + TICK_SECONDS  # `tick` returns a tick after the last change
    findings = [] if ours.with_the_last_word() == sockets else [f"only {ours.with_the_last_word():,} heard the last count"]
    if ours.heard.closed:
        findings.append(f"{ours.heard.closed:,} sockets were closed")
    slowest = max(ours.heard.seconds, default=float("inf"))
    more = {
        "opened in, seconds": round(opened, 1),
        "KiB a socket": round(ours.kib_per_socket, 1),
        "all told after, seconds": round(late, 2),
    }
    name, unit = f"{sockets:,} sockets hear the last count", "seconds from the change, at worst"
    return [Row(name, unit, slowest, slowest, TARGET_LAST_SECONDS, at_least=False, more=more)], findings


@contextmanager
def _server(kind: str, folder: Path) -> Iterator[tuple[str, int, subprocess.Popen]]:
    with serving(["app.bench.ticking", kind], {}, folder / f"{kind}.log", pipes=True) as (host, process):
        time.sleep(0.1)
        cores.pin(process.pid, cores.SERVER)
        yield host, process.pid, process


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=PAIRS_DEFAULT)
    parser.add_argument("--sockets", type=whole, default=5_000, help="sockets of each server (%(default)s)")
    parser.add_argument("--ticks", type=whole, default=4, help="changes a pair and side (%(default)s)")
    parser.add_argument("--hold", action="store_true", help="ours alone: does one process hold this many?")
