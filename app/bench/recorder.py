"""`doorman bench recorder`: the ledger writes granted orders down, re-checking stock, limit and key, a batch per transaction.

Theirs is one multi-row INSERT per batch that checks nothing: as many rows into the same tables (orders, movements, events), on one
connection, from the same arrays. Both commit with synchronous_commit on, on an embedded PostgreSQL of their own, in turn.
"""

import argparse
import asyncio
import signal
import statistics
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import asyncpg

from app.bench import cores
from app.bench.paired import PAIRS_DEFAULT
from app.bench.report import Row, print_rows, whole
from app.domain.drops import Drop
from app.domain.ids import new_order_id
from app.domain.keys import digest_of
from app.embedded import folders, postgres
from app.ledger import Entry, Ledger, NewDrop
from app.ledger.migrate import migrate
from app.purchase.recording import BATCH_ENTRIES_MAX

TARGET = 0.5
HOLD_SECONDS = 600
PLAIN_INSERT = """
WITH written AS (
    INSERT INTO orders (id, drop_id, variant_id, shopper_id, quantity, key, digest, state, amount_minor, currency, reserved_at,
                        deadline)
    SELECT id, $1, $2, shopper_id, 1, key, $3, 'PENDING_PAYMENT', 4900, 'EUR', $4, $5
    FROM unnest($6::uuid[], $7::bigint[], $8::text[]) AS t (id, shopper_id, key)
    RETURNING id
), moved AS (
    INSERT INTO movements (order_id, kind, drop_id, variant_id, units) SELECT id, 'sold', $1, $2, 1 FROM written
)
INSERT INTO events (order_id, drop_id, kind, detail) SELECT id, $1, 'held', '{"by": "recorder", "units": 1}' FROM written
"""


def run(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="doorman-recorder-") as temporary:
        rows, findings = measure(Path(temporary), arguments.pairs, arguments.batches)
    return print_rows("recorder", rows, findings, arguments)


def measure(folder: Path, pairs: int, batches: int) -> tuple[list[Row], list[str]]:
    folder.chmod(0o711)
    process, dsn = postgres.start(
        postgres.folder_for(folder), folders.socket_folder(folder) / "postgres", "recorder", log=folder / "postgres.log"
    )
    try:
        cores.pin(0, cores.LOAD)
        return asyncio.run(_measure(dsn, pairs, batches))
    finally:
        process.send_signal(signal.SIGINT)  # its "fast shutdown"
        process.wait()
        folders.drop_socket_folder(folder)


async def _measure(dsn: str, pairs: int, batches: int) -> tuple[list[Row], list[str]]:
    await migrate(dsn)
    ledger = await Ledger.open(dsn, name="recorder", connections_max=1, statement_timeout_seconds=60)
    plain = await asyncpg.connect(dsn)
    try:
        shop_id = await ledger.create_shop("Bench", "bench@example.org")
        shoppers = await ledger.mint_shoppers(BATCH_ENTRIES_MAX)
        taken, worked, recorded = [], [], 0
        backend = {
            ours: await plain.fetchval("SELECT pid FROM pg_stat_activity WHERE application_name = 'doorman-recorder'"),
            theirs: await plain.fetchval("SELECT pg_backend_pid()"),
        }
        for number in range(pairs + 1):
            sides = [ours, theirs] if number % 2 else [theirs, ours]
            drops = {side: await _drop(ledger, shop_id, batches, side) for side in sides}
            seconds, cpu = {}, {}
            for side in sides:
                entries = [_entries(drops[side], shoppers) for _ in range(batches)]
                began, used = time.perf_counter(), cores.cpu_seconds(backend[side])
                await side(ledger, plain, drops[side], entries)
                seconds[side], cpu[side] = time.perf_counter() - began, cores.cpu_seconds(backend[side]) - used
            recorded += await plain.fetchval("SELECT count(*) FROM orders WHERE drop_id = $1", drops[ours].id)
            if number:  # the first pair warms both up
                taken.append((seconds[ours], seconds[theirs]))
                worked.append((cpu[ours], cpu[theirs]))
        durable = await plain.fetchval("SHOW synchronous_commit")
    finally:
        await ledger.close()
        await plain.close()
    orders = batches * BATCH_ENTRIES_MAX
    findings = []
    if recorded != (pairs + 1) * orders:
        findings.append(f"{recorded} of {(pairs + 1) * orders} orders are in the ledger")
    if durable != "on":
        findings.append(f"synchronous_commit was {durable}")
    ratios = [theirs_seconds / ours_seconds for ours_seconds, theirs_seconds in taken]
    return [
        Row(
            name="recorder",
            unit="orders a second",
            ours=statistics.median(orders / one for one, _ in taken),
            theirs=statistics.median(orders / other for _, other in taken),
            against="one multi-row INSERT into orders, movements and events that checks nothing",
            value=statistics.median(ratios),
            target=TARGET,
            at_least=True,
            spread=(min(ratios), max(ratios)),
            more={
                "orders a batch": BATCH_ENTRIES_MAX,
                "batches a side": batches,
                "CPU of the connection's server process, us an order": [
                    round(1e6 * statistics.median(used) / orders, 1) for used in zip(*worked, strict=True)
                ],
                "the same as a ratio": round(statistics.median(other / one for one, other in worked), 3),
            },
        )
    ], findings


async def ours(ledger: Ledger, plain: asyncpg.Connection, drop: Drop, batches: list[list[Entry]]) -> None:
    for entries in batches:
        await ledger.record(drop.id, entries)


async def theirs(ledger: Ledger, plain: asyncpg.Connection, drop: Drop, batches: list[list[Entry]]) -> None:
    for entries in batches:
        first = entries[0]
        columns = zip(*((entry.order_id, entry.buyer, entry.key) for entry in entries), strict=True)
        await plain.execute(
            PLAIN_INSERT, drop.id, first.variant_id, first.digest, first.reserved_at, first.pay_by, *map(list, columns)
        )


async def _drop(ledger: Ledger, shop_id: int, batches: int, side) -> Drop:
    return await ledger.create_drop(
        NewDrop(
            shop_id=shop_id,
            slug=f"{side.__name__}-{uuid4().hex[:12]}",
            title="Recorded",
            price_minor=4900,
            currency="EUR",
            opens_at=datetime.now(UTC),
            variants=(("Standard", batches * BATCH_ENTRIES_MAX),),
            per_person=batches,
        )
    )


def _entries(drop: Drop, shoppers: list[int]) -> list[Entry]:
    """-> what a full read of the journal holds: one order of everybody."""
    variant_id, now = drop.variants[0].id, datetime.now(UTC)
    digest, pay_by = digest_of(variant_id, 1), now + timedelta(seconds=HOLD_SECONDS)
    return [
        Entry(
            order_id=new_order_id(drop.id), buyer=shopper, variant_id=variant_id, quantity=1, key=uuid4().hex, digest=digest,
            reserved_at=now, pay_by=pay_by,
        )
        for shopper in shoppers
    ]  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole, default=PAIRS_DEFAULT)
    parser.add_argument("--batches", type=whole, default=4, help="batches a pair and side (%(default)s)")
