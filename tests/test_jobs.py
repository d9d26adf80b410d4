"""The queues: a job is asked for once, a job just taken is not given up, a dead worker's is."""

from uuid import uuid4

import pytest
from saq.job import Status

from app.jobs import PAYMENT, Jobs, open_queue


@pytest.fixture
async def queue(redis_url):
    queue = open_queue(redis_url, PAYMENT)
    yield queue
    await queue.disconnect()


@pytest.fixture
async def jobs(redis_url):
    jobs = Jobs(redis_url, job_timeout_seconds=3)
    yield jobs
    await jobs.close()


async def sweeps(queue) -> list[str]:
    """One sweep, whoever had the last turn."""
    await queue.redis.delete(queue._sweep)
    return await queue.sweep(abort=0.01)


async def test_asking_twice_for_one_attempt_is_one_job(jobs, queue):
    order = uuid4()
    assert [await jobs.charge(order, 1, 0) for _ in range(2)] == [True, True]
    assert await queue.count("queued") == 1
    await queue.dequeue(1)
    assert await jobs.charge(order, 1, 0) and await queue.count("queued") == 0, "nor while it is being worked on"
    assert await jobs.charge(order, 1, 1) and await queue.count("queued") == 1, "the next enqueue has a name of its own"


async def test_a_job_that_a_worker_has_just_taken_is_left_alone(jobs, queue):
    await jobs.charge(uuid4(), 1, 0)
    job = await queue.dequeue(1)
    assert job.status is Status.QUEUED, "saq marks it active a moment after it was taken"
    assert await sweeps(queue) == []
    job.started, job.attempts = 2**62, 1
    await job.update(status=Status.ACTIVE)
    assert await sweeps(queue) == [] and await sweeps(queue) == []
    await job.refresh()
    assert job.status is Status.ACTIVE
    assert not await queue.redis.exists(job.abort_id)


async def test_a_job_whose_worker_died_as_it_took_it_is_queued_again(jobs, queue):
    await jobs.charge(uuid4(), 1, 0)
    job = await queue.dequeue(1)
    assert await sweeps(queue) == []
    assert await sweeps(queue) == [job.id]
    assert (await queue.count("active"), await queue.count("queued")) == (0, 1)


async def test_a_job_over_its_time_is_given_up_and_one_that_is_gone_is_forgotten(jobs, queue):
    for _ in range(2):
        await jobs.charge(uuid4(), 1, 0)
    late, gone = await queue.dequeue(1), await queue.dequeue(1)
    late.started, late.attempts = 1, 1
    await late.update(status=Status.ACTIVE)
    await queue.redis.delete(gone.id)
    assert sorted(await sweeps(queue)) == sorted([late.id, gone.id])
    assert await queue.count("active") == await queue.count("incomplete") == 0
    await late.refresh()
    assert late.status is Status.ABORTED


async def test_one_sweep_a_minute_is_enough_for_all_processes(jobs, queue):
    await queue.redis.delete(queue._sweep)
    await queue.sweep()
    await jobs.charge(uuid4(), 1, 0)
    job = await queue.dequeue(1)
    job.started, job.attempts = 1, 1
    await job.update(status=Status.ACTIVE)
    assert await queue.sweep() == []
