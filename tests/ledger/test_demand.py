from datetime import UTC, datetime, timedelta

from app.ledger import Asks

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


async def say(ledger, *counts: tuple[float, str, int], drop=7, process="one", until=60.0, seconds=1, uncounted=0) -> None:
    """A web process hands in its counts: (second after noon, verdict, presses)."""
    told = [Asks(drop, at(second), seconds, verdict, asks) for second, verdict, asks in counts]
    await ledger.add_demand(process, NOON, at(until), told, uncounted)


async def totals(ledger, drop=7) -> dict[str, int]:
    return (await ledger.demand_totals(drop)).by_verdict


async def test_counts_said_twice_are_counted_once_and_a_larger_count_replaces_a_smaller(ledger):
    for asks in (3, 3, 5, 4):
        await say(ledger, (0, "sold_out", asks))
    assert await totals(ledger) == {"sold_out": 5}


async def test_several_processes_add_up_and_drops_do_not(ledger):
    await say(ledger, (0, "reserved", 1), (0, "sold_out", 9))
    await say(ledger, (0, "sold_out", 4), process="two")
    await say(ledger, (0, "sold_out", 100), drop=8)
    assert await totals(ledger) == {"reserved": 1, "sold_out": 13}
    assert [(*one,) for one in await ledger.demand_since(7, at(0))] == [(at(0), 1, "reserved", 1), (at(0), 1, "sold_out", 13)]
    assert await ledger.demand_since(7, at(1)) == []


async def test_nobody_pressed(ledger):
    demand = await ledger.demand_totals(7)
    assert (demand.asks, demand.first, demand.last) == (0, None, None)
    assert await ledger.demand_peak(7) is None
    assert await ledger.demand_reach(7, 0.98) is None


async def test_the_peak_is_the_busiest_second_and_a_minute_is_none(ledger):
    await say(ledger, (0, "reserved", 2), (1, "reserved", 1), (1, "sold_out", 5))
    await say(ledger, (60, "sold_out", 500), seconds=60)
    assert await ledger.demand_peak(7) == (at(1), 6)
    assert (await ledger.demand_totals(7)).last == at(120)


async def test_the_reach_leaves_a_long_tail_out(ledger):
    await say(ledger, (2, "reserved", 50), (3, "sold_out", 48), (3000, "sold_out", 2))
    assert await ledger.demand_reach(7, 0.98) == (at(2), at(3))
    assert await ledger.demand_reach(7, 1.0) == (at(2), at(3000))


async def test_buckets_begin_where_they_are_asked_to_and_hold_nothing_outside(ledger):
    await say(ledger, (1, "sold_out", 10), (2, "sold_out", 1), (6, "sold_out", 2), (7, "reserved", 3), (12, "sold_out", 9))
    found = await ledger.demand_buckets(7, at(2), at(12), 5)
    assert [(one.second, one.verdict, one.asks) for one in found] == [(at(2), "sold_out", 3), (at(7), "reserved", 3)]


async def test_a_process_that_died_leaves_a_gap_in_the_time_in_which_it_counted(ledger):
    await say(ledger, (0, "sold_out", 1), until=30)
    assert await ledger.counting_gaps(at(0), at(60), now=at(40)) == []  # it may speak yet
    [gap] = await ledger.counting_gaps(at(0), at(60), now=at(50))
    assert (gap.counted_until, gap.uncounted, gap.died) == (at(30), 0, True)
    assert await ledger.counting_gaps(at(0), at(20), now=at(50)) == []  # it died afterwards
    assert await ledger.counting_gaps(at(40), at(60), now=at(100)) == []  # it was dead before


async def test_a_process_that_stops_in_order_leaves_no_gap(ledger):
    await say(ledger, (0, "sold_out", 1), until=30)
    await ledger.counter_stopped("one")
    assert await ledger.counting_gaps(at(0), at(60), now=at(100)) == []
    assert await totals(ledger) == {"sold_out": 1}


async def test_what_a_process_had_to_forget_is_said_also_after_it_stopped(ledger):
    await say(ledger, until=30, uncounted=12)
    await say(ledger, until=20, uncounted=3)  # an older word arrives late
    await ledger.counter_stopped("one")
    [gap] = await ledger.counting_gaps(at(0), at(60), now=at(31))
    assert (gap.counted_until, gap.uncounted, gap.died) == (at(30), 12, False)
