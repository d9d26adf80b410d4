"""A room for the few: read once for all, drawn once a flavour, one latest value for the slow."""

import asyncio

import pytest

from app.live import room as room_module
from app.live.room import Room, RoomFull

SECONDS_MAX = 20


class Shelf:
    """What is watched. Readings wait for `let`, so that a test says when each happens."""

    def __init__(self):
        self.value = 0
        self.reads = 0
        self.draws: list[tuple[int, str]] = []
        self.let = asyncio.Semaphore(0)
        self.fails = False

    def read(self, subject_id):
        async def reader():
            await self.let.acquire()
            self.reads += 1
            if self.fails:
                raise OSError("gone")
            return self.value

        return reader

    def draw(self, reading, flavour):
        self.draws.append((reading, flavour))
        return f"{flavour}:{reading}"


@pytest.fixture
def shelf():
    return Shelf()


@pytest.fixture
def room(shelf, monkeypatch):
    monkeypatch.setattr(room_module, "PUSH_SECONDS", 0.0)  # the shelf says when
    monkeypatch.setattr(room_module, "TOUCH_SECONDS", 0.0)
    return Room(shelf.read, shelf.draw)


async def soon(awaitable):
    return await asyncio.wait_for(awaitable, SECONDS_MAX)


async def test_a_subject_is_read_once_for_all_and_drawn_once_for_each_flavour(room, shelf):
    with room.watching(7, "en", "ada") as first, room.watching(7, "en", "ada") as second, room.watching(7, "de", "ada") as third:
        asking = [asyncio.create_task(watcher.next()) for watcher in (first, second, third)]
        shelf.let.release()
        assert await soon(asyncio.gather(*asking)) == ["en:0", "en:0", "de:0"]
        assert shelf.reads == 1
        assert sorted(shelf.draws) == [(0, "de"), (0, "en")]


async def test_a_slow_watcher_gets_the_newest_and_never_what_was_missed(room, shelf):
    with room.watching(7, "en", "ada") as quick, room.watching(7, "en", "ada") as slow:
        for shelf.value in (1, 2, 3):
            shelf.let.release()
            assert await soon(quick.next()) == f"en:{shelf.value}"
        assert await soon(slow.next()) == "en:3"
        waiting = asyncio.create_task(slow.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()


async def test_nobody_watching_means_nobody_reading(room, shelf):
    with room.watching(7, "en", "ada") as watcher:
        shelf.let.release()
        await soon(watcher.next())
        [task] = [subject.task for subject in room._subjects.values()]
    await soon(asyncio.wait([task]))
    assert task.cancelled()
    assert (room.watchers, room._subjects) == (0, {})


async def test_a_reading_that_fails_tells_nobody_and_is_tried_again(room, shelf):
    with room.watching(7, "en", "ada") as watcher:
        asking = asyncio.create_task(watcher.next())
        shelf.fails = True
        shelf.let.release()
        while shelf.reads < 1:
            await asyncio.sleep(0)
        shelf.fails, shelf.value = False, 5
        shelf.let.release()
        assert await soon(asking) == "en:5"


async def test_a_touch_reads_at_once_and_without_one_the_pace_holds(shelf, monkeypatch):
    monkeypatch.setattr(room_module, "PUSH_SECONDS", 10_000.0)
    room = Room(shelf.read, shelf.draw)
    with room.watching(7, "en", "ada") as watcher:
        for _ in range(2):
            shelf.let.release()
        assert await soon(watcher.next()) == "en:0"
        assert shelf.reads == 1
        shelf.value = 1
        room.touch(7)
        assert await soon(watcher.next()) == "en:1"
        room.touch(8)  # nobody watches that


async def test_nobody_takes_all_the_seats(room, monkeypatch):
    monkeypatch.setattr(room_module, "WATCHERS_EACH_MAX", 1)
    with room.watching(7, "en", "ada"):
        with pytest.raises(RoomFull), room.watching(8, "en", "ada"):
            pass
        with room.watching(7, "en", "grace"):
            assert room.watchers == 2
    with room.watching(7, "en", "ada"):
        assert room.watchers == 1


async def test_watchers_are_bounded_and_leave_no_trace(room, shelf, monkeypatch):
    monkeypatch.setattr(room_module, "WATCHERS_MAX", 1)
    with room.watching(7, "en", "ada"):
        with pytest.raises(RoomFull), room.watching(8, "en", "grace"):
            pass
        assert room.watchers == 1
    with room.watching(8, "en", "ada"):
        assert room.watchers == 1
