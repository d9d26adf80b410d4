"""Crowds over HTTP against two web processes: exactly as many winners as units, whatever happens (A01, A06)."""

import asyncio
import os
import signal

import httpx
import pytest

from app.bench.crowd import Crowd
from tests.house import Shopper, asking, everyone_buys

pytestmark = pytest.mark.slow


async def test_nine_hundred_buyers_for_nine_hundred_units_all_get_one(house):
    house.opens_drop("lamp-900", 900)
    tally = await everyone_buys(house, "lamp-900", house.shoppers(900))
    assert tally.statuses == {201: 900} and len(set(tally.orders)) == 900
    books = house.books_at_rest("lamp-900")
    assert (books["held"], books["gate_left"], books["refused"]) == (900, 0, 0)


async def test_two_thousand_buyers_for_a_hundred_units_make_a_hundred_winners(house):
    house.opens_drop("lamp-100", 100)
    tally = await everyone_buys(house, "lamp-100", house.shoppers(2000))
    assert tally.statuses == {201: 100, 409: 1900}
    assert house.books_at_rest("lamp-100")["held"] == 100


async def test_one_unit_and_two_hundred_buyers_make_one_winner_fifty_times(house):
    cookies = house.shoppers(50 * 200)
    rounds = [f"piece-{n}" for n in range(50)]
    house.opens_drop("single", 50, *(word for name in rounds for word in ("--variant", f"{name}=1")))
    for n, name in enumerate(rounds):
        tally = await everyone_buys(house, "single", cookies[200 * n : 200 * (n + 1)], key=name, variant=name)
        assert tally.statuses == {201: 1, 409: 199}, tally.odd
    books = house.books_at_rest("single")
    assert (books["held"], books["gate_left"], books["refused"]) == (50, 0, 0)


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
        assert (await everyone_buys(house, "last", cookies[1:])).statuses == {409: 59}
        await asyncio.sleep(0.5)
    for _ in range(12):  # a new connection each time: both processes answer some of them
        async with httpx.AsyncClient(timeout=20) as client:
            again = await Shopper(house, cookies[0], client).buys("last", key="mine")
        assert (again.status_code, again.text) == (201, first.text)


async def test_web_processes_killed_mid_request_leave_no_stuck_key(house):
    buyers = 3000
    house.opens_drop("killed", buyers)
    cookies = house.shoppers(buyers)
    victims = house.parts()["web"]
    crowd = Crowd(asking(house, "killed", cookies), connections=200)
    playing = asyncio.create_task(crowd.play())
    while crowd.answered_so_far < 50:
        await asyncio.sleep(0)
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    first = await playing
    assert first.failed, "nobody was in the middle of a request: the kill proves nothing"
    again = await everyone_buys(house, "killed", cookies)
    assert again.statuses == {201: buyers}, again.odd
    assert set(first.orders) <= set(again.orders)
    assert house.books_at_rest("killed")["held"] == buyers
