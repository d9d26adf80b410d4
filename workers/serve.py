"""The two worker processes.

`python -m workers.serve jobs`   saq workers for payment, expiry, messages and fulfilment; webhooks (what talks to the outside)
`python -m workers.serve loops`  recorder, sweeper, reconciler (work that needs no queue)

SIGTERM or SIGINT finishes what is claimed, then stops. kill -9 leaves rows that the sweeper finds.
"""

import asyncio
import contextlib
import signal
import sys

import structlog
import uvloop
from saq.worker import Worker

from app import wiring
from app.jobs import EXPIRY, FULFILMENT, MESSAGES, PAYMENT, open_queue
from app.logs import configure_log
from app.settings import Settings
from workers import jobs

CONCURRENCY = {PAYMENT: 20, EXPIRY: 8, MESSAGES: 2, FULFILMENT: 8}
FUNCTIONS = {
    PAYMENT: [jobs.charge, jobs.refund],
    EXPIRY: [jobs.give_back, jobs.take_over, jobs.look_up],
    MESSAGES: [jobs.deliver],
    FULFILMENT: [jobs.ship],
}
DEQUEUE_SECONDS = 1.0  # so that a stop is noticed
DELIVER_EVERY_SECONDS = 1.0  # the floor under a lost "deliver" hint, and how soon "your turn" leaves the house
RESULT_SECONDS = 0.1  # for saq to note the result of a job that has just ended
LOOP_PAUSE_SECONDS = 1.0  # before a loop that failed unexpectedly starts again

log = structlog.get_logger("workers")


class SharedWorker(Worker):
    """A saq worker that shares its process (and its signals) with others and finishes claimed jobs before it stops."""

    SIGNALS: list = []

    async def finish(self, seconds: float) -> None:
        """Take no new job and wait up to `seconds` for the running ones."""
        self.event.set()
        running = [job["task"] for job in self.job_task_contexts.values()]
        if running:
            await asyncio.wait(running, timeout=seconds)
            await asyncio.sleep(RESULT_SECONDS)
        waiting, self.tasks = self.tasks, set()  # saq's own upkeep and empty-handed dequeues: nothing of anybody's is in them
        await _cancelled(list(waiting))
        await self.stop()


async def serve_jobs(settings: Settings, stopped: asyncio.Event) -> None:
    async with wiring.work(settings) as work:
        workers = [
            SharedWorker(
                open_queue(settings.queue_redis_url or settings.redis_url, name),
                FUNCTIONS[name],
                concurrency=CONCURRENCY[name],
                dequeue_timeout=DEQUEUE_SECONDS,
                timers={"sweep": round(settings.queue_retry_seconds) or 1},
            )
            for name in CONCURRENCY
        ]
        for worker in workers:
            worker.context["work"] = work
        running = [asyncio.create_task(_restarted(worker.start, f"saq {worker.queue.name}", stopped)) for worker in workers]
        running.append(asyncio.create_task(_restarted(lambda: _deliver(work), "deliver", stopped)))
        running.append(asyncio.create_task(_restarted(work.notifier.run, "notifier", stopped)))
        await stopped.wait()
        await asyncio.gather(*(worker.finish(settings.job_timeout_seconds) for worker in workers))
        await _cancelled(running)


async def _deliver(work: wiring.Work) -> None:
    while True:
        await jobs.deliver({"work": work})
        await asyncio.sleep(DELIVER_EVERY_SECONDS)


async def serve_loops(settings: Settings, stopped: asyncio.Event) -> None:
    async with wiring.loops(settings) as loops:
        running = [
            asyncio.create_task(_restarted(loop.run, type(loop).__name__, stopped))
            for loop in (loops.recorder, loops.reconciler, loops.sweeper)
        ]
        await stopped.wait()
        await _cancelled(running)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(loops.sweeper.finish(), settings.job_timeout_seconds)


async def _restarted(run, name: str, stopped: asyncio.Event) -> None:
    """Run a loop; a failure nobody foresaw is logged and the loop starts again."""
    while not stopped.is_set():
        try:
            await run()
        except Exception:
            log.exception("loop failed", loop=name)
            await asyncio.sleep(LOOP_PAUSE_SECONDS)


async def _cancelled(tasks: list[asyncio.Task]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


SERVE = {"jobs": serve_jobs, "loops": serve_loops}


async def _main(which: str) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stopped.set)
    await SERVE[which](Settings.from_environment(), stopped)


def main(which: str) -> int:
    configure_log()
    uvloop.run(_main(which))
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in SERVE:
        sys.exit(f"usage: python -m workers.serve {'|'.join(SERVE)}")
    sys.exit(main(sys.argv[1]))
