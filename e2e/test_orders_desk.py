"""After the drop: an order found, refunded with its piece back on sale, and the buyer's page says so. On a phone, read by axe."""

import re

import pytest
from playwright.async_api import expect

from e2e.desk import seat
from e2e.people import DESKTOP, SEES_MS
from e2e.test_gallery import AXE, RUN_AXE

pytestmark = pytest.mark.slow


async def reads_well(person) -> None:
    """axe finds nothing, and nothing has to be pushed aside to be read."""
    await person.page.evaluate(AXE)
    assert await person.page.evaluate(RUN_AXE) == [], person.page.url
    assert await person.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, person.page.url


async def test_a_seller_finds_an_order_refunds_it_and_the_piece_is_on_sale_again(house, comes):
    house.opens_drop("second-thoughts", 1)
    mira = await comes("second.thoughts@example.org")
    await mira.signs_in("/drops/second-thoughts")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    await mira.pays()
    await mira.sees_order("PAID")
    owner = await comes("owner@example.org", cookie=await seat(house))
    await owner.opens("/seller/orders")
    await reads_well(owner)
    search = owner.page.get_by_role("searchbox", name="Search")
    await search.fill("second.thoughts")
    await search.press("Enter")
    line = owner.page.get_by_role("row").filter(has_text="second.thoughts@example.org")
    await expect(line).to_have_count(1)
    await line.get_by_role("link").click()
    await expect(owner.page.get_by_text("Paid: €49.00 received")).to_be_visible()
    await reads_well(owner)
    await owner.page.get_by_role("link", name="Refund", exact=True).click()
    await owner.page.get_by_text("go back on sale").click()
    await reads_well(owner)
    await owner.page.get_by_role("button", name="See what will happen").click()
    await expect(owner.page.get_by_text("This cannot be undone.")).to_be_visible()
    await reads_well(owner)
    await owner.page.get_by_role("button", name="Refund €49.00").click()
    await expect(owner.page.get_by_role("status").filter(has_text="The refund is on its way.")).to_be_visible()
    loads = owner.loads
    await mira.sees_order("REFUNDED")
    books = house.books_at_rest("second-thoughts")
    assert (books["refunded"], books["gate_left"], books["withdrawn"]) == (1, 1, 0)
    await expect(owner.page.locator("[data-refund=done]")).to_be_visible()
    await expect(owner.page.locator("#state")).to_have_text("Refunded")
    await expect(owner.page.get_by_text("Refunded pieces on sale again: 1")).to_be_visible()
    assert owner.loads == loads, "the page tells it without being asked"


async def test_what_needs_nobody_says_so_and_a_hold_is_ended_by_holding_the_button(house, comes):
    house.opens_drop("held-too-long", 1)
    mira = await comes("held@example.org", signed_in=True)
    await mira.opens("/drops/held-too-long")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    number = re.search(r"/orders/([0-9a-f-]+)", mira.page.url)[1]
    owner = await comes("owner@example.org", cookie=await seat(house), viewport=DESKTOP)
    await owner.opens("/seller/attention")
    await expect(owner.page.get_by_role("heading", name="Attention")).to_be_visible()
    await reads_well(owner)
    await owner.opens(f"/seller/orders/{number}")
    await reads_well(owner)
    button = owner.page.get_by_role("button", name="End the hold")
    await button.focus()
    await owner.page.keyboard.down("Enter")
    await owner.page.wait_for_url(re.compile("done=cancelled"), timeout=SEES_MS)
    await owner.page.keyboard.up("Enter")
    await expect(owner.page.get_by_role("status").filter(has_text="The hold is ended")).to_be_visible()
    await mira.sees_order("CANCELLED")
