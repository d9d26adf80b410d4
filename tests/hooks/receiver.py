"""Somebody else's server, on a real socket: it takes what it is sent, and can be told to misbehave."""

import asyncio
import contextlib
import json
from typing import NamedTuple

WAIT_SECONDS_MAX = 10.0
TAKEN = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class Received(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict:
        return json.loads(self.body)


class Receiver:
    """`answers`: what it says next, one each, then TAKEN for ever. An answer is bytes, or a coroutine function given the writer."""

    def __init__(self):
        self.received: list[Received] = []
        self.answers: list = []
        self.came = asyncio.Condition()
        self.port = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def open(self) -> "Receiver":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def close(self) -> None:
        """Die: nobody listens any more, and who was being served hears nothing."""
        self._server.close()
        for writer in set(self._open):
            writer.transport.abort()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/in"

    async def until(self, count: int) -> list[Received]:
        """Wait until so many requests came -> all of them."""
        async with asyncio.timeout(WAIT_SECONDS_MAX), self.came:
            await self.came.wait_for(lambda: len(self.received) >= count)
        return self.received

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                async with self.came:
                    self.received.append(Received(head[0].split(" ")[1], headers, body))
                    self.came.notify_all()
                answer = self.answers.pop(0) if self.answers else TAKEN
                if callable(answer):
                    await answer(writer)
                else:
                    writer.write(answer)
                    await writer.drain()
        finally:
            self._open.discard(writer)
            writer.close()


async def hangs(writer: asyncio.StreamWriter) -> None:
    """Never says a word."""
    await asyncio.Event().wait()


async def drips(writer: asyncio.StreamWriter) -> None:
    """Says 200, and then a byte every now and then for ever."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.01)


async def hangs_up(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def floods(writer: asyncio.StreamWriter) -> None:
    """Says 500 and then more than anybody wants to hear."""
    writer.write(b"HTTP/1.1 500 Oh\r\n\r\n")
    for _ in range(10_000):
        writer.write(b"no\x00" * 1000)
        await writer.drain()


def says(status: int, *headers: str, text: str = "") -> bytes:
    lines = [f"HTTP/1.1 {status} Said", *headers, f"content-length: {len(text)}"]
    return ("\r\n".join(lines) + "\r\n\r\n" + text).encode()
