"""From the countdown to "paid", in Chromium, as a person lives it."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import expect

from e2e.people import DESKTOP

pytestmark = pytest.mark.slow


def in_seconds(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


async def test_a_shopper_waits_for_the_door_buys_pays_and_another_sees_the_stock_fall(house, comes):
    house.ensure_shop()
    mira, onlooker = await comes("mira@example.org"), await comes("onlooker@example.org", viewport=DESKTOP)
    house.opens_drop("night-lamp", 3, "--opens-at", in_seconds(14))
    await mira.signs_in("/drops/night-lamp")
    await onlooker.opens("/drops/night-lamp")
    loads = mira.loads, onlooker.loads
    assert not await mira.can_buy()
    await mira.sees_phase("last_seconds")
    await onlooker.sees_phase("last_seconds")
    places = await mira.buy_button_stands_at(), await onlooker.buy_button_stands_at()
    await mira.sees_phase("open")
    await onlooker.sees_phase("open")
    assert (await mira.buy_button_stands_at(), await onlooker.buy_button_stands_at()) == places, "no thumb may miss it"
    await onlooker.sees_left(3)
    moved = await onlooker.has_seen_things_move()
    assert (mira.loads, onlooker.loads) == loads, "the door must open without a reload"
    await mira.buys()
    await onlooker.sees_left(2)
    assert onlooker.loads == loads[1], "the stock must fall without a reload"
    assert await onlooker.has_seen_things_move() == moved, "falling stock must not move the page"
    await mira.sees_order("PENDING_PAYMENT")
    await mira.pays()
    await mira.sees_order("PAID")
    assert house.books_at_rest("night-lamp")["paid"] == 1


async def test_a_declined_card_leaves_the_piece_and_another_card_pays_it(house, comes):
    house.opens_drop("declined", 2)
    mira = await comes("decliner@example.org")
    await mira.signs_in("/drops/declined")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    await mira.pays("pm_card_chargeDeclined")
    await mira.page.locator("[data-notice]").wait_for()
    await expect(mira.page.locator("[data-notice]")).to_be_in_viewport(ratio=1)  # although the button stands far below
    await mira.pays()
    await mira.sees_order("PAID")


async def test_a_shopper_who_changes_their_mind_gives_the_piece_to_the_next(house, comes):
    house.opens_drop("regret", 1)
    mira, next_one = await comes("regret@example.org"), await comes("next@example.org")
    await mira.signs_in("/drops/regret")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    await next_one.signs_in("/drops/regret")
    await next_one.sees_phase("all_held")
    await mira.gives_the_unit_back()
    await mira.sees_order("CANCELLED")
    await next_one.sees_phase("open")
    await next_one.buys()
    await next_one.sees_order("PENDING_PAYMENT")


async def test_everything_works_without_javascript(house, comes):
    house.opens_drop("plain", 1)
    mira = await comes("plain@example.org", java_script_enabled=False)
    await mira.signs_in("/drops/plain")
    await mira.buys()
    await mira.looks_again()
    await mira.sees_order("PENDING_PAYMENT")
    await mira.pays()
    for _ in range(40):
        await mira.looks_again()
        if await mira.page.locator("[data-order-state=PAID]").count():
            break
    await mira.sees_order("PAID")


async def test_two_taps_and_the_back_button_make_one_order(house, comes):
    house.opens_drop("twice-tapped", 5)
    mira = await comes("twice@example.org")
    await mira.signs_in("/drops/twice-tapped")
    await mira.page.locator("[data-buy-button]").dblclick()
    await mira.page.wait_for_url("**/orders/**")
    first = mira.page.url.split("?")[0]
    await mira.page.go_back()
    link = mira.page.locator("#mine a[href*='/orders/']")
    await link.wait_for()
    assert (await link.get_attribute("href")).split("?")[0] in first
    assert house.books_at_rest("twice-tapped")["held"] == 1


async def test_a_payment_that_the_bank_wants_confirmed_comes_back_paid(house, comes):
    house.opens_drop("asked", 1)
    mira = await comes(signed_in=True)
    await mira.opens("/drops/asked")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    await mira.pays("pm_card_authenticationRequired")
    await mira.authenticates()
    await mira.sees_order("PAID")
    assert house.books_at_rest("asked")["paid"] == 1
