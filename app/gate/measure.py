"""How fast is the gate, and should waiting buyers share one script call? Prints the numbers that lua/README.md quotes.

    python -m app.gate.measure            # starts a Valkey of its own
    python -m app.gate.measure URL        # an EMPTY Redis or Valkey; the drop it makes is removed again

Two ways of taking many waiting buyers to the gate are played with the same crowd:
- pipelined: what Doorman does; a call of reserve.lua per buyer, all calls of a loop turn in one write;
- batched: one call for up to BATCH_BUYERS buyers, by a script made of reserve.lua in a loop.
"""

import asyncio
import json
import re
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from app.domain.drops import Door
from app.domain.ids import new_order_id
from app.domain.keys import digest_of
from app.domain.verdicts import Answer
from app.embedded import valkey
from app.gate import scripts
from app.gate.gate import RESERVE_ARGUMENTS, Gate, answer_of, reserve_arguments
from app.gate.records import Image, KeyRecord, Receipt, Reservation
from app.gate.scripts import Script
from app.gate.wire import Wire

WAITING = (1, 64, 512)
BATCH_BUYERS = 64
BUYERS_A_RUN = 20_000
RECEIPTS = 20_000  # of the large drop that is mended
DROP, VARIANT = 4_000_000_000, 1


def measure(url: str, buyers: int = BUYERS_A_RUN) -> dict:
    """-> {"granted"|"refused": {"pipelined"|"batched": {waiting: {…}}}, "whole_drop": {…}}; units are in the names."""
    return uvloop.run(_measure(url, buyers))


async def _measure(url: str, buyers: int) -> dict:
    gate = await Gate.open(url, timeout_seconds=10, name="measure")
    result: dict = {}
    try:
        for crowd, units in (("granted", buyers), ("refused", 0)):
            for way in ("pipelined", "batched"):
                for waiting in WAITING:
                    await _arm(gate, units)
                    numbers = await _play(gate, way, waiting, buyers if waiting > 1 else buyers // 10)
                    result.setdefault(crowd, {}).setdefault(way, {})[waiting] = numbers
        result["whole_drop"] = await _whole_drop(gate)
        await _clear(gate)
    finally:
        await gate.close()
    return result


async def _arm(gate: Gate, units: int) -> None:
    await _clear(gate)
    image = Image(Door.OPEN, 0, None, 1, 600_000, 0, 10**9, {VARIANT: units})
    await gate.mend(DROP, None, image)


async def _clear(gate: Gate) -> None:
    await gate._wire.call(scripts.command("DEL", *scripts.MEND.keys_of(DROP)))


async def _play(gate: Gate, way: str, waiting: int, buyers: int) -> dict:
    """`waiting` tasks share the queue of buyers; each asks, hears, and takes the next."""
    digest = digest_of(VARIANT, 1)
    queue = iter([Reservation(buyer, "measured", digest, VARIANT, 1, new_order_id(DROP)) for buyer in range(buyers)])
    ask = gate.reserve if way == "pipelined" else _Batches(gate._wire).reserve

    async def one_waits() -> None:
        for wanted in queue:
            await ask(DROP, wanted)

    calls, spent = await _script_calls(gate)
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(one_waits() for _ in range(waiting)))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    calls_after, spent_after = await _script_calls(gate)
    return {
        "buyers_per_second": round(buyers / wall),
        "cpu_us_a_buyer": round(cpu / buyers * 1e6, 1),
        "buyers_a_call": round(buyers / (calls_after - calls), 1),
        "script_us_a_call": round((spent_after - spent) / (calls_after - calls), 1),
    }


async def _whole_drop(gate: Gate) -> dict:
    """How long a mend and a snapshot of a large drop hold the server, and take from end to end."""
    receipts = [Receipt(new_order_id(DROP), buyer, VARIANT, 1, 0, False) for buyer in range(RECEIPTS)]
    digest = digest_of(VARIANT, 1)
    keys = [KeyRecord(receipt.buyer, "measured", receipt.order_id, digest, 0, VARIANT, 1) for receipt in receipts]
    image = Image(Door.OPEN, 0, None, 1, 600_000, 0, 10**9, {VARIANT: RECEIPTS}, receipts, keys)
    await _arm(gate, 0)
    stamp = (await gate.snapshot(DROP)).stamp
    result: dict = {"receipts": RECEIPTS}
    for name, call in (("mend", lambda: gate.mend(DROP, stamp, image)), ("snapshot", lambda: gate.snapshot(DROP))):
        (_, spent), wall = await _script_calls(gate), time.perf_counter()
        await call()
        wall, (_, spent_after) = time.perf_counter() - wall, await _script_calls(gate)
        result |= {f"{name}_script_ms": round((spent_after - spent) / 1000), f"{name}_ms": round(wall * 1000)}
    return result


async def _script_calls(gate: Gate) -> tuple[int, int]:
    """-> how often the server has run a script, and for how many microseconds in all."""
    stats = await gate._wire.call(scripts.command("INFO", "commandstats"))
    found = re.findall(r"cmdstat_eval(?:sha)?:calls=(\d+),usec=(\d+)", stats)
    return sum(int(calls) for calls, _ in found), sum(int(usec) for _, usec in found)


class _Batches:
    """The other way: everyone who waits at the end of a loop turn shares a call, at most BATCH_BUYERS of them."""

    def __init__(self, wire: Wire):
        body = scripts.RESERVE.source.decode().removeprefix("#!lua\n")
        one = f"reserve({{unpack(ARGV, at, at + {RESERVE_ARGUMENTS - 1})}})"
        loop = f"for at = 1, #ARGV, {RESERVE_ARGUMENTS} do answers[#answers + 1] = {one} end"
        source = f"#!lua\nlocal function reserve(ARGV)\n{body}\nend\nlocal answers = {{}}\n{loop}\nreturn answers\n"
        self._script = Script("reserve_in_a_loop", *scripts.RESERVE.key_names, source=source.encode())
        self._wire = wire
        self._waiting: list[tuple[asyncio.Future, bytes]] = []
        self._calls: set[asyncio.Task] = set()

    async def reserve(self, drop_id: int, wanted: Reservation) -> Answer:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._send, drop_id)
        future = loop.create_future()
        self._waiting.append((future, reserve_arguments(wanted)))
        return await future

    def _send(self, drop_id: int) -> None:
        waiting, self._waiting = self._waiting, []
        for first in range(0, len(waiting), BATCH_BUYERS):
            call = asyncio.create_task(self._one_call(drop_id, waiting[first : first + BATCH_BUYERS]))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _one_call(self, drop_id: int, together: list[tuple[asyncio.Future, bytes]]) -> None:
        head = self._script.head(drop_id, RESERVE_ARGUMENTS * len(together))
        replies = await self._wire.call(head + b"".join(arguments for _, arguments in together), self._script)
        for (future, _), reply in zip(together, replies, strict=True):
            future.set_result(answer_of(reply))


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1]), indent=1))
        return
    with tempfile.TemporaryDirectory(prefix="doorman-") as folder:
        server = valkey.start(Path(folder) / "data", Path(folder) / "g.sock", "everysec")
        try:
            print(json.dumps(measure(f"unix://{folder}/g.sock"), indent=1))
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
