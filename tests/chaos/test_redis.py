"""Redis flushed, restarted, emptied, silent: nobody buys twice, nothing is oversold, holds go on moving (A13, DESIGN section 5)."""

import asyncio
import contextlib
import os
import signal

import httpx
import pytest
import redis

from tests.house import Shopper, everyone_buys

pytestmark = pytest.mark.slow


def gate(house) -> redis.Redis:
    return redis.Redis.from_url(house.parts()["redis"]["url"])


async def until_answered(shopper, slug, key="k", tries=150):
    """Ask again while the gate is not ready -> the first other answer."""
    for _ in range(tries):
        with contextlib.suppress(httpx.HTTPError):
            answer = await shopper.buys(slug, key=key)
            if answer.status_code != 503:
                return answer
        await asyncio.sleep(0.1)
    raise AssertionError("the gate never came back")


async def test_flushing_scripts_under_load_is_invisible(house):
    house.opens_drop("flush", 400)
    cookies = house.shoppers(400)
    client = gate(house)

    async def flushes():
        for _ in range(10):
            await asyncio.to_thread(client.script_flush)
            await asyncio.sleep(0.02)

    _, tally = await asyncio.gather(flushes(), everyone_buys(house, "flush", cookies))
    assert tally.statuses == {201: 400}, tally.odd
    assert house.books_at_rest("flush")["held"] == 400


async def test_redis_killed_and_restarted_with_its_data_forgets_nothing(house):
    house.opens_drop("restart", 10)
    cookies = house.shoppers(5)
    first = [(await Shopper(house, cookie).buys("restart")).json() for cookie in cookies]
    os.kill(house.parts()["redis"]["pid"], signal.SIGKILL)
    again = [(await until_answered(Shopper(house, cookie), "restart")).json() for cookie in cookies]
    assert again == first
    assert house.books_at_rest("restart")["held"] == 5


async def test_redis_restarted_empty_mid_drop_is_rebuilt_and_nobody_buys_twice(house):
    house.opens_drop("empty", 6)
    cookies = house.shoppers(12)
    winners = [Shopper(house, cookie) for cookie in cookies[:4]]
    first = [(await shopper.buys("empty")).json()["order"] for shopper in winners]
    house.books_at_rest("empty")
    gate(house).flushall()
    again = [await until_answered(shopper, "empty") for shopper in winners]
    assert [answer.json()["order"] for answer in again] == first
    second = [await until_answered(shopper, "empty", key="other") for shopper in winners]
    assert {answer.json()["verdict"] for answer in second} == {"already_yours"}
    rest = [await until_answered(Shopper(house, cookie), "empty") for cookie in cookies[4:]]
    assert sorted(answer.status_code for answer in rest) == [201, 201] + [409] * 6
    books = house.books_at_rest("empty")
    assert (books["held"], books["gate_left"], books["refused"]) == (6, 0, 0)


async def test_with_redis_silent_holds_in_every_state_still_move(house):
    house.opens_drop("silent", 4, "--hold", "6")
    payer, idler, decliner, late = (Shopper(house, cookie) for cookie in house.shoppers(4))
    orders = [(await shopper.buys("silent")).json()["order"] for shopper in (payer, idler, decliner, late)]
    for shopper, order in zip((payer, idler, decliner, late), orders, strict=True):
        await shopper.sees(order, "PENDING_PAYMENT")
    parts = house.parts()
    servers = {pid for name, part in parts.items() if name in ("redis", "queue") for pid in [part["pid"]]}
    for pid in servers:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert (await payer.pays(orders[0])).status_code == 202
        assert (await decliner.pays(orders[2], "pm_card_chargeDeclined")).status_code == 202
        await payer.sees(orders[0], "PAID")
        await idler.sees(orders[1], "EXPIRED")
        await decliner.sees(orders[2], "EXPIRED", "FAILED")
        assert (await late.buys("silent", key="new")).status_code == 503
    finally:
        for pid in servers:
            os.kill(pid, signal.SIGCONT)
    await late.sees(orders[3], "EXPIRED")
    books = house.books_at_rest("silent")
    assert (books["paid"], books["gate_left"]) == (1, 3)
