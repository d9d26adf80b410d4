"""Pictures of a drop as browsers and link previews get them."""

import hashlib
import io
import re
from dataclasses import replace

import pytest
from PIL import Image

from app.ledger import NewDrop
from app.pictures import NAMES, renditions
from app.purchase.drops import create_drop
from app.web import share_picture
from app.web.share_picture import HEIGHT, WIDTH, draw, tag
from tests.test_pictures import picture
from tests.web.test_templates import a_drop

FOR_EVER = "public, max-age=31536000, immutable"
PAGE = {"accept": "text/html"}


async def pictured(shop, *, made: bool):
    """-> a drop with a picture, its renditions made or not."""
    original = picture(1200, 1500)
    hash = hashlib.sha256(original).hexdigest()
    await shop.ledger.put_picture(hash, "image/jpeg", 1200, 1500, original)
    for one in renditions(original) if made else ():
        assert await shop.ledger.put_rendition(hash, one.width, one.media_type, one.height, one.bytes)
        assert not await shop.ledger.put_rendition(hash, one.width, one.media_type, one.height, one.bytes)
    drop = await shop.opens()
    new = NewDrop(shop_id=shop.shop_id, slug="lamp", title="Night <lamp>", price_minor=4900, currency="EUR", opens_at=drop.opens_at,
                  variants=(("one", 3),), picture=hash)  # fmt: skip
    return await create_drop(shop, new), original


async def test_every_address_on_the_page_has_its_picture_for_ever(shop):
    drop, _ = await pictured(shop, made=True)
    browser = shop.browser()
    page = (await browser.get("/drops/lamp", headers=PAGE)).text
    addresses = set(re.findall(rf"/pictures/{drop.picture}/[\w.]+", page))
    assert {address.rpartition("/")[2] for address in addresses} == set(NAMES)
    for address in addresses:
        answer = await browser.get(address)
        width, media_type = NAMES[address.rpartition("/")[2]]
        assert (answer.status_code, answer.headers["content-type"]) == (200, media_type)
        assert answer.headers["cache-control"] == FOR_EVER
        assert Image.open(io.BytesIO(answer.content)).width == width


async def test_the_original_stands_in_for_what_was_never_made_but_not_for_ever(shop):
    drop, original = await pictured(shop, made=False)
    answer = await shop.browser().get(f"/pictures/{drop.picture}/800.avif")
    assert (answer.content, answer.headers["content-type"]) == (original, "image/jpeg")
    assert answer.headers["cache-control"] == "public, max-age=60"


@pytest.mark.parametrize("name", ["801.avif", "800.png", "x", "800.avif.webp", "..%2f800.avif"])
async def test_other_widths_and_formats_do_not_exist(shop, name):
    drop, _ = await pictured(shop, made=False)
    assert (await shop.browser().get(f"/pictures/{drop.picture}/{name}")).status_code == 404
    assert (await shop.browser().get(f"/pictures/{'0' * 64}/800.avif")).status_code == 404


async def test_a_shared_link_has_its_words_and_its_picture(shop):
    drop, _ = await pictured(shop, made=False)
    browser = shop.browser()
    page = (await browser.get("/drops/lamp", headers=PAGE)).text
    told = dict(re.findall(r'<meta property="og:([\w:]+)" content="([^"]*)">', page))
    assert (told["title"], told["site_name"]) == ("Night &lt;lamp&gt;", "Atelier")
    assert told["url"] == f"{shop.settings.public_url}/drops/lamp"
    assert told["image"] == f"{shop.settings.public_url}/drops/lamp/share.jpg?v={tag(drop)}"
    answer = await browser.get(told["image"].removeprefix(shop.settings.public_url))
    assert (answer.status_code, answer.headers["content-type"], answer.headers["cache-control"]) == (200, "image/jpeg", FOR_EVER)
    assert Image.open(io.BytesIO(answer.content)).size == (WIDTH, HEIGHT) == (int(told["image:width"]), int(told["image:height"]))


async def test_an_older_address_gets_the_drop_as_it_is_but_not_for_ever(shop):
    await pictured(shop, made=False)
    answer = await shop.browser().get("/drops/lamp/share.jpg?v=older")
    assert answer.status_code == 200 and answer.headers["cache-control"] == "public, max-age=60"
    assert (await shop.browser().get("/drops/none/share.jpg")).status_code == 404


async def test_it_is_drawn_once(shop, monkeypatch):
    drawn = []
    monkeypatch.setattr(share_picture, "draw", lambda drop, picture: drawn.append(drop) or b"drawn")
    await pictured(shop, made=False)
    for _ in range(3):
        assert (await shop.browser().get("/drops/lamp/share.jpg")).content == b"drawn"
    assert len(drawn) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Other"},
        {"price_minor": 1},
        {"picture": None},
        {"opens_at": a_drop().opens_at.replace(hour=3)},
        {"shop_name": "S"},
    ],
)
def test_the_address_changes_with_what_the_picture_shows(changes):
    assert tag(replace(a_drop(), **changes)) != tag(a_drop())


@pytest.mark.parametrize(
    ("title", "units"),
    [
        ("x", 1),
        ("Night lamp Nº 4", 100),
        ("A very long title that goes on and on " * 5, 5_000),
        ("W" * 200, 200),
        ("مرحبا 👩‍🚀", 12),
    ],
)
@pytest.mark.parametrize("own", [None, picture(300, 200), b"no picture at all"])
def test_any_drop_can_be_drawn(title, units, own):
    card = Image.open(io.BytesIO(draw(a_drop(units=units, title=title), own)))
    assert card.size == (WIDTH, HEIGHT)
    colours = card.crop((0, 300, WIDTH, HEIGHT)).getcolors(WIDTH * HEIGHT)
    assert sum(count for count, (red, green, blue) in colours if red > 200 and green < 130 and blue < 100) > 100, "no strip"
