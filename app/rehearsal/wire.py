"""`python -m app.rehearsal.wire SOCKET`: a stretch of TCP network in front of a server's unix socket, which can be cut or slowed.

It prints `{"port": N}` (loopback) and then obeys lines of JSON on standard input, answering each with a line when it is done:
`{"cut": true}` ends every connection and refuses new ones, `{"cut": false}` lets them through again, `{"delay_seconds": 0.2}` keeps
every piece of data back for so long, in both directions and in order. When its standard input ends, so does it.
"""

import asyncio
import json
import sys
from contextlib import suppress

import uvloop

PIECE_BYTES_MAX = 1 << 18
WAITING_PIECES_MAX = 1024


class Wire:
    def __init__(self, target: str):
        self.target = target
        self.cut = False
        self.delay_seconds = 0.0
        self.writers: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.cut:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self.target)
        except OSError:
            writer.transport.abort()
            return
        both = {writer, far_writer}
        self.writers |= both
        try:
            await asyncio.gather(self.carry(reader, far_writer), self.carry(far_reader, writer))
        finally:
            self.writers -= both
            for end in both:
                end.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on what comes, each piece after the delay that held when it came."""
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(WAITING_PIECES_MAX)
        loop = asyncio.get_running_loop()
        held = 0  # pieces that were kept back and are not written yet

        async def deliver() -> None:
            nonlocal held
            while (piece := await waiting.get())[1]:
                if (wait := piece[0] - loop.time()) > 0:
                    await asyncio.sleep(wait)
                writer.write(piece[1])
                held -= 1
                await writer.drain()

        delivering = asyncio.create_task(deliver())
        try:
            with suppress(OSError):
                while data := await reader.read(PIECE_BYTES_MAX):
                    if not self.delay_seconds and not held:
                        writer.write(data)
                        await writer.drain()
                    else:
                        held += 1
                        await waiting.put((loop.time() + self.delay_seconds, data))
                await waiting.put((0.0, b""))
                await delivering
        finally:
            delivering.cancel()
            writer.close()

    def obey(self, order: dict) -> None:
        self.delay_seconds = float(order.get("delay_seconds", self.delay_seconds))
        self.cut = bool(order.get("cut", self.cut))
        if self.cut:
            for writer in self.writers:
                writer.transport.abort()


async def main(target: str) -> None:
    wire = Wire(target)
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while line := await orders.readline():
        wire.obey(json.loads(line))
        print("{}", flush=True)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
