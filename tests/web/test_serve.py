"""The real thing on the wire: web processes that share one port, their sockets, and what raw bytes can do to them."""

import asyncio
import json
import os
import signal
import socket
import sys
import time
from contextlib import asynccontextmanager

import httpx
import pytest
import websockets

from app.clock import monotonic
from app.settings import Settings
from app.web.session import EPOCH_SECONDS_MAX, Sessions
from tests.web.conftest import JSON, URL, open_shop, settings_with

START_SECONDS_MAX = 30.0


@asynccontextmanager
async def processes(count: int, settings: Settings):
    """`count` web processes on one listening socket -> (address, processes)."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    listening.set_inheritable(True)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DOORMAN_", "REDIS_", "DATABASE_"))}
    environment |= {
        "REDIS_URL": settings.redis_url,
        "DATABASE_URL": settings.database_url,
        "DOORMAN_SECRET": settings.secret,
        "DOORMAN_PUBLIC_URL": URL,
        "DOORMAN_LISTEN_FD": str(listening.fileno()),
        "STRIPE_API_BASE": "http://127.0.0.1:9",
        "STRIPE_SECRET_KEY": "sk_test_nobody",
    }
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "app.web.serve", env=environment, pass_fds=[listening.fileno()], stderr=asyncio.subprocess.PIPE
        )
        for _ in range(count)
    ]
    try:
        await all_answer(address, started)
        yield address, started
    finally:
        for process in started:
            if process.returncode is None:
                process.kill()
            await process.wait()
        listening.close()


async def all_answer(address: str, started) -> None:
    """Wait until every process has answered: each connection may reach any of them, so ask until each has counted a request."""
    give_up_at = monotonic() + START_SECONDS_MAX
    seen: set[str] = set()
    while len(seen) < len(started):
        if any(process.returncode is not None for process in started) or monotonic() > give_up_at:
            raise AssertionError(b"".join([await process.stderr.read() for process in started if process.returncode is not None]))
        try:
            async with httpx.AsyncClient(timeout=2) as client:
                answer = await client.get(f"{address}/readyz")
            if answer.status_code == 200:
                seen.add(answer.json()["pid"])
        except httpx.HTTPError:
            pass
        await asyncio.sleep(0.05)


@pytest.fixture
async def two(redis_url, database_url):
    """Two web processes, and a shop of this test's own beside them as a third."""
    settings = settings_with(redis_url, database_url)
    async with open_shop(settings) as shop, processes(2, settings) as (address, started):
        yield shop, address, started


async def cookie_of(shop) -> str:
    [shopper_id] = await shop.ledger.mint_shoppers(1)
    return f"session={shop.sessions.value(shopper_id, 0)}"


def live(address: str, drop, *, origin: str | None = None, json_wanted: bool = False):
    return websockets.connect(
        f"{address.replace('http', 'ws')}/drops/{drop.slug}/live",
        origin=origin or address,
        subprotocols=["doorman.json"] if json_wanted else None,
    )


async def raw(address: str, request: bytes, seconds: float = 8.0) -> bytes:
    """Send bytes, read until the server closes or is quiet -> what it said."""
    host, _, port = address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request)
    said = b""
    try:
        async with asyncio.timeout(seconds):
            while chunk := await reader.read(65536):
                said += chunk
                if b"\r\n\r\n" in said and b"connection: close" not in said.lower():
                    break
    finally:
        writer.close()
    return said


async def test_two_processes_sell_exactly_what_there_is(two):
    shop, address, _ = two
    drop = await shop.opens(units=10)
    cookies = [await cookie_of(shop) for _ in range(60)]

    async def buys(cookie):
        async with httpx.AsyncClient(timeout=20) as client:  # a connection each: the kernel spreads them over both
            return await client.post(f"{address}/drops/{drop.slug}/buy", json={"key": "k"}, headers=JSON | {"cookie": cookie})

    answers = await asyncio.gather(*map(buys, cookies))
    assert sorted(answer.status_code for answer in answers) == [201] * 10 + [409] * 50
    winner = next(cookie for cookie, answer in zip(cookies, answers, strict=True) if answer.status_code == 201)
    again = [await buys(winner) for _ in range(6)]  # on either process
    assert {(answer.status_code, answer.text) for answer in again} == {(201, again[0].text)}


async def test_a_drop_that_another_process_made_is_served_at_once(two):
    shop, address, _ = two
    drop = await shop.opens()
    async with httpx.AsyncClient() as client:
        for _ in range(6):
            assert (await client.get(f"{address}/drops/{drop.slug}/stock")).status_code == 200


async def test_signing_out_everywhere_reaches_every_process(two):
    shop, address, _ = two
    cookie = await cookie_of(shop)
    shopper_id = Sessions(shop.settings).of_cookies(cookie.encode()).shopper_id

    async def statuses() -> set[int]:
        seen = set()
        for _ in range(12):
            async with httpx.AsyncClient() as client:
                seen.add((await client.get(f"{address}/account", headers=JSON | {"cookie": cookie})).status_code)
        return seen

    assert await statuses() == {200}
    async with httpx.AsyncClient() as client:
        await client.post(f"{address}/sign-out/everywhere", headers={"cookie": cookie})
    asked_at = monotonic()
    while await statuses() != {401}:
        assert monotonic() - asked_at < EPOCH_SECONDS_MAX
    assert (await shop.ledger.shopper(shopper_id)).session_epoch == 1


async def test_the_socket_tells_the_state_at_once_and_every_change(two):
    shop, address, _ = two
    drop = await shop.opens(units=3)
    async with live(address, drop) as page, live(address, drop, json_wanted=True) as program:
        assert 'data-left="3"' in await page.recv()
        first = json.loads(await program.recv())
        assert (first["phase"], first["variants"]) == ("open", [{"name": "one", "left": 3, "held": 0}])
        async with httpx.AsyncClient() as client:
            headers = JSON | {"cookie": await cookie_of(shop)}
            assert (await client.post(f"{address}/drops/{drop.slug}/buy", json={}, headers=headers)).status_code == 201
        async with asyncio.timeout(10):
            while json.loads(await program.recv())["variants"] != [{"name": "one", "left": 2, "held": 1}]:
                pass
            while 'data-left="2"' not in await page.recv():
                pass


async def test_a_socket_from_another_site_or_for_no_drop_is_refused_by_status(two):
    shop, address, _ = two
    drop = await shop.opens()
    with pytest.raises(websockets.InvalidStatus) as refused:
        await live(address, drop, origin="https://evil.example")
    assert refused.value.response.status_code == 403
    with pytest.raises(websockets.InvalidStatus) as refused:
        await websockets.connect(f"{address.replace('http', 'ws')}/drops/nowhere/live", origin=address)
    assert refused.value.response.status_code == 404


async def test_stopping_is_graceful(two):
    shop, address, started = two
    drop = await shop.opens()
    async with live(address, drop, json_wanted=True) as program:
        await program.recv()
        for process in started:
            process.send_signal(signal.SIGTERM)
        with pytest.raises(websockets.ConnectionClosed) as closed:
            while True:
                await program.recv()
        assert closed.value.rcvd.code == 1012
    async with asyncio.timeout(15):
        assert [await process.wait() for process in started] == [0, 0]


RAW = [
    (b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (b"400",)),
    (b"GET /%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (b"400",)),
    (b"GET /%ff%fe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (b"400",)),
    (b"GET /\xff\xfe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (b"400",)),
    (b"GET / HTTP/1.1\r\n\r\n", (b"400",)),
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", (b"400",)),
    (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", (b"400",)),
    (b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (b"200", b"400")),
    (b"GET //evil.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (b"404", b"400")),
    (b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (b"400", b"405")),
    (b"nonsense\r\n\r\n", (b"400",)),
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: session=\xff\xfe\x80\r\n\r\n", (b"200",)),
    (b"POST /sign-out HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n", (b"400",)),
    (b"POST /sign-out HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", (b"400",)),
]


async def test_odd_bytes_are_a_4xx_and_the_process_lives(two):
    _, address, started = two
    for request, statuses in RAW:
        said = await raw(address, request)
        assert said.split(b" ")[1][:3] in statuses, (request, said[:200])
        assert b"Traceback" not in said
    assert all(process.returncode is None for process in started)


async def test_ten_megabytes_hear_413_on_the_wire(two):
    shop, address, _ = two
    drop = await shop.opens()
    async with httpx.AsyncClient(timeout=20) as client:
        for path in (f"/drops/{drop.slug}/buy", "/sign-in"):
            answer = await client.post(f"{address}{path}", content=b"a" * 10 * 1024 * 1024, headers=JSON)
            assert answer.status_code == 413
            assert answer.headers["content-type"] == "application/problem+json"


async def test_a_body_that_dribbles_hears_408_within_its_bound(two):
    _, address, _ = two
    began = time.monotonic()
    said = await raw(address, b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nemail=", seconds=12)
    assert said.startswith(b"HTTP/1.1 408")
    assert 4 < time.monotonic() - began < 9
