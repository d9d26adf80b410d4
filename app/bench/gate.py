"""`doorman bench gate`: what one buyer's call of the gate costs the web process, by the number of buyers who wait at the same time.

Plays granted and refused buyers through `Gate.reserve` (the code of the buy path) against a Valkey of its own, and prints CPU of
this process per buyer (client and event loop, no HTTP) and what the script costs the server, by its own counters.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import redis.asyncio
import uvloop

from app.bench.report import Row, compared, print_report, row_lines, whole
from app.domain.drops import Door
from app.domain.ids import new_order_text
from app.domain.keys import digest_of
from app.embedded import valkey
from app.gate import Gate, Image, Reservation
from app.gate.scripts import RESERVE

WAITING = (1, 16, 64, 256)
VARIANT = 1
HOLD_MS = 600_000
WAITING_JUDGED, CPU_US_MAX, SCRIPT_MS_MAX = 64, 6.0, 2
SLOWLOG_ENTRIES = 128


def run(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="doorman-gate-") as temporary:
        server = valkey.start(Path(temporary) / "data", Path(temporary) / "g.sock", arguments.appendfsync)
        try:
            rows, slow = uvloop.run(_measure(f"unix://{temporary}/g.sock", arguments.buyers, arguments.rounds))
        finally:
            server.terminate()
            server.wait()
    targets = [target.as_dict() for target in _targets(rows, slow)]
    findings = [f"{row['wrong']} wrong verdicts at {row['waiting']} waiting" for row in rows if row["wrong"]]
    findings += compared(targets, arguments.compare)
    summary = {
        "measure": "gate",
        "appendfsync": arguments.appendfsync,
        "buyers": arguments.buyers,
        "waiting": rows,
        "rows": targets,
        "findings": findings,
    }
    lines = ["crowd    waiting  buyers/s  CPU us/buyer  script us/buyer"]
    lines += [
        f"{row['crowd']:<7}  {row['waiting']:>7}  {row['buyers_per_second']:>8,}  {row['cpu_us']:>12.1f}  {row['script_us']:>15.1f}"
        for row in rows
    ]
    return print_report(summary, [*lines, *row_lines(targets)], arguments.json)


def _targets(rows: list[dict], slow: int) -> list[Row]:
    """`slow`: scripts that took longer than SCRIPT_MS_MAX."""
    told = []
    for crowd in ("granted", "refused"):
        cpu = next(row["cpu_us"] for row in rows if row["crowd"] == crowd and row["waiting"] == WAITING_JUDGED)
        told.append(Row(f"gate call, {crowd}", f"CPU us a buyer, {WAITING_JUDGED} waiting", cpu, cpu, CPU_US_MAX, at_least=False))
    told.append(Row("slow scripts", f"calls longer than {SCRIPT_MS_MAX} ms, by the server's log", slow, slow, 0, at_least=False))
    return told


async def _measure(url: str, buyers: int, rounds: int) -> tuple[list[dict], int]:
    """-> (one row per crowd and number of waiting buyers, numbers are medians of `rounds`; scripts longer than SCRIPT_MS_MAX)."""
    gate = await Gate.open(url, timeout_seconds=10, name="bench")
    server = redis.asyncio.Redis.from_url(url)
    await server.config_set("slowlog-log-slower-than", 1000 * SCRIPT_MS_MAX)
    drops, rows = iter(range(1, 1_000_000)), []
    try:
        for crowd in ("granted", "refused"):
            for waiting in WAITING:
                count = buyers if waiting > 1 else buyers // 10  # alone, each buyer waits a whole round trip
                played = [await _play(gate, server, next(drops), crowd, waiting, count) for _ in range(rounds)]
                numbers = {
                    name: statistics.median(one[name] for one in played) for name in ("buyers_per_second", "cpu_us", "script_us")
                }
                numbers["buyers_per_second"] = round(numbers["buyers_per_second"])
                rows.append({"crowd": crowd, "waiting": waiting, **numbers, "wrong": sum(one["wrong"] for one in played)})
        calls = [str(entry["command"]) for entry in await server.slowlog_get(SLOWLOG_ENTRIES)]
        slow = sum("EVALSHA" in call and RESERVE.sha in call for call in calls)
    finally:
        await gate.close()
        await server.aclose()
    return rows, slow


async def _play(gate: Gate, server, drop_id: int, crowd: str, waiting: int, buyers: int) -> dict:
    """`waiting` queues of buyers, each asking once, one after the other."""
    image = Image(Door.OPEN, 0, None, 1, HOLD_MS, 0, 10**9, {VARIANT: buyers if crowd == "granted" else 0}, [], [], [])
    await gate.mend(drop_id, None, image)
    digest, numbers, verdicts = digest_of(VARIANT, 1), iter(range(1, buyers + 1)), []

    async def queue() -> None:
        for buyer in numbers:
            answer = await gate.reserve(drop_id, Reservation(buyer, "bench", digest, VARIANT, 1, new_order_text(drop_id)))
            verdicts.append(answer.verdict)

    script, cpu, wall = await _script_us(server), time.process_time(), time.perf_counter()
    await asyncio.gather(*(queue() for _ in range(waiting)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    right = "reserved" if crowd == "granted" else "sold_out"
    return {
        "buyers_per_second": buyers / wall,
        "cpu_us": cpu / buyers * 1e6,
        "script_us": (await _script_us(server) - script) / buyers,
        "wrong": sum(verdict != right for verdict in verdicts) + buyers - len(verdicts),
    }


async def _script_us(server) -> int:
    """-> microseconds that the server has spent in scripts so far."""
    stats = await server.info("commandstats")
    return sum(stats[name]["usec"] for name in ("cmdstat_evalsha", "cmdstat_eval") if name in stats)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--buyers", type=whole, default=20_000, help="buyers a round (%(default)s)")
    parser.add_argument("--rounds", type=whole, default=3, help="rounds, of which the median counts (%(default)s)")
    parser.add_argument("--appendfsync", choices=("always", "everysec"), default="always")
