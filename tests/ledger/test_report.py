from datetime import timedelta
from uuid import uuid4

MOVES = {
    "reserved_at": "UPDATE orders SET reserved_at = $2 WHERE id = $1",
    "ended_at": "UPDATE orders SET ended_at = $2 WHERE id = $1",
    "paid_at": "UPDATE orders SET paid_at = $2 WHERE id = $1",
}


async def moved(scene, order_id, column: str, seconds: float) -> None:
    """Something happened to this order so many seconds after the opening."""
    await scene.hand.execute(MOVES[column], order_id, scene.drop.opens_at + timedelta(seconds=seconds))


async def gone(scene, order_id) -> None:
    """The hold ran out and was swept."""
    await scene.overdue(order_id)
    await scene.ledger.expire_unattempted(100)


async def test_orders_are_counted_by_how_far_they_came_and_how_they_ended(scene):
    await scene.paid()
    await scene.paid()
    await gone(scene, await scene.hold())
    await scene.hold()
    found = {(row.state, row.reason, row.tried, row.paid): row.orders for row in await scene.ledger.report_orders(scene.drop.id)}
    assert found == {
        ("PAID", "", True, True): 2,
        ("EXPIRED", "deadline", False, False): 1,
        ("PENDING_PAYMENT", "", False, False): 1,
    }


async def test_the_last_unit_goes_when_nothing_is_left_for_the_first_time(scene):
    await scene.publish(("One size", 2))
    first, second = await scene.hold(), await scene.hold()
    await moved(scene, first, "reserved_at", 1)
    await moved(scene, second, "reserved_at", 3)
    assert await scene.ledger.report_last_unit(scene.drop.id) == scene.drop.opens_at + timedelta(seconds=3)


async def test_a_unit_that_came_back_in_between_puts_the_last_one_off(scene):
    await scene.publish(("One size", 2))
    first, second = await scene.hold(), await scene.hold()
    await gone(scene, first)
    third = await scene.hold()
    await moved(scene, first, "reserved_at", 1)
    await moved(scene, first, "ended_at", 2)
    await moved(scene, second, "reserved_at", 3)
    await moved(scene, third, "reserved_at", 9)
    assert await scene.ledger.report_last_unit(scene.drop.id) == scene.drop.opens_at + timedelta(seconds=9)


async def test_units_added_before_the_last_one_went_put_it_off_and_later_ones_do_not(scene):
    await scene.publish(("One size", 1))
    await moved(scene, await scene.hold(), "reserved_at", 5)
    added = uuid4()
    await scene.ledger.add_units(scene.drop.id, scene.drop.variants[0].id, 1, added)
    move = "UPDATE adjustments SET at = $2 WHERE id = $1"
    await scene.hand.execute(move, added, scene.drop.opens_at + timedelta(seconds=60))
    assert await scene.ledger.report_last_unit(scene.drop.id) == scene.drop.opens_at + timedelta(seconds=5)
    await scene.hand.execute(move, added, scene.drop.opens_at + timedelta(seconds=4))
    assert await scene.ledger.report_last_unit(scene.drop.id) is None


async def test_the_span_of_payments(scene):
    assert await scene.ledger.report_paid(scene.drop.id) == (None, None, 0)
    first, second = await scene.paid(), await scene.paid()
    await moved(scene, first, "paid_at", 10)
    await moved(scene, second, "paid_at", 20)
    opens_at = scene.drop.opens_at
    assert await scene.ledger.report_paid(scene.drop.id) == (opens_at + timedelta(seconds=10), opens_at + timedelta(seconds=20), 2)


async def test_places_parcels_and_refunds_by_what_became_of_them(scene):
    order_id = await scene.paid()
    place = await scene.joins(await scene.shopper())
    await scene.joins(await scene.shopper())
    await scene.offered(place)
    await scene.ledger.want_refund(order_id, "seller:1", 900)
    drop_id = scene.drop.id
    assert sorted(await scene.ledger.report_places(drop_id)) == [("offered", 1, 1), ("waiting", 1, 1)]
    assert await scene.ledger.report_parcels(drop_id) == [("waiting", 1, 0)]
    assert await scene.ledger.report_refunds(drop_id) == [("seller", False, 1, 900)]


async def test_the_accounts_of_a_shop_are_its_own(scene):
    await scene.paid()
    order_id = await scene.paid()
    await scene.hand.execute("UPDATE payments SET refunded_minor = 1900 WHERE order_id = $1", order_id)
    sold = scene.drop
    await scene.publish(currency="JPY")
    other = await scene.ledger.create_shop("Another", "other@example.org")
    accounts = {account.drop_id: account for account in await scene.ledger.accounts(scene.shop_id)}
    assert set(accounts) == {sold.id, scene.drop.id}
    account = accounts[sold.id]
    assert (account.orders, account.units, account.gross_minor, account.refunded_minor, account.net_minor) == (
        2,
        2,
        9800,
        1900,
        7900,
    )
    assert accounts[scene.drop.id].gross_minor == 0
    assert await scene.ledger.accounts(other) == []
    assert await scene.ledger.accounts(other, sold.id) == []
    assert [one.drop_id for one in await scene.ledger.accounts(scene.shop_id, sold.id)] == [sold.id]
