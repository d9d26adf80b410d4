"""Jobs are hints, rows are the work.

Putting a job on the queue never raises and never decides anything: when the queue is gone, `False` comes back and the sweeper
finds the row. A job's key carries the attempt and the re-enqueue number, so that a dead job never blocks its successor.
"""

import asyncio
import contextlib
from uuid import UUID

import redis.asyncio
import structlog
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from saq.job import Job, Status
from saq.queue.redis import RedisQueue

PAYMENT, EXPIRY, MESSAGES, FULFILMENT = "payment", "expiry", "messages", "fulfilment"
ENQUEUE_SECONDS_MAX = 1.0
OUTAGE_PAUSE_SECONDS = 0.5  # between two looks at a queue that is gone
JOB_TTL_SECONDS = 60

log = structlog.get_logger("jobs")


class PatientQueue(RedisQueue):
    """A saq queue whose worker waits while Redis is gone instead of spinning, and that gives no job up which is being taken."""

    _taken_before: frozenset[bytes] = frozenset()

    async def sweep(self, lock: int = 60, abort: float = 5.0) -> list[str]:
        """Give up the jobs of dead workers, at most once in `lock` seconds over all processes -> their ids.

        A worker takes a job off the list first and marks it active a moment later. saq's own sweep gives up what it meets in that
        moment, and so kills a charge that has just begun, which then counts as unknown until its claim is dead. Here such a job is
        left alone until the same sweeper meets it so a second time.
        """
        if not await self.redis.set(self._sweep, 1, ex=lock, nx=True):
            return []
        active = await self.redis.lrange(self._active, 0, -1)
        jobs = dict(zip(active, map(self.deserialize, await self.redis.mget(active)), strict=True)) if active else {}
        taken = {job_id for job_id, job in jobs.items() if job and job.status is Status.QUEUED}
        self._taken_before, met_before = frozenset(taken), self._taken_before
        swept = []
        for job_id, job in jobs.items():
            if job is None:
                await self._forget(job_id)
            elif job.stuck or job_id in taken & met_before:
                await self._give_up(job, abort)
            else:
                continue
            swept.append(job_id.decode())
        return swept

    async def _forget(self, job_id: bytes) -> None:
        async with self.redis.pipeline(transaction=True) as pipe:
            await pipe.lrem(self._active, 0, job_id).zrem(self._incomplete, job_id).execute()

    async def _give_up(self, job: Job, seconds: float) -> None:
        """Tell its worker to stop, should it live, and wait `seconds`; then the job is over, or queued again if it never began."""
        await self.abort(job, error=self.swept_error_message)
        with contextlib.suppress(TimeoutError):
            await job.refresh(seconds)
        if job.retryable:
            await self.retry(job, error=self.swept_error_message)
        else:
            await self.finish(job, Status.ABORTED, error=self.swept_error_message)

    async def dequeue(self, timeout: float = 0.0, poll_interval: float = 0.0):  # noqa: ASYNC109 (saq's own name)
        try:
            return await super().dequeue(timeout, poll_interval)
        except (RedisError, OSError):
            await asyncio.sleep(OUTAGE_PAUSE_SECONDS)
            return None


def open_queue(url: str, name: str) -> PatientQueue:
    """-> a saq queue on its own connection pool. Does not connect yet."""
    client = redis.asyncio.Redis.from_url(url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=ENQUEUE_SECONDS_MAX)
    return PatientQueue(client, name=name)


class Jobs:
    """The sending side of the queues."""

    def __init__(self, url: str, job_timeout_seconds: float, parcel_job_timeout_seconds: float | None = None):
        """`parcel_job_timeout_seconds`: of the fulfilment queue, whose calls are slower (R9)."""
        self._queues = {name: open_queue(url, name) for name in (PAYMENT, EXPIRY, MESSAGES, FULFILMENT)}
        self._timeouts = dict.fromkeys(self._queues, job_timeout_seconds)
        self._timeouts[FULFILMENT] = parcel_job_timeout_seconds or job_timeout_seconds

    async def close(self) -> None:
        for queue in self._queues.values():
            await queue.disconnect()

    async def charge(self, order_id: UUID, n: int, enqueues: int) -> bool:
        """Ask for attempt `n` of this order to be charged -> whether the queue took it."""
        return await self._put(PAYMENT, "charge", f"charge:{order_id}:{n}:{enqueues}", order_id=str(order_id), n=n)

    async def refund(self, order_id: UUID, purpose: str, enqueues: int) -> bool:
        return await self._put(
            PAYMENT, "refund", f"refund:{order_id}:{purpose}:{enqueues}", order_id=str(order_id), purpose=purpose
        )

    async def give_back(self, order_id: UUID, salt: int) -> bool:
        """Ask for an overdue order with payment attempts to be given back. `salt` differs each time it is asked."""
        return await self._put(EXPIRY, "give_back", f"give_back:{order_id}:{salt}", order_id=str(order_id))

    async def take_over(self, order_id: UUID, salt: int) -> bool:
        """Ask for a dead claim to be taken over."""
        return await self._put(EXPIRY, "take_over", f"take_over:{order_id}:{salt}", order_id=str(order_id))

    async def look_up(self, order_id: UUID, salt: int) -> bool:
        """Ask for an authentication in progress to be looked up at the provider."""
        return await self._put(EXPIRY, "look_up", f"look_up:{order_id}:{salt}", order_id=str(order_id))

    async def ship(self, order_id: UUID, enqueues: int) -> bool:
        """Ask for one step with the parcel of this order."""
        return await self._put(FULFILMENT, "ship", f"ship:{order_id}:{enqueues}", order_id=str(order_id))

    async def deliver(self) -> bool:
        """Ask for waiting messages to be delivered now."""
        return await self._put(MESSAGES, "deliver", "deliver")

    async def depths(self) -> dict[str, int] | None:
        """-> jobs that wait or are worked on, by queue; None: the queues cannot be asked."""
        try:
            async with asyncio.timeout(ENQUEUE_SECONDS_MAX):
                counts = await asyncio.gather(
                    *(queue.count(kind) for queue in self._queues.values() for kind in ("queued", "active"))
                )
        except (RedisError, OSError, TimeoutError):
            return None
        return {name: sum(counts[2 * place : 2 * place + 2]) for place, name in enumerate(self._queues)}

    async def _put(self, queue: str, function: str, key: str, **arguments) -> bool:
        try:
            async with asyncio.timeout(ENQUEUE_SECONDS_MAX):
                await self._queues[queue].enqueue(
                    function, key=key, timeout=self._timeouts[queue], retries=1, ttl=JOB_TTL_SECONDS, **arguments
                )
        except (RedisError, OSError, TimeoutError) as error:
            log.warning("not enqueued", job=key, error=type(error).__name__)
            return False
        return True
