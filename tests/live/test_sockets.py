"""The hub behind the server that it runs on: handshakes that break off, readers that stop reading, stock that falls by the feed."""

import asyncio
import contextlib
import json
import os
import random
import socket

import pytest
import redis.asyncio
import uvicorn
import websockets

from app.live import hub as hub_module
from app.live.feed import CHANNEL, Feed
from app.live.hub import HTML, JSON, JSON_SUBPROTOCOL

from .watchers import SECONDS_MAX, Shelf

ABORTED_HANDSHAKES = 500
HANDSHAKE = (
    b"GET /live HTTP/1.1\r\nHost: shop.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


class Site:
    def __init__(self, hub, shelf, feed, port):
        self.hub, self.shelf, self.feed, self.port = hub, shelf, feed, port
        self.url = f"ws://127.0.0.1:{port}/live"


async def until(condition):
    async with asyncio.timeout(SECONDS_MAX):
        while not condition():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.02)


@pytest.fixture
async def site(redis_url, monkeypatch):
    monkeypatch.setattr(hub_module, "FLOOR_SECONDS", 1_000.0)
    shelf, feed = Shelf(), await Feed.open(redis_url)
    hub = shelf.hub(feed, count_loopback=False)

    async def app(scope, receive, send):
        flavour = JSON if JSON_SUBPROTOCOL in scope["subprotocols"] else HTML
        await hub.serve_socket(scope, receive, send, 7, flavour)

    spoken = asyncio.Event()

    def hear(message):
        hub.hear(message)
        if message["kind"] == "stock":
            spoken.set()

    subscription = asyncio.create_task(feed.subscribe(hear))
    config = uvicorn.Config(app, port=0, log_level="error", lifespan="off", ws="websockets-sansio", ws_per_message_deflate=False)
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1_000)
    serving = asyncio.create_task(server.serve([listener]))
    await until(lambda: server.started and not feed.deaf)
    await feed.publish("stock", drop=0)  # both connections of the feed are open from here on
    await spoken.wait()
    yield Site(hub, shelf, feed, listener.getsockname()[1])
    await hub.close()
    server.should_exit = True
    await serving
    subscription.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await subscription
    await feed.close()


def open_files():
    return len(os.listdir("/proc/self/fd"))


async def break_off(port, seconds):
    """Ask for a socket and hang up without a word, at whatever point that catches the server."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(HANDSHAKE)
    await asyncio.sleep(seconds)
    writer.transport.abort()


async def test_stock_falls_on_every_open_page_by_a_word_on_the_feed(site):
    async with (
        websockets.connect(site.url) as html,
        websockets.connect(site.url, subprotocols=[JSON_SUBPROTOCOL]) as machine,
        asyncio.timeout(SECONDS_MAX),
    ):
        assert machine.subprotocol == JSON_SUBPROTOCOL
        assert '"left": 10' in await html.recv()
        assert json.loads(await machine.recv())["left"] == 10
        site.shelf.left = 9
        await site.feed.publish("stock", drop=7)
        while json.loads(await machine.recv())["left"] != 9:
            pass
        while '"left": 9' not in await html.recv():
            pass


async def test_a_storm_of_broken_handshakes_leaves_every_count_where_it_was(site, redis_url):
    client = redis.asyncio.Redis.from_url(redis_url)
    async with websockets.connect(site.url) as witness, asyncio.timeout(30):
        await witness.recv()
        subscribers = await client.execute_command("PUBSUB", "NUMSUB", CHANNEL)
        files = open_files()
        storm = random.Random(14)
        for _ in range(ABORTED_HANDSHAKES // 100):
            await asyncio.gather(*(break_off(site.port, storm.uniform(0, 0.05)) for _ in range(100)))
        await until(lambda: site.hub.sockets_total == 1)
        assert site.hub.watching(7) == 1
        await until(lambda: open_files() <= files)
        assert await client.execute_command("PUBSUB", "NUMSUB", CHANNEL) == subscribers
        site.shelf.left = 2
        await site.feed.publish("stock", drop=7)
        while '"left": 2' not in await witness.recv():
            pass
    await until(lambda: site.hub.sockets_total == 0 and site.hub.channels_total == 0)
    await client.aclose()


async def test_a_reader_that_stops_reading_loses_its_connection_and_its_descriptor(site, monkeypatch):
    monkeypatch.setattr(hub_module, "SEND_SECONDS_MAX", 0.3)
    monkeypatch.setattr(site.shelf, "render", lambda *_: "x" * 400_000)
    site.hub.render = site.shelf.render
    files = open_files()
    stuck = socket.create_connection(("127.0.0.1", site.port))
    stuck.setblocking(False)
    stuck.send(HANDSHAKE)
    await until(lambda: site.hub.sockets_total == 1)
    async with asyncio.timeout(SECONDS_MAX):
        left = 10
        while site.hub.sockets_total:
            left -= 1
            site.shelf.left = left
            site.hub.hear({"kind": "stock", "drop": 7})
            await asyncio.sleep(0.05)
    await until(lambda: open_files() <= files + 1)  # only our own end is still there
    stuck.close()


async def test_a_page_is_right_again_after_the_subscription_was_killed(site, redis_url):
    client = redis.asyncio.Redis.from_url(redis_url)
    async with websockets.connect(site.url, subprotocols=[JSON_SUBPROTOCOL]) as page, asyncio.timeout(SECONDS_MAX):
        await page.recv()
        await client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")
        site.shelf.left = 1  # sold while nobody could hear of it
        while json.loads(await page.recv())["left"] != 1:
            pass
    await client.aclose()


async def test_a_flood_of_messages_from_a_page_ends_its_socket(site):
    async with websockets.connect(site.url) as page, asyncio.timeout(SECONDS_MAX):
        for _ in range(50):
            await page.send("hello")
        with pytest.raises(websockets.ConnectionClosed) as closed:
            while True:
                await page.recv()
        assert closed.value.rcvd.code == 1008
    await until(lambda: site.hub.sockets_total == 0)
