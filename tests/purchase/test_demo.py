"""The demo shop: three drops as they are announced, one of them truly sold out, and books that balance."""

import asyncio
import hashlib
import io
from datetime import timedelta

import pytest
from PIL import Image, ImageChops, ImageStat

from app import clock, demo, demo_pictures
from app.purchase.books import books


@pytest.fixture
async def empty_shop(shop):
    """A ledger without any shop."""
    await shop.sql("DELETE FROM sellers")
    await shop.sql("DELETE FROM shops")
    return shop


@pytest.fixture
async def workers(empty_shop):
    """Recorder and sweeper at work, as beside a running shop."""

    async def work():
        while True:
            await empty_shop.recorder().step(await empty_shop.ledger.live_drop_ids(), block_ms=5)
            await empty_shop.sweeps()

    running = asyncio.create_task(work())
    yield running
    running.cancel()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(demo, "LOOK_SECONDS", 0.01)


async def test_the_demo_has_an_open_a_coming_and_a_sold_out_drop(empty_shop, workers):
    assert await demo.ensure(empty_shop) is True
    drops = {drop.slug: drop for drop in await empty_shop.ledger.drops(limit=10)}
    assert set(drops) == {"night-lamp", "moka-pot", "carafe"}
    assert drops["night-lamp"].opens_at <= clock.now()
    assert timedelta(seconds=90) < drops["moka-pot"].opens_at - clock.now() <= demo.OPENS_IN
    for slug, left, paid in (("night-lamp", 100, 0), ("moka-pot", 60, 0), ("carafe", 0, 12)):
        found = await books(empty_shop, slug)
        assert found["balanced"] is True, found
        assert (found["gate_left"], found["paid"], found["held"]) == (left, paid, 0)
    peek = await empty_shop.gate.peek(drops["carafe"].id)
    assert not any(peek.left.values()) and not any(peek.held.values())


async def test_every_sold_piece_of_the_demo_is_one_capture_at_the_provider(empty_shop, workers):
    await demo.ensure(empty_shop)
    orders = await empty_shop.sql(
        "SELECT o.state, p.state AS money, p.captured_minor, p.intent_id FROM orders o JOIN payments p ON p.order_id = o.id"
    )
    assert len(orders) == len({order["intent_id"] for order in orders}) == demo.SOLD_OUT_UNITS
    assert {(order["state"], order["money"], order["captured_minor"]) for order in orders} == {("PAID", "captured", 21_000)}


async def test_where_a_shop_exists_nothing_happens(shop):
    assert await demo.ensure(shop) is False
    assert await shop.ledger.drops(limit=10) == []


async def test_without_workers_the_drops_stand_and_nothing_is_pretended(empty_shop, monkeypatch):
    monkeypatch.setattr(demo, "SELL_SECONDS_MAX", 0.3)
    assert await demo.ensure(empty_shop) is True
    carafe = await empty_shop.ledger.drop_by_slug("carafe")
    peek = await empty_shop.gate.peek(carafe.id)
    assert sum(peek.left.values()) + sum(peek.held.values()) == demo.SOLD_OUT_UNITS
    assert len(await empty_shop.ledger.drops(limit=10)) == 3


async def test_each_picture_is_stored_under_the_hash_of_its_bytes(empty_shop, monkeypatch):
    monkeypatch.setattr(demo, "SELL_SECONDS_MAX", 0)
    await demo.ensure(empty_shop)
    for drop in await empty_shop.ledger.drops(limit=10):
        picture = await empty_shop.ledger.picture(drop.picture)
        assert hashlib.sha256(picture.bytes).hexdigest() == drop.picture
        image = Image.open(io.BytesIO(picture.bytes))
        assert (image.format, image.size) == ("WEBP", (picture.width, picture.height))


@pytest.mark.parametrize("name", demo_pictures.PICTURES)
def test_the_stored_pictures_are_the_ones_that_the_project_draws(name, monkeypatch):
    monkeypatch.setattr(demo_pictures, "SCALE", 1)  # a quick sketch of the same picture
    drawn, *_ = demo_pictures.draw(name, 300)
    stored = Image.open(demo.PICTURES / f"{name}.webp").convert("RGB").resize((300, 375), Image.Resampling.LANCZOS)
    difference = ImageStat.Stat(ImageChops.difference(Image.open(io.BytesIO(drawn)).convert("RGB"), stored))
    assert max(difference.mean) < 6
