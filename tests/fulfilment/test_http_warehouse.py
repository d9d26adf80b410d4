"""The adapter against the sandbox warehouse as its own process: an answer, a clear no, certainly not arrived, or silence."""

import asyncio
from datetime import timedelta

import pytest

from app import clock
from app.domain.ids import new_order_id
from app.errors import WarehouseAway, WarehouseRefused, WarehouseSilent
from app.fulfilment import Asked, HttpWarehouse

TIMEOUT_SECONDS = 2.0


def adapter(warehouse, *, token=None, timeout_seconds=TIMEOUT_SECONDS) -> HttpWarehouse:
    return HttpWarehouse(warehouse.url, token or warehouse.token, timeout_seconds=timeout_seconds)


@pytest.fixture
async def http(warehouse):
    http = adapter(warehouse)
    yield http
    await http.close()


def asked(order) -> Asked:
    return Asked(order, "Night lamp, 漢", 2, "zoë@example.org")


@pytest.fixture
def order():
    return new_order_id(7)


async def test_what_is_made_is_found_under_its_order(http, order):
    before = clock.now()
    assert await http.find(order, before) == []
    made = await http.create(asked(order))
    assert [found.number for found in await http.find(order, before)] == [made.number]
    assert await http.find(new_order_id(7), before) == []


async def test_what_was_made_before_the_payment_is_not_found(http, order):
    await http.create(asked(order))
    assert await http.find(order, clock.now() + timedelta(seconds=1)) == []


async def test_the_tracking_number_comes_along(http, warehouse, order):
    await http.create(asked(order))
    [packing] = await http.find(order, clock.now() - timedelta(minutes=1))
    warehouse.script(tracking=0)
    [sent] = await http.find(order, clock.now() - timedelta(minutes=1))
    assert packing.tracking is None and sent.tracking.startswith("SBX")


async def test_a_lost_reply_is_silence_and_it_landed(http, warehouse, order):
    warehouse.script(drop_after_create=1)
    with pytest.raises(WarehouseSilent):
        await http.create(asked(order))
    assert len(await http.find(order, clock.now() - timedelta(minutes=1))) == 1


async def test_a_call_ends_within_its_time_as_silence(warehouse, order):
    warehouse.script(latency=[600, 600])
    impatient = adapter(warehouse, timeout_seconds=0.2)
    async with asyncio.timeout(5):
        with pytest.raises(WarehouseSilent):
            await impatient.create(asked(order))
    await impatient.close()


async def test_an_outage_is_silence_for_both_calls(http, warehouse, order):
    warehouse.script(outage=True)
    for call in (http.create(asked(order)), http.find(order, clock.now())):
        with pytest.raises(WarehouseSilent, match="503"):
            await call


async def test_a_wrong_token_is_a_refusal(warehouse, order):
    stranger = adapter(warehouse, token="wrong")
    for call in (stranger.create(asked(order)), stranger.find(order, clock.now())):
        with pytest.raises(WarehouseRefused, match="401"):
            await call
    await stranger.close()


async def test_nobody_listening_means_that_it_did_not_arrive(mortal, order):
    http = adapter(mortal)
    mortal.killed()
    for call in (http.create(asked(order)), http.find(order, clock.now())):
        with pytest.raises(WarehouseAway):
            await call
    mortal.start()
    assert (await http.create(asked(order))).number
    await http.close()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nil",
        b"[]",
        b'{"orders": 1}',
        b'{"orders": [{"reference": "ORDER"}]}',
        b'{"orders": [{"reference": "ORDER", "number": 7}]}',
        b'{"orders": [{"reference": "ORDER", "number": "7", "created": "yesterday"}]}',
    ],
)
async def test_an_answer_that_makes_no_sense_is_silence(order, body):
    body = body.replace(b"ORDER", str(order).encode())

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        http = HttpWarehouse(f"http://127.0.0.1:{port}", "token", timeout_seconds=TIMEOUT_SECONDS)
        with pytest.raises(WarehouseSilent):
            await http.find(order, clock.now())
        await http.close()
