"""Files on their way: whoever reads slowly keeps nobody waiting, and is not waited for without end."""

import asyncio

import pytest
from litestar.exceptions import LitestarException

from app.web.seller import exports, handing
from tests.web.conftest import HOST
from tests.web.seller.test_exports import ORDERS, paid, read  # noqa: F401 -- a fixture


class Reader:
    """A server's side of one request whose reader takes `pieces` of the answer and then nothing more."""

    def __init__(self, shop, client, *, pieces: int = 0, transport: bool = True):
        self.pieces, self.received, self.gone, self.stuck = pieces, [], asyncio.Event(), asyncio.Event()
        if transport:
            self.transport = self
        cookie = client.headers["cookie"].encode()
        self.scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http", "path": ORDERS,
            "raw_path": ORDERS.encode(), "query_string": b"", "client": ("127.0.0.1", 50_000), "server": ("127.0.0.1", 8000),
            "headers": [(b"host", HOST.encode()), (b"cookie", cookie), (b"accept", b"*/*")], "state": {}, "extensions": {},
        }  # fmt: skip
        self.task = asyncio.create_task(shop.app(self.scope, self.receive, self.send))

    async def receive(self):
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        if message["type"] == "http.response.body" and len(self.received) > self.pieces:
            self.stuck.set()
            await self.gone.wait()
        self.received.append(message)

    def abort(self):
        self.gone.set()


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(exports, "ROWS_AT_ONCE", 2)


async def test_readers_who_take_nothing_keep_no_other_shop_waiting(shop, owner, stranger, paid, small_pieces):  # noqa: F811
    readers = [Reader(shop, owner) for _ in range(handing.FILES_OF_SHOP_MAX)]
    for reader in readers:
        await reader.stuck.wait()
    assert handing.FILES_OF_SHOP_MAX > handing.READINGS_AT_ONCE_MAX  # or their turns would prove nothing
    assert read(await stranger.get(ORDERS)) == []
    assert (await owner.get(ORDERS)).status_code == 503
    for reader in readers:
        reader.abort()
        await reader.task
    assert len(read(await owner.get(ORDERS))) == len(paid) and not exports.handing.seats.taken


async def test_half_a_file_ends_with_its_connection_and_never_looks_whole(
    shop,
    owner,
    paid,  # noqa: F811
    small_pieces,
    monkeypatch,
):
    monkeypatch.setattr(handing, "READER_SECONDS_MAX", 0.05)
    reader = Reader(shop, owner, pieces=2)
    await reader.task
    assert reader.gone.is_set()  # its connection was dropped, not only its answer
    assert [message["type"] for message in reader.received[:1]] == ["http.response.start"]
    assert all(message["more_body"] for message in reader.received[1:3])
    assert not exports.handing.seats.taken
    without_a_transport = Reader(shop, owner, transport=False)
    with pytest.raises(LitestarException):  # whatever server this is, it must not end the answer as if it were whole
        await without_a_transport.task
    assert len(without_a_transport.received) == 1
    assert not exports.handing.seats.taken


async def test_whoever_leaves_early_gives_the_place_back(shop, owner, paid, small_pieces):  # noqa: F811
    reader = Reader(shop, owner, pieces=1)
    await reader.stuck.wait()
    assert exports.handing.seats.taken[shop.shop_id] == 1
    reader.abort()
    await reader.task
    assert not exports.handing.seats.taken
