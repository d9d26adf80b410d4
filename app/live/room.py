"""A room: the few who watch one subject closely, told its newest state about once a second.

For sellers, beside the hub of the crowd and untouched by it: a subject is read once per process however many watch it there, drawn
once per flavour, and read by nobody while nobody watches.

Guarantees
* One push every PUSH_SECONDS, and sooner when somebody says that the subject changed (`touch`), though never within TOUCH_SECONDS.
  Where reading takes long, pushes are rarer: it never takes more than READING_SHARE of the time.
* A watcher who reads slowly has one latest-value slot, never a queue: `next` gives the newest text, whatever was missed meanwhile.
* Watchers are bounded; who is refused hears RoomFull.

A reading that fails is logged once and tried again; watchers are told nothing meanwhile, and notice by the time of what they have.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from app.clock import monotonic

PUSH_SECONDS = 1.0
TOUCH_SECONDS = 0.25
READING_SHARE = 0.2
WATCHERS_MAX = 200  # of one process
WATCHERS_EACH_MAX = 12  # of these, of one person

log = logging.getLogger("doorman.room")

Reader = Callable[[], Awaitable[Any]]
Read = Callable[[int], Reader]  # subject -> what reads it, again and again
Draw = Callable[[Any, str], str]  # reading, flavour -> text


class RoomFull(Exception):
    """No more watchers in this process, or no more of this person."""


class Watcher:
    """One who watches. `next` waits for something newer than what it gave before."""

    def __init__(self, subject: "Subject", flavour: str):
        self.subject, self.flavour = subject, flavour
        self.seen = 0

    async def next(self) -> str:
        """-> the newest text that this watcher has not seen."""
        await self.subject.newer_than(self.seen)
        self.seen = self.subject.seq
        return self.subject.text(self.flavour)


class Subject:
    """What some watch: its newest reading, and the loop that keeps it new."""

    def __init__(self, reader: Reader, draw: Draw):
        self.draw = draw
        self.watchers = 0
        self.seq = 0
        self._reader = reader
        self._reading: Any = None
        self._texts: dict[str, str] = {}
        self._news = asyncio.Condition()
        self._wake = asyncio.Event()
        self.task = asyncio.get_running_loop().create_task(self._read_for_ever())

    def touch(self) -> None:
        """It has changed: read now."""
        self._wake.set()

    async def newer_than(self, seq: int) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self.seq > seq)

    def text(self, flavour: str) -> str:
        if flavour not in self._texts:
            self._texts[flavour] = self.draw(self._reading, flavour)
        return self._texts[flavour]

    async def _read_for_ever(self) -> None:
        failed = False
        while True:
            self._wake.clear()  # before reading: what changes from here on wakes us again
            started = monotonic()
            try:
                reading = await self._reader()
            except Exception:
                if not failed:
                    log.exception("what is watched could not be read; trying again")
                failed = True
            else:
                failed = False
                async with self._news:
                    self._reading, self._texts, self.seq = reading, {}, self.seq + 1
                    self._news.notify_all()
            took = monotonic() - started
            await asyncio.sleep(max(0.0, TOUCH_SECONDS - took))
            try:
                async with asyncio.timeout(max(PUSH_SECONDS, took / READING_SHARE) - (monotonic() - started)):
                    await self._wake.wait()
            except TimeoutError:
                pass


class Room:
    """One per process and kind of subject."""

    def __init__(self, read: Read, draw: Draw):
        self.read, self.draw = read, draw
        self._subjects: dict[int, Subject] = {}
        self._watchers: Counter[Hashable] = Counter()

    @property
    def watchers(self) -> int:
        return self._watchers.total()

    @contextmanager
    def watching(self, subject_id: int, flavour: str, person: Hashable) -> Iterator[Watcher]:
        """A watcher for as long as the block runs, counted as this `person`'s. RoomFull."""
        if self.watchers >= WATCHERS_MAX or self._watchers[person] >= WATCHERS_EACH_MAX:
            raise RoomFull
        subject = self._subjects.get(subject_id)
        if subject is None:
            subject = self._subjects[subject_id] = Subject(self.read(subject_id), self.draw)
        subject.watchers += 1
        self._watchers[person] += 1
        try:
            yield Watcher(subject, flavour)
        finally:
            self._watchers[person] -= 1
            if not self._watchers[person]:
                del self._watchers[person]
            subject.watchers -= 1
            if not subject.watchers:
                subject.task.cancel()
                del self._subjects[subject_id]

    def touch(self, subject_id: int) -> None:
        """Somebody says that this subject changed."""
        subject = self._subjects.get(subject_id)
        if subject is not None:
            subject.touch()
