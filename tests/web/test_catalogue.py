"""Drops from memory: what costs a look-up, what does not, and how changes arrive."""

import asyncio
import dataclasses

import pytest

from app.domain.drops import Door
from app.errors import LedgerUnreachable
from app.web import catalogue
from app.web.catalogue import Catalogue


class Ledger:
    """Counts what it is asked."""

    def __init__(self, *drops):
        self.kept = {drop.slug: drop for drop in drops}
        self.asked: list[str] = []
        self.gone = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def drop_by_slug(self, slug):
        self.asked.append(slug)
        await self.gate.wait()
        return self.kept.get(slug)

    async def drop_by_id(self, drop_id):
        if self.gone:
            raise LedgerUnreachable("gone")
        return next((drop for drop in self.kept.values() if drop.id == drop_id), None)

    async def drops(self):
        if self.gone:
            raise LedgerUnreachable("gone")
        return list(self.kept.values())


@pytest.fixture
async def drop(shop):
    return await shop.opens()


async def test_a_loaded_drop_costs_no_look_up(drop):
    ledger = Ledger(drop)
    memory = Catalogue(ledger)
    await memory.load()
    assert memory.known(drop.slug) == await memory.find(drop.slug) == drop == memory.by_id(drop.id)
    assert ledger.asked == []


async def test_an_unknown_slug_is_looked_up_once_however_many_ask(drop):
    ledger = Ledger(drop)
    ledger.gate.clear()
    memory = Catalogue(ledger)
    askers = [asyncio.create_task(memory.find(drop.slug)) for _ in range(50)]
    await asyncio.sleep(0)
    askers.pop().cancel()  # one hangs up; the others do not care
    await asyncio.sleep(0)
    ledger.gate.set()
    assert {found.slug for found in await asyncio.gather(*askers)} == {drop.slug}
    assert ledger.asked == [drop.slug]


async def test_an_absent_slug_stays_unknown_for_a_second(monkeypatch):
    now = 100.0
    monkeypatch.setattr(catalogue, "monotonic", lambda: now)
    ledger = Ledger()
    memory = Catalogue(ledger)
    for _ in range(10):
        assert await memory.find("nowhere") is None
    assert ledger.asked == ["nowhere"]
    now += catalogue.UNKNOWN_SECONDS + 0.1
    await memory.find("nowhere")
    assert ledger.asked == ["nowhere", "nowhere"]


async def test_unknown_slugs_are_bounded(monkeypatch):
    monkeypatch.setattr(catalogue, "UNKNOWN_MAX", 10)
    memory = Catalogue(Ledger())
    for n in range(100):
        await memory.find(f"nowhere-{n}")
    assert len(memory._unknown) <= 10


async def test_what_no_drop_could_be_called_asks_nobody():
    ledger = Ledger()
    memory = Catalogue(ledger)
    for slug in ("", "A", "a b", "ä", "a" * 65, "a/b", "a_b", "../x", "a\x00"):
        assert await memory.find(slug) is None, slug
    for drop_id in (0, -1, 2**31, 2**32):
        assert await memory.find_by_id(drop_id) is None
    assert ledger.asked == []


async def test_with_the_ledger_gone_what_is_known_goes_on(drop):
    ledger = Ledger(drop)
    memory = Catalogue(ledger)
    await memory.load()
    ledger.gone = True
    await memory.load_if_possible()
    await memory.refresh_if_possible(drop.id)
    assert memory.known(drop.slug) == drop


async def test_a_change_replaces_the_drop(drop):
    ledger = Ledger(drop)
    memory = Catalogue(ledger)
    await memory.load()
    ledger.kept = {"renamed": dataclasses.replace(drop, slug="renamed", door=Door.CANCELLED)}
    await memory.refresh(drop.id)
    assert memory.known(drop.slug) is None
    assert memory.known("renamed").door is Door.CANCELLED


async def test_a_process_hears_of_a_change_through_the_feed(shop):
    from app.purchase.drops import change_door

    drop = await shop.opens()
    assert (await shop.browser().get(f"/drops/{drop.slug}/stock")).json()["phase"] == "open"
    await change_door(shop, drop.slug, Door.CANCELLED)
    for _ in range(200):
        if (await shop.browser().get(f"/drops/{drop.slug}/stock")).json()["phase"] == "cancelled":
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the change never arrived")
