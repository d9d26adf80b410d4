"""Overdue holds come back once, whatever else is going on."""

import asyncio

from app.domain.orders import OrderState, Refusal
from app.purchase.refunding import refund_order
from tests.doubles import ListQueue


async def test_an_overdue_hold_comes_back_once(shop):
    drop = await shop.opens(units=3)
    orders = [await shop.holds(drop, await shop.shopper()) for _ in range(3)]
    for order in orders:
        await shop.deadline_passes(order)
    await asyncio.gather(*(shop.sweeps() for _ in range(4)))
    await shop.sweeps()
    assert [await shop.state(order) for order in orders] == ["EXPIRED"] * 3
    assert (await shop.books_close(drop))["gate_left"] == 3


async def test_a_late_job_of_a_swept_order_loses_its_claim_and_charges_nobody(shop):
    drop = await shop.opens(units=4)
    queue = ListQueue()
    for _ in range(4):
        shopper = await shop.shopper()
        order = await shop.holds(drop, shopper)
        await shop.till(queue).submit(order, shopper, "pm_card_visa")
        await shop.deadline_passes(order)
    await shop.sweeps()
    results = [await shop.till().charge(order, n) for kind, order, n, _ in queue.jobs if kind == "charge"]
    assert results == ["lost"] * 4
    assert not shop.provider.intents
    assert (await shop.books_close(drop))["gate_left"] == 4


async def test_a_release_that_the_gate_never_confirmed_is_repeated(shop):
    drop = await shop.opens(units=1)
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    assert await shop.ledger.cancel_unattempted(order, shopper, Refusal.BY_SHOPPER)  # and the process dies before it tells the gate
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 0
    await shop.sweeps()
    await shop.sweeps()
    assert (await shop.books_close(drop))["gate_left"] == 1


async def test_a_job_lost_by_the_queue_is_found_by_the_sweeper(shop):
    drop = await shop.opens(units=1)
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    await shop.till().submit(order, shopper, "pm_card_visa")  # the queue is gone: nothing was enqueued
    await shop.sweeps()
    assert await shop.state(order) == OrderState.PAID
    assert shop.provider.captures(order) == 1


async def test_a_live_claim_is_never_swept(shop):
    drop = await shop.opens(units=1)
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    await shop.till(ListQueue()).submit(order, shopper, "pm_card_visa")
    started, go_on = asyncio.Event(), asyncio.Event()
    confirm = shop.provider.confirm

    async def slow(*arguments):
        started.set()
        await go_on.wait()
        return await confirm(*arguments)

    shop.provider.confirm = slow
    charging = asyncio.create_task(shop.till().charge(order, 1))
    await started.wait()
    await shop.deadline_passes(order)
    await shop.sweeps()
    assert await shop.state(order) == "PROCESSING"
    go_on.set()
    assert await charging == "paid"
    await shop.books_close(drop)


async def test_units_added_by_the_seller_reach_the_gate_once(shop):
    from app.purchase.drops import add_units

    drop = await shop.opens(units=1)
    await shop.holds(drop, await shop.shopper())
    await add_units(shop, drop.slug, None, 2)
    await shop.sweeps()
    await shop.reconciles(drop)
    assert (await shop.books_close(drop))["gate_left"] == 2
    assert (await shop.books_close(drop))["total"] == 3


async def test_many_authentications_under_way_keep_no_refund_waiting(shop):
    drop = await shop.opens(units=12)
    paid = await shop.pays(drop)
    for _ in range(11):
        await shop.pays(drop, "pm_card_authenticationRequired")
    await refund_order(shop.ledger, paid)
    answered, retrieve = asyncio.Event(), shop.provider.retrieve

    async def slow(*arguments):
        await answered.wait()
        return await retrieve(*arguments)

    shop.provider.retrieve = slow
    sweeper = shop.sweeper()
    await sweeper.sweep()
    async with asyncio.timeout(20):  # for ever, were every place taken by a question that nobody answers
        while await shop.state(paid) != "REFUNDED":
            await asyncio.sleep(0.01)
    answered.set()
    await sweeper.finish()


async def test_pictures_that_nothing_shows_are_removed_now_and_then(shop):
    for name in "abc":
        await shop.ledger.put_picture(name * 64, "image/jpeg", 1, 1, b"")
    await shop.opens(picture="a" * 64)
    old = "UPDATE pictures SET wanted_at = now() - interval '8 days'"
    await shop.sql(old)
    sweeper = shop.sweeper()
    await sweeper.sweep()
    assert await shop.ledger.picture("a" * 64) and not await shop.ledger.picture("b" * 64)
    await shop.ledger.put_picture("d" * 64, "image/jpeg", 1, 1, b"")
    await shop.sql(old)
    await sweeper.sweep()  # at once again: not every sweep looks through them
    assert await shop.ledger.picture("d" * 64)
    await shop.sweeps()
    assert not await shop.ledger.picture("d" * 64)
