"""The crowd: one request per distinct buyer, over keep-alive connections, and an account of every single answer.

Guarantees: a request is written once and never repeated; every buyer ends as exactly one of answered, failed (with the reason) or
unanswered (the time ran out), and `Tally.check` refuses sums that do not add up. Latency counts from the write of a request to the
end of its answer. The generator measures its own CPU, so that a result that it limited itself can be told from the server's.

Each connection plays its buyers one after the other (a closed loop): `connections` is how many wait at the same time.
As a process of its own:  python -m app.bench.crowd URL --cookies FILE [--connections 256] [--body B]
"""

import argparse
import asyncio
import json
import re
import sys
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httptools
import uvloop

from app.errors import BrokenInvariant

CONNECTIONS_DEFAULT = 256
SECONDS_MAX_DEFAULT = 120.0
CONNECT_SECONDS_MAX = 10.0
CONNECTS_FAILED_MAX = 20  # in a row, of one connection: the server is gone
VERDICT = re.compile(rb'"verdict"\s*:\s*"([a-z_]{1,32})"')
ORDER = re.compile(rb'"order"\s*:\s*"([0-9a-f-]{36})"')
HTTP = b"HTTP/1.1 "
LENGTH = re.compile(rb"\r\ncontent-length: ?(\d+)\r\n", re.IGNORECASE)
CLOSE = re.compile(rb"\r\nconnection: ?close\r\n", re.IGNORECASE)
WHO = "{i}"  # stands for the buyer's number, in path and body


@dataclass(frozen=True, slots=True)
class Ask:
    """What every buyer sends. `cookies`: a Cookie header value per buyer, or none; `{i}` in path and body is the buyer's number."""

    url: str
    buyers: int
    cookies: Sequence[str] = ()
    bodies: Sequence[str] = ()  # one per buyer; empty: `body`
    paths: Sequence[str] = ()  # one per buyer; empty: the url's
    body: str = ""
    method: str = "POST"
    keep_bodies: bool = False  # of the answers, in `Tally.bodies`
    headers: Sequence[tuple[str, str]] = (("Accept", "application/json"),)

    def __post_init__(self):
        for name in ("cookies", "bodies", "paths"):
            values = getattr(self, name)
            if values and len(values) != self.buyers:
                raise ValueError(f"{len(values)} {name} for {self.buyers} buyers")

    def request(self, buyer: int) -> bytes:
        """-> the bytes of this buyer's request."""
        url = urlsplit(self.url)
        path = self.paths[buyer] if self.paths else (url.path or "/") + (f"?{url.query}" if url.query else "")
        body = (self.bodies[buyer] if self.bodies else self.body).replace(WHO, str(buyer)).encode()
        lines = [f"{self.method} {path.replace(WHO, str(buyer))} HTTP/1.1", f"Host: {url.netloc}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.cookies:
            lines.append(f"Cookie: {self.cookies[buyer]}")
        if self.method != "GET":
            lines += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass(slots=True)
class Tally:
    """What became of the buyers. Seconds are wall time unless they say CPU."""

    buyers: int
    answers: Counter = field(default_factory=Counter)  # 'reserved', 'sold_out', …; without a verdict 'http 500'
    statuses: Counter = field(default_factory=Counter)
    errors: Counter = field(default_factory=Counter)  # reason -> buyers whose answer never came
    unanswered: int = 0  # still waiting, or not yet asked, when the time ran out
    seconds: list[float] = field(default_factory=list)  # of each answer
    orders: list[str] = field(default_factory=list)  # ids that were answered `reserved`
    bodies: dict[int, bytes] = field(default_factory=dict)  # buyer -> answer, when asked to keep them
    odd: dict[str, str] = field(default_factory=dict)  # one answer of each kind without a verdict, to look at
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0  # of the generator

    @property
    def answered(self) -> int:
        return sum(self.answers.values())

    @property
    def failed(self) -> int:
        return sum(self.errors.values())

    def check(self) -> "Tally":
        """-> itself; BrokenInvariant when a buyer is missing or counted twice."""
        if self.answered + self.failed + self.unanswered != self.buyers or len(self.seconds) != self.answered:
            raise BrokenInvariant(
                f"{self.answered} answered, {self.failed} failed, {self.unanswered} unanswered of {self.buyers} buyers"
            )
        return self

    def percentile_ms(self, share: float) -> float:
        """-> milliseconds within which this share of the answers came; nan without answers."""
        ordered = sorted(self.seconds)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")

    def summary(self) -> dict:
        """-> plain numbers for JSON."""
        wall = self.wall_seconds or float("inf")
        return {
            "buyers": self.buyers,
            "answers": dict(self.answers.most_common()),
            "errors": dict(self.errors),
            "unanswered": self.unanswered,
            "wall_seconds": round(self.wall_seconds, 3),
            "answers_per_second": round(self.answered / wall, 1),
            "ms": {
                name: round(self.percentile_ms(share), 2)
                for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))
            }
            if self.seconds
            else {},
            "generator_cpu_share": round(self.cpu_seconds / wall, 3),
            "odd": self.odd,
        }


class Crowd:
    """Plays one `Ask` to its end."""

    def __init__(self, ask: Ask, connections: int = CONNECTIONS_DEFAULT, seconds_max: float = SECONDS_MAX_DEFAULT):
        self.tally = Tally(ask.buyers)
        self._ask = ask
        self._connections = min(connections, ask.buyers)
        self._seconds_max = seconds_max
        self._waiting: deque[tuple[int, bytes]] = deque()
        self._answers: list[tuple[int, int, bytes, float]] = []  # buyer, status, body, seconds: read when the clock has stopped
        self._open = ask.buyers  # buyers whose end is not known yet
        self._over: asyncio.Future | None = None
        self._connecting: set[asyncio.Task] = set()

    def prepare(self) -> None:
        """Put the requests together, before any clock starts."""
        if not self._waiting:
            self._waiting.extend((buyer, self._ask.request(buyer)) for buyer in range(self._ask.buyers))

    async def play(self) -> Tally:
        self._over = asyncio.get_running_loop().create_future()
        self.prepare()
        lines = [_Line(self) for _ in range(self._connections)]
        await asyncio.gather(*(line.connect() for line in lines))
        wall, cpu = time.perf_counter(), time.process_time()
        for line in lines:
            line.next()
        if self._open:
            await asyncio.wait([self._over], timeout=self._seconds_max)
        self.tally.wall_seconds, self.tally.cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
        self._waiting.clear()
        for task in self._connecting:
            task.cancel()
        for line in lines:
            line.hang_up()
        for answer in self._answers:
            self._count(*answer)
        self.tally.unanswered = self.tally.buyers - self.tally.answered - self.tally.failed
        return self.tally.check()

    @property
    def answered_so_far(self) -> int:
        return len(self._answers)

    @property
    def somebody_waits(self) -> bool:
        return bool(self._waiting)

    def next(self) -> tuple[int, bytes] | None:
        return self._waiting.popleft() if self._waiting else None

    def answered(self, buyer: int, status: int, body: bytes, seconds: float) -> None:
        self._answers.append((buyer, status, body, seconds))
        self._one_less()

    def failed(self, reason: str) -> None:
        self.tally.errors[reason] += 1
        self._one_less()

    def connect_again(self, line: "_Line") -> None:
        task = asyncio.get_running_loop().create_task(line.connect_and_go_on())
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def _one_less(self) -> None:
        self._open -= 1
        if not self._open and not self._over.done():
            self._over.set_result(None)

    def _count(self, buyer: int, status: int, body: bytes, seconds: float) -> None:
        tally = self.tally
        verdict = VERDICT.search(body)
        kind = verdict[1].decode() if verdict else f"http {status}"
        tally.answers[kind] += 1
        tally.statuses[status] += 1
        tally.seconds.append(seconds)
        if self._ask.keep_bodies:
            tally.bodies[buyer] = body
        if kind == "reserved" and (order := ORDER.search(body)):
            tally.orders.append(order[1].decode())
        elif not verdict and kind not in tally.odd:
            tally.odd[kind] = body[:200].decode(errors="replace")


class _Line(asyncio.Protocol):
    """One connection and the buyers that use it in turn. A new one is opened when the server closes it.

    An answer that comes in one piece and says its length is read here, in a few microseconds; httptools reads all others.
    """

    def __init__(self, crowd: Crowd):
        url = urlsplit(crowd._ask.url)
        self._host, self._port = url.hostname, url.port or 80
        self._crowd = crowd
        self._transport: asyncio.Transport | None = None
        self._buyer: int | None = None  # who waits for an answer
        self._began = 0.0
        self._parser: httptools.HttpResponseParser | None = None  # of an answer that comes in pieces
        self._body: list[bytes] = []
        self._lost_because: str | None = None
        self._failed_connects = 0

    async def connect(self) -> None:
        """Open the connection; `_lost_because` says why it could not be opened."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS_MAX):
                await asyncio.get_running_loop().create_connection(lambda: self, self._host, self._port)
        except OSError as error:  # TimeoutError too
            self._lost_because = type(error).__name__

    def next(self) -> None:
        """Let the next buyer ask, on a new connection if this one is gone."""
        if self._transport is None and self._crowd.somebody_waits:
            self._crowd.connect_again(self)
        elif (waiting := self._crowd.next()) is not None:
            self._buyer, request = waiting
            self._began = time.perf_counter()
            self._transport.write(request)

    async def connect_and_go_on(self) -> None:
        while self._transport is None and self._failed_connects < CONNECTS_FAILED_MAX:
            await self.connect()
            self._failed_connects = 0 if self._transport is not None else self._failed_connects + 1
        if self._transport is not None:
            self.next()
        while self._transport is None and self._crowd.next() is not None:
            self._crowd.failed(f"no connection: {self._lost_because}")

    def hang_up(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    # asyncio.Protocol

    def connection_made(self, transport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._buyer is None:
            self.hang_up()
            return
        if self._parser is None:
            head = data.find(b"\r\n\r\n") + 4
            length = LENGTH.search(data, 0, head)
            if (
                length is not None
                and head + int(length[1]) == len(data)
                and data.startswith(HTTP)
                and not CLOSE.search(data, 0, head)
            ):
                self._answered(int(data[9:12]), data[head:], True)
                return
            self._parser, self._body = httptools.HttpResponseParser(self), []
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._failed(f"not HTTP: {type(error).__name__}")

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._buyer is not None:
            self._failed("connection lost" if error is None else type(error).__name__)

    # httptools

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        parser, self._parser = self._parser, None
        self._answered(parser.get_status_code(), b"".join(self._body), parser.should_keep_alive())

    def _answered(self, status: int, body: bytes, kept_open: bool) -> None:
        buyer, self._buyer = self._buyer, None
        self._crowd.answered(buyer, status, body, time.perf_counter() - self._began)
        if not kept_open:
            self.hang_up()
        self.next()

    def _failed(self, reason: str) -> None:
        self._buyer = self._parser = None
        self.hang_up()
        self._crowd.failed(reason)
        self.next()


def play(ask: Ask, connections: int = CONNECTIONS_DEFAULT, seconds_max: float = SECONDS_MAX_DEFAULT) -> Tally:
    """Play it on an event loop of its own."""
    return uvloop.run(Crowd(ask, connections, seconds_max).play())


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m app.bench.crowd", description=__doc__.partition("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--cookies", type=Path, required=True, help="file with one Cookie header value a line: one buyer each")
    parser.add_argument("--connections", type=int, default=CONNECTIONS_DEFAULT)
    parser.add_argument("--body", default="quantity=1&key=crowd-{i}", help="form body; {i} is the buyer's number (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS_MAX_DEFAULT, help="longest run (%(default)s)")
    arguments = parser.parse_args(argv)
    cookies = arguments.cookies.read_text().split("\n")
    cookies = [cookie for cookie in cookies if cookie]
    ask = Ask(url=arguments.url, buyers=len(cookies), cookies=cookies, body=arguments.body)
    tally = play(ask, arguments.connections, arguments.seconds)
    print(json.dumps(tally.summary(), indent=1))
    return 0 if tally.answered == tally.buyers else 1


if __name__ == "__main__":
    sys.exit(main())
