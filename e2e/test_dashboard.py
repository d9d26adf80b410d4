"""The people's side of the dashboard in Chromium: coming in, the second factor, staff and the log; every page on the way is read by
axe, on a desktop and on a phone."""

import base64
import re
from datetime import UTC, datetime

import pytest
from playwright.async_api import expect

from app.domain import totp
from e2e.people import DESKTOP, PHONE, Person
from e2e.test_gallery import AXE, RUN_AXE

pytestmark = pytest.mark.slow

HELD_MS = 3000  # longer than hold.js asks for, on a busy machine too
LET_GO_MS = 150


async def nothing(person: Person) -> None:
    """Without scripts nothing can be asked of a page."""


async def comes_in(person: Person, look) -> None:
    """`look`: what is done on every page on the way."""
    page = person.page
    await page.goto("/seller")
    await page.get_by_label("E-mail address").fill(person.email)
    await look(person)
    await page.get_by_role("button", name="Send me the digits").click()
    await page.wait_for_url("**/seller/sign-in/code")
    await look(person)
    await page.get_by_label("The digits from the mail").fill(await person._code_from_mail())
    await page.get_by_role("button", name="Come in").click()
    await page.wait_for_url(re.compile(r"/seller$"))


async def sets_up_the_second_factor(person: Person) -> list[str]:
    """From the page that is on the screen -> the recovery codes."""
    page = person.page
    assert await page.locator("svg.qr").is_visible()
    await page.get_by_text("Without a camera").click()
    secret = (await page.locator("[data-secret]").inner_text()).replace(" ", "")
    await is_sound(person)
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    await page.get_by_label("Type the six digits").fill(totp.code_at(key, totp.step_at(datetime.now(UTC))))
    await page.get_by_role("button", name="Go on").click()
    codes = await page.locator("[data-recovery-codes] li").all_inner_texts()
    await is_sound(person)
    await page.get_by_role("link", name="I have kept them").click()
    return codes


async def invites(person: Person, email: str, role: str) -> None:
    await person.page.get_by_label("E-mail address").fill(email)
    await person.page.locator(f"input[name=role][value={role}]").check()
    await person.page.get_by_role("button", name="Send the invitation").click()
    await expect(row_of(person, email)).to_be_visible()


def row_of(person: Person, email: str):
    return person.page.locator(f"[data-member='{email}']")


async def is_sound(person: Person) -> None:
    """axe has nothing to say, and nothing sticks out to the side."""
    await person.page.evaluate(AXE)
    faults = await person.page.evaluate(RUN_AXE)
    assert not faults, f"{person.page.url}: {faults}"
    assert await person.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{person.page.url} is too wide"


async def test_an_owner_comes_in_sets_up_the_second_factor_runs_the_staff_and_finds_it_in_the_log(house, comes):
    house.doorman("shop", "create", "--name", "Race Control", "--owner", "chief@example.org")
    chief = await comes("chief@example.org", viewport=DESKTOP)
    page = chief.page
    await comes_in(chief, is_sound)
    await expect(page.get_by_text("No drop yet.")).to_be_visible()
    await is_sound(chief)
    await page.get_by_role("link", name="Staff").click()
    await page.wait_for_url("**/seller/second-factor?next=/seller/staff")
    codes = await sets_up_the_second_factor(chief)
    await page.wait_for_url("**/seller/staff")
    for email in ("ann@example.org", "ben@example.org", "cleo@example.org"):
        await invites(chief, email, "support")
    await row_of(chief, "ann@example.org").get_by_label("Role of ann@example.org").select_option("manager")
    await row_of(chief, "ann@example.org").get_by_role("button", name="Change").click()
    await is_sound(chief)

    # What cannot be taken back is held: let go too early it says so, held with pointer or keyboard it happens.
    remove = row_of(chief, "ben@example.org").get_by_role("button", name="Remove")
    await remove.hover()
    await page.mouse.down()
    await page.wait_for_timeout(LET_GO_MS)
    await page.mouse.up()
    await expect(row_of(chief, "ben@example.org").locator("[data-hold-hint]")).to_have_text("Hold it down for a second.")
    await page.mouse.down()
    await expect(row_of(chief, "ben@example.org")).to_have_count(0, timeout=HELD_MS * 4)
    await page.mouse.up()
    await row_of(chief, "cleo@example.org").get_by_role("button", name="Remove").focus()
    await page.keyboard.down("Enter")
    await expect(row_of(chief, "cleo@example.org")).to_have_count(0, timeout=HELD_MS * 4)
    await page.keyboard.up("Enter")

    await page.get_by_role("link", name="Audit log").click()
    done = await page.locator(".log__entry").evaluate_all("all => all.map(one => one.dataset.action)")
    assert done == [
        *("staff removed", "staff removed", "role changed", "staff invited", "staff invited", "staff invited"),
        *("second factor set up", "signed in", "shop made"),
    ]
    change = page.locator("[data-action='role changed']")
    await expect(change.locator("del")).to_have_text("before: Support")
    await expect(change.locator("ins")).to_have_text("after: Manager")
    await is_sound(chief)

    # On a phone without JavaScript: a recovery code instead of the app, and a page that asks before harm.
    phone = await comes("chief@example.org", viewport=PHONE, java_script_enabled=False)
    await comes_in(phone, nothing)
    await phone.opens("/seller/staff")
    await phone.page.get_by_label("Six digits, or a recovery code").fill(codes[0])
    await phone.page.get_by_role("button", name="Go on").click()
    await row_of(phone, "ann@example.org").get_by_role("button", name="Remove").click()
    await expect(phone.page.get_by_role("heading", name="Take ann@example.org off the staff?")).to_be_visible()
    await phone.page.get_by_role("button", name="Remove").click()
    await expect(row_of(phone, "ann@example.org")).to_have_count(0)

    # The other session is seen and ended; on a small screen everything still fits.
    await page.set_viewport_size(PHONE)
    for path in (
        "/seller",
        "/seller/staff",
        "/seller/keys",
        "/seller/webhooks",
        "/api/v1/docs",
        "/seller/shop",
        "/seller/audit",
        "/seller/you",
    ):
        await chief.opens(path)
        await is_sound(chief)
    await page.get_by_role("button", name="End all but this one").click()
    await expect(page.get_by_role("button", name="End all but this one")).to_have_count(0)
    await phone.opens("/seller/staff")
    await expect(phone.page.get_by_role("heading", name="The dashboard")).to_be_visible()
