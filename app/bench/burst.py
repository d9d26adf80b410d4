"""`doorman bench burst`: a crowd of distinct signed-in buyers presses Buy at once. What was answered, how fast, do the books close?

SQL statements caused by losers are counted by PostgreSQL itself (app/bench/statements.py): every statement that a web process sent
between the first request and the last answer. Winners cause none either (their orders are written by the recorder), so the lawful
number is 0. Set apart is only what a web process asks by the clock, crowd or no crowd (BY_THE_CLOCK), and only as many as the clock
explains. Page views before the burst have every web process know the drop, as they do in any sale.
"""

import argparse
import asyncio
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from app import wiring
from app.bench import cores
from app.bench.crowd import CONNECTIONS_DEFAULT, Ask, Tally, play
from app.bench.report import Row, compared, print_report, row_lines, table, whole
from app.bench.site import Site, new_drop, site, status_of
from app.bench.stage import pin_parts
from app.bench.statements import CannotCount, counting

WEB_PROCESSES = ("doorman-pages", "doorman-dashboard")  # application names of a web process's pools
BY_THE_CLOCK = (
    "FROM published_drops WHERE NOT $1",  # drops and sign-outs are read again now and then
    "SELECT id, session_epoch FROM shoppers WHERE",
    "INSERT INTO demand (",  # how often Buy was pressed: one sum a second, in one transaction
    "INSERT INTO demand_counters",
    "BEGIN;",
    "COMMIT;",
    "set_config('jit'",  # asyncpg asks a new connection about types, once
    "typeinfo_tree",
)
BY_THE_CLOCK_PER_SECOND_MAX = 1.0  # of each, by one web process
WARM_VIEWS, WARM_CONNECTIONS = 256, 64  # page views at once, so that every web process gets some
DRAIN_SECONDS_MAX = 60.0
P99_SECONDS_MAX = 1.0
PEER = {  # (buyers, units) -> (times the peer we aim at, the peer's answers a second: 3.3-3.6 s and 0.6-1.0 s for the whole crowd)
    (20_000, 100): (3.0, 5_800.0),
    (900, 900): (4.0, 1_125.0),
}


@dataclass(frozen=True, slots=True)
class Burst:
    """One burst and its aftermath."""

    units: int
    tally: Tally
    sql: list[str] | None  # statements that web processes sent during the burst; None: could not be counted
    sql_reason: str | None
    web_processes: int
    drain_seconds: float  # from the last answer until the ledger had everything
    books: dict
    recorded: int  # orders in the ledger
    web_cpu_seconds: float = 0.0  # of all web processes, from the first request to the last answer

    @property
    def by_the_clock(self) -> list[str]:
        """-> statements that the crowd did not cause; none when there are more of them than the clock explains."""
        found = [statement for statement in self.sql or () if any(part in statement for part in BY_THE_CLOCK)]
        lawful = self.web_processes * len(BY_THE_CLOCK) * (1 + BY_THE_CLOCK_PER_SECOND_MAX * self.tally.wall_seconds)
        return found if len(found) <= lawful else []

    @property
    def by_the_crowd(self) -> list[str] | None:
        """-> statements that somebody's request caused; None: could not be counted."""
        if self.sql is None:
            return None
        clock = set(self.by_the_clock)
        return [statement for statement in self.sql if statement not in clock]

    def findings(self) -> list[str]:
        """-> what is wrong, in sentences; empty when the burst was right."""
        tally, books = self.tally, self.books
        granted, expected = tally.answers["reserved"], min(self.units, self.tally.buyers)
        told, found = [], books["findings"]
        if granted > self.units:
            told.append(f"OVERSOLD: {granted} buyers were granted {self.units} units")
        if granted < expected and not tally.failed and not tally.unanswered:
            told.append(f"only {granted} of {expected} units were granted")
        if len(set(tally.orders)) != granted:
            told.append(f"{granted} grants name {len(set(tally.orders))} orders")
        if self.recorded < granted:
            told.append(f"{granted - self.recorded} granted orders are not in the ledger")
        if books["balanced"] is not True:
            told.append(f"the books do not balance: {'; '.join(found) or 'the journal did not drain'}")
        if tally.failed or tally.unanswered:
            told.append(f"{tally.failed} requests failed, {tally.unanswered} were not answered")
        if odd := {kind: count for kind, count in tally.answers.items() if kind.startswith("http ")}:
            told.append(f"answers without a verdict: {odd}")
        if self.by_the_crowd is None:
            told.append(f"SQL statements could not be counted: {self.sql_reason}")
        elif self.by_the_crowd:
            told.append(f"{len(self.by_the_crowd)} SQL statements were caused by the crowd, such as: {self.by_the_crowd[0][:80]}")
        return told

    def summary(self) -> dict:
        return {
            "measure": "burst",
            "units": self.units,
            **self.tally.summary(),
            "sql_by_losers": None if self.by_the_crowd is None else len(self.by_the_crowd),
            "sql_by_the_clock": len(self.by_the_clock),
            "recorded": self.recorded,
            "web_cpu_us_an_answer": round(1e6 * self.web_cpu_seconds / max(1, self.tally.answered), 1),
            "drain_seconds": round(self.drain_seconds, 3),
            "books": self.books,
            "findings": self.findings(),
        }


def run(arguments: argparse.Namespace) -> int:
    with site(arguments.data, web=arguments.web) as place:
        if place.own and arguments.web == 1:
            pin_parts(place)
        bursts = [take(place, arguments.buyers, arguments.units, arguments.conns) for _ in range(arguments.pairs)]
        peer = [ask_peer(arguments) for _ in range(arguments.pairs)] if arguments.peer else []
    rows = [row.as_dict() for row in _rows(bursts, peer)]
    findings = [finding for burst in bursts for finding in burst.findings()] + compared(rows, arguments.compare)
    lines = [*_lines(bursts[-1]), *(row_lines(rows) if rows else ())]
    return print_report(bursts[-1].summary() | {"rows": rows, "findings": findings}, lines, arguments.json)


def _rows(bursts: list[Burst], peer: list[float]) -> list[Row]:
    """-> the targets of this size of crowd; none for a size that has none."""
    known = PEER.get((bursts[0].tally.buyers, bursts[0].units))
    if known is None:
        return []
    times, answers_per_second = known
    theirs = statistics.median(peer) if peer else answers_per_second
    against = "the peer, in this run" if peer else "the Node peer (Express, ioredis, pg, BullMQ), on a machine of this class"
    ours = [burst.tally.answered / burst.tally.wall_seconds for burst in bursts]
    ratios = sorted(one / theirs for one in ours)
    name = f"{bursts[0].tally.buyers:,} for {bursts[0].units:,}"
    ours_now, p99 = statistics.median(ours), statistics.median(burst.tally.percentile_ms(0.99) / 1000 for burst in bursts)
    return [
        Row(name, "answers a second", ours_now, ours_now / theirs, times, True, theirs, against, (ratios[0], ratios[-1])),
        Row(f"{name}: p99", "seconds", p99, p99, P99_SECONDS_MAX, at_least=False),
    ]


def ask_peer(arguments: argparse.Namespace) -> float:
    """Play the same crowd at the peer -> answers a second. It resets itself on POST /reset?stock=N and sells on /products/1/buy."""
    play(Ask(f"{arguments.peer}/reset?stock={arguments.units}", 1, headers=()), 1)
    tally = play(Ask(f"{arguments.peer}/products/1/buy", arguments.buyers, headers=()), arguments.conns)
    return tally.answered / tally.wall_seconds


def take(place: Site, buyers: int, units: int, connections: int = CONNECTIONS_DEFAULT) -> Burst:
    """Play one burst on a running Doorman."""
    drop, cookies = asyncio.run(_prepare(place, buyers, units))
    page = f"{place.url}/drops/{drop.slug}"
    play(Ask(url=page, buyers=WARM_VIEWS, method="GET"), WARM_CONNECTIONS)
    ask = Ask(url=f"{page}/buy", buyers=buyers, cookies=cookies, body="quantity=1&key=burst-{i}")
    web, cpu_seconds = place.run["web"], []

    def burst() -> Tally:
        before = sum(map(cores.cpu_seconds, web))
        tally = play(ask, connections)
        cpu_seconds.append(sum(map(cores.cpu_seconds, web)) - before)
        return tally

    tally, sql, reason = asyncio.run(_count_while(place, burst, f"{place.url}/orders", cookies[0]))
    began = time.monotonic()
    books, recorded = asyncio.run(_drained(place, drop))
    return Burst(units, tally, sql, reason, len(web), time.monotonic() - began, books, recorded, cpu_seconds[0])


async def _prepare(place: Site, buyers: int, units: int):
    from app.web.session import mint_cookies

    async with wiring.office(place.settings, "bench") as office:
        drop = await new_drop(office, f"{buyers} buyers for {units} units", units)
        return drop, mint_cookies(place.settings, await office.ledger.mint_shoppers(buyers))


async def _count_while(place: Site, burst, control_url: str, cookie: str):
    """-> (what `burst()` returned, statements of web processes meanwhile or None, why not). `burst` is played exactly once."""
    tally = None
    try:
        if place.run["postgres"]["pid"] is None:
            raise CannotCount("the database is not the embedded one, so its log is not ours to change")
        async with counting(place.settings.database_url, place.data / "log" / "postgres.log") as (statements, connection):
            statements.mark()
            tally = await asyncio.to_thread(burst)
            await statements.settle(connection)
            sql = [statement for name, statement in statements.read() if name in WEB_PROCESSES]
            statements.mark()
            await asyncio.to_thread(status_of, control_url, cookie)
            await statements.settle(connection)
            if not any(name in WEB_PROCESSES for name, _ in statements.read()):
                raise CannotCount("a page that needs the ledger was asked for, and its statements were not in the log")
            return tally, sql, None
    except (CannotCount, OSError) as error:
        return tally or await asyncio.to_thread(burst), None, str(error)


async def _drained(place: Site, drop) -> tuple[dict, int]:
    """Wait until the ledger has everything -> (the books, orders in the ledger)."""
    from app.purchase.books import books_of

    async with wiring.office(place.settings, "bench") as office:
        deadline = time.monotonic() + DRAIN_SECONDS_MAX
        while True:
            books = await books_of(office.ledger, office.gate, drop.id, drop.slug)
            if books["balanced"] is not None or time.monotonic() > deadline:
                return books, sum(books[name] for name in ("held", "processing", "paid", "refused", "refunded", "returning"))
            await asyncio.sleep(0.02)


def _sql(burst: Burst) -> str:
    if burst.by_the_crowd is None:
        return "not counted"
    clock = f" ({len(burst.by_the_clock)} more by the clock)" if burst.by_the_clock else ""
    return f"{len(burst.by_the_crowd)} statements{clock}"


def _lines(burst: Burst) -> list[str]:
    tally, books = burst.tally, burst.books
    numbers = burst.summary()
    rows = [
        ("buyers / units", f"{tally.buyers:,} / {burst.units:,}"),
        *((verdict, f"{count:,}") for verdict, count in tally.answers.most_common()),
        ("errors", f"{tally.failed:,}"),
        ("unanswered", f"{tally.unanswered:,}"),
        ("wall time", f"{tally.wall_seconds:.2f} s"),
        ("answers/s", f"{numbers['answers_per_second']:,.0f}"),
        (
            "p50 / p99 / max",
            " / ".join(f"{numbers['ms'][name]:.1f}" for name in ("p50", "p99", "max")) + " ms" if tally.seconds else "-",
        ),
        ("load generator's CPU", f"{100 * numbers['generator_cpu_share']:.0f} % of one core"),
        ("web processes' CPU", f"{numbers['web_cpu_us_an_answer']:.1f} us an answer"),
        ("SQL by losers", _sql(burst)),
        ("in the ledger after", f"{burst.drain_seconds:.2f} s ({burst.recorded:,} orders)"),
        ("books", ", ".join(f"{name} {books[name]}" for name in ("total", "gate_left", "held", "processing", "paid", "refused"))),
        ("balanced", "yes" if books["balanced"] else "NO"),
    ]
    return table(rows)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--buyers", type=whole, default=20_000)
    parser.add_argument("--units", type=whole, default=100)
    parser.add_argument("--conns", type=whole, default=CONNECTIONS_DEFAULT, help="connections open at once (%(default)s)")
    parser.add_argument("--pairs", type=whole, default=1, help="bursts, of which the median counts (%(default)s)")
    parser.add_argument("--peer", metavar="URL", help="a peer that serves here: played too, instead of its known figure")
    parser.add_argument("--web", type=whole, default=2, help="web processes of a throwaway Doorman (%(default)s)")
    parser.add_argument("--data", type=Path, help="data folder of a running doorman up; else a throwaway one is started")
