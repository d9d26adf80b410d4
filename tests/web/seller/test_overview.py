"""The first page of the dashboard: this shop's drops and nobody else's."""

import re

from app.clock import iso, to_ms
from app.domain.drops import Door
from app.errors import GateUnreachable


async def test_an_empty_shop_says_what_to_do(owner):
    page = await owner.get("/seller")
    assert page.status_code == 200 and "Plan your first drop" in page.text


async def test_a_shop_sees_its_own_drops_only(shop, owner, stranger):
    drop = await shop.opens(units=5)
    assert drop.slug in (await owner.get("/seller")).text
    assert drop.slug not in (await stranger.get("/seller")).text


async def test_nobody_without_a_session_comes_in(shop):
    answer = await shop.browser(accept="text/html").get("/seller")
    assert (answer.status_code, answer.headers["location"]) == (303, "/seller/sign-in?next=/seller")
    assert (await shop.browser(accept="application/json").get("/seller")).status_code == 401


async def test_times_are_written_by_the_rules_of_the_shops_own_pages(owner):
    for tag, dates in (("en", "en-GB"), ("de", "de")):  # twenty-four hours, the day before the month
        assert f'<body data-dates="{dates}">' in (await owner.get(f"/seller?lang={tag}")).text


async def test_a_page_of_the_dashboard_is_kept_by_nobody(owner):
    assert (await owner.get("/seller")).headers["cache-control"] == "no-store"


def numbers_of(page: str) -> dict[str, int]:
    return {name: int(number) for name, number in re.findall(r"<dt>([^<]+)</dt><dd>(\d+)</dd>", page)}


async def test_the_numbers_are_the_gates_and_what_is_paid_the_ledgers(shop, viewer):
    drop = await shop.opens(units=5)
    paid = await shop.holds(drop, await shop.shopper())
    await shop.pays(paid)
    await shop.holds(drop, await shop.shopper())
    page = (await viewer.get("/seller")).text
    assert numbers_of(page) == {"left": 3, "in checkouts": 1, "paid": 1, "on the list": 0}
    assert 'aria-label="3 of 5 left, 1 in checkouts, 1 sold."' in page


async def test_without_the_gate_the_ledgers_numbers_stand(shop, viewer, monkeypatch):
    drop = await shop.opens(units=5)
    await shop.holds(drop, await shop.shopper())

    async def silent(drop_id):
        raise GateUnreachable("gone")

    monkeypatch.setattr(shop.gate, "peek", silent)
    page = await viewer.get("/seller")
    assert page.status_code == 200 and numbers_of(page.text) == {"left": 4, "in checkouts": 1, "paid": 0, "on the list": 0}
    assert 'data-phase="not_ready"' in page.text


async def test_the_next_opening_is_said(shop, viewer):
    await shop.opens(opens_in_seconds=7200)
    soon = await shop.opens(opens_in_seconds=3600)
    page = (await viewer.get("/seller")).text
    assert re.search(rf'Next opening: <time datetime="{re.escape(iso(soon.opens_at))}"', page)


async def test_each_drop_leads_to_its_live_view_and_for_those_who_sell_to_its_rehearsal(shop, viewer, manager):
    drop = await shop.opens(opens_in_seconds=3600)
    home = f"/seller/drops/{drop.id}"
    links = [f'<a href="{home}/live">Live view</a>', f'<a href="{home}/rehearse">Rehearse</a>']
    assert [link in (await manager.get("/seller")).text for link in links] == [True, True]
    assert [link in (await viewer.get("/seller")).text for link in links] == [True, False]
    await shop.rows("UPDATE drops SET door = 'closed'")
    await shop.gate.set_door(drop.id, Door.CLOSED, to_ms(drop.opens_at), None)
    assert [link in (await manager.get("/seller")).text for link in links] == [True, False]


async def test_only_those_who_plan_are_offered_to(viewer, manager):
    assert "Plan a drop" in (await manager.get("/seller")).text
    assert "Plan a drop" not in (await viewer.get("/seller")).text
