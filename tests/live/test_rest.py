"""All fan-outs of a process together take at most half of its loop's time."""

from app.live import Hub, hub


async def test_drops_together_rest_as_long_as_they_worked(monkeypatch):
    clock, slept = [100.0], []

    async def sleep(seconds):
        slept.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(hub, "monotonic", lambda: clock[0])
    monkeypatch.setattr(hub.asyncio, "sleep", sleep)
    process = Hub(read_state=None, render=None)
    for _ in range(3):  # three drops, each of which waits for its turn
        await process.rested()
        clock[0] += 0.05
        process.worked(0.05)
    await process.rested()
    assert round(clock[0] - 100.0, 6) == 2 * 3 * 0.05
    slept.clear()
    await process.rested()
    assert slept == []


async def test_a_drop_that_worked_meanwhile_is_rested_from_too(monkeypatch):
    clock = [100.0]
    process = Hub(read_state=None, render=None)

    async def sleep(seconds):
        clock[0] += seconds
        if clock[0] < 100.06:
            process.worked(0.02)

    monkeypatch.setattr(hub, "monotonic", lambda: clock[0])
    monkeypatch.setattr(hub.asyncio, "sleep", sleep)
    process._rested_at = 100.05
    await process.rested()
    assert round(clock[0], 6) == 100.07
