"""The seller's own socket: who is let in, what is pushed, and that a right which is lost closes it."""

import asyncio
import contextlib
import re

import pytest

from app.web.seller import sessions
from tests.web.conftest import HOST, JSON, URL

SECONDS_MAX = 20


class Screen:
    """A page's socket to race control, played as a server would."""

    def __init__(self, shop, client, drop_id: int, *, origin: str | None = URL, language: str = "en"):
        self.events: asyncio.Queue[dict] = asyncio.Queue()
        self.sent: asyncio.Queue[dict] = asyncio.Queue()
        self.events.put_nowait({"type": "websocket.connect"})
        headers = [(b"host", HOST.encode())]
        if cookie := client.headers.get("cookie"):
            headers.append((b"cookie", cookie.encode()))
        if origin:
            headers.append((b"origin", origin.encode()))
        path = f"/seller/drops/{drop_id}/live/socket"
        scope = {
            "type": "websocket", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "ws", "path": path,
            "raw_path": path.encode(), "root_path": "", "query_string": f"lang={language}".encode(), "headers": headers,
            "client": ("127.0.0.1", 50_000), "server": ("127.0.0.1", 8000), "subprotocols": [], "extensions": {}, "state": {},
        }  # fmt: skip
        self.task = asyncio.create_task(shop.app(scope, self.events.get, self.sent.put))

    async def next(self) -> dict:
        async with asyncio.timeout(SECONDS_MAX):
            return await self.sent.get()

    async def sees(self) -> str:
        """-> the next fragment."""
        while (message := await self.next())["type"] != "websocket.send":
            assert message["type"] == "websocket.accept", message
        return message["text"]

    async def is_refused(self) -> bool:
        return (await self.next())["type"] == "websocket.close"

    async def leaves(self) -> None:
        self.events.put_nowait({"type": "websocket.disconnect", "code": 1001})
        async with asyncio.timeout(SECONDS_MAX):
            await asyncio.gather(self.task, return_exceptions=True)


@contextlib.asynccontextmanager
async def watching(*arguments, **more):
    screen = Screen(*arguments, **more)
    try:
        yield screen
    finally:
        await screen.leaves()


def left_in(fragment: str) -> int:
    return int(re.search(r'data-left="(\d+)"', fragment)[1])


async def test_the_state_at_once_and_again_when_it_has_changed(shop, viewer):
    drop = await shop.opens(units=3)
    async with watching(shop, viewer, drop.id) as screen:
        assert left_in(await screen.sees()) == 3
        await shop.holds(drop, await shop.shopper())
        async with asyncio.timeout(SECONDS_MAX):
            while left_in(await screen.sees()) != 2:
                pass


async def test_a_pause_is_pushed_to_all_who_watch(shop, manager, viewer):
    drop = await shop.opens(units=3)
    async with watching(shop, manager, drop.id) as first, watching(shop, viewer, drop.id, language="de") as second:
        await asyncio.gather(first.sees(), second.sees())
        await manager.post(f"/seller/drops/{drop.id}/live/pause", json={}, headers=JSON)
        for screen, word in ((first, "Paused"), (second, "")):
            async with asyncio.timeout(SECONDS_MAX):
                while 'data-door="paused"' not in (text := await screen.sees()):
                    pass
                assert word in text


async def test_a_drop_is_read_once_for_all_who_watch_it(shop, viewer, manager):
    drop = await shop.opens(units=3)
    async with watching(shop, viewer, drop.id) as first, watching(shop, manager, drop.id) as second:
        assert await first.sees() == await second.sees()


@pytest.mark.parametrize("origin", [None, "https://elsewhere.example", "null"])
async def test_without_an_origin_of_ours_nobody_is_let_in(shop, viewer, origin):
    drop = await shop.opens()
    assert await Screen(shop, viewer, drop.id, origin=origin).is_refused()


async def test_nobody_without_a_session_and_nobody_of_another_shop_is_let_in(shop, stranger):
    drop = await shop.opens()
    assert await Screen(shop, shop.browser(), drop.id).is_refused()
    assert await Screen(shop, await shop.shopper(), drop.id).is_refused()
    assert await Screen(shop, stranger, drop.id).is_refused()


async def test_a_lost_right_closes_the_socket(shop, viewer, monkeypatch):
    monkeypatch.setattr(sessions, "SOCKET_ASKS_SECONDS", 0.05)
    monkeypatch.setattr(sessions, "MEMORY_SECONDS", 0.0)
    drop = await shop.opens()
    async with watching(shop, viewer, drop.id) as screen:
        await screen.sees()
        await shop.rows("DELETE FROM seller_sessions WHERE id = $1", viewer.session_id)
        async with asyncio.timeout(SECONDS_MAX):
            while (message := await screen.next())["type"] != "websocket.close":
                pass
        assert message["code"] == 1008
    assert sessions.SELLER_SECONDS_MAX >= 3.0 + 1.5  # what is remembered, and how often it is asked


async def test_whoever_says_something_is_shown_out(shop, viewer):
    drop = await shop.opens()
    async with watching(shop, viewer, drop.id) as screen:
        await screen.sees()
        screen.events.put_nowait({"type": "websocket.receive", "text": "let me in"})
        async with asyncio.timeout(SECONDS_MAX):
            while (await screen.next())["type"] != "websocket.close":
                pass
