import asyncio

import pytest

from app.domain.ids import new_order_id
from app.domain.orders import MoneyState, OrderState
from app.errors import BadInput


async def test_a_full_refund_makes_the_order_refunded_and_withdraws_its_units(scene):
    order_id = await scene.paid()
    assert await scene.ledger.want_refund(order_id, "seller:1", 4900)
    assert await scene.state(order_id) is OrderState.PAID
    assert await scene.ledger.refund_done(order_id, "seller:1", "re_1")
    order = await scene.order(order_id)
    assert (order.state, order.payment, order.released) == (OrderState.REFUNDED, MoneyState.REFUNDED, None)
    books = await scene.books()
    assert (books.sold, books.withdrawn, books.paid, books.refunded) == (1, 1, 0, 1)
    assert await scene.ledger.unreleased(10) == []


async def test_a_refund_with_restock_returns_the_units(scene):
    order_id = await scene.paid()
    assert await scene.ledger.want_refund(order_id, "seller:1", 4900, restock=True)
    assert await scene.ledger.refund_done(order_id, "seller:1", "re_1")
    assert await scene.state(order_id) is OrderState.REFUNDED
    books = await scene.books()
    assert (books.sold, books.withdrawn, books.returning) == (0, 0, 1)
    assert await scene.ledger.unreleased(10) == [(order_id, scene.drop.id)]


async def test_part_refunds_leave_the_order_paid_until_all_is_back(scene):
    order_id = await scene.paid()
    assert await scene.ledger.want_refund(order_id, "seller:1", 900)
    assert await scene.ledger.refund_done(order_id, "seller:1", "re_1")
    order = await scene.order(order_id)
    assert (order.state, order.payment) == (OrderState.PAID, MoneyState.PART_REFUNDED)
    assert await scene.ledger.want_refund(order_id, "seller:2", 4000)
    assert await scene.ledger.refund_done(order_id, "seller:2", "re_2")
    assert await scene.state(order_id) is OrderState.REFUNDED


async def test_no_more_goes_back_than_was_captured(scene):
    order_id = await scene.paid()
    assert not await scene.ledger.want_refund(order_id, "seller:1", 4901)
    assert await scene.ledger.want_refund(order_id, "seller:1", 3000)
    assert not await scene.ledger.want_refund(order_id, "seller:2", 1901)
    assert not await scene.ledger.want_refund(order_id, "seller:1", 100)
    assert await scene.ledger.want_refund(order_id, "seller:2", 1900)


async def test_two_sellers_cannot_both_refund_everything(scene):
    order_id = await scene.paid()
    async with scene.locked("SELECT FROM orders WHERE id = $1 FOR UPDATE", order_id, waiting=2):
        both = [asyncio.create_task(scene.ledger.want_refund(order_id, purpose, 4900)) for purpose in ("seller:1", "seller:2")]
    assert sorted(await asyncio.gather(*both)) == [False, True]


async def test_nothing_goes_back_of_what_was_never_captured(scene):
    assert not await scene.ledger.want_refund(await scene.hold(), "seller:1", 1)
    assert not await scene.ledger.want_refund(new_order_id(scene.drop.id), "seller:1", 1)
    assert await scene.ledger.refund(new_order_id(scene.drop.id), "seller:1") is None
    assert not await scene.ledger.refund_done(new_order_id(scene.drop.id), "seller:1", "re_1")


@pytest.mark.parametrize(("purpose", "amount_minor"), [("seller:1", 0), ("seller:1", -1), ("", 1), ("x" * 101, 1), ("a\x00", 1)])
async def test_a_refund_needs_an_amount_and_a_purpose(scene, purpose, amount_minor):
    with pytest.raises(BadInput):
        await scene.ledger.want_refund(await scene.paid(), purpose, amount_minor)
