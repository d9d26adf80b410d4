"""A stretch of network between the gate and its server that a test holds in its hands."""

import asyncio
import contextlib


class Proxy:
    """Forwards to the server's unix socket.

    `withhold()` keeps answers back, `let_go()` delivers them, `cut()` ends every connection and loses what was withheld.
    """

    def __init__(self, target: str):
        self._target = target
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._withheld = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task] = set()
        self.chunks: list[bytes] = []  # what the gate sent, one entry a read
        self.connections = 0

    async def listen_unix(self, path: str) -> None:
        self._server = await asyncio.start_unix_server(self._serve, path)

    async def listen_tcp(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        self.cut()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def withhold(self) -> None:
        self._withheld.clear()
        self._flowing.clear()

    async def something_is_withheld(self) -> None:
        """Return once the server has answered, so: has run what it was sent."""
        await self._withheld.wait()

    def let_go(self) -> None:
        self._flowing.set()

    def cut(self) -> None:
        for pump in self._pumps:
            pump.cancel()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()
        self._flowing.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        server_reader, server_writer = await asyncio.open_unix_connection(self._target)
        self._writers |= {writer, server_writer}
        for pump in (self._requests(reader, server_writer), self._answers(server_reader, writer)):
            task = asyncio.create_task(pump)
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def _requests(self, reader, writer) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 20):
                self.chunks.append(data)
                writer.write(data)
        writer.close()

    async def _answers(self, reader, writer) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 20):
                if not self._flowing.is_set():
                    self._withheld.set()
                await self._flowing.wait()
                writer.write(data)
        writer.close()
