"""Drafts by API: read whole, changed and deleted by version, copied, and the pictures in them."""

from datetime import datetime, timedelta

import msgspec
import pytest

from app.domain.plan import Plan, PlannedVariant
from app.domain.scopes import Scope
from app.web.guard import SELLER_BYTES_MAX, UPLOAD_BYTES_MAX
from tests.web.test_picture_intake import drawn, photograph

from .conftest import program_of
from .test_drops import DRAFT, OPENS_AT
from .test_law import LAW

JPEG = {"content-type": "image/jpeg"}


async def plan_of(shop, draft: dict) -> Plan:
    return (await shop.ledger.draft(shop.shop_id, draft["id"])).plan


async def somebody_saves(shop, draft: dict, **changes) -> None:
    """A person types these into the dashboard's form."""
    kept = await shop.ledger.draft(shop.shop_id, draft["id"])
    plan = msgspec.structs.replace(kept.plan, **changes)
    assert await shop.ledger.save_draft(shop.shop_id, kept.id, kept.version, plan, "ada@example.org")


async def actions(shop) -> list[str]:
    return [entry.action for entry in reversed(await shop.ledger.audit_log(shop.shop_id)) if entry.action != "API key made"]


# ---- reading


async def test_a_draft_is_read_as_it_was_said(program):
    said = DRAFT | LAW | {"closes_at": (OPENS_AT + timedelta(hours=2)).isoformat(), "waitlist": "notify", "payment_attempts": 2}
    draft = (await program.post("/drafts", json=said)).json()
    assert draft == (await program.get(f"/drafts/{draft['id']}")).json()
    times = ("opens_at", "closes_at")
    assert [datetime.fromisoformat(draft[name]) for name in times] == [datetime.fromisoformat(said[name]) for name in times]
    assert {name: draft[name] for name in said if name not in times} == {name: said[name] for name in said if name not in times}
    assert (draft["offer_seconds"], draft["pictures"], draft["problems"], draft["version"]) == (600, [], {}, 1)


async def test_what_a_person_typed_wrong_is_null_and_said_to_be_wrong(shop, program):
    draft = (await program.post("/drafts", json=DRAFT)).json()
    wrong = {"price": "ten", "currency": "euro", "opens": "soon", "per_person": "many", "hold": "a while", "tax": "some"}
    await somebody_saves(shop, draft, variants=(PlannedVariant("Black", "a few"), PlannedVariant("White", "1,000")), **wrong)
    told = (await program.get(f"/drafts/{draft['id']}")).json()
    assert [told[name] for name in ("price_minor", "opens_at", "per_person", "hold_seconds", "tax_basis_points")] == [None] * 5
    assert told["variants"] == [{"name": "Black", "units": None}, {"name": "White", "units": 1000}]
    assert {"currency", "opens", "per_person", "hold", "tax", "variant-1-units"} <= told["problems"].keys()


async def test_a_list_names_each_draft_and_what_is_in_its_way(program):
    for title in ("One", "Two"):
        await program.post("/drafts", json=DRAFT | {"title": title})
    listed = (await program.get("/drafts")).json()
    assert [(one["title"], one["version"], one["problems"]) for one in listed["items"]] == [("Two", 1, {}), ("One", 1, {})]
    assert "description" not in listed["items"][0] and listed["next"] is None


# ---- changing


async def test_what_is_said_changes_and_what_is_left_out_stays_right_or_wrong(shop, program):
    draft = (await program.post("/drafts", json=DRAFT)).json()
    await somebody_saves(shop, draft, price="ten", description="By hand.")
    before = await plan_of(shop, draft)
    changed = await program.patch(
        f"/drafts/{draft['id']}", json={"version": 2, "title": "Day lamp", "closes_at": None, "per_person": 3}
    )
    told = changed.json()
    assert changed.status_code == 200 and (told["version"], told["title"], told["per_person"]) == (3, "Day lamp", 3)
    assert await plan_of(shop, draft) == msgspec.structs.replace(before, title="Day lamp", per_person="3")
    entry = (await shop.ledger.audit_log(shop.shop_id))[0]
    assert (entry.actor, entry.action) == ("API key Bot", "draft saved")
    assert (entry.before["title"], entry.after["title"], entry.after["per_person"]) == ("Night lamp", "Day lamp", "3")


async def test_everything_that_a_draft_is_made_with_can_be_changed(shop, program):
    draft = (await program.post("/drafts", json={"title": "", "variants": [{"units": 0}]})).json()
    changed = (await program.patch(f"/drafts/{draft['id']}", json={"version": 1} | DRAFT | LAW)).json()
    whole = (await program.post("/drafts", json=DRAFT | LAW)).json()
    own = ("id", "version", "updated_at")
    assert {name: value for name, value in changed.items() if name not in own} == {
        name: value for name, value in whole.items() if name not in own
    }


async def test_a_stale_change_overwrites_nothing_and_hears_which_version_stands_there(shop, program):
    draft = (await program.post("/drafts", json=DRAFT)).json()
    await somebody_saves(shop, draft, title="Ada's lamp")
    for method, path, more in (
        ("PATCH", f"/drafts/{draft['id']}", {"json": {"version": 1, "title": "Mine"}}),
        ("DELETE", f"/drafts/{draft['id']}?version=1", {}),
        ("POST", f"/drafts/{draft['id']}/publish", {"json": {"version": 1}, "headers": {"idempotency-key": "k"}}),
    ):
        refused = await program.request(method, path, **more)
        assert (refused.status_code, refused.json()["version"], refused.json()["field"]) == (409, 2, "version"), method
    assert (await plan_of(shop, draft)).title == "Ada's lamp"
    assert await actions(shop) == ["draft made", "draft saved"]


async def test_a_change_under_a_key_is_answered_again_to_whoever_lost_the_answer(program):
    draft = (await program.post("/drafts", json=DRAFT)).json()
    path, change, key = f"/drafts/{draft['id']}", {"version": 1, "title": "Day lamp"}, {"idempotency-key": "one"}
    first, again = [await program.patch(path, json=change, headers=key) for _ in range(2)]
    assert (first.status_code, first.content) == (again.status_code, again.content) and first.status_code == 200
    assert again.headers["idempotency-replayed"] == "true"
    assert (await program.patch(path, json=change)).status_code == 409
    gone = [await program.delete(f"{path}?version=2", headers={"idempotency-key": "two"}) for _ in range(2)]
    assert [(answer.status_code, answer.content) for answer in gone] == [(204, b"")] * 2
    assert (await program.delete(f"{path}?version=2")).status_code == 404


async def test_another_time_zone_keeps_the_moments(shop, program):
    draft = (await program.post("/drafts", json=DRAFT | {"opens_at": "2027-10-31T00:30:00Z"})).json()
    assert ((await plan_of(shop, draft)).opens, (await plan_of(shop, draft)).opens_which) == ("2027-10-31T02:30", "earlier")
    moved = (await program.patch(f"/drafts/{draft['id']}", json={"version": 1, "time_zone": "America/New_York"})).json()
    assert datetime.fromisoformat(moved["opens_at"]) == datetime.fromisoformat("2027-10-31T00:30:00Z")
    assert ((await plan_of(shop, draft)).opens, (await plan_of(shop, draft)).opens_which) == ("2027-10-30T20:30", "")
    back = (await program.patch(f"/drafts/{draft['id']}", json={"version": 2, "time_zone": "Europe/Berlin"})).json()
    assert back["opens_at"] == moved["opens_at"] and (await plan_of(shop, draft)).opens_which == "earlier"


async def test_an_amount_is_of_the_drafts_own_currency(program):
    draft = (await program.post("/drafts", json=DRAFT | {"currency": "KWD", "price_minor": 1250})).json()
    changed = (await program.patch(f"/drafts/{draft['id']}", json={"version": 1, "price_minor": 1500})).json()
    assert (changed["price_minor"], changed["currency"], changed["problems"]) == (1500, "KWD", {})
    yen = (await program.patch(f"/drafts/{draft['id']}", json={"version": 2, "currency": "JPY"})).json()
    assert yen["price_minor"] is None and "price" in yen["problems"], "1.500 is no amount of yen, and nothing is made up"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": "Lamp"}, None),
        ({"version": 0}, "version"),
        ({"version": 1, "title": None}, "title"),
        ({"version": 1, "time_zone": "Mars/Olympus"}, "time_zone"),
        ({"version": 1, "opens_at": "2900-01-01T00:00:00Z"}, "opens_at"),
        ({"version": 1, "variants": []}, "variants"),
        ({"version": 1, "drop_id": 4}, None),
        ({"version": 1, "currency": "QQQ", "price_minor": 1}, "currency"),
        ({"version": 1, "currency": "EUR\n"}, "currency"),
        ({"version": 1, "shipping_countries": ["DE\n"]}, "shipping_countries"),
        ({"version": 1, "shipping_fees": {"\0": 490}}, None),
        ({"version": 1, "pictures": [{"hash": "0" * 64 + "\n", "alt": "A lamp"}]}, "pictures"),
    ],
)
async def test_a_change_that_is_not_as_declared_is_refused_and_says_where(shop, program, change, field):
    draft = (await program.post("/drafts", json=DRAFT)).json()
    refused = await program.patch(f"/drafts/{draft['id']}", json=change)
    assert refused.status_code == 422 and refused.json().get("field") == field
    assert (await shop.ledger.draft(shop.shop_id, draft["id"])).version == 1


# ---- what becomes of it


async def test_a_draft_is_deleted_and_a_published_one_is_a_drop(shop, program):
    one, two = [(await program.post("/drafts", json=DRAFT | {"title": title})).json() for title in ("One", "Two")]
    assert (await program.delete(f"/drafts/{one['id']}")).status_code == 422, "which version?"
    deleted = await program.delete(f"/drafts/{one['id']}?version=1")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await program.get(f"/drafts/{one['id']}")).status_code == 404
    drop = (await program.post(f"/drafts/{two['id']}/publish", json={"version": 1})).json()
    for refused in (
        await program.delete(f"/drafts/{two['id']}?version=1"),
        await program.patch(f"/drafts/{two['id']}", json={"version": 1, "title": "Three"}),
    ):
        assert (refused.status_code, refused.json()["drop_id"]) == (409, drop["id"])
    assert await actions(shop) == ["draft made", "draft made", "draft deleted", "drop published"]


async def test_drafts_and_drops_are_copied_without_what_is_each_drops_own(shop, program):
    draft = (await program.post("/drafts", json=DRAFT | {"slug": "lamp"})).json()
    drop = (await program.post(f"/drafts/{draft['id']}/publish", json={"version": 1})).json()
    copies = [await program.post(f"{path}/duplicate", key="one") for path in (f"/drafts/{draft['id']}",) * 2]
    assert copies[0].status_code == 201 and copies[0].content == copies[1].content
    of_drop = (await program.post(f"/drops/{drop['id']}/duplicate")).json()
    for copy in (copies[0].json(), of_drop):
        assert (copy["slug"], copy["opens_at"], copy["closes_at"], copy["drop_id"]) == ("night-lamp", None, None, None)
        assert {name: copy[name] for name in ("title", "price_minor", "variants", "shipping_countries")} == {
            name: draft[name] for name in ("title", "price_minor", "variants", "shipping_countries")
        }
    assert await actions(shop) == ["draft made", "drop published", "draft made", "draft made"]


# ---- pictures


async def test_a_picture_is_put_up_as_it_is_made_anew_and_hangs_at_a_drop(shop, program):
    put_up = await program.post("/pictures", content=photograph(), headers=JPEG)
    picture = put_up.json()
    assert put_up.status_code == 201 and (picture["width"], picture["height"]) == (480, 640)
    seen = await shop.browser().get(picture["url"])
    assert seen.status_code == 200 and b"kitchen" not in seen.content, "where it was taken stays behind"
    hung = [{"hash": picture["hash"], "alt": "A lamp"}]
    draft = (await program.post("/drafts", json=DRAFT | {"pictures": hung})).json()
    drop = (await program.post(f"/drafts/{draft['id']}/publish", json={"version": 1})).json()
    assert drop["pictures"] == hung == draft["pictures"]
    assert await actions(shop) == ["pictures put up", "draft made", "drop published"]


async def test_another_shops_picture_does_not_hang_here(shop, program):
    stranger = await program_of(shop, Scope.DROPS, shop_id=shop.other_shop_id)
    hash = (await stranger.post("/pictures", content=drawn(), headers=JPEG)).json()["hash"]
    draft = (await program.post("/drafts", json=DRAFT | {"pictures": [{"hash": hash, "alt": "Theirs"}]})).json()
    refused = await program.post(f"/drafts/{draft['id']}/publish", json={"version": 1})
    assert (refused.status_code, refused.json()["field"]) == (422, "pictures")


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/jpeg", 422),
        (b"", "image/png", 422),
        (drawn()[:200], "application/octet-stream", 422),
        (drawn(), "image/svg+xml", 415),
        (b"{}", "application/json", 415),
        (drawn(), "multipart/form-data; boundary=x", 415),
    ],
)
async def test_what_is_no_picture_is_refused_and_kept_nowhere(shop, program, body, content_type, status):
    refused = await program.post("/pictures", content=body, headers={"content-type": content_type})
    assert refused.status_code == status and not await shop.rows("SELECT 1 FROM pictures")
    assert ("image/webp" in refused.headers.get("accept", "")) == (status == 415)


async def test_only_a_key_that_may_plan_sends_more_than_a_form(shop, program):
    large = drawn() + bytes(SELLER_BYTES_MAX)
    assert (await program.post("/pictures", content=large, headers=JPEG)).status_code == 201
    reader = await program_of(shop, Scope.READ, Scope.ORDERS)
    assert (await reader.post("/pictures", content=large, headers=JPEG)).status_code == 413
    assert (await reader.post("/pictures", content=drawn(), headers=JPEG)).status_code == 403
    assert (await shop.browser().post("/api/v1/pictures", content=large, headers=JPEG)).status_code == 413
    assert (await program.post("/drafts", content=large, headers={"content-type": "application/json"})).status_code == 413
    assert (await program.post("/pictures", content=bytes(UPLOAD_BYTES_MAX + 1), headers=JPEG)).status_code == 413
