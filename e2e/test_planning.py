"""A drop on its way: typed, pictured, previewed, published, seen by a shopper; every page read by axe, on a desktop and a phone."""

import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from PIL import Image
from playwright.async_api import expect

from e2e.desk import seat
from e2e.people import DESKTOP, PHONE, Person
from e2e.test_dashboard import is_sound

pytestmark = pytest.mark.slow

OPENS = datetime.now(UTC) + timedelta(days=30)


def photograph(top: str, bottom: str) -> bytes:
    buffer = io.BytesIO()
    picture = Image.linear_gradient("L").resize((1000, 1250))
    Image.composite(Image.new("RGB", picture.size, bottom), Image.new("RGB", picture.size, top), picture).save(buffer, "JPEG")
    return buffer.getvalue()


def file(name: str, content: bytes, kind: str = "image/jpeg") -> dict:
    return {"name": name, "mimeType": kind, "buffer": content}


async def alts(person: Person) -> list[str]:
    return await person.page.locator("[data-shot] .field__input").evaluate_all("all => all.map(one => one.value)")


async def drags_a_file_in(person: Person, name: str, content: bytes) -> None:
    """As from a folder beside the browser."""
    await person.page.evaluate(
        """([name, bytes]) => {
          const held = new DataTransfer();
          held.items.add(new File([new Uint8Array(bytes)], name, { type: "image/jpeg" }));
          const drop = new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true });
          document.querySelector("[data-drop-zone]").dispatchEvent(drop);
        }""",
        [name, list(content)],
    )


async def fills_in(person: Person) -> None:
    page = person.page
    await page.get_by_label("Title", exact=True).fill("Harbour print")
    long = "https://example.org/" + "colour" * 20  # wider than a phone, and no space to break at
    await page.get_by_label("Description").fill(f"**Two colours**, pulled by hand: {long}\n\n- 50 × 70 cm\n- numbered")
    await page.get_by_label("Time zone").fill("Europe/Berlin")
    await page.locator("#opens").fill(f"{OPENS:%Y-%m-%dT20:00}")
    await page.locator("#variant-1-name").fill("Blue")
    await page.locator("#variant-1-units").fill("20")
    await page.get_by_role("button", name="Add a line").click()
    await page.locator("#variant-2-name").fill("Red")
    await page.locator("#variant-2-units").fill("10")
    await page.get_by_label("Price").fill("79")


async def puts_pictures_up(person: Person) -> None:
    page = person.page
    await page.locator("[data-file]").set_input_files(
        [file("blue.jpg", photograph("#27408b", "#87ceeb")), file("notes.txt", b"hello")]
    )
    await expect(page.locator("[data-failed]")).to_contain_text("notes.txt: This is no picture that we can read.")
    await expect(page.locator("[data-shot]")).to_have_count(1)
    await page.locator("#picture-1-alt").fill("The blue print on a wall")
    await drags_a_file_in(person, "red.jpg", photograph("#8b2727", "#f5b7a0"))
    await expect(page.locator("[data-shot]")).to_have_count(2)
    await page.locator("#picture-2-alt").fill("The red print on a table")
    await page.get_by_role("button", name="Move picture 2 up").click()
    assert await alts(person) == ["The red print on a table", "The blue print on a wall"]
    await page.get_by_role("button", name="Move picture 1 down").press("Enter")
    assert await alts(person) == ["The blue print on a wall", "The red print on a table"]


async def test_a_seller_plans_previews_and_publishes_and_a_shopper_sees_it(house, comes):
    house.doorman("shop", "create", "--name", "Printers", "--owner", "printer@example.org")
    mira = await comes("printer@example.org", viewport=DESKTOP, cookie=await seat(house, "printer@example.org"))
    page = mira.page
    await mira.opens("/seller/drafts")
    await is_sound(mira)
    await page.get_by_role("button", name="Plan a drop").click()
    await page.wait_for_url(re.compile(r"/seller/drafts/\d+$"))
    await is_sound(mira)
    await fills_in(mira)
    await puts_pictures_up(mira)
    await expect(page.locator("[data-unsaved]")).to_have_text("Not saved yet.")

    # Saved with something missing it says what, beside the field and at the top, and loses nothing.
    await page.get_by_label("Price").fill("")
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.wait_for_url("**?saved=1")
    await expect(page.get_by_text("1 thing is missing before this can be published")).to_be_visible()
    await page.get_by_role("link", name="What does one cost?").click()
    await is_sound(mira)
    assert await alts(mira) == ["The blue print on a wall", "The red print on a table"]
    assert await page.locator("#variant-2-name").input_value() == "Red"
    await page.get_by_label("Price").fill("79")

    # The preview is the shop's own page, at any moment, and does nothing.
    await page.get_by_role("button", name="Save and preview").click()
    await page.wait_for_url("**/preview")
    for phase in ("Before it opens", "The last ten seconds", "Open", "Sold out"):
        await page.locator(".preview__phases").get_by_role("link", name=phase, exact=True).click()
        await expect(page.get_by_role("heading", name="Harbour print")).to_be_visible()
        await is_sound(mira)
    await page.locator(".preview input[name=at]").fill(f"{OPENS:%Y-%m-%dT20:01}")
    await page.get_by_role("button", name="Show").click()
    await expect(page.locator("#scene")).to_have_attribute("data-left", "30")
    assert await page.locator(".drop form:not([inert])").count() == 0
    await page.get_by_role("link", name="Back", exact=True).click()

    # Publishing sums up, asks once, and the shop has it.
    await page.get_by_role("button", name="Save and publish …").click()
    await page.wait_for_url("**/publish")
    await expect(page.get_by_text("€2,370.00")).to_be_visible()
    await is_sound(mira)
    await page.get_by_role("button", name="Publish", exact=True).click()
    await page.wait_for_url("**/edit?published=1")
    await is_sound(mira)
    await page.get_by_role("link", name="See it in the shop").click()
    await mira.sees_phase("announced")
    address = page.url

    shopper = await comes("visitor@example.org", viewport=PHONE)
    await shopper.opens(address)
    await expect(shopper.page.get_by_role("heading", name="Harbour print")).to_be_visible()
    await expect(shopper.page.locator(".prose strong")).to_have_text("Two colours")
    await expect(shopper.page.get_by_alt_text("The blue print on a wall")).to_be_in_viewport()
    await shopper.page.get_by_alt_text("Picture 2").click()
    await expect(shopper.page.get_by_alt_text("The red print on a table")).to_be_in_viewport()
    await is_sound(shopper)

    # Two people change its words: the second is shown both, and decides. On a phone.
    await mira.opens("/seller")
    edit = re.search(r"/seller/drops/\d+", await page.content())[0] + "/edit"
    other = await comes("printer@example.org", viewport=PHONE, cookie=await seat(house, "printer@example.org"))
    await mira.opens(edit)
    await other.opens(edit)
    await page.get_by_label("Title", exact=True).fill("Harbour print, evening")
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.wait_for_url("**/edit?saved=1")
    await other.page.get_by_label("Title", exact=True).fill("Harbour print, morning")
    await other.page.get_by_role("button", name="Save", exact=True).click()
    await expect(other.page.get_by_role("heading", name="Somebody saved another version meanwhile")).to_be_visible()
    await is_sound(other)
    await other.page.get_by_role("button", name="Save mine over it").click()
    await other.page.wait_for_url("**/edit?saved=1")
    await is_sound(other)
    await shopper.looks_again()
    await expect(shopper.page.get_by_role("heading", name="Harbour print, morning")).to_be_visible()

    # What touches the promise is asked about: on the same phone, a later opening.
    await other.opens(edit.replace("/edit", "/change"))
    await is_sound(other)
    await other.page.get_by_role("button", name="Postpone …").click()
    await expect(other.page.get_by_text("0 people who asked or wait get a mail.")).to_be_visible()
    await is_sound(other)
    await other.page.get_by_role("button", name="Postpone").click()
    await expect(other.page.get_by_text("Postponed. Everybody concerned gets a mail.")).to_be_visible()


async def test_a_drop_is_planned_on_a_phone_without_javascript(house, comes):
    house.doorman("shop", "create", "--name", "Quiet", "--owner", "quiet@example.org")
    person = await comes(
        "quiet@example.org", viewport=PHONE, cookie=await seat(house, "quiet@example.org"), java_script_enabled=False
    )
    page = person.page
    await person.opens("/seller/drafts")
    await page.get_by_role("button", name="Plan a drop").click()
    await fills_in(person)
    await page.locator("[data-file]").set_input_files(file("blue.jpg", photograph("#27408b", "#87ceeb")))
    await page.get_by_role("button", name="Upload").click()
    await expect(page.get_by_label("What does picture 1 show?")).to_be_visible()
    assert await page.locator("#variant-2-name").input_value() == "Red" and await page.get_by_label("Price").input_value() == "79"
    await page.get_by_label("What does picture 1 show?").fill("A blue print")
    await page.get_by_role("button", name="Move line 2 up").click()
    await page.get_by_role("button", name="Save and publish …").click()
    await page.wait_for_url("**/publish")
    await expect(page.get_by_text("Red 10, Blue 20")).to_be_visible()
