"""A house with its door open and a real Chromium."""

import pytest
from playwright.async_api import async_playwright

from e2e.people import ARGUMENTS, Person, chromium
from tests.house import House


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


@pytest.fixture
async def comes(house, browser):
    """`await comes("mira@example.org")` -> a person with a browser; everyone leaves at the end, and nobody had a script error."""
    people = []

    async def come(email="mira@example.org", **more):
        person = await Person.comes(house, browser, email, **more)
        people.append(person)
        return person

    yield come
    complaints = {person.email: person.complaints for person in people if person.complaints}
    for person in people:
        await person.leaves()
    assert not complaints, complaints
