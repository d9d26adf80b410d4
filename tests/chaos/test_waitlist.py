"""Second chances with real processes killed for real: no unit lost, none offered twice, the order of the line kept."""

import asyncio
import contextlib
import json
import os
import signal
import time

import pytest

from tests.house import SETTLED_SECONDS_MAX, Shopper, everyone_buys

pytestmark = pytest.mark.slow
UNITS, WAITING = 20, 30


async def line(house, slug, cookies):
    """Everybody joins the list, one after the other -> their shoppers, in order."""
    shoppers = [Shopper(house, cookie) for cookie in cookies]
    for number, shopper in enumerate(shoppers, 1):
        answer = await shopper._client.post(f"{house.url}/drops/{slug}/waitlist", headers=shopper._headers, json={})
        assert (answer.status_code, answer.json()) == (201, {"place": number, "ahead": number - 1}), answer.text
    return shoppers


async def offers(house, slug, shoppers):
    """-> the order each of them was offered, None where there is none."""
    found = []
    for shopper in shoppers:
        answer = await shopper._client.get(f"{house.url}/drops/{slug}/waitlist", headers=shopper._headers)
        found.append(next((place.get("order") for place in answer.json()["places"]), None))
    return found


async def test_holds_that_lapse_go_to_the_first_in_line_whoever_is_killed_meanwhile(house):
    slug = "killed-line"
    house.opens_drop(slug, UNITS, "--hold", "6")
    tally = await everyone_buys(house, slug, house.shoppers(UNITS))
    assert tally.statuses == {201: UNITS}, tally.odd
    shoppers = await line(house, slug, house.shoppers(WAITING))
    for _ in range(8):  # around the deadline: the sweeper, which releases, and the recorder, which writes the offers
        await asyncio.sleep(0.7)
        for pid in house.parts()["recorder"]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    give_up_at = time.monotonic() + SETTLED_SECONDS_MAX
    while (books := house.books_at_rest(slug))["offered"] < UNITS:
        assert time.monotonic() < give_up_at, f"the line was not served: {books}\n{house.log()}"
        await asyncio.sleep(0.2)
    assert (books["gate_left"], books["held"], books["refused"]) == (0, 0, 0)
    found = await offers(house, slug, shoppers)
    assert [order is not None for order in found] == [True] * UNITS + [False] * (WAITING - UNITS)
    assert len(set(found[:UNITS])) == UNITS


async def test_a_crowd_that_joins_at_once_is_one_line_over_all_processes(house):
    slug = "crowded-line"
    house.opens_drop(slug, 1)
    assert (await everyone_buys(house, slug, house.shoppers(1))).statuses == {201: 1}
    shoppers = [Shopper(house, cookie) for cookie in house.shoppers(120)]
    answers = await asyncio.gather(
        *(shopper._client.post(f"{house.url}/drops/{slug}/waitlist", headers=shopper._headers, json={}) for shopper in shoppers)
    )
    places = [json.loads(answer.content) for answer in answers]
    assert sorted(place["place"] for place in places) == list(range(1, 121))
    assert all(place["ahead"] < place["place"] for place in places)
