"""A page speaks its reader's language, live pushes included, and says times in the reader's own zone, by name."""

from datetime import UTC, datetime

import pytest
from playwright.async_api import expect

from e2e.desk import seat

pytestmark = pytest.mark.slow
OPENS_AT = datetime(datetime.now(UTC).year + 1, 1, 15, 20, 30, tzinfo=UTC)  # winter: New York is five hours behind


async def test_two_readers_of_one_drop_are_told_each_in_their_own_language(house, comes, shoppers):
    house.opens_drop("tongues", 3)
    german, english = await comes("de@example.org", locale="de-DE"), await comes("en@example.org", locale="en-US")
    for person in (german, english):
        await person.opens("/drops/tongues")
    await shoppers(1)[0].buys("tongues")
    for person in (german, english):
        await person.sees_left(2)
    house.doorman("drop", "pause", "tongues")
    await expect(german.page.locator(".scene__state")).to_have_text("Pausiert")
    await expect(english.page.locator(".scene__state")).to_have_text("Paused")
    assert await german.page.locator("html").get_attribute("lang") == "de"


async def test_a_reader_chooses_another_language_and_keeps_it(house, comes):
    house.opens_drop("chosen", 3)
    mira = await comes("chooser@example.org", locale="en-US")
    await mira.opens("/drops/chosen")
    await mira.page.get_by_role("link", name="Deutsch").click()
    await expect(mira.page.locator(".scene__state")).to_have_text("Offen")
    another = await mira.opens_another_tab()
    await another.opens("/")
    await expect(another.page.locator("h1")).to_have_text("An der Tür")
    await another.page.get_by_role("link", name="English").click()
    await expect(another.page.locator("h1")).to_have_text("At the door")
    house.doorman("drop", "pause", "chosen")
    await expect(mira.page.locator(".scene__state")).to_have_text("Pausiert"), "a page keeps the language it was opened in"


async def test_times_are_said_in_the_reader_s_zone_by_name_and_without_javascript_in_utc(house, comes):
    house.opens_drop("zones", 3, "--opens-at", OPENS_AT.isoformat())
    new_york = await comes("ny@example.org", locale="en-US", timezone_id="America/New_York")
    berlin = await comes("be@example.org", locale="de-DE", timezone_id="Europe/Berlin")
    plain = await comes("plain@example.org", locale="en-US", java_script_enabled=False)
    for person in (new_york, berlin, plain):
        await person.opens("/drops/zones")
    await expect(new_york.page.locator(".scene__state time")).to_have_text(f"15 Jan {OPENS_AT.year}, 15:30 EST")
    await expect(berlin.page.locator(".scene__state time")).to_have_text(f"15. Jan. {OPENS_AT.year}, 21:30 MEZ")
    await expect(plain.page.locator(".scene__state time")).to_have_text(f"15 Jan {OPENS_AT.year}, 20:30 UTC")


async def test_on_the_dashboard_everybody_reads_the_shop_s_clock_wherever_they_sit(house, comes):
    house.opens_drop("clocks", 3, "--opens-at", OPENS_AT.isoformat())
    cookie = await seat(house)
    for zone in ("America/New_York", "Asia/Tokyo"):
        owner = await comes("owner@example.org", cookie=cookie, locale="en-US", timezone_id=zone)
        await owner.opens("/seller")
        row = owner.page.locator(".desk").filter(has_text="clocks")
        await expect(row.locator(f"time[datetime^='{OPENS_AT:%Y-%m-%dT%H:%M}']").first).to_have_text(
            f"15 Jan {OPENS_AT.year}, 20:30 UTC"
        )
        await expect(owner.page.get_by_role("contentinfo")).to_contain_text("Times are the shop’s, for everybody who looks: UTC.")
