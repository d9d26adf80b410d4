"""Race control behind its doors: who sees it, what it says, what it does, and that everybody is told at once."""

import asyncio
import contextlib
import re
from html.parser import HTMLParser
from uuid import uuid4

import pytest

from app.domain.drops import Door
from app.errors import GateUnreachable
from app.gate import Gate
from app.ledger import Ledger
from app.purchase.retiring import retire
from app.web.app import create_app
from app.wiring import Office, Web
from tests.web.conftest import FORM, JSON, PARTIAL, running
from tests.web.seller.conftest import doors_of

SECONDS_MAX = 20
SURE = {"sure": "yes"}


async def sees(client, drop) -> dict:
    """-> what race control says, as a program reads it."""
    answer = await client.get(f"/seller/drops/{drop.id}/live", headers=JSON)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def audited(shop) -> list[tuple]:
    rows = await shop.rows("SELECT actor, action, subject, before::text, after::text FROM audit ORDER BY id")
    return [tuple(row) for row in rows]


async def test_of_two_who_pause_at_once_one_did(shop, manager, monkeypatch):
    drop = await shop.opens(units=3)

    async def as_it_was(shop_id, drop_id):
        return drop

    monkeypatch.setattr(doors_of(shop).office.ledger, "seller_drop", as_it_was)  # both looked before either paused
    for _who in range(2):
        answer = await manager.post(f"/seller/drops/{drop.id}/live/pause", data=SURE, headers=FORM)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/seller/drops/{drop.id}/live?said=pause")
    assert [row[1] for row in await audited(shop)] == ["paused"]


async def test_the_numbers_are_those_of_gate_and_ledger(shop, viewer):
    drop = await shop.opens(variants=(("Black", 3), ("White", 2)))
    buyer, other = await shop.shopper(), await shop.shopper()
    order_id = await shop.holds(drop, buyer, variant="Black")
    await shop.holds(drop, other, variant="White")
    submitted = await shop.till.submit(order_id, buyer.shopper_id, "pm_card_visa")
    await shop.till.charge(order_id, submitted.n)
    seen = await sees(viewer, drop)
    assert (seen["total"], seen["left"], seen["checkouts"], seen["paid"], seen["waiting"]) == (5, 3, 1, 1, 0)
    assert [(one["name"], one["left"], one["held"], one["paid"]) for one in seen["variants"]] == [
        ("Black", 2, 0, 1),
        ("White", 1, 1, 0),
    ]
    assert (seen["revenue_minor"], seen["currency"], seen["phase"], seen["door"]) == (4900, "EUR", "open", "open")
    assert (seen["balanced"], seen["findings"], seen["journal"]) == (True, [], 0)
    assert [one["kind"] for one in seen["happened"]][:2] == ["paid", "held"]
    assert seen["provider"]["taken"] == 1
    assert seen["queues"] is not None


async def test_the_chart_is_said_in_a_sentence_that_fits_any_number(shop, viewer):
    drop = await shop.opens(units=3)
    page = (await viewer.get(f"/seller/drops/{drop.id}/live")).text
    assert "In the last two minutes, presses of Buy: 0, with something taken: 0; pieces paid: 0." in page


async def test_the_page_and_the_fragment_say_the_same(shop, manager):
    drop = await shop.opens(units=3)
    page = await manager.get(f"/seller/drops/{drop.id}/live")
    fragment = await manager.get(f"/seller/drops/{drop.id}/live", headers=PARTIAL)
    for text in (page.text, fragment.text):
        assert 'data-left="3"' in text
        assert 'role="img"' in text
    assert "<html" in page.text
    assert "<html" not in fragment.text
    assert "Night &lt;lamp&gt;" in page.text
    assert '<meta http-equiv="refresh"' in page.text  # without JavaScript it loads itself again
    assert '<meta http-equiv="refresh"' not in (await manager.get(f"/seller/drops/{drop.id}/live?still=yes")).text


async def test_only_who_may_sell_sees_what_can_be_done(shop, manager, viewer):
    drop = await shop.opens()
    assert "/live/pause" in (await manager.get(f"/seller/drops/{drop.id}/live")).text
    assert "/live/pause" not in (await viewer.get(f"/seller/drops/{drop.id}/live")).text


# doing


async def test_pause_is_told_to_every_process_and_shoppers_are_refused_from_then_on(shop, manager):
    drop = await shop.opens(units=3)
    heard = asyncio.Queue()
    ear = asyncio.create_task(shop.feed.subscribe(heard.put_nowait))
    async with asyncio.timeout(SECONDS_MAX):
        assert (await heard.get())["kind"] == "gap"
        answer = await manager.post(f"/seller/drops/{drop.id}/live/pause", data=SURE, headers=FORM)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/seller/drops/{drop.id}/live?said=pause")
        while (await heard.get()) != {"kind": "drop", "drop": drop.id}:
            pass
    ear.cancel()
    await shop.app_hears(drop)
    assert (await shop.browser().get(f"/drops/{drop.slug}/stock", headers=JSON)).json()["phase"] == "paused"
    refused = await (await shop.shopper()).post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)
    assert refused.json()["verdict"] == "paused"
    seen = await sees(manager, drop)
    assert (seen["phase"], seen["door"]) == ("paused", "paused")
    assert await audited(shop) == [("manager@example.org", "paused", drop.slug, '{"door": "open"}', '{"door": "paused"}')]
    assert "Paused. Every page says so." in (await manager.get(answer.headers["location"])).text


async def test_resume_opens_again_and_doing_it_twice_is_one_change(shop, manager):
    drop = await shop.opens(units=3)
    for verb in ("pause", "resume", "resume"):
        answer = await manager.post(f"/seller/drops/{drop.id}/live/{verb}", json={}, headers=JSON)
        assert answer.status_code == 200, answer.text
    assert answer.json()["door"] == "open"
    assert [row[1] for row in await audited(shop)] == ["paused", "resumed"]


async def test_an_ended_drop_stays_ended_and_says_so(shop, manager):
    drop = await shop.opens(units=3)
    assert (await manager.post(f"/seller/drops/{drop.id}/live/end", json={}, headers=JSON)).json()["door"] == "over"
    refused = await manager.post(f"/seller/drops/{drop.id}/live/resume", json={}, headers=JSON)
    assert refused.status_code == 422
    assert "has ended" in refused.json()["detail"]
    assert (await shop.ledger.drop_by_id(drop.id)).door is Door.CLOSED
    page = (await manager.get(f"/seller/drops/{drop.id}/live")).text
    assert "This drop is over." in page


@pytest.mark.parametrize("verb", ["pause", "resume", "end"])
async def test_who_did_not_hold_the_button_is_asked_and_nothing_happens_before_the_answer(shop, manager, verb):
    drop = await shop.opens(units=3)
    if verb == "resume":
        await manager.post(f"/seller/drops/{drop.id}/live/pause", data=SURE, headers=FORM)
    before = (await shop.ledger.drop_by_id(drop.id)).door
    asked = await manager.post(f"/seller/drops/{drop.id}/live/{verb}", data={}, headers=FORM)
    assert asked.status_code == 200
    assert f'action="/seller/drops/{drop.id}/live/{verb}"' in asked.text
    assert 'name="sure" value="yes"' in asked.text
    assert (await shop.ledger.drop_by_id(drop.id)).door is before
    await manager.post(f"/seller/drops/{drop.id}/live/{verb}", data=SURE, headers=FORM)
    assert (await shop.ledger.drop_by_id(drop.id)).door is not before


async def test_units_changed_here_are_on_sale_at_once_and_a_repeat_changes_none(shop, manager):
    drop = await shop.opens(variants=(("Black", 3), ("White", 2)))
    page = (await manager.get(f"/seller/drops/{drop.id}/live")).text
    assert f'action="/seller/drops/{drop.id}/units"' in page and 'name="back" value="live"' in page
    form = {"variant": str(drop.variants[1].id), "direction": "more", "units": "4", "op": str(uuid4()), "back": "live"}
    asked = await manager.post(f"/seller/drops/{drop.id}/units", data=form, headers=FORM)
    assert 'name="back" value="live"' in asked.text and f'href="/seller/drops/{drop.id}/live"' in asked.text
    for _ in range(2):
        answer = await manager.post(f"/seller/drops/{drop.id}/units", data=form | SURE, headers=FORM)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/seller/drops/{drop.id}/live?said=units")
    assert "Every page shows the new number." in (await manager.get(answer.headers["location"])).text
    seen = await sees(manager, drop)
    assert [(one["name"], one["total"], one["left"]) for one in seen["variants"]] == [("Black", 3, 3), ("White", 6, 6)]
    assert seen["balanced"] is True
    assert await audited(shop) == [("manager@example.org", "units added", drop.slug, '{"White": 2}', '{"White": 6}')]


# what can be done, as it is drawn


class Shown(HTMLParser):
    """Collects what of a page's controls is not hidden: of each its `data-when`."""

    def __init__(self):
        super().__init__()
        self.there: list[str] = []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "data-when" in attributes and "hidden" not in attributes:
            self.there.append(attributes["data-when"])


async def controls(client, drop) -> list[str]:
    page = (await client.get(f"/seller/drops/{drop.id}/live")).text
    shown = Shown()
    shown.feed(page)
    fragment = (await client.get(f"/seller/drops/{drop.id}/live", headers=PARTIAL)).text
    told = re.search('data-controls="([^"]*)"', fragment)[1].split()
    assert sorted(told) == sorted(shown.there), "a push shows what the page shows"
    return shown.there


OPEN, PAUSED, ENDED = ["pause", "end", "cancel", "units"], ["resume", "end", "cancel", "units"], ["ended", "cancel"]


async def test_exactly_what_may_be_done_is_shown(shop, manager, viewer):
    soon, drop = await shop.opens(units=1, opens_in_seconds=600), await shop.opens(units=1)
    assert await controls(manager, soon) == OPEN == await controls(manager, drop)
    await shop.pays(await shop.holds(drop, await shop.shopper()))
    doors_of(shop).watch.forget(drop.id)
    assert (await sees(manager, drop))["phase"] == "sold_out" and await controls(manager, drop) == OPEN
    await manager.post(f"/seller/drops/{drop.id}/live/pause", json={}, headers=JSON)
    assert await controls(manager, drop) == PAUSED
    with gate_gone(shop):
        doors_of(shop).watch.forget(drop.id)
        assert await controls(manager, drop) == PAUSED, "the door is the ledger's to know"
    doors_of(shop).watch.forget(drop.id)
    await manager.post(f"/seller/drops/{drop.id}/live/end", json={}, headers=JSON)
    assert await controls(manager, drop) == ENDED
    await manager.post(f"/seller/drops/{drop.id}/cancel", json={}, headers=JSON)
    doors_of(shop).watch.forget(drop.id)
    assert await controls(manager, drop) == ["cancelled"]
    shown = Shown()
    shown.feed((await viewer.get(f"/seller/drops/{soon.id}/live")).text)
    assert shown.there == []


async def test_a_drop_whose_closing_time_has_come_is_over_here_too(shop, manager):
    drop = await shop.opens(units=1, closes_in_seconds=-1)
    assert await controls(manager, drop) == ENDED
    for verb in ("pause", "resume"):
        for sure in ({}, SURE):
            refused = await manager.post(f"/seller/drops/{drop.id}/live/{verb}", data=sure, headers=FORM | JSON)
            assert refused.status_code == 422 and "has ended" in refused.json()["detail"]
    assert await audited(shop) == []


async def test_no_control_is_shown_that_its_door_refuses(shop, manager):
    """Whatever is there can be done; whatever is not there is refused or changes nothing."""
    doors = {"open": None, "paused": Door.PAUSED, "closed": Door.CLOSED, "cancelled": Door.CANCELLED}
    for door in doors.values():
        for verb, path, body in (
            ("pause", "live/pause", {}),
            ("resume", "live/resume", {}),
            ("end", "live/end", {}),
            ("units", "units", {"units": 1}),
            ("cancel", "cancel", {}),
        ):
            drop = await shop.opens(units=1)
            if door:
                await shop.ledger.change_door(drop.id, door)
            there = verb in await controls(manager, drop)
            before = len(await audited(shop))
            answer = await manager.post(f"/seller/drops/{drop.id}/{path}", json=body, headers=JSON)
            done = answer.status_code == 200 and len(await audited(shop)) > before
            assert done is there, (door, verb, answer.text)


async def test_another_shops_drop_is_not_there(shop, stranger):
    drop = await shop.opens(units=3)
    assert (await stranger.get(f"/seller/drops/{drop.id}/live", headers=JSON)).status_code == 404
    assert (await stranger.get("/seller/drops/2147483647/live", headers=JSON)).status_code == 404
    for verb in ("pause", "end"):
        answer = await stranger.post(f"/seller/drops/{drop.id}/live/{verb}", json={}, headers=JSON)
        assert answer.status_code == 404
    assert (await shop.ledger.drop_by_id(drop.id)).door is Door.OPEN


# the crowd counted


async def test_every_press_of_buy_is_counted_by_its_verdict_and_shown(shop, viewer):
    drop = await shop.opens(units=1)
    for _ in range(3):
        await (await shop.shopper()).post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)
    demand = shop.app.inner.demand
    assert await demand.hand_in()
    totals = await shop.ledger.demand_totals(drop.id)
    assert totals.by_verdict == {"reserved": 1, "all_held": 2}


async def test_a_gate_that_is_gone_leaves_the_ledgers_numbers_and_says_so(shop, viewer):
    drop = await shop.opens(units=3)
    await shop.holds(drop, await shop.shopper())
    with gate_gone(shop):
        page = await viewer.get(f"/seller/drops/{drop.id}/live", headers=PARTIAL)
        seen = await sees(viewer, drop)
    assert "The gate is out of reach" in page.text
    assert (seen["left"], seen["checkouts"], seen["journal"], seen["balanced"]) == (2, 1, None, None)


@contextlib.contextmanager
def gate_gone(shop):
    """Every reading of the gate fails from here on."""

    async def refuse(*_, **__):
        raise GateUnreachable("gone")

    peek, shop.gate.peek = shop.gate.peek, refuse
    try:
        yield
    finally:
        shop.gate.peek = peek


async def test_a_crowd_that_has_used_up_every_other_connection_slows_nothing_here(shop, manager):
    """R13: the pools of the crowd and of the pages are closed; race control, its report and its buttons work."""
    drop = await shop.opens(units=3)
    pages = await Ledger.open(shop.settings.database_url, name="pages", connections_max=1)
    crowd = await Gate.open(shop.settings.redis_url, timeout_seconds=2, name="crowd")
    office = Office(shop.settings, shop.ledger, shop.gate, shop.feed)
    parts = Web(
        settings=shop.settings, crowd=crowd, gate=crowd, ledger=pages, office=office, feed=shop.feed, jobs=shop.jobs,
        till=shop.till,
    )  # fmt: skip
    app = create_app(parts)
    async with running(app):
        await pages.close()
        await crowd.close()
        client = shop.browser(manager.headers["cookie"], app=app, accept="text/html")
        for path in (f"/seller/drops/{drop.id}/live", f"/seller/drops/{drop.id}/report", "/seller/accounts"):
            assert (await client.get(path)).status_code == 200, path
        assert (await client.post(f"/seller/drops/{drop.id}/live/pause", data=SURE, headers=FORM)).status_code == 303
        assert (await sees(client, drop))["door"] == "paused"
    assert (await shop.ledger.drop_by_id(drop.id)).door is Door.PAUSED


async def test_a_drop_whose_books_are_closed_shows_what_the_ledger_knows(shop, manager):
    drop = await shop.opens(units=3)
    buyer = await shop.shopper()
    order_id = await shop.holds(drop, buyer)
    submitted = await shop.till.submit(order_id, buyer.shopper_id, "pm_card_visa")
    await shop.till.charge(order_id, submitted.n)
    await manager.post(f"/seller/drops/{drop.id}/live/end", json={}, headers=JSON)
    await retire(shop, drop.slug)
    seen = await sees(manager, drop)
    assert (seen["total"], seen["left"], seen["paid"], seen["door"], seen["balanced"]) == (3, 2, 1, "over", True)
    assert (await manager.get(f"/seller/drops/{drop.id}/live")).status_code == 200
