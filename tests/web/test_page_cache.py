"""Pages from memory: drawn once, true at once after a write, and the same for everybody."""

import asyncio
import contextlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest

from app.bench.statements import counting
from app.domain.drops import Door
from app.gate import Gate, Shared
from app.purchase.drops import change_door
from app.web import page_cache
from app.web.app import create_app
from app.wiring import Office, Web
from tests.house import House
from tests.web.conftest import JSON, PARTIAL, running

GZIP = {"accept-encoding": "gzip"}
PLAIN = {"accept-encoding": "identity"}


def cache_of(app):
    return app.inner.pages


@pytest.fixture
async def other_process(shop):
    """A second web process on the same stores."""
    gate = await Gate.open(shop.settings.redis_url, timeout_seconds=2, name="other")
    app = create_app(
        Web(
            settings=shop.settings,
            crowd=gate,
            gate=gate,
            ledger=shop.ledger,
            office=Office(shop.settings, shop.ledger, gate, shop.feed),
            feed=shop.feed,
            jobs=shop.jobs,
            till=shop.till,
        )
    )
    async with running(app):
        yield app
    await gate.close()


async def until(condition, seconds=5.0):
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.01)


def heard_of(drop, apps):
    async def heard() -> bool:
        return all(app.inner.catalogue.known(drop.slug) for app in apps)

    return heard


def hears_nothing(app, monkeypatch):
    """What the feed tells late about the making of the drop is kept out of a test that counts drawings."""
    for name in ("written", "written_all"):
        monkeypatch.setattr(cache_of(app), name, lambda *_: None)


async def test_a_burst_draws_a_cold_page_once_over_two_processes(shop, other_process, monkeypatch):
    drop = await shop.opens()
    apps = [shop.app, other_process]
    await until(heard_of(drop, apps))
    clients = [shop.browser(app=app) for app in apps]
    for app in apps:
        hears_nothing(app, monkeypatch)
    for path in (f"/drops/{drop.slug}", "/"):
        for app in apps:
            cache_of(app)._kept.clear()
        before = sum(cache_of(app).pages_drawn for app in apps)
        answers = await asyncio.gather(*(clients[number % 2].get(path) for number in range(100)))
        assert {answer.status_code for answer in answers} == {200}
        assert sum(cache_of(app).pages_drawn for app in apps) - before == 1, path


async def test_a_page_goes_compressed_to_who_takes_it_and_is_the_same_page(shop):
    drop = await shop.opens()
    client = shop.browser()
    packed, plain = [await client.get(f"/drops/{drop.slug}", headers=headers) for headers in (GZIP, PLAIN)]
    assert packed.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
    assert packed.headers["etag"] == plain.headers["etag"]
    assert without_holes(packed.text) == without_holes(plain.text) and "</html>" in plain.text


def without_holes(html: str) -> str:
    return re.sub(r'(data-server-time|name="key" value)="[^"]*"', "", html)


async def test_what_a_browser_has_is_not_sent_again(shop):
    drop = await shop.opens()
    client = shop.browser()
    for path in ("/", f"/drops/{drop.slug}"):
        first = await client.get(path)
        again = await client.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"]), path
        assert "accept-encoding" in again.headers["vary"].lower()
    other = await client.get("/", headers={"if-none-match": 'W/"something else"'})
    assert other.status_code == 200


async def test_time_and_key_are_fresh_however_old_the_page(shop, monkeypatch):
    monkeypatch.setattr(page_cache, "FRESH_SECONDS", 60.0)
    hears_nothing(shop.app, monkeypatch)
    drop = await shop.opens()
    client = shop.browser()
    pages = []
    for _ in range(3):
        pages.append((await client.get(f"/drops/{drop.slug}")).text)
        await asyncio.sleep(page_cache.READY_SECONDS * 1.1)
    assert cache_of(shop.app).pages_drawn == 1
    times = [re.search(r'data-server-time="([^"]+)"', page)[1] for page in pages]
    assert times == sorted(times) and len(set(times)) == 3
    assert len({re.search(r'name="key" value="([^"]+)"', page)[1] for page in pages}) == 3


async def test_nothing_personal_is_kept(shop):
    drop = await shop.opens(units=3, limit=2)
    owner, other = await shop.shopper(), await shop.shopper()
    order = await shop.holds(drop, owner)
    assert str(order) in (await owner.get(f"/drops/{drop.slug}")).text
    for client in (other, shop.browser(), other):
        assert str(order) not in (await client.get(f"/drops/{drop.slug}")).text
    assert str(order) in (await owner.get(f"/drops/{drop.slug}")).text


async def test_signed_in_or_not_is_seen_on_the_page(shop):
    drop = await shop.opens()
    for path in ("/", f"/drops/{drop.slug}"):
        assert "/account" in (await (await shop.shopper()).get(path)).text
        page = (await shop.browser().get(path)).text
        assert "/sign-in?next=" in page and "/account" not in page


async def test_each_language_has_its_page(shop):
    drop = await shop.opens()
    for tag in ("de", "en", "de"):
        page = await shop.browser().get(f"/drops/{drop.slug}", headers={"accept-language": tag})
        assert f'<html lang="{tag}"' in page.text


async def test_json_fragments_and_questions_do_not_come_from_memory(shop):
    drop = await shop.opens()
    client = shop.browser()
    await client.get(f"/drops/{drop.slug}")
    assert (await client.get(f"/drops/{drop.slug}", headers=JSON)).headers["content-type"] == "application/json"
    assert "<html" not in (await client.get(f"/drops/{drop.slug}", headers=PARTIAL)).text
    assert "Slow down" in (await client.get(f"/drops/{drop.slug}?said=too_fast")).text
    assert "Slow down" not in (await client.get(f"/drops/{drop.slug}")).text


async def test_after_a_buy_the_next_page_shows_it(shop):
    drop = await shop.opens(units=3)
    client = shop.browser()
    for left in (3, 2, 1):
        assert f'data-left="{left}"' in (await client.get(f"/drops/{drop.slug}")).text
        await (await shop.shopper()).post(f"/drops/{drop.slug}/buy", headers=JSON, json={})


async def test_a_write_elsewhere_is_on_the_page_as_soon_as_the_feed_tells(shop, other_process, monkeypatch):
    monkeypatch.setattr(page_cache, "FRESH_SECONDS", 60.0)  # nothing but the write can change the page
    drop = await shop.opens(units=3)
    clients = [shop.browser(), shop.browser(app=other_process)]
    for path in (f"/drops/{drop.slug}", "/"):
        for client in clients:
            assert 'data-phase="open"' in (await client.get(path)).text
    await change_door(shop, drop.slug, Door.PAUSED)

    async def paused() -> bool:
        pages = [(await client.get(path)).text for client in clients for path in (f"/drops/{drop.slug}", "/")]
        return all('data-phase="paused"' in page for page in pages)

    await until(paused)


@pytest.mark.parametrize("told", ["of this drop", "of everything"])  # a gap of the feed: anything may have changed
async def test_a_request_after_the_write_never_gets_a_drawing_that_began_before_it(shop, monkeypatch, told):
    drop = await shop.opens(units=3)
    pages, scenes = cache_of(shop.app), shop.app.inner.scenes
    began, go_on, real = asyncio.Event(), asyncio.Event(), scenes.scene

    async def held_up(*arguments):
        scene = await real(*arguments)
        began.set()
        await go_on.wait()
        return scene

    monkeypatch.setattr(scenes, "scene", held_up)
    early = asyncio.create_task(shop.browser().get(f"/drops/{drop.slug}"))
    await began.wait()
    await shop.gate.set_door(drop.id, Door.PAUSED, int(drop.opens_at.timestamp() * 1000), None)
    scenes.forget(drop.id)
    pages.written(drop.slug) if told == "of this drop" else pages.written_all()
    late = asyncio.create_task(shop.browser().get(f"/drops/{drop.slug}"))
    await asyncio.sleep(0)
    go_on.set()
    await early
    assert 'data-phase="paused"' in (await late).text


async def test_a_page_is_shown_while_it_is_drawn_again(shop, monkeypatch):
    monkeypatch.setattr(page_cache, "FRESH_SECONDS", 0.0)
    drop = await shop.opens(units=3)
    client, pages = shop.browser(), cache_of(shop.app)
    monkeypatch.setattr(pages, "written", lambda _: None)  # word of the drop's making may still be on its way: not what is tested
    monkeypatch.setattr(pages, "written_all", lambda: None)
    await client.get(f"/drops/{drop.slug}")
    drawn = pages.pages_drawn

    async def never(*_):
        await asyncio.Event().wait()

    monkeypatch.setattr(pages, "_draw", never)
    for _ in range(3):
        assert (await client.get(f"/drops/{drop.slug}")).status_code == 200
    assert pages.pages_drawn == drawn
    for task in list(pages._drawing.values()):
        task.cancel()


async def test_the_clock_ends_a_page_however_fresh_it_is(shop, monkeypatch):
    monkeypatch.setattr(page_cache, "FRESH_SECONDS", 60.0)
    drop = await shop.opens(opens_in_seconds=2)
    client = shop.browser()
    assert 'data-phase="last_seconds"' in (await client.get(f"/drops/{drop.slug}")).text

    async def opened() -> bool:
        return 'data-phase="open"' in (await client.get(f"/drops/{drop.slug}")).text

    await until(opened)


async def test_pages_are_bounded(shop, monkeypatch):
    monkeypatch.setattr(page_cache, "PAGES_MAX", 2)
    for _ in range(4):
        drop = await shop.opens()
        assert (await shop.browser().get(f"/drops/{drop.slug}")).status_code == 200
    assert 1 <= len(cache_of(shop.app)._kept) <= 2


async def test_a_maker_that_died_keeps_nobody_waiting_for_long(shop):
    shared = Shared(shop.gate)
    assert await shop.gate.take_or_make("page:x", 0.05) == (None, True)  # and never heard of again

    async def made() -> str:
        return "mine"

    assert await asyncio.wait_for(shared.value("page:x", made), 1.0) == "mine"
    assert await shared.value("page:x", made) == "mine"


async def test_a_maker_that_failed_lets_the_next_one_try(shop):
    shared = Shared(shop.gate)

    async def fails() -> str:
        raise ValueError("no")

    async def made() -> str:
        return "second"

    with pytest.raises(ValueError, match="no"):
        await shared.value("page:y", fails)
    assert await shared.value("page:y", made) == "second"


async def test_without_the_gate_everybody_makes_it_alone():
    nowhere = await Gate.open("unix:///nonexistent/gate.sock", timeout_seconds=0.2, name="nowhere")

    async def made() -> str:
        return "alone"

    assert await Shared(nowhere).value("page:z", made) == "alone"
    await nowhere.close()


# ---- two real processes


@pytest.fixture(scope="module")
def house():
    house = House.made(web=2)
    try:
        house.start()
        house.ensure_shop()
        yield house
    finally:
        house.tear_down()


async def unannounced(dsn: str, slug: str) -> None:
    """A drop that no process has heard of: the message that told of it was lost."""
    connection = await asyncpg.connect(dsn)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(connection.close)
        drop_id = await connection.fetchval(
            "INSERT INTO drops (shop_id, slug, title, price_minor, currency, opens_at) "
            "SELECT id, $1, 'Cold', 100, 'EUR', now() + interval '1 hour' FROM shops LIMIT 1 RETURNING id",
            slug,
        )
        variant_id = await connection.fetchval(
            "INSERT INTO variants (drop_id, name, position) VALUES ($1, 'one', 1) RETURNING id", drop_id
        )
        await connection.execute("INSERT INTO stock (variant_id, drop_id, total) VALUES ($1, $2, 5)", variant_id, drop_id)


async def test_a_thousand_cold_requests_over_two_processes_are_one_query(house):
    dsn = house.parts()["postgres"]["dsn"]
    async with counting(dsn, Path(house.data) / "log" / "postgres.log") as (statements, connection):
        await unannounced(dsn, "cold")
        await statements.settle(connection)
        statements.mark()
        statuses = await a_thousand_ask(f"{house.url}/drops/cold")
        await statements.settle(connection)
        asked = [text for name, text in statements.read() if name == "doorman-pages" and "published_drops" in text]
    assert statuses == {200: 1000}
    assert len([text for text in asked if "WHERE slug" in text]) == 1, asked


async def a_thousand_ask(url: str) -> dict[int, int]:
    """All at once, each on a connection of its own, so that both processes get their share."""
    split = urlsplit(url)
    request = f"GET {split.path} HTTP/1.1\r\nHost: {split.netloc}\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n".encode()
    connections = await asyncio.gather(*(asyncio.open_connection(split.hostname, split.port) for _ in range(1000)))
    for _, writer in connections:
        writer.write(request)
    answers = await asyncio.gather(*(reader.read() for reader, _ in connections))
    for _, writer in connections:
        writer.close()
    statuses = [int(answer.split(b" ", 2)[1]) for answer in answers]
    return {status: statuses.count(status) for status in set(statuses)}


async def test_both_processes_take_part_where_many_come_at_once(house):
    """They share one listening socket: who is awake accepts. A crowd wakes both."""
    pids = set()
    for _ in range(20):
        async with httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0)) as client:
            answers = await asyncio.gather(*(client.get(f"{house.url}/readyz") for _ in range(50)))
        pids |= {answer.json()["pid"] for answer in answers}
        if len(pids) == 2:
            break
    assert len(pids) == 2
