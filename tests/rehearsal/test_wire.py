"""The stretch of network: what goes in comes out, in order; slowed it comes later; cut it is gone and nobody gets in."""

import asyncio
import json
import sys
import time

import pytest

from tests.house import ROOT

DELAY_SECONDS = 0.2


class Wire:
    def __init__(self, process, port):
        self.process, self.port = process, port

    async def tell(self, **what) -> None:
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        await self.process.stdin.drain()
        assert await self.process.stdout.readline() == b"{}\n"

    async def connects(self):
        return await asyncio.open_connection("127.0.0.1", self.port)


@pytest.fixture
async def wire(folder):
    """A wire in front of a server that says everything again."""

    async def echo(reader, writer):
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()

    path = str(folder / "echo.sock")
    server = await asyncio.start_unix_server(echo, path)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app.rehearsal.wire", path, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    yield Wire(process, json.loads(await process.stdout.readline())["port"])
    process.stdin.close()
    assert await process.wait() == 0, "it ends with its standard input"
    server.close()


async def test_what_goes_in_comes_out_in_order(wire):
    reader, writer = await wire.connects()
    sent = b"".join(b"%07d" % number for number in range(100_000))
    writer.write(sent)
    assert await reader.readexactly(len(sent)) == sent


async def test_slowed_it_comes_later_and_still_in_order_when_the_delay_ends(wire):
    reader, writer = await wire.connects()
    await wire.tell(delay_seconds=DELAY_SECONDS)
    began = time.monotonic()
    writer.write(b"first ")
    await asyncio.sleep(DELAY_SECONDS / 4)
    await wire.tell(delay_seconds=0)
    writer.write(b"second")
    assert await reader.readexactly(12) == b"first second"
    assert time.monotonic() - began >= DELAY_SECONDS


async def test_cut_it_loses_who_is_connected_and_lets_nobody_in_until_it_is_mended(wire):
    reader, writer = await wire.connects()
    writer.write(b"before")
    assert await reader.readexactly(6) == b"before"
    await wire.tell(cut=True)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        other, _ = await wire.connects()
        await other.readexactly(1)
    await wire.tell(cut=False)
    reader, writer = await wire.connects()
    writer.write(b"after")
    assert await reader.readexactly(5) == b"after"
