"""`doorman bench others`: what other people's pages take while a crowd presses Buy, against what they take at rest.

Asked one after the other, at rest and during a burst of the same process: the sign-in page, a drop's page of somebody who is signed
in, and a shopper's list of orders (which asks the ledger). Nearly all of the burst is refused from memory, as in any drop.
"""

import argparse
import asyncio
import statistics
from collections.abc import Sequence

import uvloop

from app.bench.crowd import CONNECTIONS_DEFAULT, Ask, Crowd
from app.bench.report import Row, print_rows, whole
from app.bench.stage import Stage, stage

TARGET = 3.0
PAUSE_SECONDS = 0.005
SHOPPERS_WARM = 200


def run(arguments: argparse.Namespace) -> int:
    with stage() as place:
        rows, findings = take(place, arguments.pairs, arguments.buyers, arguments.conns, arguments.looks)
    return print_rows("others", rows, findings, arguments, conns=arguments.conns)


def take(place: Stage, pairs: int, buyers: int, connections: int, looks: int) -> tuple[list[Row], list[str]]:
    drop, other = place.drop("The crowd's", 1), place.drop("Another", 10)
    cookies = place.shoppers(SHOPPERS_WARM + pairs * buyers + 1)
    me = [("Cookie", cookies.pop()), ("Accept", "text/html")]
    pages = {
        "sign-in": Ask(f"{place.place.url}/sign-in", 1, method="GET"),
        "another drop": Ask(f"{place.place.url}/drops/{other.slug}", 1, method="GET", headers=me),
        "orders": Ask(f"{place.place.url}/orders", 1, method="GET", headers=me),
    }
    uvloop.run(Crowd(place.buys(drop, cookies[:SHOPPERS_WARM], "warm"), SHOPPERS_WARM).play())
    ratios: dict[str, list[float]] = {name: [] for name in pages}
    at_rest, during = {name: [] for name in pages}, {name: [] for name in pages}
    for first in range(SHOPPERS_WARM, len(cookies), buyers):
        crowd = Crowd(place.buys(drop, cookies[first : first + buyers], f"others{first}"), connections)
        rest, busy = uvloop.run(_look(pages, crowd, looks))
        for name in pages:
            at_rest[name].append(p99_ms(rest[name]))
            during[name].append(p99_ms(busy[name]))
            ratios[name].append(during[name][-1] / at_rest[name][-1])
    return [
        Row(
            f"{name} during a burst", "ms, p99", statistics.median(during[name]), statistics.median(ratios[name]), TARGET, False,
            statistics.median(at_rest[name]), "the same page at rest", (min(ratios[name]), max(ratios[name])),
        )
        for name in pages
    ], []  # fmt: skip


async def _look(pages: dict[str, Ask], crowd: Crowd, looks: int) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """-> seconds of each look, by page: at rest, and while the crowd plays (at least one)."""
    rest, busy = {name: [] for name in pages}, {name: [] for name in pages}
    for _ in range(looks):
        await _one_round(pages, rest)
    playing = asyncio.ensure_future(crowd.play())
    while not playing.done():
        await _one_round(pages, busy)
    await playing
    return rest, busy


async def _one_round(pages: dict[str, Ask], told: dict[str, list[float]]) -> None:
    for name, ask in pages.items():
        told[name] += (await Crowd(ask, 1).play()).seconds
        await asyncio.sleep(PAUSE_SECONDS)


def p99_ms(seconds: Sequence[float]) -> float:
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=5)
    parser.add_argument("--buyers", type=whole, default=20_000, help="buyers a burst (%(default)s)")
    parser.add_argument("--conns", type=whole, default=CONNECTIONS_DEFAULT, help="connections open at once (%(default)s)")
    parser.add_argument("--looks", type=whole, default=30, help="looks at each page at rest, a burst (%(default)s)")
