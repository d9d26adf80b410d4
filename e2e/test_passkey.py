"""A passkey in Chromium, with the browser's own authenticator: added and shown by the keyboard alone, at an address with a name."""

import pytest
from playwright.async_api import expect

from e2e.desk import seat
from e2e.people import DESKTOP, Person
from e2e.test_dashboard import is_sound
from tests.house import House

pytestmark = pytest.mark.slow

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture(scope="module")
def named_house():
    """A house that is reached by name: browsers give passkeys to no address."""
    house = House.made(web=1)
    house.url = house.environment["DOORMAN_PUBLIC_URL"] = f"http://localhost:{house.port}"
    try:
        house.start()
        house.ensure_shop()
        yield house
    finally:
        house.tear_down()


async def test_an_owner_adds_a_passkey_and_shows_it_instead_of_a_code(named_house, browser):
    owner = await Person.comes(named_house, browser, viewport=DESKTOP, cookie=await seat(named_house))
    page = owner.page
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("WebAuthn.enable")
    await devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})

    await owner.opens("/seller/you")
    await owner.tabs_to("#passkey-name")
    await page.keyboard.type("Laptop")
    await owner.presses("Enter")
    await expect(page.locator("[data-passkey-row]")).to_contain_text("Laptop")
    await expect(page.locator("[data-passkey-row]")).to_contain_text("never")
    await is_sound(owner)

    await page.get_by_label("What is it called?").fill("Laptop again")
    await page.get_by_role("button", name="Add a passkey").click()
    await expect(page.get_by_role("alert")).to_have_text("This device holds a passkey of yours already.")
    await expect(page.get_by_role("button", name="Add a passkey")).not_to_have_attribute("aria-busy", "true")

    name, _, value = (await seat(named_house, proven=False)).partition("=")
    await page.context.add_cookies([{"name": name, "value": value, "url": named_house.url}])
    await owner.opens("/seller/staff")
    await page.wait_for_url("**/seller/second-factor?next=/seller/staff")
    await is_sound(owner)
    await expect(page.locator("[data-passkey-problem]")).to_be_hidden()
    await owner.tabs_to("form[data-passkey=show] button")
    await owner.presses("Enter")
    await page.wait_for_url(f"{named_house.url}/seller/staff")
    await owner.opens("/seller/you")
    await expect(page.locator("[data-passkey-row]")).not_to_contain_text("never")
    assert not owner.complaints
    await owner.leaves()

    cookie = await seat(named_house, proven=False)
    still = await Person.comes(named_house, browser, viewport=DESKTOP, cookie=cookie, java_script_enabled=False)
    await still.opens("/seller/second-factor")
    await expect(still.page.get_by_label("Six digits, or a recovery code")).to_be_visible()
    await expect(still.page.get_by_role("button", name="Use a passkey instead")).to_be_hidden()
    await still.leaves()
