"""Connections that send nothing are closed; whoever talks is not disturbed."""

import asyncio
from contextlib import asynccontextmanager

import pytest
import uvicorn
import websockets
from uvicorn.server import ServerState

from app.web import patience
from app.web.patience import HEAD_BYTES_MAX, Patience

HEAD_SECONDS = 0.3
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def application(scope, receive, send):
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            await send({"type": "websocket.send", "text": "still here"})
        return
    if scope["path"] == "/slow":
        await asyncio.sleep(3 * HEAD_SECONDS)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture
async def port(monkeypatch):
    monkeypatch.setattr(patience, "HEAD_SECONDS", HEAD_SECONDS)
    quiet = {"lifespan": "off", "log_level": "critical", "log_config": None}
    config = uvicorn.Config(application, host="127.0.0.1", port=0, http=Patience, ws="websockets-sansio", **quiet)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None
    task = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


@asynccontextmanager
async def connection(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    yield reader, writer
    writer.close()


async def seconds_until_closed(reader) -> float:
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(20 * HEAD_SECONDS):
        await reader.read()
    return asyncio.get_running_loop().time() - began


@pytest.mark.parametrize("said", [b"", b"G", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\n"])
async def test_whoever_never_finishes_a_head_is_not_waited_for(port, said):
    async with connection(port) as (reader, writer):
        writer.write(said)
        assert await seconds_until_closed(reader) >= HEAD_SECONDS * 0.9


async def test_drop_by_drop_gains_no_time(port):
    async with connection(port) as (reader, writer):

        async def dribbles():
            for byte in GET[:-1] * 3:
                writer.write(bytes([byte]))
                await asyncio.sleep(HEAD_SECONDS / 5)

        task = asyncio.create_task(dribbles())
        assert await seconds_until_closed(reader) < 4 * HEAD_SECONDS
        task.cancel()


async def test_a_second_request_must_be_finished_too(port):
    async with connection(port) as (reader, writer):
        writer.write(GET + b"GET /again HT")
        await reader.readuntil(b"ok")
        assert await seconds_until_closed(reader) >= HEAD_SECONDS * 0.5


async def test_a_slow_answer_and_a_pause_between_requests_are_nobodys_fault(port):
    async with connection(port) as (reader, writer):
        for path in (b"/slow", b"/", b"/"):
            writer.write(GET.replace(b"/ ", path + b" ", 1))
            async with asyncio.timeout(10):
                assert await reader.readuntil(b"ok")
            await asyncio.sleep(2 * HEAD_SECONDS)


async def test_a_socket_lives_on(port):
    async with websockets.connect(f"ws://127.0.0.1:{port}/live") as live:
        await asyncio.sleep(2 * HEAD_SECONDS)
        await live.send("there?")
        assert await live.recv() == "still here"


async def test_what_follows_a_press_on_its_connection_is_read_after_it(port):
    press = b"POST /drops/lamp/buy HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=b"
    async with connection(port) as (reader, writer):
        for part in (press, GET.replace(b"/ ", b"/slow ", 1), press[:30], press[30:], GET):
            writer.write(part)
            await asyncio.sleep(0)
        async with asyncio.timeout(10):
            heard = b"".join([await reader.readuntil(b"ok") for _ in range(4)])
        assert heard.count(b"HTTP/1.1 200") == 4


class Wired:
    """A connection whose server has no time for the crowd."""

    def __init__(self, config, state):
        self.turns, self.reads = [], True
        self.connection = Patience(config=config, server_state=state, app_state={}, _loop=self)
        self.connection.connection_made(self)

    def call_soon(self, turn):
        self.turns.append(turn)

    def call_later(self, seconds, *what):
        return asyncio.get_running_loop().call_later(seconds, *what)

    def create_task(self, task):
        return asyncio.get_running_loop().create_task(task)

    def get_extra_info(self, name):
        return None

    def get_protocol(self):
        return self.connection

    def pause_reading(self):
        self.reads = False

    def resume_reading(self):
        self.reads = True

    def is_closing(self):
        return False

    def close(self):
        pass

    def write(self, data):
        self.wrote = data


@pytest.fixture
async def wired():
    config = uvicorn.Config(application, http=Patience, log_config=None)
    config.load()
    return Wired(config, ServerState())


PRESS = b"POST /drops/lamp/buy HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"


async def test_whoever_sends_more_than_may_wait_for_a_turn_has_to_wait(wired, monkeypatch):
    monkeypatch.setattr(patience, "UNREAD_BYTES_MAX", 1000)
    wired.connection.data_received(PRESS.replace(b": 0", b": 5000"))
    while wired.reads:
        wired.connection.data_received(b"x" * 100)
    assert 1000 < len(wired.connection._unread) <= 1100
    assert wired.connection.cycle is None  # not a byte was read
    [turn] = wired.turns
    turn()
    assert wired.reads
    assert len(wired.connection.cycle.body) > 900


async def test_whoever_has_gone_before_their_turn_is_not_read(wired):
    wired.connection.data_received(PRESS)
    wired.connection.connection_lost(None)
    wired.turns.pop()()
    assert wired.connection.cycle is None


async def test_whoever_waits_for_their_turn_when_the_server_stops_is_still_answered(wired):
    wired.connection.data_received(PRESS)
    wired.connection.shutdown()
    cycle = wired.connection.cycle
    assert (cycle.scope["path"], cycle.keep_alive) == ("/drops/lamp/buy", False)
    wired.turns.pop()()
    assert wired.connection.cycle is cycle  # read once


async def test_a_head_without_end_is_refused(port):
    async with connection(port) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\n" + b"X-Filler: y\r\n" * (HEAD_BYTES_MAX // 10))
        async with asyncio.timeout(5):
            assert (await reader.read()).startswith(b"HTTP/1.1 400")
