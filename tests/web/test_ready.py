"""Over a real connection: what stands ready, and what lacks one reply, is answered as the ordinary way answers it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from app.gate import ConnectionLost, Gate
from app.web import patience
from app.web.guard import Guard
from app.web.serve import Server, configuration
from tests.web.conftest import HOST, JSON, PARTIAL, URL

BROWSER = {"origin": URL, "content-type": "application/x-www-form-urlencoded"}


@contextlib.asynccontextmanager
async def served(app) -> AsyncIterator[int]:
    """-> the port of the server that web processes run, without its lifespan: the shop's has begun."""
    config = configuration(app)
    config.lifespan, config.port, config.host = "off", 0, "127.0.0.1"
    server = Server(config)
    task = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


@pytest.fixture
async def port(shop):
    async with served(shop.app) as port:
        yield port


def written(method, path, headers, body="") -> bytes:
    told = {"host": HOST, **headers} | ({"content-length": str(len(body))} if method == "POST" else {})
    return (
        f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in told.items()) + f"\r\n{body}"
    ).encode()


async def answers(port, *requests: bytes, count=None) -> list[tuple[int, dict, bytes]]:
    """All requests in one write -> the answers as they come, `date` left out."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"".join(requests))
    heard = []
    for _ in range(count or len(requests)):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        headers.pop("date")
        heard.append((int(head[0].split()[1]), headers, await reader.readexactly(int(headers.get("content-length", 0)))))
    writer.close()
    return heard


async def buying(shop, drop, key="k", **headers) -> bytes:
    client = await shop.shopper()
    return written(
        "POST", f"/drops/{drop.slug}/buy", {**BROWSER, "cookie": client.headers["cookie"], **headers}, f"key={key}&quantity=1"
    )


def tasks_are_counted(monkeypatch) -> list:
    """-> a list that grows by every request that goes the ordinary way."""
    ordinary, real = [], Guard.__call__

    async def counted(self, scope, receive, send):
        ordinary.append(scope["path"])
        await real(self, scope, receive, send)

    monkeypatch.setattr(Guard, "__call__", counted)
    return ordinary


async def nothing_is_left(shop, port, drop):
    """Sold out, and this process remembers it."""
    await answers(port, await buying(shop, drop), await buying(shop, drop))
    async with asyncio.timeout(5):
        while drop.id not in shop.app.inner.counter._memory:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("wanted", [JSON, PARTIAL, {"accept": "text/html"}])
async def test_a_no_from_memory_is_the_ordinary_no_without_a_task(shop, port, monkeypatch, wanted):
    drop = await shop.opens()
    await nothing_is_left(shop, port, drop)
    ordinary = tasks_are_counted(monkeypatch)
    [at_once] = await answers(port, await buying(shop, drop, **wanted))
    assert ordinary == []
    monkeypatch.setattr(Guard, "at_once", lambda self, scope, body: None)
    [by_asgi] = await answers(port, await buying(shop, drop, **wanted))
    assert len(ordinary) == 1
    assert at_once == by_asgi
    assert at_once[0] == (303 if wanted == {"accept": "text/html"} else 409)


@pytest.mark.parametrize(("wanted", "status"), [(JSON, 201), (PARTIAL, 201), ({"accept": "text/html"}, 303)])
async def test_a_yes_of_the_gate_needs_no_task_and_is_said_with_every_header(shop, port, monkeypatch, wanted, status):
    drop, ordinary = await shop.opens(), tasks_are_counted(monkeypatch)
    await shop.app_hears(drop)
    [(told, headers, _)] = await answers(port, await buying(shop, drop, **wanted))
    assert (told, ordinary) == (status, [])
    assert "content-security-policy" in headers
    assert "/orders/" in headers.get("location", headers.get("hx-redirect", ""))
    assert (await shop.gate.peek(drop.id)).left == {drop.variants[0].id: 0}


async def test_a_lost_reply_goes_the_ordinary_way_and_finds_the_same_grant(shop, port, monkeypatch):
    drop, ordinary, real = await shop.opens(), tasks_are_counted(monkeypatch), Gate.ask_to_reserve

    def lost(self, drop_id, reservation):
        asked, told = real(self, drop_id, reservation), asyncio.get_running_loop().create_future()
        asked.add_done_callback(lambda _: told.set_exception(ConnectionLost("on its way back")))
        return told

    monkeypatch.setattr(Gate, "ask_to_reserve", lost)
    await shop.app_hears(drop)
    [(status, headers, _)] = await answers(port, await buying(shop, drop, **JSON))
    assert (status, ordinary) == (201, [f"/drops/{drop.slug}/buy"])
    peek = await shop.gate.peek(drop.id)
    assert (peek.left, peek.journal) == ({drop.variants[0].id: 0}, 1)
    assert headers["location"].startswith("/orders/")


async def test_requests_in_one_write_are_answered_in_their_order(shop, port):
    drop = await shop.opens(units=1)
    await nothing_is_left(shop, port, drop)
    page = written("GET", f"/drops/{drop.slug}", {"accept": "text/html"})
    alive = written("GET", "/healthz", {})
    requests = [await buying(shop, drop, **JSON), alive, page, await buying(shop, drop, **JSON), page, alive]
    assert [status for status, _, _ in await answers(port, *requests)] == [409, 200, 200, 409, 200, 200]


async def test_a_body_that_comes_later_than_its_head_is_waited_for(shop, port):
    drop = await shop.opens()
    request = await buying(shop, drop, **JSON)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request[:-5])
    await answers(port, written("GET", "/healthz", {}))  # the server has read the first part
    writer.write(request[-5:])
    assert (await reader.readuntil(b"\r\n")).split()[1] == b"201"
    writer.close()


async def test_without_a_key_a_press_is_asked_once_by_the_ordinary_way(shop, port, monkeypatch):
    drop, ordinary = await shop.opens(), tasks_are_counted(monkeypatch)
    client = await shop.shopper()
    request = written("POST", f"/drops/{drop.slug}/buy", {**BROWSER, **JSON, "cookie": client.headers["cookie"]}, "quantity=1")
    [(status, _, _)] = await answers(port, request)
    assert (status, len(ordinary)) == (201, 1)


async def test_a_page_that_is_known_is_304_however_often_it_was_drawn_since(shop, port):
    drop = await shop.opens()
    await shop.app_hears(drop)
    page = f"/drops/{drop.slug}"
    [(_, headers, _)] = await answers(port, written("GET", page, {"accept": "text/html"}))
    shop.app.inner.pages.written(drop.slug)
    shop.app.inner.scenes.forget(drop.id)
    drawn = shop.app.inner.pages.pages_drawn
    known = {"accept": "text/html", "if-none-match": headers["etag"]}
    [(status, _, body)] = await answers(port, written("GET", page, known))
    assert (status, body) == (304, b"")
    assert shop.app.inner.pages.pages_drawn > drawn


@pytest.mark.parametrize(
    "odd", [{"origin": "https://evil.example"}, {"host": "evil.example"}, {"content-type": "text/plain"}, {"cookie": ""}]
)
async def test_whatever_is_odd_is_left_to_the_ordinary_way(shop, port, monkeypatch, odd):
    drop = await shop.opens()
    await nothing_is_left(shop, port, drop)
    ordinary = tasks_are_counted(monkeypatch)
    [(status, _, _)] = await answers(port, await buying(shop, drop, **(JSON | odd)))
    assert (status in (400, 401, 403, 415), len(ordinary)) == (True, 1)


class Press:
    """A connection of the crowd whose request takes some of the clock."""

    def __init__(self, clock, seconds, fails=False):
        self.clock, self.seconds, self.fails, self.served = clock, seconds, fails, 0

    def read_waiting(self):
        self.clock[0] += self.seconds
        self.served += 1
        if self.fails:
            raise RuntimeError("one of the crowd")


class Turns:
    """An event loop that only notes what is to come."""

    def __init__(self):
        self.soon = []

    def call_soon(self, what):
        self.soon.append(what)


@pytest.mark.parametrize(("share", "a_turn"), [(2.0, 1), (0.3, 4), (0.01, 12)])
def test_the_crowd_is_served_a_turn_at_a_time_in_its_order(monkeypatch, share, a_turn):
    clock, loop = [0.0], Turns()
    monkeypatch.setattr(patience, "monotonic", lambda: clock[0])
    crowd, presses = patience.Crowd(loop), [Press(clock, share * patience.TURN_SECONDS) for _ in range(12)]
    crowd.others_at = 0.0  # somebody else was here just now
    for press in presses:
        crowd.join(press)
    assert len(loop.soon) == 1
    served = []
    while loop.soon:
        loop.soon.pop()()
        served.append(sum(press.served for press in presses))
        assert [press.served for press in presses] == [1] * served[-1] + [0] * (12 - served[-1])
    assert served[0] == a_turn
    assert served[-1] == 12


def test_turns_are_longer_while_nobody_else_was_here_lately(monkeypatch):
    loop, turns = Turns(), []
    for clock in ([patience.ALONE_SECONDS / 2], [patience.ALONE_SECONDS * 2]):
        monkeypatch.setattr(patience, "monotonic", lambda clock=clock: clock[0])
        crowd, presses = patience.Crowd(loop), [Press(clock, patience.TURN_SECONDS / 10) for _ in range(100)]
        crowd.others_at = 0.0
        for press in presses:
            crowd.join(press)
        loop.soon.pop()()
        loop.soon.clear()
        turns.append(sum(press.served for press in presses))
    lately, alone = turns
    assert 1 < lately < alone < 100


async def test_turns_are_shorter_while_somebody_elses_request_is_under_way(monkeypatch):
    clock, loop = [0.0], Turns()
    monkeypatch.setattr(patience, "monotonic", lambda: clock[0])
    crowd, presses = patience.Crowd(loop), [Press(clock, patience.TURN_SECONDS / 10) for _ in range(20)]
    for press in presses:
        crowd.join(press)
    under_way = asyncio.Event()

    async def page(scope, receive, send):
        loop.soon.pop()()
        under_way.set()

    await crowd.beside(page, None, None, None)
    beside = sum(press.served for press in presses)
    loop.soon.pop()()
    assert under_way.is_set()
    assert 1 <= beside < sum(press.served for press in presses) - beside
    assert crowd.others == 0


def test_one_who_cannot_be_served_stops_nobody_behind(monkeypatch):
    clock, loop = [0.0], Turns()
    monkeypatch.setattr(patience, "monotonic", lambda: clock[0])
    crowd, presses = patience.Crowd(loop), [Press(clock, 0.0, fails=True), Press(clock, 0.0)]
    for press in presses:
        crowd.join(press)
    with pytest.raises(RuntimeError):
        loop.soon.pop()()
    loop.soon.pop()()
    assert [press.served for press in presses] == [1, 1]
    assert loop.soon == []
