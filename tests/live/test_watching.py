"""How many people watch, over several processes: each hub here has its own feed, and they share nothing but Valkey."""

import asyncio
import contextlib

import pytest

from app.live import hub as hub_module
from app.live.feed import Feed
from app.live.hub import WATCHING_DROPS_PER_MESSAGE, WATCHING_FRESH_SECONDS, WATCHING_REFRESH_SECONDS

from .watchers import SECONDS_MAX, Shelf, Watcher


@pytest.fixture
async def process(redis_url, monkeypatch):
    """Starts 'processes': a hub with a feed of its own."""
    monkeypatch.setattr(hub_module, "WATCHING_SECONDS", 0.05)
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 0.1)
    started = []

    async def start():
        feed = await Feed.open(redis_url)
        hub = Shelf().hub(feed)
        subscribed = asyncio.Event()

        def hear(message):
            hub.hear(message)
            subscribed.set()

        started.append((hub, feed, asyncio.create_task(feed.subscribe(hear))))
        async with asyncio.timeout(SECONDS_MAX):
            await subscribed.wait()
        return hub

    yield start
    for hub, feed, task in started:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await hub.close()
        await feed.close()


async def sees_watching(watcher, count):
    async with asyncio.timeout(SECONDS_MAX):
        while (await watcher.sees())["watching"] != count:
            pass


async def test_everybody_sees_how_many_watch_over_all_processes(process):
    here, there = await process(), await process()
    watcher, far = Watcher(here), Watcher(there)
    more = [Watcher(there) for _ in range(3)] + [Watcher(there, drop_id=8)]
    await sees_watching(watcher, 5)
    await sees_watching(far, 5)
    for one in more:
        one.leaves()
    await sees_watching(watcher, 2)
    far.leaves()
    await sees_watching(watcher, 1)


async def test_a_process_that_starts_later_learns_what_the_others_have(process, monkeypatch):
    monkeypatch.setattr(hub_module, "WATCHING_REFRESH_SECONDS", 0.3)
    here = await process()
    for _ in range(3):
        await Watcher(here).sees()
    there = await process()
    await sees_watching(Watcher(there), 4)


async def test_the_people_of_a_dead_process_fade_from_the_count(monkeypatch):
    hub, now = Shelf().hub(), 1_000.0
    monkeypatch.setattr(hub_module, "monotonic", lambda: now)
    hub.hear({"kind": "watching", "process": "a", "counts": {"7": 3}})
    hub.hear({"kind": "watching", "process": "b", "counts": {"7": 4}})
    assert hub.watching(7) == 7
    now += WATCHING_FRESH_SECONDS / 2
    hub.hear({"kind": "watching", "process": "b", "counts": {"7": 5}})
    assert hub.watching(7) == 8
    now += WATCHING_FRESH_SECONDS / 2 + 1
    assert hub.watching(7) == 5
    hub.hear({"kind": "watching", "process": "c", "counts": {"9": 1}})
    assert set(hub._elsewhere) == {"b", "c"}


async def test_only_what_changed_is_told_and_everything_now_and_then():
    hub = Shelf().hub()
    await Watcher(hub).sees()
    assert hub._counts_to_tell(100.0) == [{"7": 1}]
    assert hub._counts_to_tell(101.0) == []
    watcher = Watcher(hub, drop_id=8)
    await watcher.sees()
    assert hub._counts_to_tell(102.0) == [{"8": 1}]
    watcher.leaves()
    await watcher.ended()
    assert hub._counts_to_tell(103.0) == [{"8": 0}]
    assert hub._counts_to_tell(104.0) == []
    assert hub._counts_to_tell(100.0 + WATCHING_REFRESH_SECONDS) == [{"7": 1}]
    await hub.close()


async def test_counts_of_many_drops_go_in_messages_of_bounded_size():
    hub = Shelf().hub()
    for drop_id in range(1, WATCHING_DROPS_PER_MESSAGE + 2):
        await Watcher(hub, drop_id=drop_id).sees()
    assert [len(message) for message in hub._counts_to_tell(0.0)] == [WATCHING_DROPS_PER_MESSAGE, 1]
    await hub.close()


@pytest.mark.parametrize("counts", [None, [], {"x": 1}, {"7": "many"}, {"7": None}])
async def test_odd_counts_of_a_stranger_change_nothing(counts, redis_url):
    hub = Shelf().hub()
    with contextlib.suppress(ValueError):  # the feed logs it
        hub.hear({"kind": "watching", "process": "a", "counts": counts})
    assert hub.watching(7) == 0


async def test_our_own_count_is_not_counted_twice_when_the_feed_brings_it_back(process):
    hub = await process()
    watcher = Watcher(hub)
    await watcher.sees()
    await asyncio.sleep(0.3)
    assert hub.watching(7) == 1
