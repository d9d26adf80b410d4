"""Workers killed at every moment, queues starved: one capture, one outcome (A08)."""

import asyncio
import json
import os
import signal
import time
from datetime import datetime

import pytest

from tests.house import SETTLED_SECONDS_MAX, Shopper, everyone_buys, everyone_pays

pytestmark = pytest.mark.slow


async def held(house, slug, count, *more):
    """-> (cookie, order) pairs of a fresh drop whose units are all held and recorded."""
    house.opens_drop(slug, count, *more)
    cookies = house.shoppers(count)
    tally = await everyone_buys(house, slug, cookies)
    assert tally.statuses == {201: count}, tally.odd
    pairs = [(cookies[buyer], json.loads(body)["order"]) for buyer, body in tally.bodies.items()]
    give_up_at = time.monotonic() + 10
    while house.books(slug)["held"] < count:
        assert time.monotonic() < give_up_at, "never recorded"
    return pairs


def captures(house, orders):
    """-> captures at the provider per order."""
    rows = [row for row in house.provider_ledger() if row["order"] in orders and row["captured"]]
    return {order: sum(row["order"] == order for row in rows) for order in orders}


@pytest.mark.parametrize("moment", ["before-the-charge", "during-the-charge", "reply-lost"])
async def test_a_worker_killed_around_a_charge_charges_once(house, moment):
    [(cookie, order)] = await held(house, f"kill-{moment}", 1)
    shopper = Shopper(house, cookie)
    worker = house.parts()["worker"][0]
    match moment:
        case "before-the-charge":
            os.kill(worker, signal.SIGSTOP)
            assert (await shopper.pays(order)).status_code == 202
        case "during-the-charge":
            house.script(latency=[1.2, 1.2])
            assert (await shopper.pays(order)).status_code == 202
            await asyncio.sleep(0.8)
        case "reply-lost":
            house.script(drop_after_capture=1)
            assert (await shopper.pays(order)).status_code == 202
            await asyncio.sleep(0.3)
    os.kill(worker, signal.SIGKILL)
    house.script(latency=[0, 0.05])
    await shopper.sees(order, "PAID")
    assert captures(house, [order]) == {order: 1}
    assert house.books_at_rest(f"kill-{moment}")["paid"] == 1


async def test_a_recorder_killed_under_load_loses_no_reservation(house):
    house.opens_drop("recorder", 300)
    cookies = house.shoppers(300)

    async def kills():
        for _ in range(3):
            await asyncio.sleep(0.05)
            os.kill(house.parts()["recorder"][0], signal.SIGKILL)
            await asyncio.sleep(0.5)

    _, tally = await asyncio.gather(kills(), everyone_buys(house, "recorder", cookies, connections=2))
    assert tally.statuses == {201: 300}, tally.odd
    books = house.books_at_rest("recorder")
    assert (books["held"], books["refused"], books["gate_left"]) == (300, 0, 0)


async def test_four_hundred_payments_starved_past_the_sweep_charge_nobody(house):
    pairs = await held(house, "starved", 400, "--hold", "5")
    worker = house.parts()["worker"][0]
    os.kill(worker, signal.SIGSTOP)
    try:
        assert (await everyone_pays(house, pairs)).statuses == {202: 400}
        give_up_at = time.monotonic() + SETTLED_SECONDS_MAX
        while (books := house.books_at_rest("starved"))["gate_left"] < 400:
            assert time.monotonic() < give_up_at, f"not every overdue hold was swept: {books}"
        assert (books["paid"], books["held"]) == (0, 0)
    finally:
        os.kill(worker, signal.SIGCONT)
    await asyncio.sleep(3)  # every late job runs now, and must lose its claim
    assert not any(captures(house, {order for _, order in pairs}).values())
    books = house.books_at_rest("starved")
    assert books["gate_left"] + books["paid"] == 400 and books["balanced"]


async def test_a_provider_outage_neither_sells_nor_frees_the_unit(house):
    [(cookie, order)] = await held(house, "outage", 1, "--hold", "3")
    shopper = Shopper(house, cookie)
    house.script(latency=[3, 3], latency_taken="after", webhooks="mute")  # it lands, its reply comes too late, no notice tells
    assert (await shopper.pays(order)).status_code == 202
    while captures(house, [order]) != {order: 1}:
        await asyncio.sleep(0.02)
    house.script(outage=True)
    await shopper.sees_payment(order, "unknown")
    overdue_at = datetime.fromisoformat((await shopper.order(order))["pay_by"]).timestamp() + 2
    while time.time() < overdue_at:
        await asyncio.sleep(0.2)
        assert (await shopper.order(order))["state"] == "PROCESSING"
    house.script(outage=False, latency=[0, 0.05], latency_taken="either", webhooks="normal")
    await shopper.sees(order, "PAID")
    assert captures(house, [order]) == {order: 1}
    assert house.books_at_rest("outage")["paid"] == 1
