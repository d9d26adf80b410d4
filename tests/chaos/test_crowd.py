"""Crowds over HTTP against two web processes: exactly as many winners as units, whatever happens (A01, A06)."""

import asyncio
import collections
import os
import signal

import httpx
import pytest

from tests.house import Shopper

pytestmark = pytest.mark.slow

CONNECTIONS = 200


async def crowd(house, slug, cookies, *, key="k"):
    """Everyone presses Buy once, over keep-alive connections -> answers by status."""
    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        answers = await asyncio.gather(*(Shopper(house, cookie, client).buys(slug, key=key) for cookie in cookies))
    return collections.Counter(answer.status_code for answer in answers), answers


async def test_nine_hundred_buyers_for_nine_hundred_units_all_get_one(house):
    house.opens_drop("lamp-900", 900)
    statuses, _ = await crowd(house, "lamp-900", house.shoppers(900))
    assert statuses == {201: 900}
    books = house.books_at_rest("lamp-900")
    assert (books["held"], books["gate_left"], books["refused"]) == (900, 0, 0)


async def test_two_thousand_buyers_for_a_hundred_units_make_a_hundred_winners(house):
    house.opens_drop("lamp-100", 100)
    statuses, _ = await crowd(house, "lamp-100", house.shoppers(2000))
    assert statuses == {201: 100, 409: 1900}
    assert house.books_at_rest("lamp-100")["held"] == 100


async def test_one_unit_and_two_hundred_buyers_make_one_winner_fifty_times(house):
    cookies = house.shoppers(200)
    create = [house.opens_drop(f"single-{n}", 1) for n in range(50)]
    for drop in create:
        statuses, answers = await crowd(house, drop["slug"], cookies)
        assert statuses == {201: 1, 409: 199}, [a.text for a in answers if a.status_code not in (201, 409)][:3]


async def test_the_same_key_twenty_times_at_once_and_after_the_fact_is_one_order(house):
    house.opens_drop("twice", 5)
    cookie = house.shoppers(1)[0]
    async with httpx.AsyncClient(timeout=30) as client:
        shopper = Shopper(house, cookie, client)
        answers = await asyncio.gather(*(shopper.buys("twice", key="one") for _ in range(20)))
        later = await shopper.buys("twice", key="one")
    assert {answer.status_code for answer in answers} == {201}
    assert {answer.text for answer in answers} == {later.text}
    assert house.books_at_rest("twice")["held"] == 1


async def test_another_shoppers_equal_key_is_another_key(house):
    house.opens_drop("equal-keys", 2)
    one, two = (Shopper(house, cookie) for cookie in house.shoppers(2))
    first, second = await one.buys("equal-keys", key="same"), await two.buys("equal-keys", key="same")
    assert first.status_code == second.status_code == 201
    assert first.json()["order"] != second.json()["order"]


async def test_a_known_key_with_other_content_is_refused(house):
    house.opens_drop("conflict", 5, "--per-person", "3")
    shopper = Shopper(house, house.shoppers(1)[0])
    assert (await shopper.buys("conflict", key="k", quantity=1)).status_code == 201
    assert (await shopper.buys("conflict", key="k", quantity=2)).status_code == 422


async def test_the_winner_of_the_last_unit_finds_the_order_again_two_seconds_later_on_any_process(house):
    house.opens_drop("last", 1)
    cookies = house.shoppers(60)
    winner = Shopper(house, cookies[0])
    first = await winner.buys("last", key="mine")
    for _ in range(4):  # two seconds of crowd keep both processes' memory of "nothing left" warm
        await crowd(house, "last", cookies[1:])
        await asyncio.sleep(0.5)
    for _ in range(12):  # a new connection each time: both processes answer some of them
        async with httpx.AsyncClient(timeout=20) as client:
            again = await Shopper(house, cookies[0], client).buys("last", key="mine")
        assert (again.status_code, again.text) == (201, first.text)


async def test_a_web_process_killed_mid_request_leaves_no_stuck_key(house):
    house.opens_drop("killed", 300)
    cookies = house.shoppers(300)
    victim = house.parts()["web"][0]

    async def kill_soon():
        await asyncio.sleep(0.02)
        os.kill(victim, signal.SIGKILL)

    async def buys(cookie):
        async with httpx.AsyncClient(timeout=30) as client:
            try:
                return await Shopper(house, cookie, client).buys("killed", key="k")
            except httpx.HTTPError:
                return None

    first = await asyncio.gather(kill_soon(), *(buys(cookie) for cookie in cookies))
    again = await asyncio.gather(*(buys(cookie) for cookie in cookies))
    for before, after in zip(first[1:], again, strict=True):
        assert after.status_code == 201
        if before is not None and before.status_code == 201:
            assert before.json()["order"] == after.json()["order"]
    assert house.books_at_rest("killed")["held"] == 300
