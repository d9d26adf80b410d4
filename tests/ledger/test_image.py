import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from app.domain.drops import Door
from app.domain.orders import Refusal
from app.errors import NotFound


async def test_the_image_holds_live_orders_all_keys_and_what_may_be_handed_out(scene):
    await scene.publish(("S", 5), ("M", 4), per_person=2, hold_seconds=30, closes_at=scene.drop.opens_at + timedelta(hours=1))
    small, medium = (variant.id for variant in scene.drop.variants)
    ada, bob, cyd, dan = await scene.ledger.mint_shoppers(4)
    held = await scene.hold(ada, key="a", quantity=2)
    paid = await scene.hold(bob, key="b", variant=1)
    _, token = await scene.charging(paid)
    await scene.capture(paid, token)
    expired = await scene.overdue(await scene.hold(cyd, key="c"))
    await scene.ledger.expire_unattempted(10)
    refunded = await scene.paid()
    await scene.ledger.want_refund(refunded, "seller:1", 4900)
    await scene.ledger.refund_done(refunded, "seller:1", "re_1")
    refused = scene.entry(ada, key="z")
    await scene.ledger.record(scene.drop.id, [refused])
    op_id = uuid4()
    await scene.ledger.add_units(scene.drop.id, medium, 3, op_id)

    image = await scene.ledger.image(scene.drop.id)
    assert (image.door, image.opens_at, image.closes_at) == (Door.OPEN, scene.drop.opens_at, scene.drop.closes_at)
    assert (image.per_person, image.hold_seconds, image.clock_offset_ms) == (2, 30, 0)
    assert image.totals == {small: 5 - 1, medium: 4 + 3}
    assert {(o.order_id, o.buyer, o.variant_id, o.quantity, o.paid) for o in image.live_orders} == {
        (held, ada, small, 2, False),
        (paid, bob, medium, 1, True),
    }
    assert {key.order_id for key in image.keys} == {held, paid, expired, refunded}
    (key,) = (key for key in image.keys if key.order_id == held)
    assert (key.buyer, key.key, key.variant_id, key.quantity) == (ada, "a", small, 2)
    assert image.adjustments == (op_id,)
    counts = await scene.ledger.counts(scene.drop.id)
    assert counts.left == {small: 5 - 2 - 1, medium: 7 - 1}
    assert (counts.held, counts.door) == ({small: 2, medium: 0}, Door.OPEN)


async def test_what_the_gate_should_have_left_is_total_less_live(scene):
    for _ in range(3):
        await scene.hold()
    image, counts = await scene.ledger.image(scene.drop.id), await scene.ledger.counts(scene.drop.id)
    (variant,) = scene.drop.variants
    assert image.totals[variant.id] - sum(order.quantity for order in image.live_orders) == counts.left[variant.id] == 7


async def test_the_image_is_one_moment(scene):
    """A return that commits between the statements of an image is wholly absent from it."""
    order_id = await scene.hold()
    async with scene.ledger._snapshot() as ask:
        before = await ask.rows("image_orders", scene.drop.id)
        await scene.ledger.cancel_unattempted(order_id, None, Refusal.BY_SELLER)
        assert await ask.rows("image_orders", scene.drop.id) == before
        assert await ask.value("image_releasing", scene.drop.id) == 0


async def test_an_image_waits_for_no_lock(scene):
    await scene.hold()
    async with scene.locked("SELECT FROM stock, orders, drops FOR UPDATE", waiting=0):
        async with asyncio.timeout(5):
            assert len((await scene.ledger.image(scene.drop.id)).live_orders) == 1
            assert (await scene.ledger.books(scene.drop.id)).held == 1


async def test_a_drop_that_is_not_there_has_no_image_and_no_books(scene):
    for question in (scene.ledger.image, scene.ledger.counts, scene.ledger.books):
        with pytest.raises(NotFound):
            await question(999_999)
