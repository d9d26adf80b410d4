"""The crowd's presses, counted in a web process and handed to the ledger: nothing twice, nothing forgotten in silence."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.verdicts import Verdict
from app.errors import LedgerUnreachable
from app.web import demand as demand_module
from app.web.demand import Demand

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Book:
    """The ledger's side: keeps what each word said. `away`: it cannot be reached; `deaf`: it takes the word, its answer is lost."""

    def __init__(self):
        self.counts: dict[tuple, int] = {}
        self.words = 0
        self.until: datetime | None = None
        self.uncounted = 0
        self.stopped = False
        self.away = self.deaf = False

    async def add_demand(self, process, since, counted_until, asks, uncounted=0):
        if self.away:
            raise LedgerUnreachable("away")
        self.words += 1
        for one in asks:
            self.counts[one[:4]] = max(one.asks, self.counts.get(one[:4], 0))
        self.until, self.uncounted = counted_until, uncounted
        if self.deaf:
            raise LedgerUnreachable("the answer was lost")

    async def counter_stopped(self, process):
        self.stopped = True


class Clock:
    def __init__(self):
        self.now = NOON.timestamp()

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "time", clock.time)
    return clock


@pytest.fixture
def book():
    return Book()


@pytest.fixture
def demand(book, clock):
    return Demand(book, lambda drop_id: NOON)


def press(demand: Demand, times: int, verdict: Verdict = Verdict.SOLD_OUT, drop: int = 7) -> None:
    for _ in range(times):
        demand.count(drop, verdict)


async def test_presses_of_one_second_are_one_row_by_drop_and_verdict(demand, book):
    press(demand, 3)
    press(demand, 1, Verdict.RESERVED)
    press(demand, 2, drop=8)
    assert await demand.hand_in()
    assert book.counts == {(7, NOON, 1, "sold_out"): 3, (7, NOON, 1, "reserved"): 1, (8, NOON, 1, "sold_out"): 2}


async def test_a_second_that_goes_on_is_said_again_with_all_of_it(demand, book, clock):
    press(demand, 3)
    await demand.hand_in()
    press(demand, 4)
    await demand.hand_in()
    assert book.counts == {(7, NOON, 1, "sold_out"): 7}
    clock.now += 2
    press(demand, 1)
    await demand.hand_in()
    assert book.counts[7, NOON + timedelta(seconds=2), 1, "sold_out"] == 1


async def test_a_lost_answer_counts_nothing_twice(demand, book):
    press(demand, 3)
    book.deaf = True
    assert not await demand.hand_in()
    book.deaf = False
    press(demand, 1)
    assert await demand.hand_in()
    assert book.counts == {(7, NOON, 1, "sold_out"): 4}


async def test_counts_wait_while_the_ledger_is_away_and_none_is_lost(demand, book, clock):
    book.away = True
    for _ in range(5):
        press(demand, 2)
        assert not await demand.hand_in()
        clock.now += 1
    book.away = False
    assert await demand.hand_in()
    assert sum(book.counts.values()) == 10
    assert len(book.counts) == 5
    assert book.uncounted == 0


async def test_what_has_to_be_forgotten_is_counted_as_forgotten(demand, book, clock, monkeypatch):
    monkeypatch.setattr(demand_module, "KEPT_MAX", 2)
    book.away = True
    for _ in range(4):
        press(demand, 5)
        await demand.hand_in()
        clock.now += 1
    book.away = False
    await demand.hand_in()
    assert (sum(book.counts.values()), book.uncounted) == (10, 10)


async def test_the_word_is_complete_up_to_the_second_before_this_one_and_never_before_all_of_it_is_said(
    demand, book, clock, monkeypatch
):
    monkeypatch.setattr(demand_module, "ROWS_PER_WORD_MAX", 1)
    clock.now += 5
    said = []
    add = book.add_demand

    async def listen(process, since, counted_until, asks, uncounted=0):
        said.append((len(asks), counted_until))
        await add(process, since, counted_until, asks, uncounted)

    book.add_demand = listen
    press(demand, 1)
    press(demand, 1, Verdict.RESERVED)
    await demand.hand_in()
    assert said == [(1, demand.since), (1, NOON + timedelta(seconds=5))]


@pytest.mark.parametrize(
    ("after", "begins", "seconds"),
    [(-3600, -3600, 60), (-30, -30, 1), (0, 0, 1), (7200, 7200, 1), (7300, 7260, 60), (90_001, 90_000, 60)],
)
async def test_far_from_the_opening_a_minute_is_one_row(demand, book, clock, after, begins, seconds):
    clock.now += after
    press(demand, 2)
    await demand.hand_in()
    assert book.counts == {(7, NOON + timedelta(seconds=begins), seconds, "sold_out"): 2}


async def test_a_minute_is_one_row_however_often_it_is_said(demand, book, clock):
    clock.now += 10 * 3600
    for _ in range(3):
        press(demand, 2)
        await demand.hand_in()
        clock.now += 10
    assert list(book.counts.values()) == [6]


async def test_with_nothing_to_say_it_says_only_now_and_then_that_it_lives(demand, book, monkeypatch):
    moment = [0.0]
    monkeypatch.setattr(demand_module, "monotonic", lambda: moment[0])
    await demand.hand_in()
    for _ in range(4):
        moment[0] += 1
        await demand.hand_in()
    assert book.words == 1
    moment[0] += 1
    await demand.hand_in()
    assert book.words == 2


async def test_stopping_in_order_hands_in_the_rest_and_a_lost_ledger_leaves_the_doubt(demand, book):
    press(demand, 3)
    await demand.stop()
    assert (book.counts, book.stopped) == ({(7, NOON, 1, "sold_out"): 3}, True)
    book.stopped, book.away = False, True
    press(demand, 1)
    await demand.stop()
    assert not book.stopped


async def test_what_is_said_is_remembered_no_longer_than_its_time(demand, clock):
    press(demand, 3)
    await demand.hand_in()
    clock.now += 3
    press(demand, 1)
    await demand.hand_in()
    assert len(demand._kept) == 1


async def test_a_ledger_that_does_not_answer_holds_up_no_stop(demand, book, monkeypatch):
    monkeypatch.setattr(demand_module, "STOP_SECONDS_MAX", 0.01)

    async def never(*_):
        await asyncio.Event().wait()

    book.add_demand = never
    press(demand, 1)
    await asyncio.wait_for(demand.stop(), 20)
    assert not book.stopped
