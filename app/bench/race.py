"""`doorman bench race`: the payment queue starves until every hold is overdue. Who wins, the sweeper or the late job?

Every buyer holds a unit and has submitted a payment, while the worker process is stopped (SIGSTOP), so the charge jobs wait on the
queue past deadline and grace. The sweeper must give every unit back; then the worker goes on, and each late job must lose its claim
and charge nobody. Judged from outside: order pages, the queue's own results, the provider's ledger, the books. Always on a Doorman
of its own.
"""

import argparse
import asyncio
import json
import os
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from saq.job import Status

from app import wiring
from app.bench.crowd import Ask, Tally, play
from app.bench.report import print_report, table, whole
from app.bench.site import Site, new_drop, site
from app.errors import StartFailed
from app.jobs import PAYMENT, Jobs, open_queue

HOLD_SECONDS = 10.0
ENVIRONMENT = {
    "DOORMAN_SWEEP_SECONDS": "1",
    "DOORMAN_GRACE_SECONDS": "1",
    "SANDBOX_LATENCY_SECONDS": "0-0",
    "SANDBOX_DECLINE_RATE": "0",
}
CONNECTIONS = 64
WAIT_SECONDS_MAX = 120.0
JOBS_SECONDS_MAX = 240.0  # a job that saq loses sight of is found by its own sweep, every minute
LOOK_SECONDS = 0.2
DEQUEUES_EXPIRE_SECONDS = 1.5  # a stopped worker still has dequeues open at the server; they must not catch a job
CARD = "pm_card_visa"
DIED = "died"  # a job that the queue ended, or that an error ended, before it could say anything
AGAIN = 1_000  # enqueue number of the jobs that are put on the queue again here


def run(arguments: argparse.Namespace) -> int:
    with site(None, web=2, environment=ENVIRONMENT) as place:
        summary = take(place, arguments.buyers, arguments.units)
    return print_report(summary, _lines(summary), arguments.json)


def take(place: Site, buyers: int, units: int) -> dict:
    """Play it -> the numbers and what is wrong with them."""
    drop, cookies = asyncio.run(_prepare(place, buyers, units))
    with _stopped_workers(place):
        bought = play(
            Ask(f"{place.url}/drops/{drop.slug}/buy", buyers, cookies, body="quantity=1&key=race-{i}", keep_bodies=True),
            CONNECTIONS,
        )
        orders = {buyer: order for buyer, body in bought.bodies.items() if (order := _order_in(body))}
        holders = [cookies[buyer] for buyer in orders]
        asyncio.run(_until(place, drop, lambda books: books["journal"] == 0))
        pay = [f"/orders/{order}/pay" for order in orders.values()]
        submitted = play(Ask(place.url, len(pay), holders, paths=pay, body=f"payment_method={CARD}"), CONNECTIONS)
        left_alone = asyncio.run(_until(place, drop, lambda books: books["gate_left"] == units and not _unfinished(books)))
        states = _states(place, list(orders.values()), holders)
    jobs = asyncio.run(_late_jobs(place, set(orders.values())))
    captured = {row["order"] for row in _provider_ledger(place) if row["captured"]}
    books = asyncio.run(_until(place, drop, lambda books: books["balanced"] is not None and not _unfinished(books)))
    swept = states["EXPIRED"]
    summary = {
        "measure": "race",
        "buyers": buyers,
        "units": units,
        "reserved": bought.answers["reserved"],
        "payments_submitted": submitted.statuses[202],
        "swept": swept,
        "late_jobs": jobs.total() - jobs[DIED],
        "lost_claims": jobs["lost"],
        "payments_of_swept_orders": len(captured & set(orders.values())),
        "left": books["gate_left"],
        "paid": books["paid"],
        "states": dict(states),
        "job_results": dict(jobs),
        "books": books,
    }
    return summary | {"findings": _findings(summary, bought, submitted, left_alone)}


def _findings(summary: dict, bought: Tally, submitted: Tally, left_alone: dict) -> list[str]:
    found, granted = [], min(summary["buyers"], summary["units"])
    if summary["reserved"] != granted or bought.failed or bought.unanswered:
        found.append(
            f"{summary['reserved']} of {granted} buyers were granted a unit, {bought.failed + bought.unanswered} got no answer"
        )
    if summary["payments_submitted"] != granted:
        found.append(f"{summary['payments_submitted']} of {granted} payments were accepted in time: {dict(submitted.statuses)}")
    if summary["swept"] != granted:
        found.append(f"{summary['swept']} of {granted} overdue holds were swept: {summary['states']}")
    if left_alone["gate_left"] != summary["units"]:
        found.append(f"{left_alone['gate_left']} of {summary['units']} units were back before the worker went on")
    if summary["late_jobs"] < granted or summary["lost_claims"] != summary["late_jobs"]:
        found.append(f"{summary['lost_claims']} late jobs of {granted} orders lost their claim: {summary['job_results']}")
    if summary["payments_of_swept_orders"]:
        found.append(f"{summary['payments_of_swept_orders']} swept orders were CHARGED")
    if summary["left"] is None or summary["left"] + summary["paid"] != summary["units"] or summary["books"]["balanced"] is not True:
        found.append(f"the books do not close: left {summary['left']} + paid {summary['paid']} of {summary['units']}")
    return found


async def _prepare(place: Site, buyers: int, units: int):
    from app.web.session import mint_cookies

    async with wiring.office(place.settings, "bench") as office:
        drop = await new_drop(office, f"A race for {units} units", units, HOLD_SECONDS)
        return drop, mint_cookies(place.settings, await office.ledger.mint_shoppers(buyers))


@contextmanager
def _stopped_workers(place: Site) -> Iterator[None]:
    """Freeze the processes that charge. They go on when the block ends, whatever ends it."""
    run = place.run
    workers = set(run["worker"])
    if not workers or workers & {*run["recorder"], *run["web"]}:
        raise StartFailed("there is no worker process of its own to stop")
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(DEQUEUES_EXPIRE_SECONDS)
    try:
        yield
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)


async def _until(place: Site, drop, condition) -> dict:
    """-> the drop's books once `condition(books)` holds, or as they are after WAIT_SECONDS_MAX."""
    from app.purchase.books import books_of

    async with wiring.office(place.settings, "bench") as office:
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while True:
            books = await books_of(office.ledger, office.gate, drop.id, drop.slug)
            if condition(books) or time.monotonic() > deadline:
                return books
            await asyncio.sleep(LOOK_SECONDS)


def _unfinished(books: dict) -> int:
    return books["held"] + books["processing"] + books["returning"]


def _states(place: Site, orders: list[str], cookies: list[str]) -> Counter:
    """-> how many orders are in which state, as their owners are told."""
    pages = [f"/orders/{order}" for order in orders]
    seen = play(Ask(place.url, len(pages), cookies, paths=pages, method="GET", keep_bodies=True), CONNECTIONS)
    return Counter(json.loads(body)["state"] for body in seen.bodies.values())


async def _late_jobs(place: Site, orders: set[str]) -> Counter:
    """-> with which word the charge jobs of these orders ended, once each order has one that ran to its end.

    Results expire, so they are taken as they come. Being frozen is a rough handling: a job whose connection died of it, or that saq
    aborted, proves nothing and is put on the queue again (a job may come twice at any time).
    """
    url = place.settings.queue_redis_url or place.settings.redis_url
    queue, jobs = open_queue(url, PAYMENT), Jobs(url, place.settings.job_timeout_seconds)
    ended: dict[str, str] = {}
    ran: set[str] = set()
    deadline = time.monotonic() + JOBS_SECONDS_MAX
    try:
        while len(ran) < len(orders) and time.monotonic() < deadline:
            async for job in queue.iter_jobs():
                order = job.kwargs["order_id"] if job.function == "charge" else None
                if order not in orders or not job.completed or job.key in ended:
                    continue
                ended[job.key] = job.result if job.status == Status.COMPLETE else DIED
                if job.status == Status.COMPLETE:
                    ran.add(order)
                elif order not in ran:
                    await jobs.charge(UUID(order), job.kwargs["n"], AGAIN + len(ended))
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await queue.disconnect()
        await jobs.close()
    return Counter(ended.values())


def _provider_ledger(place: Site) -> list[dict]:
    """What really happened at the provider, through its own door."""
    provider = place.run["provider"]
    request = urllib.request.Request(f"{provider['url']}/sandbox/ledger", headers={"Authorization": f"Bearer {provider['token']}"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
        return json.loads(answer.read())


def _order_in(body: bytes) -> str | None:
    return json.loads(body).get("order")


def _lines(summary: dict) -> list[str]:
    return table(
        [
            ("buyers / units", f"{summary['buyers']:,} / {summary['units']:,}"),
            ("reserved", f"{summary['reserved']:,}"),
            ("payments submitted", f"{summary['payments_submitted']:,} (worker stopped)"),
            ("swept", f"{summary['swept']:,}"),
            ("lost claims", f"{summary['lost_claims']:,} of {summary['late_jobs']:,} late jobs"),
            ("payments of swept orders", f"{summary['payments_of_swept_orders']:,}"),
            ("left + paid", f"{summary['left']} + {summary['paid']} = {(summary['left'] or 0) + summary['paid']}"),
            ("balanced", "yes" if summary["books"]["balanced"] else "NO"),
        ]
    )


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--buyers", type=whole, default=400)
    parser.add_argument("--units", type=whole, default=400)
