"""What goes wrong in browsers and behind them: Back, blocked sockets, two tabs, a Redis that restarts."""

import asyncio
import os
import re
import signal
import time
from datetime import UTC, datetime, timedelta

import pytest
import redis
from playwright.async_api import async_playwright, expect

from e2e.people import ARGUMENTS, chromium
from e2e.tab import Tab
from tests.house import Shopper

pytestmark = pytest.mark.slow
TRUE_WITHIN_SECONDS = 3.0  # after Redis is back (A12)
TRUE_AFTER_BACK_MS = 1_500  # a second (A16), and half a one for a busy machine
POLLS_WITHIN_MS = 8_000  # a poll every 2.5 s, jittered, twice


@pytest.fixture
async def keeping_browser():
    """A browser that keeps pages for the Back button, as people's do; Playwright's flags switch that off."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium(), args=ARGUMENTS, ignore_default_args=["--disable-back-forward-cache"]
        )
        yield browser
        await browser.close()


async def test_back_shows_the_truth_and_cannot_buy_again(house, comes, shoppers, keeping_browser):
    house.opens_drop("back", 3)
    mira = await comes(browser=keeping_browser, signed_in=True)
    await mira.opens("/drops/back")
    await mira.page.evaluate("window.kept = true")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    others = shoppers(2)
    orders = [(await shopper.buys("back")).json()["order"] for shopper in others]
    for shopper, order in zip(others, orders, strict=True):
        await shopper.sees(order, "PENDING_PAYMENT")
        await shopper.pays(order)
        await shopper.sees(order, "PAID")

    await mira.page.evaluate("history.back()")
    await mira.page.wait_for_url("**/drops/back", wait_until="commit")
    assert await mira.page.evaluate("window.kept === true"), "this was not the kept page, so nothing is proven"
    await expect(mira.page.locator("#scene")).to_have_attribute("data-left", "0", timeout=TRUE_AFTER_BACK_MS)
    await mira.sees_phase("all_held", timeout_ms=TRUE_AFTER_BACK_MS)
    await expect(mira.page.locator("#mine a[href*='/orders/']")).to_be_visible()
    assert await mira.page.locator("#mine [aria-busy]").count() == 0
    assert not await mira.page.locator("[data-buy-button]").is_visible()
    assert house.books_at_rest("back")["held"] == 1


async def test_a_kept_page_is_told_of_changes_again(house, comes, shoppers, keeping_browser):
    house.opens_drop("kept", 3)
    onlooker = await comes(browser=keeping_browser)
    await onlooker.opens("/drops/kept")
    await onlooker.sees_left(3)
    await onlooker.page.evaluate("window.kept = true")
    await onlooker.page.locator(".masthead__name").click()
    await onlooker.page.wait_for_url(house.url + "/")
    await shoppers(1)[0].buys("kept")
    await onlooker.page.evaluate("history.back()")
    await onlooker.page.wait_for_url("**/drops/kept", wait_until="commit")
    await onlooker.sees_left(2)
    assert await onlooker.page.evaluate("window.kept === true")
    await shoppers(1)[0].buys("kept")
    await onlooker.sees_left(1)


OPENS_IN_SECONDS = 20
SLEEPS_SECONDS = 2  # at least; a page that was awake would have beaten a hundred times
BEATS_MAX = 5  # around falling asleep and waking


async def test_a_tab_that_was_put_to_sleep_shows_the_truth_within_a_second_of_waking(house, browser, cookies, shoppers):
    house.opens_drop("asleep", 3)
    cookie = next(cookies)
    [other], mira = shoppers(1), Shopper(house, cookie)
    order = (await mira.buys("asleep")).json()["order"]
    await mira.sees(order, "PENDING_PAYMENT")
    opens_at = datetime.now(UTC) + timedelta(seconds=OPENS_IN_SECONDS)
    house.opens_drop("asleep-soon", 3, "--opens-at", opens_at.isoformat())
    pages = {name: f"{house.url}/{path}" for name, path in
             {"open": "drops/asleep", "soon": "drops/asleep-soon", "order": f"orders/{order}"}.items()}  # fmt: skip
    tabs = {name: await Tab.opens(browser, url, cookie if name == "order" else "") for name, url in pages.items()}
    await tabs["open"].shows("document.querySelector('#scene').dataset.left === '2'", within_seconds=20)
    for tab in tabs.values():
        await tab.sleeps()
    await other.buys("asleep")
    await mira.pays(order)
    await mira.sees(order, "PAID")
    await asyncio.sleep(max(SLEEPS_SECONDS, (opens_at - datetime.now(UTC)).total_seconds() + 1))
    truths = {
        "open": "document.querySelector('#scene').dataset.left === '1'",
        "soon": "document.querySelector('[data-buy-button]:enabled') && document.querySelector('[data-phase=open]')",
        "order": "document.querySelector('[data-order-state=PAID]')",
    }
    slept = {}
    for name, tab in tabs.items():
        slept[name] = await tab.wakes()
        await tab.shows(truths[name], within_seconds=TRUE_AFTER_BACK_MS / 1000)
        await tab.closes()
    assert all(one["seconds"] > SLEEPS_SECONDS and one["beats"] <= BEATS_MAX and one["hidden"] for one in slept.values()), slept
    shown = {name: one["shown"] for name, one in slept.items()}  # what each showed when it woke: nothing had reached it
    assert (shown["open"]["left"], shown["order"]["orderState"]) == ("2", "PENDING_PAYMENT")
    assert shown["soon"]["phase"] in ("announced", "last_seconds")


async def test_blocked_sockets_are_replaced_by_asking(house, comes, shoppers):
    house.opens_drop("blocked", 3)
    onlooker = await comes(signed_in=True)
    await onlooker.page.route_web_socket(re.compile("/live"), lambda socket: socket.close())
    await onlooker.opens("/drops/blocked")
    loads = onlooker.loads
    await shoppers(1)[0].buys("blocked")
    await expect(onlooker.page.locator("#scene")).to_have_attribute("data-left", "2", timeout=POLLS_WITHIN_MS)
    house.doorman("drop", "pause", "blocked")
    await onlooker.sees_phase("paused", timeout_ms=POLLS_WITHIN_MS)
    house.doorman("drop", "resume", "blocked")
    await onlooker.sees_phase("open", timeout_ms=POLLS_WITHIN_MS)
    assert onlooker.loads == loads
    await onlooker.buys()
    await onlooker.sees_order("PENDING_PAYMENT")


async def test_two_tabs_end_in_one_order(house, comes):
    house.opens_drop("two-tabs", 5)
    mira = await comes(signed_in=True)
    again = await mira.opens_another_tab()
    for tab in (mira, again):
        await tab.opens("/drops/two-tabs")
    await mira.buys()
    await again.buys()
    order = [re.search(r"/orders/([0-9a-f-]+)", tab.page.url)[1] for tab in (mira, again)]
    assert order[0] == order[1]
    await mira.pays()
    await mira.sees_order("PAID")
    await again.sees_order("PAID")
    assert house.books_at_rest("two-tabs")["paid"] == 1


async def test_pages_are_right_soon_after_redis_is_back(house, comes, shoppers):
    house.opens_drop("restart", 5)
    pages = [await comes(f"{n}@example.org") for n in range(3)]
    for person in pages:
        await person.opens("/drops/restart")
        await person.sees_left(5)
    buyers = shoppers(2)
    gate = redis.from_url(house.parts()["redis"]["url"])
    gate.client_kill_filter(_type="pubsub")
    await buyers[0].buys("restart")
    await all_see(pages, 4, within_seconds=TRUE_WITHIN_SECONDS)

    os.kill(house.parts()["redis"]["pid"], signal.SIGKILL)
    back_at = is_back(gate)
    while (answer := await buyers[1].buys("restart")).status_code == 503:  # "one moment", until the door is checked
        await asyncio.sleep(0.2)
    assert answer.status_code == 201, answer.text
    await all_see(pages, 3, within_seconds=max(0.5, TRUE_WITHIN_SECONDS - (time.monotonic() - back_at)))
    assert all(person.loads == 1 for person in pages)
    assert house.books_at_rest("restart")["held"] == 2


def is_back(gate: redis.Redis) -> float:
    """-> when Redis answered again (monotonic)."""
    give_up_at = time.monotonic() + 20
    while True:
        try:
            gate.ping()
            return time.monotonic()
        except redis.ConnectionError:
            assert time.monotonic() < give_up_at, "Redis never came back"
            time.sleep(0.02)


async def all_see(people, left: int, within_seconds: float) -> None:
    for person in people:
        await expect(person.page.locator("#scene")).to_have_attribute("data-left", str(left), timeout=within_seconds * 1000)
