"""`doorman bench others`: what other people's pages take while a crowd presses Buy, against what they take at rest.

Asked one after the other, at rest and during a burst of the same process: the sign-in page, a drop's page of somebody who is signed
in, a shopper's list of orders (which asks the ledger), and a seller's dashboard. Nearly all of the burst is refused from memory, as
in any drop.

The crowd is a process of its own and goes last on the core that it shares with whoever looks, Valkey and PostgreSQL: a crowd has
machines of its own, and nobody here is to wait for the load generator.
"""

import argparse
import asyncio
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from uuid import uuid4

import uvloop

from app import wiring
from app.bench.crowd import CONNECTIONS_DEFAULT, Ask, Crowd
from app.bench.report import Row, print_rows, whole
from app.bench.stage import Stage, stage
from app.web.seller.sessions import SellerSessions

TARGET = 3.0
PAUSE_SECONDS = 0.005
SHOPPERS_WARM = 200
LOOKS_WARM = 5
OWNER = "bench@example.org"  # of the stage's only shop (site.py)
NICENESS = 10  # of the crowd
ANSWER_SECONDS_MAX = 120.0

Looks = dict[str, list[float]]  # page -> seconds of each look at it


def run(arguments: argparse.Namespace) -> int:
    with stage() as place:
        rows, findings = take(place, arguments.pairs, arguments.buyers, arguments.conns, arguments.looks)
    return print_rows("others", rows, findings, arguments, conns=arguments.conns)


def take(place: Stage, pairs: int, buyers: int, connections: int, looks: int) -> tuple[list[Row], list[str]]:
    drop, other = place.drop("The crowd's", 1), place.drop("Another", 10)
    cookies = place.shoppers(SHOPPERS_WARM + pairs * buyers + 1)
    me = [("Cookie", cookies.pop()), ("Accept", "text/html")]
    seller = [("Cookie", asyncio.run(_seat(place))), ("Accept", "text/html")]
    pages = {
        "sign-in": Ask(f"{place.place.url}/sign-in", 1, method="GET"),
        "another drop": Ask(f"{place.place.url}/drops/{other.slug}", 1, method="GET", headers=me),
        "orders": Ask(f"{place.place.url}/orders", 1, method="GET", headers=me),
        "dashboard": Ask(f"{place.place.url}/seller", 1, method="GET", headers=seller),
    }
    uvloop.run(Crowd(place.buys(drop, cookies[:SHOPPERS_WARM], "warm"), SHOPPERS_WARM).play())
    uvloop.run(_rounds(pages, LOOKS_WARM))
    taken = []
    with _crowds() as crowds:
        for first in range(SHOPPERS_WARM, len(cookies), buyers):
            rest = uvloop.run(_rounds(pages, looks))
            crowds.send((place.buys(drop, cookies[first : first + buyers], f"others{first}"), connections))
            _said(crowds)  # its requests are put together
            crowds.send("go")
            taken.append((rest, uvloop.run(_rounds(pages, None, crowds))))
            _said(crowds)
    return [_row(name, [(rest[name], busy[name]) for rest, busy in taken]) for name in pages], []


def _row(name: str, bursts: list[tuple[list[float], list[float]]]) -> Row:
    """`bursts`: seconds of the looks at rest and of those during the burst. The ratio is that of all looks together."""
    rest, busy = (p99_ms([seconds for burst in bursts for seconds in burst[side]]) for side in (0, 1))
    ratios = [p99_ms(during) / p99_ms(before) for before, during in bursts]
    looks = sum(len(during) for _, during in bursts)
    return Row(
        f"{name} during a burst", "ms, p99", busy, busy / rest, TARGET, False, rest, "the same page at rest",
        (min(ratios), max(ratios)), {"looks": looks},
    )  # fmt: skip


async def _seat(place: Stage) -> str:
    """-> the Cookie header of somebody who is signed in at the dashboard of the bench's shop."""
    settings = place.place.settings
    async with wiring.office(settings, "bench") as office:
        session_id = uuid4()
        if not await office.ledger.open_seller_session(session_id, OWNER, "bench"):
            raise RuntimeError(f"{OWNER} works for no shop")
        sessions = SellerSessions(settings, office.ledger, office.feed)
        return f"{sessions.name}={sessions.value(session_id)}"


async def _rounds(pages: dict[str, Ask], rounds: int | None, crowds: Connection | None = None) -> Looks:
    """-> the seconds of so many looks at each page; None: of as many as it takes until the crowd has its answers, at least one."""
    told: Looks = {name: [] for name in pages}
    done = 0
    while done < rounds if rounds is not None else not (done and crowds.poll()):
        for name, ask in pages.items():
            told[name] += (await Crowd(ask, 1).play()).seconds
            await asyncio.sleep(PAUSE_SECONDS)
        done += 1
    return told


@contextmanager
def _crowds() -> Iterator[Connection]:
    """-> a line to a process that plays crowds: send an Ask and its connections, hear "ready", say "go", hear "over"."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_play, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()  # it ends when nobody talks to it any more
        process.join(ANSWER_SECONDS_MAX)


def _play(line: Connection) -> None:
    os.nice(NICENESS)
    with suppress(EOFError):
        while True:
            crowd = Crowd(*line.recv())
            crowd.prepare()
            line.send("ready")
            line.recv()
            uvloop.run(crowd.play())
            line.send("over")


def _said(crowds: Connection) -> None:
    if not crowds.poll(ANSWER_SECONDS_MAX):
        raise TimeoutError("the crowd has fallen silent")
    crowds.recv()


def p99_ms(seconds: Sequence[float]) -> float:
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=5)
    parser.add_argument("--buyers", type=whole, default=20_000, help="buyers a burst (%(default)s)")
    parser.add_argument("--conns", type=whole, default=CONNECTIONS_DEFAULT, help="connections open at once (%(default)s)")
    parser.add_argument("--looks", type=whole, default=30, help="looks at each page at rest, a burst (%(default)s)")
