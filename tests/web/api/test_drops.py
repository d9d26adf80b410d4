"""Drops by API: planned, published, watched, moved, and booked as the dashboard would have done it."""

from datetime import UTC, datetime, timedelta

import pytest

from app.domain.drops import Door
from app.domain.scopes import Scope
from tests.web.conftest import JSON

from .conftest import program_of

OPENS_AT = (datetime.now(UTC) + timedelta(days=30)).replace(microsecond=0, second=0)
DRAFT = {
    "title": "Night lamp",
    "description": "A **lamp**.",
    "price_minor": 4900,
    "currency": "EUR",
    "opens_at": OPENS_AT.isoformat(),
    "time_zone": "Europe/Berlin",
    "per_person": 2,
    "hold_seconds": 90,
    "variants": [{"name": "Black", "units": 5}, {"name": "White", "units": 3}],
    "ships": True,
    "shipping_countries": ["SE", "DE"],
}


async def test_a_draft_becomes_a_drop_with_all_that_was_said(shop, program):
    draft = (await program.post("/drafts", json=DRAFT)).json()
    assert draft["problems"] == {} and draft["updated_by"] == "API key Bot" and draft["slug"] == "night-lamp"
    published = await program.post(f"/drafts/{draft['id']}/publish", json={"version": draft["version"]})
    told = published.json()
    assert published.status_code == 201 and told == (await program.get(f"/drops/{told['id']}")).json()
    drop = await shop.ledger.seller_drop(shop.shop_id, told["id"])
    assert (drop.title, drop.price_minor, drop.currency, drop.per_person, drop.hold_seconds) == ("Night lamp", 4900, "EUR", 2, 90)
    assert drop.opens_at == OPENS_AT and drop.time_zone == "Europe/Berlin" and drop.shipping_countries == ("DE", "SE")
    assert [(variant.name, variant.units_total) for variant in drop.variants] == [("Black", 5), ("White", 3)]
    assert (await shop.gate.peek(drop.id)).left == {variant.id: variant.units_total for variant in drop.variants}
    assert (await program.get(f"/drafts/{draft['id']}")).json()["drop_id"] == drop.id
    log = await shop.ledger.audit_log(shop.shop_id)
    assert [(entry.actor, entry.action) for entry in log][:2] == [("API key Bot", "drop published"), ("API key Bot", "draft made")]


async def test_an_unfinished_draft_says_what_is_in_the_way_and_is_not_published(shop, program):
    draft = (await program.post("/drafts", json={"title": "Lamp", "variants": [{"units": 0}]})).json()
    assert {"price", "opens", "variants"} <= draft["problems"].keys()
    refused = await program.post(f"/drafts/{draft['id']}/publish", json={"version": draft["version"]})
    assert refused.status_code == 422 and {"price", "opens"} <= refused.json()["problems"].keys()
    assert (await program.get("/drops")).json()["items"] == []


async def test_a_stale_version_publishes_nothing(shop, program):
    draft = (await program.post("/drafts", json=DRAFT)).json()
    kept = (await shop.ledger.draft(shop.shop_id, draft["id"])).plan
    await shop.ledger.save_draft(shop.shop_id, draft["id"], draft["version"], kept, "somebody")
    assert (await program.post(f"/drafts/{draft['id']}/publish", json={"version": draft["version"]})).status_code == 409


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": 5}, "title"),
        ({"variants": []}, "variants"),
        ({"currency": "euro"}, "currency"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"opens_at": "2027-01-15T20:00:00"}, "opens_at"),
        ({"opens_at": "0001-01-01T00:00:00Z"}, "opens_at"),
        ({"color": "red"}, None),
        ({"title": "a\x00b"}, None),
        ({"price_minor": 10**9}, "price_minor"),
        ({"variants": [{"units": -1}]}, "variants"),
    ],
)
async def test_what_is_not_as_declared_is_refused_and_says_where(shop, program, change, field):
    refused = await program.post("/drafts", json=DRAFT | change)
    assert refused.status_code == 422 and refused.json().get("field") == field
    assert await shop.ledger.drafts(shop.shop_id) == []


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 422),
        (b"[1]", "application/json", 422),
        (b"a=b", "application/x-www-form-urlencoded", 415),
        (b"", "application/json", 422),
        (b"{}", "text/plain", 415),
        (b"[" * 60_000, "application/json", 422),
        (b'{"title":"' + b"x" * 200_000 + b'"}', "application/json", 413),
    ],
)
async def test_what_is_no_json_object_is_refused(program, body, content_type, status):
    assert (await program.post("/drafts", content=body, headers={"content-type": content_type})).status_code == status


async def test_pages_of_drops_follow_each_other_without_a_gap(shop, program):
    made = {(await shop.opens(opens_in_seconds=-number)).id for number in (5, 5, 60, 7, 900)}
    seen, cursor = [], None
    while True:
        page = (await program.get("/drops", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
        seen += [drop["id"] for drop in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
        assert len(page["items"]) == 2 and cursor.isascii()
    assert len(seen) == len(made) and set(seen) == made


@pytest.mark.parametrize(
    "query",
    [
        "cursor=x",
        "cursor=WzFd",
        "cursor=",
        "limit=0",
        "limit=201",
        "limit=many",
        "limit=1&limit=2",
        "page=2",
        "cursor=WyIwMDAxLTAxLTAxVDAwOjAwOjAwWiIsMV0",
        "cursor=WyIyMDI3LTAxLTAxVDAwOjAwOjAwWiIsOTk5OTk5OTk5OTk5XQ",
    ],
)
async def test_an_address_that_makes_no_sense_is_refused(program, query):
    assert (await program.get(f"/drops?{query}")).status_code == 422


async def test_the_door_is_moved_and_every_door_is_told(shop, program):
    drop = await shop.opens(units=2)
    for verb, door in (("pause", "paused"), ("resume", "open"), ("close", "closed"), ("close", "closed")):
        assert (await program.post(f"/drops/{drop.id}/{verb}")).json()["door"] == door
    assert (await program.post(f"/drops/{drop.id}/resume")).status_code == 422
    assert (await program.post(f"/drops/{drop.id}/cancel")).json()["door"] == "cancelled"
    assert (await shop.ledger.drop_by_id(drop.id)).door is Door.CANCELLED
    actions = [entry.action for entry in await shop.ledger.audit_log(shop.shop_id)]
    assert actions == ["drop cancelled", "ended", "resumed", "paused", "API key made"]


async def test_pieces_are_added_and_unsold_ones_taken_away(shop, program):
    drop = await shop.opens(variants=(("Black", 5), ("White", 3)))
    black = drop.variants[0].id
    assert (await program.post(f"/drops/{drop.id}/units", json={"units": 2})).status_code == 422  # which one?
    more = await program.post(f"/drops/{drop.id}/units", json={"units": 2, "variant": black})
    assert [variant["units_total"] for variant in more.json()["variants"]] == [7, 3]
    assert (await program.post(f"/drops/{drop.id}/units", json={"units": -8, "variant": black})).status_code == 422
    less = await program.post(f"/drops/{drop.id}/units", json={"units": -7, "variant": black})
    assert [variant["units_total"] for variant in less.json()["variants"]] == [0, 3]
    assert (await shop.gate.peek(drop.id)).left == {drop.variants[0].id: 0, drop.variants[1].id: 3}


async def test_live_counts_and_books_are_those_of_the_dashboard(shop, program):
    drop = await shop.opens(units=3)
    await shop.pays(await shop.holds(drop, await shop.shopper()))
    await shop.holds(drop, await shop.shopper())
    live = (await program.get(f"/drops/{drop.id}/live")).json()
    assert (live["total"], live["left"], live["checkouts"], live["paid"]) == (3, 1, 1, 1)
    books = (await program.get(f"/drops/{drop.id}/books")).json()
    assert (books["total"], books["gate_left"], books["held"], books["paid"], books["balanced"]) == (3, 1, 1, 1, True)


# ---- words, openings, endings


async def test_the_words_of_a_drop_change_in_the_version_that_was_read_or_not_at_all(shop, program):
    drop = await shop.opens(ships=True, shipping_countries=("DE",))
    changed = (
        await program.patch(f"/drops/{drop.id}", json={"version": 1, "title": "Day lamp", "description": "A *lamp*."})
    ).json()
    assert (changed["version"], changed["title"], changed["description"], changed["shipping_countries"]) == (
        2, "Day lamp", "A *lamp*.", ["DE"],
    )  # fmt: skip
    stale = await program.patch(f"/drops/{drop.id}", json={"version": 1, "title": "Mine"})
    assert (stale.status_code, stale.json()["version"], stale.json()["field"]) == (409, 2, "version")
    everywhere = (await program.patch(f"/drops/{drop.id}", json={"version": 2, "shipping_countries": None})).json()
    assert (everywhere["title"], everywhere["shipping_countries"]) == ("Day lamp", None)
    entries = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "drop edited"]
    assert [sorted(entry.after) for entry in entries] == [["shipping_countries"], ["description", "title"]]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": " "}, "title"),
        ({"shipping_countries": []}, "countries"),
        ({"pictures": [{"hash": "0" * 64, "alt": "Gone"}]}, "pictures"),
        ({"price_minor": 1}, None),
        ({"version": "1"}, "version"),
    ],
)
async def test_words_that_no_drop_may_have_are_refused(shop, program, change, field):
    drop = await shop.opens(ships=True)
    refused = await program.patch(f"/drops/{drop.id}", json={"version": 1} | change)
    assert refused.status_code == 422 and refused.json().get("field") == field
    assert await shop.ledger.drop_by_id(drop.id) == drop


async def test_what_is_not_sent_goes_to_no_country(shop, program):
    drop = await shop.opens()
    refused = await program.patch(f"/drops/{drop.id}", json={"version": 1, "shipping_countries": ["DE"]})
    assert (refused.status_code, refused.json()["field"]) == (422, "shipping_countries")


async def test_a_drop_is_postponed_and_whoever_is_concerned_hears_of_it_once(shop, program):
    drop = await shop.opens(opens_in_seconds=7200, closes_in_seconds=10_800)
    await shop.ledger.remind(drop.id, (await shop.shopper()).shopper_id)
    later = drop.opens_at + timedelta(days=1, microseconds=5)
    wish = {"version": 1, "opens_at": later.isoformat()}
    for _ in range(2):  # whoever has not heard the answer asks again, under another key
        told = (await program.post(f"/drops/{drop.id}/postpone", json=wish)).json()
        assert (told["told"], told["drop"]["version"]) == (1, 2)
    after = await shop.ledger.drop_by_id(drop.id)
    day = timedelta(days=1)
    assert (after.opens_at, after.closes_at) == (drop.opens_at + day, drop.closes_at + day), "it is open as long as before"
    assert (await shop.gate.peek(drop.id)).opens_ms == round(after.opens_at.timestamp() * 1000)
    assert [mail.kind for mail in await shop.ledger.newest(5)].count("opening_moved") == 1
    assert [job[0] for job in shop.jobs.jobs].count("deliver") == 1
    [entry] = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "drop postponed"]
    assert datetime.fromisoformat(entry.before["opens_at"]) == drop.opens_at
    stale = await program.post(f"/drops/{drop.id}/postpone", json=wish | {"opens_at": (later + day).isoformat()})
    assert (stale.status_code, stale.json()["version"]) == (409, 2)
    never = {"version": 2, "opens_at": (later + day).isoformat(), "closes_at": None}
    assert (await program.post(f"/drops/{drop.id}/postpone", json=never)).json()["drop"]["closes_at"] is None


@pytest.mark.parametrize(
    ("opens_in_seconds", "change", "field"),
    [
        (7200, {"opens_at": "2020-01-01T00:00:00Z"}, "opens_at"),
        (7200, {"opens_at": "2800-01-01T00:00:00Z"}, "opens_at"),
        (7200, {"opens_at": "2199-01-01T00:00:00"}, "opens_at"),
        (7200, {"closes_at": "2020-01-01T00:00:00Z"}, "closes_at"),
        (40, {}, "opens_at"),
        (-10, {}, "opens_at"),
    ],
)
async def test_an_opening_that_cannot_be_is_refused_and_says_where(shop, program, opens_in_seconds, change, field):
    drop = await shop.opens(opens_in_seconds=opens_in_seconds)
    wish = {"version": 1, "opens_at": (drop.opens_at + timedelta(days=1)).isoformat()} | change
    refused = await program.post(f"/drops/{drop.id}/postpone", json=wish)
    assert refused.status_code == 422 and refused.json()["field"] == field
    assert (await shop.ledger.drop_by_id(drop.id)).opens_at == drop.opens_at


async def test_how_far_a_cancellation_is_can_be_followed(shop, program):
    drop = await shop.opens(units=3)
    await shop.pays(await shop.holds(drop, await shop.shopper()))
    await shop.holds(drop, await shop.shopper())
    path = f"/drops/{drop.id}/cancelling"
    assert (await program.get(path)).json()["door"] == "open"
    await program.post(f"/drops/{drop.id}/cancel")
    assert (await program.get(path)).json() == {
        "door": "cancelled", "orders": 2, "open": 1, "to_refund": 1, "refunded": 0, "needs_attention": 0, "done": False,
    }  # fmt: skip


async def test_the_report_is_that_of_the_dashboard_and_names_nobody(shop, program, owner):
    drop = await shop.opens(units=3, tax_basis_points=1900)
    await shop.pays(await shop.holds(drop, await shop.shopper()))
    await shop.holds(drop, await shop.shopper())
    report = (await program.get(f"/drops/{drop.id}/report")).json()
    shown = (await owner.get(f"/seller/drops/{drop.id}/report", headers=JSON)).json()
    same = report.keys() - {"at", "opens_at", "accounts", "demand"}
    assert {name: report[name] for name in same} == {name: shown[name] for name in same} and len(same) == 9
    assert (report["funnel"]["taken"], report["funnel"]["paid"]) == ({"orders": 2, "units": 2}, {"orders": 1, "units": 1})
    account = report["accounts"]
    assert (account["orders"], account["gross_minor"], account["net_minor"], account["tax_minor"]) == (1, 4900, 4900, 782)
    assert datetime.fromisoformat(report["opens_at"]) == drop.opens_at and "@" not in str(report)


async def test_another_shops_drops_are_in_no_list(shop, program):
    await shop.opens()
    stranger = await program_of(shop, *Scope, shop_id=shop.other_shop_id)
    assert (await stranger.get("/drops")).json()["items"] == [] != (await program.get("/drops")).json()["items"]
