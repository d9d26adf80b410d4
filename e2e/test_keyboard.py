"""The whole purchase without a pointer, focus kept where it was when the page changes beneath it."""

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.slow


async def test_a_whole_purchase_by_keyboard_alone(house, comes):
    house.opens_drop("keys", 4, "--variant", "Brass=2", "Soot=2")
    mira = await comes("keys@example.org")
    await mira.opens("/")
    await mira.tabs_to("a[href='/drops/keys']")
    await mira.presses("Enter")
    await mira.page.wait_for_url("**/drops/keys")
    await mira.tabs_to("a[href^='/sign-in']")
    await mira.presses("Enter")
    await mira.page.wait_for_url("**/sign-in?**")
    await expect(mira.page.locator("input[name=email]:focus")).to_be_attached()  # by itself, once the page is there
    await mira.page.keyboard.type(mira.email)
    await mira.presses("Enter")
    await mira.page.wait_for_url("**/sign-in/code")
    await expect(mira.page.locator("input[name=code]:focus")).to_be_attached()
    await mira.page.keyboard.type(await mira._code_from_mail())
    await mira.presses("Enter")
    await mira.page.wait_for_url("**/drops/keys")
    await mira.tabs_to("[name=variant]")
    await mira.presses("ArrowDown")
    assert await mira.page.evaluate("document.activeElement.value") == "Soot"
    await mira.tabs_to("[data-buy-button]")
    await mira.presses("Enter")
    await mira.page.wait_for_url("**/orders/**")
    await mira.sees_order("PENDING_PAYMENT")
    await mira.tabs_to("[name=payment_method]")
    await mira.tabs_to("button[type=submit]")
    await mira.presses("Space")
    await mira.sees_order("PAID")
    assert house.books_at_rest("keys")["paid"] == 1


async def test_focus_stays_when_the_scene_changes(house, comes, shoppers):
    house.opens_drop("focus", 9, "--variant", "Brass=5", "Soot=4")
    mira = await comes(signed_in=True)
    await mira.opens("/drops/focus")
    await mira.tabs_to("[name=variant]")
    await mira.presses("ArrowDown")
    await shoppers(1)[0].buys("focus", variant="Brass")
    await mira.sees_left(8)
    house.doorman("drop", "pause", "focus")
    await mira.sees_phase("paused")
    assert await mira.page.evaluate("document.activeElement.value") == "Soot"
    house.doorman("drop", "resume", "focus")
    await mira.sees_phase("open")
    assert await mira.page.evaluate("[document.activeElement.value, document.activeElement.checked]") == ["Soot", True]
