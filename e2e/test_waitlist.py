"""Second chances, as two people live them: one lets the hold lapse, the other's page says "your turn", and they pay."""

import re

import pytest
from playwright.async_api import expect

from e2e.people import SEES_MS

pytestmark = pytest.mark.slow


async def mails_of(person, kind: str) -> list[dict]:
    answer = await person.page.request.get("/dev/mail", headers={"Accept": "application/json"})
    return [mail for mail in await answer.json() if mail["to"] == person.email and mail["kind"] == kind]


async def test_a_hold_that_lapses_is_the_next_persons_turn_live_and_they_pay(house, comes):
    house.opens_drop("second-chance", 1, "--hold", "8")
    mira, noor = await comes("mira-list@example.org"), await comes("noor@example.org")
    await mira.signs_in("/drops/second-chance")
    await noor.signs_in("/drops/second-chance")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    await noor.sees_phase("all_held")
    loads = noor.loads
    await noor.page.get_by_role("button", name="Join the list").click()  # one tap
    await expect(noor.page.locator("[data-place]")).to_have_attribute("data-place", "1", timeout=SEES_MS)
    await expect(noor.page.get_by_text("You are next.")).to_be_visible()
    turn = noor.page.locator("#mine [data-offered]")
    await expect(turn).to_contain_text("It’s your turn", timeout=40_000)
    assert noor.loads == loads, "it must be told without a reload"
    await mira.sees_order("EXPIRED")
    (mail,) = await mails_of(noor, "your_turn")
    link = re.search(r"https?://\S+/o/\S+", mail["text"])[0]
    phone = await comes("nobody@example.org")  # Noor's other device, where she is not signed in
    await phone.opens(link)  # straight to paying
    await expect(phone.page.locator("h1")).to_have_text("It’s your turn.")
    await phone.pays("pm_card_authenticationRequired")
    await phone.authenticates()
    await expect(phone.page.locator("[data-order-state=PAID]")).to_be_visible(timeout=SEES_MS)
    await noor.opens("/orders")
    await expect(noor.page.locator("[data-order-state=PAID]")).to_be_visible()
    books = house.books_at_rest("second-chance")
    assert (books["paid"], books["gate_left"], books["offered"]) == (1, 0, 0)
    assert await mails_of(noor, "confirmation")
    assert await mails_of(mira, "expired")


async def test_the_place_moves_up_live_when_somebody_leaves_and_giving_back_goes_to_the_next(house, comes):
    house.opens_drop("moving-up", 1)
    mira, first, second = await comes("holder@example.org"), await comes("first@example.org"), await comes("second@example.org")
    for person in (mira, first, second):
        await person.signs_in("/drops/moving-up")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    for number, person in enumerate((first, second), 1):
        await person.sees_phase("all_held")
        await person.page.get_by_role("button", name="Join the list").click()
        await expect(person.page.locator("[data-place]")).to_have_attribute("data-place", str(number), timeout=SEES_MS)
    await expect(second.page.locator("[data-place]")).to_have_attribute("data-ahead", "1")
    await first.page.get_by_role("button", name="Leave the list").click()
    await expect(first.page.locator("[data-place]")).to_have_count(0)
    await expect(second.page.locator("[data-place]")).to_have_attribute("data-ahead", "0", timeout=SEES_MS)
    await mira.gives_the_unit_back()
    await mira.sees_order("CANCELLED")
    await expect(second.page.locator("#mine [data-offered]")).to_be_visible(timeout=SEES_MS)
    await second.page.locator("#mine [data-offered] a").click()
    await second.sees_order("PENDING_PAYMENT")
    assert house.books_at_rest("moving-up")["offered"] == 1


async def test_the_list_works_without_javascript(house, comes):
    house.opens_drop("plain-list", 1)
    mira, noor = await comes("plain-holder@example.org"), await comes("plain-noor@example.org", java_script_enabled=False)
    await mira.signs_in("/drops/plain-list")
    await mira.buys()
    await noor.signs_in("/drops/plain-list")
    await noor.page.get_by_role("button", name="Join the list").click()
    await expect(noor.page.locator("[data-place]")).to_have_attribute("data-place", "1")
    await noor.page.get_by_role("button", name="Leave the list").click()
    await expect(noor.page.locator("[data-place]")).to_have_count(0)
