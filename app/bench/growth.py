"""`doorman bench growth`: does an answer cost more when there are more buyers, more drops, more past orders?

Each row compares the CPU of a web process for a refused buy in two states of the same Doorman, by samples that alternate where both
states can stand side by side (a drop with many orders and an empty one) and lie before and after where they cannot.
"""

import argparse
import asyncio
import statistics
import time

from app import wiring
from app.bench.paired import CONNECTIONS, PAIRS_DEFAULT, sample
from app.bench.report import Row, print_rows, whole
from app.bench.site import new_drop
from app.bench.stage import Stage, stage
from app.domain.drops import Drop
from app.purchase.books import books_of

TARGET = 1.15
SAMPLE_BUYERS = 2_000
WARM_BUYERS = 200
DRAIN_SECONDS_MAX = 300.0


def run(arguments: argparse.Namespace) -> int:
    with stage() as place:
        rows, findings = Growth(place, arguments.pairs).take(arguments.buyers, arguments.drops, arguments.orders)
    return print_rows("growth", rows, findings, arguments)


class Growth:
    def __init__(self, place: Stage, pairs: int):
        self.place, self.pairs = place, pairs
        self.asked = 0

    def take(self, buyers: int, drops: int, orders: int) -> tuple[list[Row], list[str]]:
        empty = self.place.drop("Nothing left", 1)
        self.press(empty, WARM_BUYERS)
        few = self.samples(empty)
        self.press(empty, buyers)
        many = self.samples(empty)
        rows = [self.row(f"a no after {buyers:,} buyers", many, few, "after the first thousands")]
        asyncio.run(self.more_drops(drops - 1))
        rows.append(self.row(f"a no among {drops:,} live drops", self.samples(empty), many, "the only drop"))
        full = self.place.drop("Sold often", orders)
        self.press(full, orders)
        left = asyncio.run(self.drained(full))
        self.press(full, WARM_BUYERS)
        here, there = [], []
        for _ in range(self.pairs):
            here.append(self.cpu_us(full))
            there.append(self.cpu_us(empty))
        rows.append(self.row(f"a no in a drop with {orders:,} orders", here, there, "in an empty drop"))
        return rows, [] if not left else [f"{left} orders are not in the ledger"]

    def press(self, drop: Drop, count: int) -> float:
        """`count` new shoppers press Buy -> CPU us of the web process for each."""
        self.asked += 1
        one = sample(self.place.buys(drop, self.place.shoppers(count), f"g{self.asked}"), self.place.pid, CONNECTIONS)
        return 1e6 / one.answers_per_cpu_second

    def cpu_us(self, drop: Drop) -> float:
        return self.press(drop, SAMPLE_BUYERS)

    def samples(self, drop: Drop) -> list[float]:
        return [self.cpu_us(drop) for _ in range(self.pairs)]

    def row(self, name: str, now: list[float], before: list[float], against: str) -> Row:
        ours, theirs = statistics.median(now), statistics.median(before)
        spread = (min(now) / theirs, max(now) / theirs)
        return Row(name, "CPU us an answer", ours, ours / theirs, TARGET, False, theirs, against, spread)

    async def more_drops(self, count: int) -> None:
        async with wiring.office(self.place.place.settings, "bench") as office:
            for number in range(count):
                await new_drop(office, f"Drop {number}", 10)

    async def drained(self, drop: Drop) -> int:
        """Wait until the ledger has every order of the drop -> how many it still lacks."""
        async with wiring.office(self.place.place.settings, "bench") as office:
            deadline = time.monotonic() + DRAIN_SECONDS_MAX
            while (
                left := (await books_of(office.ledger, office.gate, drop.id, drop.slug))["journal"]
            ) and time.monotonic() < deadline:
                await asyncio.sleep(0.2)
            return left


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=PAIRS_DEFAULT)
    parser.add_argument("--buyers", type=whole, default=100_000, help="buyers between the first two samples (%(default)s)")
    parser.add_argument("--drops", type=whole, default=500, help="live drops (%(default)s)")
    parser.add_argument("--orders", type=whole, default=100_000, help="past orders of one drop (%(default)s)")
