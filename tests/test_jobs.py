"""How much work waits, as the queues themselves say it."""

from uuid import uuid4

from app.jobs import EXPIRY, FULFILMENT, MESSAGES, PAYMENT, Jobs


async def test_the_depth_of_a_queue_is_what_nobody_has_done_yet(redis_url):
    jobs = Jobs(redis_url, 10)
    assert await jobs.depths() == {PAYMENT: 0, EXPIRY: 0, MESSAGES: 0, FULFILMENT: 0}
    order_id = uuid4()
    await jobs.charge(order_id, 1, 0)
    await jobs.charge(order_id, 1, 0)  # the same hint again is no second job
    await jobs.charge(uuid4(), 1, 0)
    await jobs.ship(order_id, 0)
    assert await jobs.depths() == {PAYMENT: 2, EXPIRY: 0, MESSAGES: 0, FULFILMENT: 1}
    await jobs.close()


async def test_queues_that_cannot_be_asked_have_no_depth_that_anybody_knows():
    jobs = Jobs("redis://127.0.0.1:1", 10)
    assert await jobs.depths() is None
