"""One drop looked at again and again: what is costly is read less often, and never holds up what is not."""

from datetime import UTC, datetime

import pytest

from app.errors import LedgerUnreachable
from app.ledger import WatchedMoney
from app.purchase import watching
from app.purchase.watching import AUDIT_SECONDS, AUDIT_SHARE, Lookout


class Desk:
    """An office whose ledger only counts what it is asked. `costs`: seconds that the costly part takes, by the test's clock."""

    def __init__(self, clock: list[float]):
        self.clock = clock
        self.costs = 0.0
        self.asked: dict[str, int] = {}
        self.ledger = self.gate = self
        self.drop = type("Drop", (), {"id": 7, "slug": "lamp", "retired": False})()

    def __getattr__(self, name):
        async def answer(*_, **__):
            self.asked[name] = self.asked.get(name, 0) + 1
            if name == "watch_money":
                self.clock[0] += self.costs
                return WatchedMoney(0, 0, 0, 0)
            return {"drop_by_id": self.drop, "peek": None}.get(name, [])

        return answer

    async def depths(self):
        return {}


@pytest.fixture
def clock(monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(watching, "monotonic", lambda: clock[0])
    monkeypatch.setattr(watching, "now", lambda: datetime(2026, 11, 30, tzinfo=UTC))
    return clock


@pytest.fixture
def desk(clock, monkeypatch):
    async def books_of(*_, **__):
        return {"balanced": True, "findings": [], "returning": 0, "refunded": 0, "refused": 0}

    monkeypatch.setattr(watching, "books_of", books_of)
    return Desk(clock)


async def looks(desk, clock, times: int, every: float) -> None:
    lookout = Lookout(desk, desk, 7)
    for _ in range(times):
        await lookout.look()
        clock[0] += every


async def test_what_is_quick_is_read_every_time_and_so_is_the_rest_while_it_costs_nothing(desk, clock):
    await looks(desk, clock, 5, AUDIT_SECONDS)
    assert (desk.asked["watch_variants"], desk.asked["watch_money"]) == (5, 5)


async def test_what_takes_long_is_read_so_much_less_often(desk, clock):
    desk.costs = 0.5
    await looks(desk, clock, 20, 1.0)
    assert desk.asked["watch_variants"] == 20
    spent, passed = desk.asked["watch_money"] * desk.costs, clock[0] - 1000
    assert spent / passed <= AUDIT_SHARE * 1.2
    assert desk.asked["watch_money"] >= 3


async def test_a_ledger_that_is_gone_is_said_and_the_next_look_tries_again(desk, clock, monkeypatch):
    lookout = Lookout(desk, desk, 7)

    async def gone(*_):
        raise LedgerUnreachable("gone")

    desk.watch_sales = gone
    with pytest.raises(LedgerUnreachable):
        await lookout.look()
    del desk.watch_sales
    assert (await lookout.look()).drop is desk.drop


async def test_a_drop_that_is_not_there_is_nothing(desk, clock):
    desk.drop = None
    assert await Lookout(desk, desk, 7).look() is None
