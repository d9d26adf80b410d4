"""The shop window: list, drop page, stock document, the private fragment, and files that never change."""

import asyncio
import hashlib
import re
from datetime import UTC, datetime

import pytest

from app.clock import iso
from app.domain.drops import Door
from app.errors import GateUnreachable
from app.web import scenes
from app.web.seller import telling
from tests.web.conftest import JSON, PARTIAL


async def stock_of(shop, drop) -> dict:
    answer = await shop.browser().get(f"/drops/{drop.slug}/stock")
    assert (answer.status_code, answer.headers["content-type"], answer.headers["cache-control"]) == (
        200,
        "application/json",
        "no-store",
    )
    return answer.json()


async def test_the_stock_document_is_the_contracts(shop):
    drop = await shop.opens(variants=(("S", 3), ("M", 2)), closes_in_seconds=3600)
    await shop.holds(drop, await shop.shopper(), variant="M")
    stock = await stock_of(shop, drop)
    assert list(stock) == ["phase", "server_time", "opens_at", "closes_at", "seq", "watching", "variants"]
    assert (stock["phase"], stock["opens_at"], stock["closes_at"]) == ("open", iso(drop.opens_at), iso(drop.closes_at))
    assert stock["variants"] == [{"name": "S", "left": 3, "held": 0}, {"name": "M", "left": 1, "held": 1}]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stock["server_time"])
    assert datetime.fromisoformat(stock["server_time"]) >= drop.opens_at
    assert type(stock["seq"]) is int and type(stock["watching"]) is int


async def test_seq_never_falls(shop):
    drop = await shop.opens()
    first, second = await stock_of(shop, drop), await stock_of(shop, drop)
    assert second["seq"] >= first["seq"] > 0


async def test_phases_follow_door_clock_and_stock(shop):
    later, soon, now, over, paused, held = [
        await shop.opens(opens_in_seconds=100),
        await shop.opens(opens_in_seconds=8),
        await shop.opens(),
        await shop.opens(opens_in_seconds=-9, closes_in_seconds=-1),
        await shop.opens(),
        await shop.opens(),
    ]
    await shop.gate.set_door(paused.id, Door.PAUSED, int(paused.opens_at.timestamp() * 1000), None)
    await shop.holds(held, await shop.shopper())
    phases = [(await stock_of(shop, drop))["phase"] for drop in (later, soon, now, over, paused, held)]
    assert phases == ["announced", "last_seconds", "open", "closed", "paused", "all_held"]


async def test_a_gate_out_of_reach_is_not_ready_and_pages_stay_up(shop, monkeypatch):
    drop = await shop.opens()

    async def gone(*_):
        raise GateUnreachable("no answer")

    monkeypatch.setattr(type(shop.gate), "peek", gone)
    stock = await stock_of(shop, drop)
    assert (stock["phase"], stock["variants"]) == ("not_ready", [{"name": "one", "left": 0, "held": 0}])
    for address in ("/", f"/drops/{drop.slug}", f"/drops/{drop.slug}/mine"):
        assert (await (await shop.shopper()).get(address)).status_code == 200, address


async def test_many_askers_cost_the_gate_one_reading(shop, monkeypatch):
    drop = await shop.opens()
    real, calls = type(shop.gate).peek, []

    async def counted(self, drop_id):
        calls.append(drop_id)
        return await real(self, drop_id)

    monkeypatch.setattr(type(shop.gate), "peek", counted)
    client = shop.browser()
    await asyncio.gather(*(client.get(f"/drops/{drop.slug}/stock") for _ in range(50)))
    assert len(calls) <= 2


async def test_the_page_carries_the_hooks_and_a_fresh_key(shop):
    drop = await shop.opens(units=3)
    client = await shop.shopper()
    pages = [(await client.get(f"/drops/{drop.slug}")) for _ in range(2)]
    for page in pages:
        assert page.status_code == 200
        assert 'data-phase="open"' in page.text and 'data-left="3"' in page.text and "data-seq=" in page.text
        assert "Night &lt;lamp&gt;" in page.text and "<lamp>" not in page.text
        assert page.headers["vary"] == "Accept, Accept-Encoding, Accept-Language, HX-Request-Type, Cookie"
        assert page.headers["cache-control"].startswith("private")
    keys = [re.search(r'name="key" value="([^"]+)"', page.text).group(1) for page in pages]
    assert keys[0] != keys[1]


async def test_the_scene_of_one_reading_is_the_same_for_everybody(shop, monkeypatch):
    monkeypatch.setattr(scenes, "READING_SECONDS", 60.0)
    drop = await shop.opens()
    mine, theirs = await shop.shopper(), shop.browser()
    await shop.holds(drop, mine)
    await stock_of(shop, drop)
    first, second = [(await client.get(f"/drops/{drop.slug}", headers=PARTIAL)).text for client in (mine, theirs)]
    assert first == second and "<html" not in first


async def test_what_is_mine_shows_my_orders_and_nobody_elses(shop):
    drop = await shop.opens(units=3, limit=2)
    owner, other = await shop.shopper(), await shop.shopper()
    order = await shop.holds(drop, owner)
    fragments = [(await client.get(f"/drops/{drop.slug}/mine")) for client in (owner, other, shop.browser())]
    assert [str(order) in fragment.text for fragment in fragments] == [True, False, False]
    assert {fragment.headers["cache-control"] for fragment in fragments} == {"no-store"}
    assert all('id="mine"' in fragment.text for fragment in fragments)


async def test_what_was_said_is_a_known_word_or_nothing(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    assert "Slow down" in (await client.get(f"/drops/{drop.slug}?said=too_fast")).text
    for said in ("reserved", "<script>", "nonsense", "", "said"):
        page = await client.get(f"/drops/{drop.slug}", params={"said": said})
        assert page.status_code == 200 and "<script>alert" not in page.text and "nonsense" not in page.text


async def test_the_list_shows_every_drop_with_its_phase(shop):
    drops = [await shop.opens(), await shop.opens(opens_in_seconds=500)]
    for drop in drops:
        await stock_of(shop, drop)
    page = await shop.browser().get("/")
    assert all(f"/drops/{drop.slug}" in page.text for drop in drops)
    listed = (await shop.browser().get("/", headers=JSON)).json()["drops"]
    assert {row["slug"]: row["phase"] for row in listed} == {drops[0].slug: "open", drops[1].slug: "announced"}


async def test_what_is_not_there_is_404_in_each_language(shop):
    html = "text/html; charset=utf-8"
    for address in ("/nowhere", "/drops/nowhere", "/drops/nowhere/stock", "/drops/nowhere/mine", "/pictures/x", "/static/x.css"):
        for headers, media in ((JSON, "application/problem+json"), ({}, html), (PARTIAL, html)):
            answer = await shop.browser().get(address, headers=headers)
            assert (answer.status_code, answer.headers["content-type"]) == (404, media), address


async def test_no_page_has_inline_script_style_or_foreign_sources(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    for address in ("/", f"/drops/{drop.slug}", f"/orders/{order}", "/orders", "/sign-in", "/account", "/dev/mail", "/nowhere"):
        page = (await client.get(address)).text
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", page), address
        assert not re.search(r'(?:src|href)="(?:https?:)?//(?!127\.0\.0\.1:8000\b)', page), address  # mails name the whole address


# files


async def test_a_picture_is_cached_for_ever_under_its_hash(shop):
    content = b"not really a picture, but bytes are bytes"
    hash = hashlib.sha256(content).hexdigest()
    await shop.ledger.put_picture(hash, "image/webp", 3, 4, content)
    for _ in range(2):
        answer = await shop.browser().get(f"/pictures/{hash}")
        assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, content, "image/webp")
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    for other in (hash[:-1], hash[:-1] + "g", hash.upper(), "0" * 64, "../" + hash):
        assert (await shop.browser().get(f"/pictures/{other}")).status_code == 404, other


async def test_files_of_ours_are_cached_by_their_content(shop):
    page = (await shop.browser().get("/")).text
    address = re.search(r'href="(/static/app\.css\?v=[0-9a-f]{12})"', page).group(1)
    answer = await shop.browser().get(address)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/css")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (await shop.browser().get("/static/app.css")).headers["cache-control"] == "public, max-age=60"


@pytest.mark.parametrize(
    "name", ["../pyproject.toml", "..%2fpyproject.toml", "%2e%2e/app/settings.py", "", "css", "/etc/passwd", "..%5c..%5cx"]
)
async def test_nothing_outside_static_is_a_file(shop, name):
    assert (await shop.browser().get(f"/static/{name}")).status_code == 404


# the development mailbox


async def test_the_development_mailbox_shows_the_mails_as_the_contract_says(shop):
    await shop.browser().post("/sign-in", json={"email": "ada@example.org"}, headers=JSON)
    [mail] = (await shop.browser().get("/dev/mail", headers=JSON)).json()
    assert list(mail) == ["to", "kind", "subject", "text", "html", "message_id", "order"]
    assert (mail["to"], mail["kind"], mail["order"]) == ("ada@example.org", "sign_in_code", None)
    assert "ada@example.org" in (await shop.browser().get("/dev/mail")).text


SENT_AT = datetime(2026, 11, 30, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "sent_at", "error", "words"),
    [
        ("waiting", None, None, "Here only: no mail server is set"),
        ("sent", SENT_AT, None, "Handed to the mail server"),
        ("failed", None, "550 No such user", "Refused or given up"),
        ("failed", SENT_AT, "5.1.1 No such user", "Came back after it was sent"),
        ("unknown", None, "no answer: TimeoutError", "Nobody knows whether it arrived"),
        ("withheld", None, None, "Kept back: the buyer is synthetic or gone"),
    ],
)
async def test_the_development_mailbox_says_what_became_of_each_mail(shop, state, sent_at, error, words):
    await shop.browser().post("/sign-in", json={"email": "ada@example.org"}, headers=JSON)
    await shop.rows("UPDATE messages SET state = $1, sent_at = $2, error = $3", state, sent_at, error)
    page = (await shop.browser().get("/dev/mail", headers={"accept": "text/html"})).text
    assert page.count(words) == 1 and "On its way" not in page and "No mail leaves this machine." in page
    assert ("30 Nov 2026, 20:00 UTC" in page) is (sent_at is not None)
    assert (error or "") in page
    german = (await shop.browser().get("/dev/mail?lang=de", headers={"accept": "text/html"})).text
    assert words not in german and ("keine Antwort: TimeoutError" in german) is (state == "unknown")


@pytest.mark.parametrize(("tries", "became"), [(0, "waiting"), (2, "tried again")])
def test_with_a_mail_server_what_waits_is_sent_or_tried_again(tries, became):
    assert telling.became("waiting", tries, None, posts=True) == became
    assert telling.became("waiting", tries, None, posts=False) == "kept here"


async def test_a_retired_drop_is_closed_without_asking_the_gate(shop, monkeypatch):
    drop = await shop.opens()
    client = await shop.shopper()
    while not shop.app.inner.catalogue.known(drop.slug):  # the message that tells of its making must not tell of its end
        await asyncio.sleep(0.01)
    assert await shop.ledger.change_door(drop.id, Door.CLOSED)
    assert await shop.ledger.retire_drop(drop.id)

    async def gone(*_):
        raise GateUnreachable("retired")

    monkeypatch.setattr(type(shop.gate), "reserve", gone)
    monkeypatch.setattr(type(shop.gate), "peek", gone)
    assert (await client.post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)).status_code == 503
    await shop.feed.publish("drop", drop=drop.id)
    for _ in range(200):
        answer = await client.post(f"/drops/{drop.slug}/buy", json={"key": "k"}, headers=JSON)
        if answer.status_code != 503:
            break
        await asyncio.sleep(0.4)  # below the shopper's own pace
    assert (answer.status_code, answer.json()["verdict"]) == (409, "closed")
    assert (await stock_of(shop, drop))["phase"] == "closed"
    assert (await client.get(f"/drops/{drop.slug}")).status_code == 200
