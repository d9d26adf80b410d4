"""All fan-outs of a process together take at most half of its loop's time."""

import asyncio

from app.clock import monotonic
from app.live import Hub

WORK_SECONDS = 0.03


async def test_drops_together_rest_as_long_as_they_worked():
    process = Hub(read_state=None, render=None)
    began = monotonic()
    for _ in range(3):
        process.worked(WORK_SECONDS)
    await process.rested()
    assert monotonic() - began >= 3 * WORK_SECONDS


async def test_whoever_waits_rests_from_what_another_drop_did_meanwhile():
    process = Hub(read_state=None, render=None)
    began = monotonic()
    process.worked(WORK_SECONDS)
    waiting = asyncio.create_task(process.rested())
    await asyncio.sleep(0)
    process.worked(WORK_SECONDS)
    await waiting
    assert monotonic() - began >= 2 * WORK_SECONDS


async def test_a_rested_process_does_not_wait():
    process = Hub(read_state=None, render=None)
    async with asyncio.timeout(1):
        await process.rested()
