"""A drop is planned, previewed, published and said differently: nothing typed is lost, nothing newer is overwritten."""

import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser

import pytest

from app.domain.plan import Plan
from tests.web.conftest import JSON

SOON = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT20:00")
FILLED = {
    "title": "Night lamp", "slug": "", "description": "**Spun** by hand", "price": "49.00", "currency": "eur",
    "time_zone": "Europe/Berlin", "opens": SOON, "closes": "", "per_person": "2", "hold": "10:00", "offer": "5:00",
    "waitlist": "offers", "attempts": "3", "has_shipping": "1", "ships": "on", "has_countries": "1", "served": "listed",
    "country-SE": "on", "country-DE": "on", "has_variants": "1", "variant-1-name": "Brass", "variant-1-units": "5",
    "variant-2-name": "Soot", "variant-2-units": "3", "has_pictures": "1",
}  # fmt: skip


class Fields(HTMLParser):
    """What a browser would send of the page's plan, as it stands there."""

    def __init__(self, page: str):
        super().__init__()
        self.values: dict[str, str] = {}
        self._in_form, self._text, self._select = False, None, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "form":
            self._in_form = "data-plan" in found or found.get("action", "").startswith(("/seller/drafts/", "/seller/drops/"))
        if not self._in_form or "name" not in found:
            return
        kind = found.get("type")
        if tag == "input" and (kind not in ("radio", "checkbox") or "checked" in found):
            self.values[found["name"]] = found.get("value", "on")
        elif tag == "textarea":
            self._text = found["name"]
            self.values[self._text] = ""

    def handle_data(self, data):
        if self._text:
            self.values[self._text] += data

    def handle_endtag(self, tag):
        if tag == "textarea" and self._text:
            self.values[self._text] = self.values[self._text].removeprefix("\n")
            self._text = None
        elif tag == "form":
            self._in_form = False


def filled(version: int = 1, **changes) -> dict[str, str]:
    return FILLED | {"version": str(version)} | changes


async def drafts(client, **changes) -> int:
    """The client makes a draft and, with `changes`, saves it -> its id."""
    made = await client.post("/seller/drafts", data={})
    draft_id = int(made.headers["location"].rpartition("/")[2])
    if changes:
        saved = await client.post(f"/seller/drafts/{draft_id}", data=filled(**changes))
        assert saved.status_code == 303, saved.text
    return draft_id


async def publishes(shop, client, **changes):
    """-> the drop of a draft that was published."""
    draft_id = await drafts(client, **(changes or {"title": "Night lamp"}))
    published = await client.post(f"/seller/drafts/{draft_id}/publish", data={"version": "2", "sure": "yes"})
    assert published.status_code == 303, published.text
    return await shop.ledger.drop_by_id(int(re.search(r"/drops/(\d+)/", published.headers["location"])[1]))


async def actions(shop) -> list[str]:
    return [entry.action for entry in await shop.ledger.audit_log(shop.shop_id)]


# ---- drafts


async def test_a_new_draft_accuses_nobody_and_is_in_the_shops_own_zone(shop, owner):
    await shop.rows("UPDATE shops SET time_zone = 'Asia/Tokyo' WHERE id = $1", shop.shop_id)
    page = (await owner.get(f"/seller/drafts/{await drafts(owner)}")).text
    assert "field__problem" not in page and 'value="Asia/Tokyo"' in page


async def test_everything_typed_comes_back_as_it_was_typed(owner):
    draft_id = await drafts(owner, title="x")
    typed = filled(
        2, title='"><script>alert(1)</script>', slug="Not A Slug", description="a\r\n\r\n <b>", price="forty", currency="zzz",
        time_zone="Nowhere", opens="", closes="never", per_person="0", hold="x", offer="", attempts="99", waitlist="notify",
    ) | {"variant-1-units": "many", "variant-2-name": "Brass"}  # fmt: skip
    assert (await owner.post(f"/seller/drafts/{draft_id}", data=typed)).status_code == 303
    page = (await owner.get(f"/seller/drafts/{draft_id}?saved=1")).text
    back = Fields(page).values
    for name in set(typed) - {"version", "ships", "currency", "description", "country-SE", "country-DE"}:
        assert back.get(name, "") == typed[name], name
    assert back["description"].replace("\r\n", "\n") == "a\n\n <b>" and back["currency"] == "ZZZ"
    assert {"ships", "country-SE", "country-DE"} <= set(back) and "country-FR" not in back
    assert "<script>alert" not in page
    problems = dict(re.findall(r'<p class="field__problem" id="([\w-]+)-problem">([^<]+)</p>', page))
    assert {"slug", "currency", "time_zone", "per_person", "hold", "offer", "attempts", "variant-1-units", "variant-2-name"} == set(
        problems
    )
    for name in problems:  # each is tied to its field, and led to from the top
        assert f"{name}-problem" in re.search(rf'<[^>]+ name="{name}"[^>]*>', page)[0] and f'href="#{name}"' in page


async def test_a_form_of_an_older_version_overwrites_nothing_and_shows_both(shop, owner, manager):
    draft_id = await drafts(owner, title="Night lamp")
    assert (await manager.post(f"/seller/drafts/{draft_id}", data=filled(2, title="Day lamp", price="59"))).status_code == 303
    stale = await owner.post(f"/seller/drafts/{draft_id}", data=filled(2, title="Desk lamp"))
    assert stale.status_code == 409
    for told in ("Desk lamp", "Day lamp", "49.00", "59", manager.email, "Save mine over it", "Drop mine"):
        assert told in stale.text
    assert "Description" not in stale.text  # what both say is no difference
    assert (await shop.ledger.draft(shop.shop_id, draft_id)).plan.title == "Day lamp"
    mine = Fields(stale.text).values
    assert mine["title"] == "Desk lamp" and mine["version"] == "3"
    assert (await owner.post(f"/seller/drafts/{draft_id}", data=mine)).status_code == 303
    draft = await shop.ledger.draft(shop.shop_id, draft_id)
    assert (draft.plan.title, draft.plan.price, draft.version, draft.updated_by) == ("Desk lamp", "49.00", 4, owner.email)
    assert [variant.name for variant in draft.plan.variants] == ["Brass", "Soot"] and draft.plan.countries == ("DE", "SE")


@pytest.mark.parametrize("version", ["", "0", "-1", "x", "99999999999999999999", "3"])
async def test_a_form_without_the_version_that_stands_there_overwrites_nothing(shop, owner, version):
    draft_id = await drafts(owner, title="Night lamp")
    stale = await owner.post(f"/seller/drafts/{draft_id}", data=filled(title="Other") | {"version": version})
    assert stale.status_code == 409
    assert (await shop.ledger.draft(shop.shop_id, draft_id)).plan.title == "Night lamp"


async def test_lines_are_added_moved_and_removed_without_saving_and_without_loss(shop, owner):
    draft_id = await drafts(owner, title="Night lamp")
    typed = filled(2, title="Typed since") | {"variant-3-name": "Bone", "variant-3-units": "x"}
    for do, names in [
        ("variant-add", ["Brass", "Soot", "Bone", ""]),
        ("variant-up-3", ["Brass", "Bone", "Soot"]),
        ("variant-up-1", ["Brass", "Soot", "Bone"]),
        ("variant-down-1", ["Soot", "Brass", "Bone"]),
        ("variant-remove-2", ["Brass", "Bone"]),
    ]:
        page = await owner.post(f"/seller/drafts/{draft_id}", data=typed | {"do": do})
        back = Fields(page.text).values
        assert page.status_code == 200 and "Not saved yet." in page.text
        assert [back[f"variant-{n}-name"] for n in range(1, len(names) + 1)] == names and back["title"] == "Typed since"
        assert back["version"] == "2"
    draft = await shop.ledger.draft(shop.shop_id, draft_id)
    assert (draft.version, draft.plan.title, len(draft.plan.variants)) == (2, "Night lamp", 2)


async def test_the_first_button_of_the_form_saves_so_enter_never_removes_anything(owner):
    page = (await owner.get(f"/seller/drafts/{await drafts(owner)}")).text
    first = re.search(r"<form[^>]*data-plan.*?(<button[^>]*>)", page, re.S)[1]
    assert 'value="save"' in first


async def test_a_draft_is_duplicated_without_its_address_and_times(shop, owner):
    draft_id = await drafts(owner, title="Night lamp", slug="lamp")
    copy = await owner.post("/seller/drafts", data={"draft": str(draft_id)})
    plan = (await shop.ledger.draft(shop.shop_id, int(copy.headers["location"].rpartition("/")[2]))).plan
    assert (plan.title, plan.slug, plan.opens, plan.price) == ("Night lamp", "", "", "49.00")


async def test_a_drop_is_duplicated_into_a_draft(shop, owner):
    drop = await publishes(shop, owner)
    copy = await owner.post("/seller/drafts", data={"drop": str(drop.id)})
    plan = (await shop.ledger.draft(shop.shop_id, int(copy.headers["location"].rpartition("/")[2]))).plan
    assert (plan.title, plan.slug, plan.opens, plan.price, plan.hold, plan.countries) == (
        "Night lamp", "", "", "49.00", "10:00", ("DE", "SE"),
    )  # fmt: skip
    assert [(variant.name, variant.units) for variant in plan.variants] == [("Brass", "5"), ("Soot", "3")]


async def test_a_draft_is_deleted_after_a_question(shop, owner):
    draft_id = await drafts(owner, title="Night lamp")
    asked = await owner.post(f"/seller/drafts/{draft_id}/delete", data={"version": "2"})
    assert asked.status_code == 200 and "Delete the draft" in asked.text
    assert (await owner.post(f"/seller/drafts/{draft_id}/delete", data={"version": "1", "sure": "yes"})).status_code == 409
    assert (await owner.post(f"/seller/drafts/{draft_id}/delete", data={"version": "2", "sure": "yes"})).status_code == 303
    assert (await owner.get(f"/seller/drafts/{draft_id}")).status_code == 404
    assert "No draft." in (await owner.get("/seller/drafts")).text


@pytest.mark.parametrize(
    ("language", "typed", "price_minor", "shown"),
    [("en", "1,234.50", 123450, "1,234.50"), ("de", "1.234,50", 123450, "1.234,50"), ("de", "1.250", 125000, "1.250")],
)
async def test_a_price_is_typed_as_its_seller_writes_numbers(shop, owner, language, typed, price_minor, shown):
    owner.headers["accept-language"] = language
    draft_id = await drafts(owner, title="Night lamp", price=typed, per_person="1")
    page = (await owner.get(f"/seller/drafts/{draft_id}")).text
    assert Fields(page).values["price"] == shown
    again = await owner.post(f"/seller/drafts/{draft_id}", data=filled(2, price=shown, per_person="1"))  # as it was drawn
    assert again.status_code == 303
    await owner.post(f"/seller/drafts/{draft_id}/publish", data={"version": "3", "sure": "yes"})
    [row] = await shop.rows("SELECT price_minor FROM drops")
    assert row["price_minor"] == price_minor


@pytest.mark.parametrize(("currency", "typed", "minor"), [("JPY", "1200", 1200), ("KWD", "1.250", 1250), ("ISK", "99", 99)])
async def test_a_currency_counts_its_own_decimals(shop, owner, currency, typed, minor):
    drop = await publishes(shop, owner, currency=currency, price=typed)
    assert (drop.price_minor, drop.currency) == (minor, currency)


# ---- the clock


async def test_a_time_that_the_clock_leaves_out_is_refused_with_a_sentence(owner):
    draft_id = await drafts(owner, opens="2027-03-28T02:30")
    page = (await owner.get(f"/seller/drafts/{draft_id}")).text
    assert "The clocks of Europe/Berlin leave this time out: after 01:59 comes 03:00." in page
    assert 'value="2027-03-28T02:30"' in page


async def test_a_time_that_happens_twice_is_asked_about(shop, owner):
    draft_id = await drafts(owner, opens="2027-10-31T02:30")
    page = (await owner.get(f"/seller/drafts/{draft_id}")).text
    assert "show this time twice" in page and "00:30 UTC" in page and "01:30 UTC" in page
    assert page.count('name="opens_which"') == 2
    assert (await owner.get(f"/seller/drafts/{draft_id}/publish")).text.count("show this time twice") == 1
    await owner.post(f"/seller/drafts/{draft_id}", data=filled(2, opens="2027-10-31T02:30", opens_which="later"))
    await owner.post(f"/seller/drafts/{draft_id}/publish", data={"version": "3", "sure": "yes"})
    [row] = await shop.rows("SELECT opens_at FROM drops")
    assert row["opens_at"] == datetime(2027, 10, 31, 1, 30, tzinfo=UTC)


# ---- publishing


async def test_publishing_shows_what_becomes_a_promise_and_asks(shop, owner):
    draft_id = await drafts(owner, title="Night lamp")
    page = (await owner.get(f"/seller/drafts/{draft_id}/publish")).text
    for told in ("Night lamp", "€49.00", "/drops/night-lamp", "Brass 5, Soot 3", "€392.00", "Europe/Berlin", "Germany, Sweden"):
        assert told in page
    asked = await owner.post(f"/seller/drafts/{draft_id}/publish", data={"version": "2"})
    assert asked.headers["location"] == f"/seller/drafts/{draft_id}/publish" and not await shop.rows("SELECT 1 FROM drops")


async def test_a_published_drop_is_armed_and_seen(shop, owner):
    drop = await publishes(shop, owner, opens=SOON)
    peek = await shop.gate.peek(drop.id)
    assert sum(peek.left.values()) == 8
    await shop.app_hears(drop)
    page = (await shop.browser(accept="text/html").get(f"/drops/{drop.slug}")).text
    assert "Night lamp" in page and "<strong>Spun</strong> by hand" in page and 'content="Spun by hand"' in page
    assert (drop.slug, drop.time_zone, drop.shipping_countries, drop.ships) == ("night-lamp", "Europe/Berlin", ("DE", "SE"), True)
    assert await actions(shop) == ["drop published", "draft saved", "draft made"]


async def test_a_draft_is_published_once_however_often_it_is_sent(shop, owner):
    draft_id = await drafts(owner, title="Night lamp")
    sure = {"version": "2", "sure": "yes"}
    first = await owner.post(f"/seller/drafts/{draft_id}/publish", data=sure)
    second = await owner.post(f"/seller/drafts/{draft_id}/publish", data=sure)
    assert first.headers["location"] == second.headers["location"] and len(await shop.rows("SELECT 1 FROM drops")) == 1
    assert (await owner.get(f"/seller/drafts/{draft_id}")).headers["location"].startswith("/seller/drops/")


async def test_nothing_incomplete_or_stale_is_published(shop, owner, manager):
    draft_id = await drafts(owner, title="", price="")
    page = await owner.post(f"/seller/drafts/{draft_id}/publish", data={"version": "2", "sure": "yes"})
    assert page.status_code == 422 and "What is it called?" in page.text and "What does one cost?" in page.text
    await owner.post(f"/seller/drafts/{draft_id}", data=filled(2))
    await manager.post(f"/seller/drafts/{draft_id}", data=filled(3, price="1"))
    stale = await owner.post(f"/seller/drafts/{draft_id}/publish", data={"version": "3", "sure": "yes"})
    assert stale.status_code == 409 and "€1.00" in stale.text
    assert not await shop.rows("SELECT 1 FROM drops")


async def test_an_address_that_is_taken_is_said(shop, owner, stranger):
    await publishes(shop, owner, slug="lamp")
    draft_id = await drafts(stranger, slug="lamp")
    page = await stranger.post(f"/seller/drafts/{draft_id}/publish", data={"version": "2", "sure": "yes"})
    assert page.status_code == 422 and "Another drop has this address." in page.text
    assert "Night lamp" in (await stranger.get(f"/seller/drafts/{draft_id}")).text


# ---- preview


@pytest.mark.parametrize("phase", ["announced", "last_seconds", "open", "all_held", "sold_out", "paused", "closed", "cancelled"])
async def test_a_draft_is_previewed_in_every_phase_and_nothing_in_it_is_live(shop, owner, phase):
    draft_id = await drafts(owner, title="Night lamp")
    page = await owner.get(f"/seller/drafts/{draft_id}/preview?phase={phase}")
    assert page.status_code == 200 and f'data-phase="{phase}"' in page.text and "Preview" in page.text
    body = page.text.split("</aside>")[1]
    assert all(" inert " in form for form in re.findall(r"<form[^>]*>", body))
    assert "drop.js" not in page.text and page.headers["cache-control"] == "no-store"
    assert not await shop.rows("SELECT 1 FROM drops")


@pytest.mark.parametrize(
    ("at", "phase", "digits"),
    [("2027-12-01T19:00", "announced", '>01</b> <small>h'), ("2027-12-01T19:59:55", "last_seconds", "<b>5</b>"),
     ("2027-12-01T20:00", "open", ""), ("2027-12-02T20:00", "closed", "")],
)  # fmt: skip
async def test_a_draft_is_previewed_at_any_time(owner, at, phase, digits):
    draft_id = await drafts(owner, opens="2027-12-01T20:00", closes="2027-12-02T20:00")
    page = (await owner.get(f"/seller/drafts/{draft_id}/preview?at={at}")).text
    assert f'data-phase="{phase}"' in page and digits in page and f'value="{at}"' in page


async def test_an_empty_draft_is_previewed_too_and_a_time_that_is_none_is_said(owner):
    draft_id = await drafts(owner)
    page = await owner.get(f"/seller/drafts/{draft_id}/preview?at=nonsense&phase=nonsense")
    assert page.status_code == 200 and "Your drop" in page.text and "There is no such time in UTC." in page.text


# ---- the words of a published drop


def words(version: int, **changes) -> dict[str, str]:
    return {"version": str(version), "title": "Day lamp", "description": "*new*", "has_pictures": "1"} | changes


async def test_words_and_countries_change_and_nothing_else_does(shop, owner):
    drop = await publishes(shop, owner)
    forged = words(1, price="1", opens="2030-01-01T00:00", per_person="100", has_variants="1", served="listed", has_countries="1")
    forged |= {"variant-1-name": "Brass", "variant-1-units": "999", "country-NO": "on", "slug": "other", "time_zone": "UTC"}
    saved = await owner.post(f"/seller/drops/{drop.id}/edit", data=forged)
    assert saved.headers["location"] == f"/seller/drops/{drop.id}/edit?saved=1"
    after = await shop.ledger.drop_by_id(drop.id)
    assert (after.title, after.description, after.shipping_countries, after.version) == ("Day lamp", "*new*", ("NO",), 2)
    for frozen in ("price_minor", "opens_at", "closes_at", "per_person", "variants", "slug", "time_zone", "hold_seconds"):
        assert getattr(after, frozen) == getattr(drop, frozen), frozen
    [entry] = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "drop edited"]
    assert (entry.actor, entry.before["title"], entry.after["title"]) == (owner.email, "Night lamp", "Day lamp")
    await shop.app_hears(after)
    assert "<em>new</em>" in (await shop.browser(accept="text/html").get(f"/drops/{drop.slug}")).text


async def test_a_stale_form_of_a_drop_overwrites_nothing_and_shows_both(shop, owner, manager):
    drop = await publishes(shop, owner)
    assert (await manager.post(f"/seller/drops/{drop.id}/edit", data=words(1, title="Theirs"))).status_code == 303
    stale = await owner.post(f"/seller/drops/{drop.id}/edit", data=words(1, title="Mine"))
    assert stale.status_code == 409 and "Mine" in stale.text and "Theirs" in stale.text and manager.email in stale.text
    assert (await shop.ledger.drop_by_id(drop.id)).title == "Theirs"
    assert (await owner.post(f"/seller/drops/{drop.id}/edit", data=Fields(stale.text).values)).status_code == 303
    assert (await shop.ledger.drop_by_id(drop.id)).title == "Mine"


async def test_what_is_wrong_with_the_words_is_said_and_nothing_typed_is_lost(shop, owner):
    drop = await publishes(shop, owner)
    page = await owner.post(f"/seller/drops/{drop.id}/edit", data=words(1, title=" ", description="kept"))
    assert page.status_code == 422 and "What is it called?" in page.text and "kept" in page.text
    assert (await shop.ledger.drop_by_id(drop.id)).version == 1


# ---- others


async def test_nobody_plans_without_the_right_and_no_other_shop_sees_a_draft(shop, owner, viewer, support, stranger):
    draft_id = await drafts(owner, title="Night lamp")
    for client, status in ((viewer, 403), (support, 403), (stranger, 404)):
        for url in (f"/seller/drafts/{draft_id}", f"/seller/drafts/{draft_id}/preview", f"/seller/drafts/{draft_id}/publish"):
            assert (await client.get(url)).status_code == status
        assert (await client.post(f"/seller/drafts/{draft_id}", data=filled(2, title="Taken"))).status_code == status
        assert (await client.post("/seller/drafts", data={"draft": str(draft_id)})).status_code == status
    assert "Night lamp" not in (await stranger.get("/seller/drafts")).text
    assert (await shop.ledger.draft(shop.shop_id, draft_id)).plan.title == "Night lamp"


async def test_programs_plan_with_json(shop, owner):
    made = await owner.post("/seller/drafts", json={}, headers=JSON)
    draft_id = made.json()["draft"]
    saved = await owner.post(f"/seller/drafts/{draft_id}", json=filled(1, hold="x"), headers=JSON)
    assert saved.json()["version"] == 2 and list(saved.json()["problems"]) == ["hold"]
    assert (await owner.post(f"/seller/drafts/{draft_id}", json=filled(1), headers=JSON)).status_code == 409
    refused = await owner.post(f"/seller/drafts/{draft_id}/publish", json={"version": "2"}, headers=JSON)
    assert (refused.status_code, refused.json()["field"]) == (422, "hold")
    odd = await owner.post(f"/seller/drafts/{draft_id}", json={"version": "2", "title": 7}, headers=JSON)
    assert odd.status_code == 422


async def test_an_old_plan_of_fewer_fields_can_still_be_read(shop, owner):
    draft_id = await shop.ledger.add_draft(shop.shop_id, Plan(), "x")
    await shop.rows("""UPDATE drafts SET plan = '{"title": "Old", "gone": 1}' WHERE id = $1""", draft_id)
    assert "Old" in (await owner.get(f"/seller/drafts/{draft_id}")).text


@pytest.mark.parametrize("character", ["é", "夜", "🪔"])
async def test_the_longest_description_fits_the_form_in_every_script(shop, owner, character):
    long = character * (10_000 // len(character.encode("utf-16-le")) * 2)  # as many as a browser's maxlength lets in
    draft_id = await drafts(owner, description=long)
    assert (await shop.ledger.draft(shop.shop_id, draft_id)).plan.description == long
    assert "description" not in re.findall(r'id="([\w-]+)-problem"', (await owner.get(f"/seller/drafts/{draft_id}")).text)
