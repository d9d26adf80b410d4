"""The seller gives money back: never more than was captured, each wish once, the units back once or gone for good (A03)."""

import asyncio

import pytest

from app.domain.orders import OrderState
from app.errors import BadInput, NotFound, ProviderRefused, ProviderSilent
from app.purchase.refunding import cancel_drop, progress, refund_order
from tests.doubles import Died, ListQueue


async def refunds(shop, order) -> None:
    """A worker asks the provider for every refund that is wanted of this order."""
    for row in await shop.ledger.refunds_of(order):
        await shop.till(ListQueue()).refund(order, row.purpose)


async def test_a_whole_refund_with_restock_puts_the_unit_back_once_however_often_it_is_asked_for(shop):
    drop = await shop.opens(units=10)
    order = await shop.pays(drop)
    for _ in range(2):
        wanted = await refund_order(shop.ledger, order, restock=True)
        await refunds(shop, order)
        await shop.till().cancel(order, (await shop.ledger.order(order)).shopper_id)
        await shop.sweeps()
    assert wanted.repeated
    assert shop.provider.refunded_minor(order) == 4900
    assert [row["units"] for row in await shop.sql("SELECT units FROM movements WHERE order_id = $1 ORDER BY kind", order)] == [
        -1,
        1,
    ]
    books = await shop.books_close(drop)
    assert (books["gate_left"], books["refunded"], books["withdrawn"]) == (10, 1, 0)
    assert await shop.state(order) == "REFUNDED"


async def test_a_whole_refund_without_restock_takes_the_unit_out_of_the_drop(shop):
    drop = await shop.opens(units=2)
    order = await shop.pays(drop)
    await refund_order(shop.ledger, order)
    await refunds(shop, order)
    assert (await shop.books_close(drop))["withdrawn"] == 1
    assert await shop.reconciles(drop) == "mended", "the gate forgets the receipt of a unit that is gone"
    books = await shop.books_close(drop)
    assert (books["gate_left"], books["withdrawn"], books["paid"]) == (1, 1, 0)


async def test_parts_go_back_until_nothing_is_left(shop):
    drop = await shop.opens()
    order = await shop.pays(drop)
    await refund_order(shop.ledger, order, amount_minor=1900, ask="a")
    again = await refund_order(shop.ledger, order, amount_minor=1900, ask="a")
    assert again.repeated
    await refunds(shop, order)
    assert await shop.state(order) == "PAID" and (await shop.ledger.order(order)).payment == "part_refunded"
    with pytest.raises(BadInput, match="3000 minor units"):
        await refund_order(shop.ledger, order, amount_minor=3001)
    rest = await refund_order(shop.ledger, order, restock=True)
    assert rest.amount_minor == 3000
    await refunds(shop, order)
    assert await shop.state(order) == "REFUNDED" and shop.provider.refunded_minor(order) == 4900
    assert (await shop.books_close(drop))["gate_left"] == 1


async def test_nothing_goes_back_of_a_hold_or_of_nothing(shop):
    drop = await shop.opens()
    order = await shop.holds(drop, await shop.shopper())
    with pytest.raises(BadInput):
        await refund_order(shop.ledger, order)
    with pytest.raises(NotFound):
        await refund_order(shop.ledger, type(order)(int=7))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("fault", [Died(), ProviderSilent("no reply"), ProviderRefused("no")], ids=["killed", "silent", "refused"])
async def test_a_refund_that_fails_anywhere_is_made_once(shop, when, fault):
    drop = await shop.opens()
    order = await shop.pays(drop)
    await refund_order(shop.ledger, order, restock=True)
    shop.provider.faults[("refund", when)] = fault
    try:
        await refunds(shop, order)
    except Died:
        pass
    await shop.time_passes()
    await shop.sweeps()
    assert shop.provider.refunded_minor(order) == 4900 and await shop.state(order) == "REFUNDED"
    assert await shop.mails("money_back") == [(await shop.ledger.order(order)).email]


async def test_a_refund_that_stays_refused_is_shown_asked_ever_more_slowly_and_then_made(shop):
    drop = await shop.opens()
    order = await shop.pays(drop)
    await refund_order(shop.ledger, order)
    for _ in range(5):
        shop.provider.faults[("refund", "before")] = ProviderRefused("insufficient balance")
        await refunds(shop, order)
    [shown] = await shop.ledger.attention(10)
    assert (shown.kind, shown.order_id, shown.asked_again) == ("refund", order, 5) and "insufficient balance" in shown.why
    assert await shop.ledger.due_refunds(10, 0) == [], "it rests"
    assert await shop.ledger.refund_again_now(order) == 1
    await shop.sweeps()
    assert await shop.state(order) == "REFUNDED" and await shop.ledger.attention(10) == []


async def test_cancelling_a_drop_gives_everything_back_and_goes_on_after_a_death(shop):
    drop = await shop.opens(units=5)
    paid = [await shop.pays(drop) for _ in range(2)]
    held = await shop.holds(drop, await shop.shopper())
    declined = await shop.pays(drop, "pm_card_chargeDeclined")
    await cancel_drop(shop, drop.slug)
    shop.provider.faults[("refund", "after")] = ProviderSilent("lost")
    await shop.sweeps()
    assert not (await progress(shop.ledger, drop.id)).done
    await shop.time_passes()
    await shop.sweeps()
    await shop.sweeps()
    seen = await progress(shop.ledger, drop.id)
    assert seen.done and (seen.orders, seen.refunded) == (4, 2)
    assert [await shop.state(order) for order in paid] == ["REFUNDED"] * 2
    assert [await shop.state(order) for order in (held, declined)] == ["CANCELLED"] * 2
    assert [shop.provider.refunded_minor(order) for order in paid] == [4900, 4900]
    books = await shop.books_close(drop)
    assert (books["gate_left"], books["refunded"]) == (5, 2)


async def test_a_charge_under_way_when_the_drop_is_cancelled_goes_back_too(shop):
    drop = await shop.opens()
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    await shop.till(ListQueue()).submit(order, shopper, "pm_card_visa")
    await cancel_drop(shop, drop.slug)
    assert await shop.till(ListQueue()).charge(order, 1) == "paid"
    await shop.sweeps()
    await shop.sweeps()
    assert await shop.state(order) == "REFUNDED" and shop.provider.refunded_minor(order) == 4900
    await shop.books_close(drop)


async def test_expiry_failed_payment_and_cancel_at_once_return_the_unit_once(shop):
    for _ in range(10):
        drop = await shop.opens(attempts=1, units=1)
        shopper = await shop.shopper()
        order = await shop.holds(drop, shopper)
        await shop.till(ListQueue()).submit(order, shopper, "pm_card_chargeDeclined")
        await shop.deadline_passes(order)
        await cancel_drop(shop, drop.slug)
        await asyncio.gather(
            shop.till(ListQueue()).charge(order, 1), shop.sweeps(), shop.sweeps(), shop.till().cancel(order, shopper)
        )
        await shop.time_passes()
        await shop.sweeps()
        assert OrderState(await shop.state(order)) in (OrderState.EXPIRED, OrderState.FAILED, OrderState.CANCELLED)
        lines = await shop.sql("SELECT count(*) AS n FROM movements WHERE order_id = $1 AND kind = 'returned'", order)
        assert lines[0]["n"] == 1
        assert (await shop.books_close(drop))["gate_left"] == 1
