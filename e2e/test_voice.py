"""What a screen reader is told: politely, at the moments that matter, and not every time that something moves."""

import pytest
from playwright.async_api import expect

pytestmark = pytest.mark.slow
LISTEN = """() => {
  const announcer = document.querySelector("[data-announcer]");
  window.told = [];
  const heard = new MutationObserver(() => window.told.push(announcer.textContent));
  heard.observe(announcer, { childList: true, characterData: true, subtree: true });
}"""


async def test_the_time_left_to_pay_is_told_at_five_minutes_one_and_thirty_seconds(house, comes):
    house.opens_drop("told", 3)
    mira = await comes(signed_in=True)
    await mira.page.clock.install()
    await mira.opens("/drops/told")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    announcer = mira.page.locator("[data-announcer]")
    await expect(announcer).to_have_attribute("aria-live", "polite")
    await expect(announcer).not_to_contain_text("left to pay")
    for forward, words in (("05:05", "5 min left to pay."), ("03:58", "1 min left to pay."), ("00:30", "30 seconds left to pay.")):
        await mira.page.clock.fast_forward(forward)
        await expect(announcer).to_have_text(words)


async def test_falling_stock_is_told_now_and_then_but_a_new_scene_at_once(house, comes, shoppers):
    house.opens_drop("falling", 9)
    mira = await comes()
    await mira.opens("/drops/falling")
    await mira.sees_left(9)
    await mira.page.evaluate(LISTEN)
    for left, shopper in zip((8, 7, 6, 5), shoppers(4), strict=True):
        await shopper.buys("falling")
        await mira.sees_left(left)
    house.doorman("drop", "pause", "falling")
    await mira.sees_phase("paused")
    told = await mira.page.evaluate("window.told")
    assert len([words for words in told if "left" in words]) <= 1, told
    assert "The seller has paused the door." in told[-1]
    assert await mira.page.locator("[aria-live=assertive]").count() == 0
