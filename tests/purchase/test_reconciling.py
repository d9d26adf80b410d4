"""Gate and ledger made equal: after a loss, after a drift, never by adding."""

import redis.asyncio

from app.domain.orders import Refusal
from app.purchase.reconciling import Reconciled, rebuild


async def wipe(shop):
    client = redis.asyncio.Redis.from_url(shop.settings.redis_url)
    await client.flushall()
    await client.aclose()


async def test_an_empty_gate_stays_shut_until_it_is_rebuilt_and_nobody_buys_twice(shop):
    drop = await shop.opens(units=3)
    winner = await shop.shopper()
    order = await shop.holds(drop, winner, key="mine")
    await wipe(shop)
    assert (await shop.buys(drop, await shop.shopper())).verdict == "not_ready"
    assert await shop.reconciles(drop) is Reconciled.MENDED
    again = await shop.buys(drop, winner, key="mine")
    assert (again.verdict, again.order_id) == ("reserved", order)
    other_key = await shop.buys(drop, winner, key="another")
    assert other_key.verdict == "already_yours" and other_key.order_id == order
    assert (await shop.books_close(drop))["gate_left"] == 2


async def test_a_surplus_after_a_failover_is_refused_and_the_gate_is_set_right(shop):
    drop = await shop.opens(units=1)
    client = redis.asyncio.Redis.from_url(shop.settings.redis_url)
    keys = await client.keys("*")
    stale = {key: await client.dump(key) for key in keys}
    first = await shop.holds(drop, await shop.shopper())
    await client.flushall()
    for key, value in stale.items():
        await client.restore(key, 0, value)
    await client.aclose()
    leaked = (await shop.buys(drop, await shop.shopper())).order_id
    await shop.records(drop)
    row = await shop.ledger.order(leaked)
    assert (row.state, row.reason) == ("REFUSED", "gate_leaked")
    assert await shop.state(first) == "PENDING_PAYMENT"
    assert await shop.reconciles(drop) is Reconciled.MENDED
    assert await shop.reconciles(drop) is Reconciled.AGREED
    books = await shop.books_close(drop)
    assert (books["gate_left"], books["held"], books["refused"]) == (0, 1, 1)


async def test_unread_entries_block_the_mend(shop):
    drop = await shop.opens(units=2)
    await shop.buys(drop, await shop.shopper())
    assert await shop.reconciles(drop) is Reconciled.RECORDING
    await shop.records(drop)
    assert await shop.reconciles(drop) is Reconciled.AGREED


async def test_a_gate_that_moved_since_it_was_read_is_left_alone(shop, monkeypatch):
    drop = await shop.opens(units=3)
    order = await shop.holds(drop, await shop.shopper())
    await shop.sql("UPDATE drops SET closes_at = now() + interval '1 day' WHERE id = $1", drop.id)  # something to mend
    image = shop.ledger.image

    async def buys_meanwhile(drop_id):
        found = await image(drop_id)
        await shop.buys(drop, await shop.shopper())
        return found

    with monkeypatch.context() as patch:
        patch.setattr(shop.ledger, "image", buys_meanwhile)
        assert await shop.reconciles(drop) is Reconciled.MOVED
    await shop.records(drop)
    assert await shop.reconciles(drop) is Reconciled.MENDED
    assert await shop.state(order) == "PENDING_PAYMENT"
    await shop.books_close(drop)


async def test_a_rebuild_leaves_the_sellers_own_door(shop):
    drop = await shop.opens(units=1)
    assert await rebuild(shop.ledger, shop.gate, shop.feed, drop.id, 1000) in (Reconciled.MENDED, Reconciled.AGREED)
    assert (await shop.buys(drop, await shop.shopper())).verdict == "reserved"


async def test_a_unit_being_returned_is_left_to_its_release(shop):
    drop = await shop.opens(units=1)
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    await shop.ledger.cancel_unattempted(order, shopper, Refusal.BY_SHOPPER)
    await shop.reconciles(drop)
    await shop.sweeps()
    assert (await shop.books_close(drop))["gate_left"] == 1
