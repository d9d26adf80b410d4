"""What an order's owner is told of it beyond its row."""

from uuid import uuid4


async def test_paid_orders_are_numbered_by_payment_and_keep_their_number(scene):
    await scene.publish(("Brass", 3), ("Soot", 2), per_person=2)
    waiting = await scene.hold()
    first, second = await scene.paid(), await scene.paid()
    numbers = []
    for order_id in (first, second):
        row = await own(scene, order_id)
        numbers.append((row.wristband, row.wristbands))
    assert numbers == [(1, 5), (2, 5)]
    row = await own(scene, waiting)
    assert (row.wristband, row.wristbands) == (None, None), "a hold has no number: it may not become one"
    await scene.capture(*await scene.charging(waiting))
    assert [(await own(scene, order_id)).wristband for order_id in (first, second, waiting)] == [1, 2, 3]


async def test_another_drop_counts_for_itself(scene):
    await scene.paid()
    await scene.publish()
    assert (await own(scene, await scene.paid())).wristband == 1


async def test_nobody_else_is_told(scene):
    assert await scene.ledger.order_for(await scene.paid(), 999_999) is None
    assert await scene.ledger.order_for(uuid4(), 1) is None


async def own(scene, order_id):
    order = await scene.ledger.order(order_id)
    return await scene.ledger.order_for(order_id, order.shopper_id)
