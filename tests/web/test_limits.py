"""The limits over two real web processes: A19 of the field faults, for a shopper and for an address."""

import asyncio
import time
from collections import Counter

import httpx
import pytest

from tests.house import House, Shopper

LIMIT, WINDOW_SECONDS = 10, 10


@pytest.fixture(scope="module")
def house():
    limit = f"{LIMIT}/{WINDOW_SECONDS}"
    house = House.made(web=2, DOORMAN_BUY_LIMIT=limit, DOORMAN_ADDRESS_LIMIT=limit, DOORMAN_TRUSTED_PROXIES="127.0.0.1")
    try:
        house.start()
        yield house
    finally:
        house.tear_down()


async def burst(shopper: Shopper, slug: str, calls: int) -> list[httpx.Response]:
    """Every call on a connection of its own, so that the kernel spreads them over the processes."""
    async with httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0), timeout=20) as client:
        one = Shopper(shopper.house, shopper._headers["Cookie"], client)
        return await asyncio.gather(*(one.buys(slug, key=f"k{number}") for number in range(calls)))


async def test_exactly_as_many_buys_pass_as_the_limit_says_whichever_process_is_asked(house):
    house.opens_drop("hammered", 1000, "--per-person", "1000")  # what passes is granted, or (R14) three unpaid holds stand already
    shopper = Shopper(house, house.shoppers(1)[0])
    began_at = time.monotonic()
    answers = await burst(shopper, "hammered", 100)
    last_passed_at = time.monotonic()
    assert Counter(answer.status_code for answer in answers) == {201: 3, 200: LIMIT - 3, 429: 100 - LIMIT}
    refused = [answer for answer in answers if answer.status_code == 429]
    assert all(answer.json()["verdict"] == "too_fast" for answer in refused)
    assert all(1 <= int(answer.headers["retry-after"]) <= WINDOW_SECONDS for answer in refused)

    while time.monotonic() < began_at + WINDOW_SECONDS - 1:  # hammering on neither helps nor extends the wait
        assert {answer.status_code for answer in await burst(shopper, "hammered", 10)} == {429}
        await asyncio.sleep(0.5)

    await asyncio.sleep(max(0.0, last_passed_at + WINDOW_SECONDS - time.monotonic()))
    answers = await burst(shopper, "hammered", 100)
    assert sum(answer.status_code == 429 for answer in answers) == 100 - LIMIT  # the others hear of a hold


async def test_what_one_shopper_spent_is_not_the_others(house):
    house.opens_drop("calm", 100)
    cookies = house.shoppers(20)
    answers = await asyncio.gather(*(Shopper(house, cookie).buys("calm") for cookie in cookies))
    assert {answer.status_code for answer in answers} == {201}


async def asked_from(house: House, addresses: list[str]) -> list[int]:
    """One request from each address, as our own proxy reports it."""
    async with httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0), timeout=20) as client:
        headers = [{"X-Forwarded-For": address} for address in addresses]
        answers = await asyncio.gather(*(client.get(f"{house.url}/healthz", headers=header) for header in headers))
    assert all(answer.status_code == 200 or 1 <= int(answer.headers["retry-after"]) <= WINDOW_SECONDS for answer in answers)
    return [answer.status_code for answer in answers]


async def test_a_subscriber_behind_many_addresses_of_one_network_is_counted_as_one(house):
    statuses = await asked_from(house, [f"2001:db8:0:1::{number:x}" for number in range(1, 61)])
    assert (statuses.count(200), statuses.count(429)) == (LIMIT, 50)
    assert await asked_from(house, [f"2001:db8:0:{number:x}::1" for number in range(2, 12)]) == [200] * 10


async def test_loopback_is_not_counted_in_development(house):
    async with httpx.AsyncClient() as client:
        assert {(await client.get(f"{house.url}/healthz")).status_code for _ in range(30)} == {200}
