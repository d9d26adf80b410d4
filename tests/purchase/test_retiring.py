"""A drop that is over leaves Redis, and nothing of it is lost."""

import pytest

from app.domain.drops import Door
from app.errors import BadInput
from app.purchase.drops import change_door
from app.purchase.retiring import retire
from tests.doubles import ListQueue


async def paid(shop, drop):
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    await shop.till(ListQueue()).submit(order, shopper, "pm_card_visa")
    assert await shop.till().charge(order, 1) == "paid"
    return order


async def test_a_closed_drop_leaves_no_key_and_keeps_its_books(shop):
    drop = await shop.opens(units=2)
    await paid(shop, drop)
    await change_door(shop, drop.slug, Door.CLOSED)
    assert (await retire(shop, drop.slug)).retired
    assert await shop.gate.snapshot(drop.id) is None
    assert (await retire(shop, drop.slug)).retired, "asking again is harmless"
    books = await shop.books_close(drop)
    assert (books["paid"], books["gate_left"]) == (1, 1)


async def test_a_drop_that_is_not_over_or_still_holds_something_stays(shop):
    drop = await shop.opens(units=2)
    await shop.holds(drop, await shop.shopper())
    with pytest.raises(BadInput, match="not over"):
        await retire(shop, drop.slug)
    await change_door(shop, drop.slug, Door.CLOSED)
    with pytest.raises(BadInput, match="1 units held"):
        await retire(shop, drop.slug)
    assert await shop.gate.snapshot(drop.id) is not None


async def test_a_death_before_the_keys_are_gone_is_finished_by_asking_again(shop):
    drop = await shop.opens(units=1)
    await change_door(shop, drop.slug, Door.CLOSED)
    assert await shop.ledger.retire_drop(drop.id)  # and the process dies
    assert await shop.gate.snapshot(drop.id) is not None
    await retire(shop, drop.slug)
    assert await shop.gate.snapshot(drop.id) is None


async def test_a_unit_that_comes_back_to_a_retired_drop_needs_no_gate(shop):
    drop = await shop.opens(units=1)
    order = await paid(shop, drop)
    await change_door(shop, drop.slug, Door.CLOSED)
    await retire(shop, drop.slug)
    assert await shop.ledger.want_refund(order, "seller:1", 4900, restock=True)
    await shop.till().refund(order, "seller:1")
    await shop.sweeps()
    assert (await shop.books_close(drop))["returning"] == 0
    assert await shop.state(order) == "REFUNDED"
