"""The feed comes back by itself, says that it was away, and never troubles whoever publishes."""

import asyncio
import contextlib
import logging
import signal
import time

import pytest
import redis.asyncio

from app.embedded import valkey
from app.live import feed as feed_module
from app.live.feed import CHANNEL, PENDING_MESSAGES_MAX, Feed

SECONDS_MAX = 10.0


class Listener:
    """Keeps what it hears."""

    def __init__(self, url):
        self.feed = Feed(url, name="listener")
        self.heard: asyncio.Queue[dict] = asyncio.Queue()
        self.task = asyncio.create_task(self.feed.subscribe(self.heard.put_nowait))

    async def hears(self, kind):
        """-> the next message of this kind, whatever else comes first."""
        async with asyncio.timeout(SECONDS_MAX):
            while (message := await self.heard.get())["kind"] != kind:
                pass
            return message


@pytest.fixture
async def listening():
    listeners = []

    async def listen(url):
        listeners.append(Listener(url))
        await listeners[-1].hears("gap")
        return listeners[-1]

    yield listen
    for listener in listeners:
        listener.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listener.task
        await listener.feed.close()


@pytest.fixture
async def speaker(redis_url):
    feed = await Feed.open(redis_url, name="speaker")
    yield feed
    await feed.close()


@pytest.fixture
def server(folder, request):
    """A Valkey of this test's own, which it may stop and start."""

    class Server:
        data, sock = folder / request.node.name[-20:], folder / "feed.sock"
        url = f"unix://{sock}"
        process = None

        def start(self):
            self.process = valkey.start(self.data, self.sock, "everysec")

        def kill(self):
            self.process.kill()
            self.process.wait()

    own = Server()
    own.start()
    yield own
    own.process.send_signal(signal.SIGCONT)
    own.kill()


async def until(condition):
    async with asyncio.timeout(SECONDS_MAX):
        while not condition():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.01)


async def test_what_one_process_says_every_other_hears(redis_url, listening, speaker):
    one, other = await listening(redis_url), await listening(redis_url)
    await speaker.publish("stock", drop=7)
    assert await one.hears("stock") == {"kind": "stock", "drop": 7}
    assert await other.hears("stock") == {"kind": "stock", "drop": 7}
    assert not one.feed.deaf


async def test_a_killed_subscription_comes_back_and_says_that_there_was_a_gap(redis_url, listening, speaker):
    listener = await listening(redis_url)
    client = redis.asyncio.Redis.from_url(redis_url)
    assert await client.execute_command("CLIENT", "KILL", "TYPE", "pubsub") >= 1
    await listener.hears("gap")
    assert await client.execute_command("PUBSUB", "NUMSUB", CHANNEL) == [CHANNEL.encode(), 1]
    await client.aclose()
    await speaker.publish("stock", drop=1)
    assert (await listener.hears("stock"))["drop"] == 1


async def test_a_restarted_server_is_found_again_within_three_seconds(server, listening, caplog):
    caplog.set_level(logging.WARNING, logger="doorman.feed")
    listener = await listening(server.url)
    server.kill()
    await until(lambda: listener.feed.deaf)
    await asyncio.sleep(1)  # many attempts fail
    server.start()
    back = time.monotonic()
    await listener.hears("gap")
    assert time.monotonic() - back < 3
    assert not listener.feed.deaf
    lost = [record for record in caplog.records if "lost" in record.message]
    assert len(lost) == 1, "one line an outage, not one an attempt"


async def test_a_silent_server_is_noticed_although_its_connection_stays(server, listening):
    listener = await listening(server.url)
    server.process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    await until(lambda: listener.feed.deaf)
    assert time.monotonic() - stopped < 4
    server.process.send_signal(signal.SIGCONT)
    await listener.hears("gap")


async def test_a_quiet_server_that_answers_is_left_alone(redis_url, listening):
    listener = await listening(redis_url)
    await asyncio.sleep(2.5)  # two questions
    assert not listener.feed.deaf
    assert listener.heard.empty()


async def test_a_process_too_busy_to_listen_does_not_take_its_server_for_dead(redis_url, listening, monkeypatch):
    monkeypatch.setattr(feed_module, "SILENCE_SECONDS_MAX", 0.1)
    monkeypatch.setattr(feed_module, "PONG_SECONDS_MAX", 0.2)
    listener = await listening(redis_url)
    for _ in range(10):
        await asyncio.sleep(0)
        time.sleep(0.25)  # noqa: ASYNC251 (that is the point: nothing else gets a turn)
    assert listener.heard.empty(), "a gap was told"
    assert not listener.feed.deaf


async def test_a_feed_that_never_found_its_server_is_deaf_and_open_does_not_fail(folder):
    feed = await Feed.open(f"unix://{folder}/nobody.sock")
    task = asyncio.create_task(feed.subscribe(lambda message: None))
    await asyncio.sleep(0.2)
    assert feed.deaf
    assert not task.done()
    task.cancel()


async def test_publishing_neither_raises_nor_waits_while_the_server_is_away(server, listening, caplog):
    caplog.set_level(logging.WARNING, logger="doorman.feed")
    listener = await listening(server.url)
    speaker = await Feed.open(server.url)
    await speaker.publish("stock", drop=1)
    await listener.hears("stock")
    server.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    for drop in range(3 * PENDING_MESSAGES_MAX):
        await speaker.publish("stock", drop=drop)
    assert time.monotonic() - began < 0.5
    await until(lambda: listener.feed.deaf and any("cannot publish" in record.message for record in caplog.records))
    server.process.send_signal(signal.SIGCONT)
    await listener.hears("gap")
    await speaker.publish("stock", drop=99_999)
    while (await listener.hears("stock"))["drop"] != 99_999:
        pass
    assert sum("cannot publish" in record.message for record in caplog.records) == 1
    await speaker.close()


async def test_a_connection_that_the_server_closed_costs_no_message(redis_url, listening, speaker):
    listener = await listening(redis_url)
    await speaker.publish("stock", drop=1)
    await listener.hears("stock")
    client = redis.asyncio.Redis.from_url(redis_url)
    await client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    await client.aclose()
    await speaker.publish("stock", drop=2)
    assert (await listener.hears("stock"))["drop"] == 2


async def test_equal_messages_that_wait_together_are_sent_once(redis_url, listening, speaker):
    listener = await listening(redis_url)
    for _ in range(500):
        await speaker.publish("stock", drop=5)
    await speaker.publish("drop", drop=5)
    await listener.hears("drop")
    await speaker.publish("end")
    stock = []
    async with asyncio.timeout(SECONDS_MAX):
        while (message := await listener.heard.get())["kind"] != "end":
            stock.append(message)
    assert stock == []


async def test_foreign_messages_and_failing_listeners_do_not_end_the_feed(redis_url, speaker):
    heard = asyncio.Queue()

    def stumble(message):
        heard.put_nowait(message)
        raise RuntimeError("a listener's fault")

    feed = await Feed.open(redis_url)
    task = asyncio.create_task(feed.subscribe(stumble))
    assert (await heard.get())["kind"] == "gap"
    client = redis.asyncio.Redis.from_url(redis_url)
    for foreign in ("not json", "[]", "{}", '{"kind":"gap"}', b"\xff"):
        await client.publish(CHANNEL, foreign)
    await client.aclose()
    await speaker.publish("stock", drop=3)
    async with asyncio.timeout(SECONDS_MAX):
        assert await heard.get() == {"kind": "stock", "drop": 3}
    task.cancel()


async def test_closing_sends_what_still_waits(redis_url, listening):
    listener = await listening(redis_url)
    speaker = await Feed.open(redis_url)
    await speaker.publish("stock", drop=8)
    await speaker.close()
    assert (await listener.hears("stock"))["drop"] == 8
