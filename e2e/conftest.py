"""A house with its door open and a real Chromium."""

import httpx
import pytest
from playwright.async_api import async_playwright

from e2e.people import ARGUMENTS, Person, chromium
from tests.house import House, Shopper

SHOPPERS = 100


@pytest.fixture(scope="session")
def house():
    house = House.made(web=2)
    try:
        house.start()
        yield house
    finally:
        house.tear_down()


@pytest.fixture(scope="session")
async def browser():
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
def cookies(house):
    """-> one signed-in shopper after another."""
    return iter(house.shoppers(SHOPPERS))


@pytest.fixture
async def shoppers(house, cookies):
    """`shoppers(2)` -> shoppers without a browser, who ask over HTTP."""
    async with httpx.AsyncClient(timeout=20) as client:
        yield lambda count: [Shopper(house, next(cookies), client) for _ in range(count)]


@pytest.fixture
async def comes(house, browser, cookies):
    """`await comes("mira@example.org")` -> a person with a browser; everyone leaves at the end, and nobody had a script error."""
    people = []

    async def come(email="mira@example.org", *, browser=browser, signed_in=False, cookie="", **more):
        person = await Person.comes(house, browser, email, cookie=next(cookies) if signed_in else cookie, **more)
        people.append(person)
        return person

    yield come
    complaints = {person.email: person.complaints for person in people if person.complaints}
    for person in people:
        await person.leaves()
    assert not complaints, complaints
