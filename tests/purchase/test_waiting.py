"""Second chances: who is next gets the unit that comes back, in order, exactly once; nobody is called for what cannot be had."""

import asyncio
from datetime import timedelta

import pytest

from app import clock
from app.domain.drops import Door
from app.domain.orders import OrderState
from app.ledger import Wish
from app.purchase.drops import add_units, change_door
from app.purchase.refunding import refund_order
from app.purchase.waiting import Lists
from tests.doubles import Died, ListQueue

# ---- joining -----------------------------------------------------------------------------------------------------------------


async def test_a_crowd_that_joins_at_once_is_one_line(shop):
    drop = await shop.opens(units=1)
    await shop.holds(drop, await shop.shopper())
    lists = Lists(shop.ledger, shop.gate, shop.feed, (1000, 1.0))
    shoppers = await shop.ledger.mint_shoppers(300)
    joined = await asyncio.gather(*(lists.join(drop.id, Wish(shopper, drop.variants[0].id, 1)) for shopper in shoppers))
    assert [answer.place.number for answer in joined] == list(range(1, 301))
    assert [answer.place.ahead for answer in joined] == list(range(300))


async def test_one_persons_joins_at_once_are_one_place(shop):
    drop = await shop.opens(units=1)
    await shop.holds(drop, await shop.shopper())
    lists, ada = Lists(shop.ledger, shop.gate, shop.feed, (1000, 1.0)), await shop.shopper()
    joined = await asyncio.gather(*(lists.join(drop.id, Wish(ada, drop.variants[0].id, 1)) for _ in range(20)))
    assert sum(answer.fresh for answer in joined) == 1
    assert {answer.place.number for answer in joined} == {1}


async def test_joins_one_after_the_other_each_find_their_way(shop):
    """Whoever joins in the very moment in which the last ones are done starts the next transaction."""
    drop = await shop.opens(units=1)
    lists = Lists(shop.ledger, shop.gate, shop.feed, (1000, 1.0))
    for number in range(1, 30):
        async with asyncio.timeout(10):
            joined = await lists.join(drop.id, Wish(await shop.shopper(), drop.variants[0].id, 1))
        assert joined.place.number == number
        async with asyncio.timeout(10):
            assert await lists.leave(drop.id, drop.variants[0].id, joined.place.shopper_id)


# ---- units that come back ------------------------------------------------------------------------------------------------------


async def lapses(shop, drop, order):
    await shop.deadline_passes(order)
    await shop.sweeps()
    await shop.records(drop)


async def cancels(shop, drop, order):
    await shop.till().cancel(order, (await shop.ledger.order(order)).shopper_id)
    await shop.records(drop)


async def declined_for_good(shop, drop, order):
    shopper = (await shop.ledger.order(order)).shopper_id
    for n in range(1, drop.payment_attempts + 1):
        await shop.till(ListQueue()).submit(order, shopper, "pm_card_chargeDeclined")
        await shop.till().charge(order, n)
    await shop.records(drop)


async def refunded(shop, drop, order):
    shopper = (await shop.ledger.order(order)).shopper_id
    await shop.till(ListQueue()).submit(order, shopper, "pm_card_visa")
    await shop.till().charge(order, 1)
    await refund_order(shop.ledger, order, restock=True)
    await shop.sweeps()
    await shop.records(drop)


async def added(shop, drop, order):
    await add_units(shop, drop.slug, None, 1)
    await shop.records(drop)


@pytest.mark.parametrize("comes_back", [lapses, cancels, declined_for_good, refunded, added])
async def test_a_unit_that_comes_back_is_offered_to_who_is_next(shop, comes_back):
    drop = await shop.opens(units=1)
    order = await shop.holds(drop, await shop.shopper())
    ada, bob = await shop.waits(drop), await shop.waits(drop)
    await comes_back(shop, drop, order)
    offer = await shop.offer_of(drop, ada)
    assert await shop.state(offer) == "PENDING_PAYMENT" and (await shop.ledger.order(offer)).offered
    assert await shop.offer_of(drop, bob) is None
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 0
    await shop.sweeps()
    books = await shop.books_close(drop)
    assert (books["offered"], books["gate_left"]) == (1, 0)
    assert ("drop", {"drop": drop.id}) in shop.feed.published


async def test_three_units_freed_at_once_are_three_offers_one_a_person_in_order(shop):
    drop = await shop.opens(units=3)
    orders = [await shop.holds(drop, await shop.shopper()) for _ in range(3)]
    waiting = [await shop.waits(drop) for _ in range(5)]
    for order in orders:
        await shop.deadline_passes(order)
    await asyncio.gather(*(shop.sweeps() for _ in range(3)))
    await shop.records(drop)
    offers = [await shop.offer_of(drop, shopper) for shopper in waiting]
    assert [offer is not None for offer in offers] == [True, True, True, False, False]
    assert len(set(offers[:3])) == 3
    assert (await shop.books_close(drop))["offered"] == 3


async def test_units_of_one_order_are_offers_to_several(shop):
    drop = await shop.opens(units=3, limit=3)
    order = await shop.holds(drop, await shop.shopper(), quantity=3)
    waiting = [await shop.waits(drop) for _ in range(3)]
    await cancels(shop, drop, order)
    assert all([await shop.offer_of(drop, shopper) for shopper in waiting])
    assert (await shop.books_close(drop))["offered"] == 3


async def test_two_hundred_holds_that_lapse_together_never_touch_public_stock(shop):
    drop = await shop.opens(units=200)
    shoppers = await shop.ledger.mint_shoppers(200)
    await asyncio.gather(*(shop.buys(drop, shopper) for shopper in shoppers))
    await shop.records(drop)
    waiting = await shop.ledger.mint_shoppers(250)
    await shop.ledger.join_list(drop.id, [Wish(shopper, drop.variants[0].id, 1) for shopper in waiting])
    await shop.sql("UPDATE orders SET deadline = now() - interval '1 s'")
    assert len(await shop.ledger.expire_unattempted(500)) == 200
    await shop.sweeper()._release()
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 0
    await shop.records(drop)
    served = await shop.sql("SELECT shopper_id FROM places WHERE state = 'offered' ORDER BY id")
    assert [row["shopper_id"] for row in served] == waiting[:200]
    assert (await shop.books_close(drop))["offered"] == 200


async def test_an_offer_that_is_not_taken_goes_to_the_next(shop):
    drop = await shop.opens(units=1)
    order = await shop.holds(drop, await shop.shopper())
    ada, bob = await shop.waits(drop), await shop.waits(drop)
    await lapses(shop, drop, order)
    await lapses(shop, drop, await shop.offer_of(drop, ada))
    offer = await shop.offer_of(drop, bob)
    assert await shop.ledger.places_of(drop.id, ada) == []
    await shop.till(ListQueue()).submit(offer, bob, "pm_card_visa")
    assert await shop.till().charge(offer, 1) == "paid"
    assert (await shop.books_close(drop))["paid"] == 1


async def test_a_place_that_wants_more_than_came_back_is_passed_over_and_keeps_its_number(shop):
    drop = await shop.opens(units=2, limit=2)
    first, second = await shop.holds(drop, await shop.shopper()), await shop.holds(drop, await shop.shopper())
    pair, single = await shop.waits(drop, quantity=2), await shop.waits(drop)
    await cancels(shop, drop, first)
    assert await shop.offer_of(drop, pair) is None
    offer = await shop.offer_of(drop, single)
    assert [(place.number, place.ahead) for place in await shop.ledger.places_of(drop.id, pair)] == [(1, 0)]
    await cancels(shop, drop, offer)
    await cancels(shop, drop, second)
    await shop.sweeps()
    await shop.records(drop)
    assert (await shop.ledger.order(await shop.offer_of(drop, pair))).quantity == 2
    assert (await shop.books_close(drop))["offered"] == 2


async def test_who_reached_the_limit_meanwhile_is_passed_over(shop):
    drop = await shop.opens(variants=(("S", 1), ("M", 1)))
    order = await shop.holds(drop, await shop.shopper())
    ada, bob = await shop.waits(drop), await shop.waits(drop)
    await shop.holds(drop, ada, variant=drop.variants[1])
    await cancels(shop, drop, order)
    assert await shop.offer_of(drop, ada) is None
    assert await shop.offer_of(drop, bob)
    await shop.books_close(drop)


async def test_public_stock_is_offered_while_somebody_waits(shop):
    """After a mend units may lie in public stock: who waits comes before who refreshes."""
    drop = await shop.opens(units=2)
    ada = await shop.waits(drop)
    await shop.sweeps()
    await shop.records(drop)
    assert await shop.offer_of(drop, ada)
    assert (await shop.books_close(drop))["gate_left"] == 1


async def test_leaving_while_the_offer_is_on_its_way_gives_it_to_the_next(shop):
    drop = await shop.opens(units=1)
    order = await shop.holds(drop, await shop.shopper())
    ada, bob = await shop.waits(drop), await shop.waits(drop)
    await shop.deadline_passes(order)
    await shop.sweeps()  # the gate has offered it to Ada, the recorder has not read it
    assert await Lists(shop.ledger, shop.gate, shop.feed, (1000, 1.0)).leave(drop.id, drop.variants[0].id, ada)
    await shop.records(drop)
    await shop.sweeps()
    await shop.records(drop)
    assert await shop.offer_of(drop, bob)
    assert (await shop.books_close(drop))["offered"] == 1


async def test_an_offer_lost_with_redis_is_made_again(shop, redis_url):
    import redis.asyncio

    drop = await shop.opens(units=1)
    order = await shop.holds(drop, await shop.shopper())
    ada = await shop.waits(drop)
    await shop.deadline_passes(order)
    await shop.sweeps()
    client = redis.asyncio.Redis.from_url(redis_url)
    await client.flushall()
    await client.aclose()
    await shop.reconciles(drop)
    await shop.sweeps()
    await shop.records(drop)
    assert await shop.offer_of(drop, ada)
    await shop.books_close(drop)


# ---- the end ------------------------------------------------------------------------------------------------------------------


async def test_nobody_is_invited_after_the_end_and_everybody_hears_of_it(shop):
    """A20, first run: five wait, the drop ends, a hold lapses two seconds later."""
    drop = await shop.opens(units=1, closes_at=clock.now() + timedelta(hours=1))
    order = await shop.holds(drop, await shop.shopper())
    waiting = [await shop.waits(drop) for _ in range(5)]
    await change_door(shop, drop.slug, Door.OPEN, closes_at=clock.now() - timedelta(seconds=1))
    await shop.deadline_passes(order)
    await shop.sweeps()
    await shop.records(drop)
    assert [await shop.offer_of(drop, shopper) for shopper in waiting] == [None] * 5
    assert len(await shop.mails("waitlist_closed")) == 5
    assert not await shop.mails("your_turn")
    assert (await shop.books_close(drop))["gate_left"] == 1


@pytest.mark.parametrize(("ends_in_seconds", "invited"), [(10, False), (119, False), (300, True)])
async def test_shortly_before_the_end_an_offer_is_shortened_or_not_made(shop, ends_in_seconds, invited):
    """A20, second run: freed ten seconds before the end. An invitation always prints a deadline that can be used."""
    drop = await shop.opens(units=1, closes_at=clock.now() + timedelta(hours=1))
    order = await shop.holds(drop, await shop.shopper())
    ada = await shop.waits(drop)
    ends = clock.now() + timedelta(seconds=ends_in_seconds)
    await change_door(shop, drop.slug, Door.OPEN, closes_at=ends)
    await lapses(shop, drop, order)
    offer = await shop.offer_of(drop, ada)
    assert (offer is not None) is invited
    if invited:
        row = await shop.ledger.order(offer)
        assert abs(row.pay_by - ends) < timedelta(milliseconds=2)
    books = await shop.books_close(drop)
    assert books["offered"] + books["gate_left"] == 1


async def test_an_offer_never_stands_longer_than_the_drops_offer_time(shop):
    drop = await shop.opens(units=1, offer_seconds=150.0, hold_seconds=3600.0)
    order = await shop.holds(drop, await shop.shopper())
    ada = await shop.waits(drop)
    await lapses(shop, drop, order)
    row = await shop.ledger.order(await shop.offer_of(drop, ada))
    assert (row.pay_by - row.reserved_at).total_seconds() == pytest.approx(150, abs=0.01)


async def test_where_everybody_is_told_the_unit_is_public_and_the_list_starts_anew(shop):
    drop = await shop.opens(units=1, waitlist="notify")
    order = await shop.holds(drop, await shop.shopper())
    waiting = [await shop.waits(drop) for _ in range(3)]
    await shop.sweeps()
    assert not await shop.mails("units_back")
    await lapses(shop, drop, order)
    await shop.sweeps()
    assert len(await shop.mails("units_back")) == 3
    assert all([await shop.ledger.places_of(drop.id, shopper) == [] for shopper in waiting])
    assert (await shop.books_close(drop))["gate_left"] == 1


async def test_a_hold_that_ends_soon_is_told_once_and_a_short_one_never(shop):
    drop, short = await shop.opens(units=3), await shop.opens(units=1, hold_seconds=30.0)
    soon, paying, later = [await shop.holds(drop, await shop.shopper()) for _ in range(3)]
    await shop.holds(short, await shop.shopper())
    await shop.till(ListQueue()).submit(paying, (await shop.ledger.order(paying)).shopper_id, "pm_card_visa")
    for order in (soon, paying):
        await shop.sql("UPDATE orders SET deadline = now() + interval '100 s' WHERE id = $1", order)
        await shop.sql("UPDATE orders SET reserved_at = now() - interval '500 s' WHERE id = $1", order)
    for _ in range(2):
        await shop.sweeper()._warn()
    assert await shop.mails("expires_soon") == [(await shop.ledger.order(soon)).email]
    assert (await shop.ledger.order(later)).state is OrderState.PENDING_PAYMENT


# ---- a death between every two steps -----------------------------------------------------------------------------------------

STEPS = {
    "before the ledger is asked for heirs": ("ledger", "heirs_of_order", "before"),
    "before the release": ("gate", "release", "before"),
    "after the release": ("gate", "release", "after"),
    "after the confirmation": ("ledger", "confirm_released", "after"),
    "before the order is written": ("ledger", "record", "before"),
    "after the order is written": ("ledger", "record", "after"),
    "after the acknowledgement": ("gate", "ack", "after"),
}


@pytest.mark.parametrize("step", STEPS)
async def test_a_death_between_any_two_steps_loses_no_unit_and_offers_none_twice(shop, monkeypatch, step):
    drop = await shop.opens(units=1)
    order = await shop.holds(drop, await shop.shopper())
    waiting = [await shop.waits(drop) for _ in range(2)]
    await shop.deadline_passes(order)
    part, name, when = STEPS[step]
    owner = getattr(shop, part)
    real = getattr(owner, name)

    async def dies(*arguments, **more):
        if when == "after":
            await real(*arguments, **more)
        raise Died

    monkeypatch.setattr(owner, name, dies)
    with pytest.raises(Died):
        await shop.sweeps()
        await shop.records(drop)
    monkeypatch.setattr(owner, name, real)
    for _ in range(2):
        await shop.sweeps()
        await shop.recorder().take_over([drop.id], idle_ms=0)
        await shop.records(drop)
    assert await shop.state(order) == "EXPIRED"
    offers = [await shop.offer_of(drop, shopper) for shopper in waiting]
    assert offers[0] is not None and offers[1] is None
    assert (await shop.books_close(drop))["offered"] == 1
    assert len(await shop.mails("your_turn")) == 1
