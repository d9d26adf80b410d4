"""From the database to the queue: a job never finds its row missing, a row never lacks its job for long (A09)."""

from uuid import uuid4

import asyncpg
import pytest

from app.errors import BadInput
from app.ledger import NotPayable, Submitted
from tests.doubles import Died, ListQueue


class LookingQueue(ListQueue):
    """A queue with an idle worker: the moment a job arrives it looks for the row, over a connection of its own."""

    def __init__(self, dsn: str):
        super().__init__()
        self._dsn = dsn
        self.found: list[int] = []

    async def charge(self, order_id, n, enqueues):
        connection = await asyncpg.connect(self._dsn)
        self.found.append(await connection.fetchval("SELECT count(*) FROM attempts WHERE order_id = $1 AND n = $2", order_id, n))
        await connection.close()
        self.jobs.append(("charge", order_id, n, enqueues))
        return True


async def test_a_job_is_put_on_the_queue_only_after_its_row_is_committed(shop):
    drop = await shop.opens()
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    queue = LookingQueue(shop.settings.database_url)
    assert isinstance(await shop.till(queue).submit(order, shopper, "pm_card_visa"), Submitted)
    assert queue.found == [1]


@pytest.mark.parametrize("why", ["twice", "no method"])
async def test_what_is_rolled_back_leaves_no_job(shop, why):
    drop = await shop.opens()
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    queue = ListQueue()
    if why == "twice":
        await shop.till().submit(order, shopper, "pm_card_visa")
        assert isinstance(await shop.till(queue).submit(order, shopper, "pm_card_visa"), NotPayable)
    else:
        with pytest.raises(BadInput):
            await shop.till(queue).submit(order, shopper, "")
    assert queue.jobs == []


async def test_a_process_that_dies_between_commit_and_queue_leaves_a_row_the_sweeper_finds(shop):
    drop = await shop.opens()
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)

    class DyingQueue(ListQueue):
        async def charge(self, *_):
            raise Died()

    with pytest.raises(Died):
        await shop.till(DyingQueue()).submit(order, shopper, "pm_card_visa")
    queue = ListQueue()
    await shop.sweeper(queue).sweep()
    assert ("charge", order, 1, 0) in queue.jobs
    await shop.till(queue).charge(order, 1)
    assert await shop.state(order) == "PAID"


async def test_a_job_for_an_order_that_is_not_there_does_nothing(shop):
    till = shop.till()
    nobody = uuid4()
    assert await till.charge(nobody, 1) == "lost"
    assert await till.take_over(nobody) == "lost"
    assert await till.look_up(nobody) == "nothing"
    assert await till.refund(nobody, "seller:whole") == "nothing"
    assert await till.look_for_money(nobody) == "nothing"
    assert await shop.packer().ship(nobody) == "lost"
    assert not shop.provider.calls and not shop.warehouse.calls
