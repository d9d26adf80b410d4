"""`doorman bench naive`: the same crowd against the perfectly correct alternative, one conditional UPDATE per buyer.

It never oversells either. What it costs: every buyer, loser or winner, takes one of the pool's connections; winners queue for one
row's lock, each holding it for the length of the transaction (20 ms here, as one that talks to anything else has); and while
they do, the pool has nothing left for anybody else, which the two `other page` lines show.

The server is one uvicorn process with Litestar and a pool of 100, on an embedded PostgreSQL of its own.
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
from litestar import Litestar, Request, Response, get, post

from app.bench.crowd import CONNECTIONS_DEFAULT, Ask, Crowd, Tally
from app.bench.report import print_report, table, whole
from app.embedded import folders, postgres
from app.embedded.children import tied
from app.errors import StartFailed

POOL_CONNECTIONS = 100
TRANSACTION_SECONDS = 0.02
WAIT_SECONDS_MAX = 120.0  # a buyer may wait this long for a connection, so that every answer can be counted
START_SECONDS_MAX = 30.0
OTHER_PAGE_PAUSE_SECONDS = 0.05
OTHER_PAGES_AT_REST = 20
SCHEMA = """
CREATE TABLE stock (id integer PRIMARY KEY, total integer NOT NULL, sold integer NOT NULL CHECK (sold <= total));
CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, buyer text NOT NULL UNIQUE);
"""


# --- the server -------------------------------------------------------------------------------------------------------------------


@post("/buy")
async def buy(request: Request) -> Response:
    """One conditional UPDATE decides; a winner's transaction stays open for TRANSACTION_SECONDS."""
    async with request.app.state.pool.acquire(timeout=WAIT_SECONDS_MAX) as connection, connection.transaction():
        if await connection.fetchval("UPDATE stock SET sold = sold + 1 WHERE id = 1 AND sold < total RETURNING sold") is None:
            return Response({"verdict": "sold_out"}, status_code=409)
        await connection.execute("INSERT INTO orders (buyer) VALUES ($1)", request.headers["cookie"])
        await asyncio.sleep(TRANSACTION_SECONDS)
    return Response({"verdict": "reserved"}, status_code=201)


@get("/other")
async def other(request: Request) -> dict:
    """Any other page of the shop that asks the database something."""
    async with request.app.state.pool.acquire(timeout=WAIT_SECONDS_MAX) as connection:
        return {"sold": await connection.fetchval("SELECT sold FROM stock WHERE id = 1")}


def create_app() -> Litestar:
    async def start(app: Litestar) -> None:
        app.state.pool = await asyncpg.create_pool(os.environ["NAIVE_DSN"], min_size=POOL_CONNECTIONS, max_size=POOL_CONNECTIONS)

    async def stop(app: Litestar) -> None:
        await app.state.pool.close()

    return Litestar([buy, other], on_startup=[start], on_shutdown=[stop], openapi_config=None)


# --- the measure ------------------------------------------------------------------------------------------------------------------


def run(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="doorman-naive-") as temporary, _database(Path(temporary)) as dsn:
        with _server(dsn, Path(temporary)) as url:
            tally, at_rest, during = asyncio.run(_measure(dsn, url, arguments.buyers, arguments.units, arguments.conns))
        sold, orders = asyncio.run(_books(dsn))
    summary = {
        "measure": "naive",
        "units": arguments.units,
        "transaction_seconds": TRANSACTION_SECONDS,
        **tally.summary(),
        "other_page_ms": {"at_rest": _worst_ms(at_rest), "during": _worst_ms(during)},
        "sold": sold,
        "orders": orders,
        "findings": _findings(tally, arguments.units, sold, orders),
    }
    return print_report(summary, _lines(summary, tally), arguments.json)


async def _measure(dsn: str, url: str, buyers: int, units: int, connections: int) -> tuple[Tally, list[float], list[float]]:
    """-> (what became of the buyers, seconds of another page before, and during)."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(SCHEMA)
    await connection.execute("INSERT INTO stock VALUES (1, $1, 0)", units)
    await connection.close()
    at_rest = [await _other_page(url) for _ in range(OTHER_PAGES_AT_REST)]
    crowd = Crowd(
        Ask(url=f"{url}/buy", buyers=buyers, cookies=[f"buyer={i}" for i in range(buyers)]), connections, WAIT_SECONDS_MAX
    )
    playing, during = asyncio.ensure_future(crowd.play()), []
    while not playing.done():
        during.append(await _other_page(url))
        await asyncio.wait([playing], timeout=OTHER_PAGE_PAUSE_SECONDS)
    return await playing, at_rest, during


async def _other_page(url: str) -> float:
    return (await Crowd(Ask(url=f"{url}/other", buyers=1, method="GET"), 1, WAIT_SECONDS_MAX).play()).seconds[0]


async def _books(dsn: str) -> tuple[int, int]:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval("SELECT sold FROM stock"), await connection.fetchval("SELECT count(*) FROM orders")
    finally:
        await connection.close()


def _findings(tally: Tally, units: int, sold: int, orders: int) -> list[str]:
    found, expected = [], min(units, tally.buyers)
    if not (sold == orders == tally.answers["reserved"] == expected):
        found.append(f"{tally.answers['reserved']} granted, {sold} sold, {orders} orders of {expected}")
    if tally.failed or tally.unanswered:
        found.append(f"{tally.failed} requests failed, {tally.unanswered} were not answered")
    return found


def _lines(summary: dict, tally: Tally) -> list[str]:
    return table(
        [
            ("buyers / units", f"{tally.buyers:,} / {summary['units']:,}"),
            ("transaction", f"{1000 * TRANSACTION_SECONDS:.0f} ms, pool of {POOL_CONNECTIONS}"),
            *((verdict, f"{count:,}") for verdict, count in tally.answers.most_common()),
            ("errors / unanswered", f"{tally.failed:,} / {tally.unanswered:,}"),
            ("wall time", f"{tally.wall_seconds:.2f} s"),
            ("answers/s", f"{summary['answers_per_second']:,.0f}"),
            ("p50 / p99 / max", " / ".join(f"{summary['ms'][name]:.1f}" for name in ("p50", "p99", "max")) + " ms"),
            ("load generator's CPU", f"{100 * summary['generator_cpu_share']:.0f} % of one core"),
            ("other page, at rest", f"{summary['other_page_ms']['at_rest']:.1f} ms at worst"),
            ("other page, meanwhile", f"{summary['other_page_ms']['during']:.1f} ms at worst"),
        ]
    )


def _worst_ms(seconds: list[float]) -> float:
    return round(1000 * max(seconds), 1)


@contextmanager
def _database(folder: Path) -> Iterator[str]:
    process, dsn = postgres.start(
        postgres.folder_for(folder), folders.socket_folder(folder) / "postgres", "naive", log=folder / "postgres.log"
    )
    try:
        yield dsn
    finally:
        process.send_signal(signal.SIGINT)  # its "fast shutdown"
        process.wait()
        folders.drop_socket_folder(folder)


@contextmanager
def _server(dsn: str, folder: Path) -> Iterator[str]:
    """One uvicorn process as Doorman's own run: uvloop, httptools."""
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as bound, (folder / "server.log").open("wb") as log:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        command = [sys.executable, "-P", "-m", "uvicorn", "app.bench.naive:create_app", "--factory", "--fd", str(bound.fileno()),
                   "--loop", "uvloop", "--http", "httptools", "--log-level", "error", "--no-access-log"]  # fmt: skip
        process = subprocess.Popen(
            command, env={**os.environ, "NAIVE_DSN": dsn}, pass_fds=(bound.fileno(),), stdout=log, stderr=log, preexec_fn=tied()
        )
        try:
            _await(url, process, folder / "server.log")
            yield url
        finally:
            process.terminate()
            process.wait()


def _await(url: str, process: subprocess.Popen, log: Path) -> None:
    from app.bench.site import status_of

    deadline = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            status_of(f"{url}/nothing")
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise StartFailed(f"the baseline's server did not start: {log.read_text(errors='replace')[-500:]}") from None
            time.sleep(0.05)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--buyers", type=whole, default=20_000)
    parser.add_argument("--units", type=whole, default=100)
    parser.add_argument("--conns", type=whole, default=CONNECTIONS_DEFAULT, help="connections open at once (%(default)s)")
