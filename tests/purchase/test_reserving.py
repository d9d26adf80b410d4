"""The counter: answers from the gate, and no's from memory that never hide a yes."""

import asyncio

import pytest

from app.errors import GateUnreachable
from app.gate import Gate
from app.purchase import reserving


async def sold_out_counter(shop, drop):
    """A counter that has learnt that nothing is left."""
    counter = shop.counter()
    await counter.buy(drop, await shop.shopper(), drop.variants[0], 1, "learn")
    await asyncio.gather(*list(counter._refreshing.values()))
    return counter


async def test_a_no_from_memory_asks_nobody(shop, monkeypatch):
    drop = await shop.opens(units=1)
    await shop.holds(drop, await shop.shopper())
    counter = await sold_out_counter(shop, drop)

    async def unasked(*_):
        raise AssertionError("the gate was asked")

    monkeypatch.setattr(shop.gate, "reserve", unasked)
    stranger = await shop.shopper()
    assert (await counter.buy(drop, stranger, drop.variants[0], 1, "k")).verdict == "all_held"
    assert counter.answers_from_memory == 1


async def test_a_winner_who_lost_the_reply_finds_the_order_behind_the_memory(shop):
    drop = await shop.opens(units=1)
    winner = await shop.shopper()
    first = await shop.buys(drop, winner, key="mine")
    counter = await sold_out_counter(shop, drop)
    again = await counter.buy(drop, winner, drop.variants[0], 1, "mine")
    assert (again.verdict, again.order_id, again.pay_by_ms) == ("reserved", first.order_id, first.pay_by_ms)


async def test_someone_whose_order_expired_still_finds_it_under_the_old_key(shop):
    drop = await shop.opens(units=1)
    winner = await shop.shopper()
    order = await shop.holds(drop, winner, key="mine")
    await shop.deadline_passes(order)
    await shop.sweeps()
    await shop.holds(drop, await shop.shopper())
    counter = await sold_out_counter(shop, drop)
    assert (await counter.buy(drop, winner, drop.variants[0], 1, "mine")).order_id == order


async def test_the_memory_is_never_older_than_a_second(shop, monkeypatch):
    drop = await shop.opens(units=1)
    order = await shop.holds(drop, await shop.shopper())
    counter = await sold_out_counter(shop, drop)
    await shop.deadline_passes(order)
    await shop.sweeps()
    moment = reserving.monotonic() + reserving.MEMORY_SECONDS + 0.001
    monkeypatch.setattr(reserving, "monotonic", lambda: moment)
    assert (await counter.buy(drop, await shop.shopper(), drop.variants[0], 1, "k")).verdict == "reserved"


async def test_a_memory_that_is_too_old_answers_nobody_but_spares_its_names(shop, monkeypatch):
    drop = await shop.opens(units=1)
    await shop.holds(drop, await shop.shopper())
    counter = await sold_out_counter(shop, drop)
    asked, real = [], shop.gate.peek

    async def peek(drop_id, **wanted):
        asked.append(wanted["known"])
        return await real(drop_id, **wanted)

    monkeypatch.setattr(shop.gate, "peek", peek)
    remembered = counter._memory[drop.id][0]
    counter.forget_all()
    assert counter.refuses_at_once(drop.id, await shop.shopper(), drop.variants[0].id) is None
    await counter.buy(drop, await shop.shopper(), drop.variants[0], 1, "k")
    await asyncio.gather(*list(counter._refreshing.values()))
    assert asked == [remembered]
    assert counter._memory[drop.id][0].holders == remembered.holders != frozenset()


async def test_memories_are_bounded(shop, monkeypatch):
    monkeypatch.setattr(reserving, "MEMORIES_MAX", 2)
    counter, drops = shop.counter(), [await shop.opens(units=1) for _ in range(4)]
    for drop in drops:
        await shop.holds(drop, await shop.shopper())
        await counter.buy(drop, await shop.shopper(), drop.variants[0], 1, "learn")
        await asyncio.gather(*list(counter._refreshing.values()))
    assert list(counter._memory) == [drop.id for drop in drops[2:]]


async def test_one_shopper_may_not_hammer(shop):
    drop = await shop.opens(units=1)
    counter = shop.counter(buy_limit=(3, 60.0))
    shopper = await shop.shopper()
    verdicts = [(await counter.buy(drop, shopper, drop.variants[0], 1, f"k{i}")).verdict for i in range(5)]
    assert verdicts[3:] == ["too_fast", "too_fast"]
    assert (await counter.buy(drop, await shop.shopper(), drop.variants[0], 1, "k")).verdict != "too_fast"


async def test_a_gate_out_of_reach_is_not_ready(shop):
    drop = await shop.opens(units=1)
    nowhere = await Gate.open("unix:///nonexistent/gate.sock", timeout_seconds=0.2, name="nowhere")
    from app.purchase.reserving import Counter

    answer = await Counter(nowhere, (100, 1.0)).buy(drop, await shop.shopper(), drop.variants[0], 1, "k")
    assert answer.verdict == "not_ready" and answer.retry_after_seconds >= 1
    with pytest.raises(GateUnreachable):
        await nowhere.peek(drop.id)
    await nowhere.close()


@pytest.mark.parametrize("round", range(10))
async def test_one_unit_and_two_hundred_buyers_make_one_winner(shop, round):
    drop = await shop.opens(units=1)
    buyers = await shop.ledger.mint_shoppers(200)
    counters = [shop.counter(), shop.counter()]
    answers = await asyncio.gather(*(counters[i % 2].buy(drop, buyer, drop.variants[0], 1, "k") for i, buyer in enumerate(buyers)))
    assert sorted({answer.verdict for answer in answers}) == ["all_held", "reserved"]
    assert sum(answer.verdict == "reserved" for answer in answers) == 1
    await shop.records(drop)
    assert (await shop.books_close(drop))["held"] == 1
