"""The two servers of `doorman bench fanout`: Doorman's hub in Doorman's server, and `websockets.broadcast`.

    python -m app.bench.ticking hub|broadcast      serves on the socket in DOORMAN_LISTEN_FD

Each line on standard input, `TICKS SECONDS`, makes it change what is shown so many times, so far apart; `done` is printed then. A
change is told as a text of about 60 bytes that begins with the monotonic nanoseconds at which it happened.
"""

import asyncio
import os
import socket
import sys
import time
from dataclasses import dataclass, field

import uvloop
from websockets.asyncio.server import broadcast, serve

from app.domain.drops import Door
from app.live import Hub
from app.live import hub as hubs
from app.web.serve import LISTEN_FD, PING_SECONDS, Server, configuration

DROP = 1
UNITS = 1_000_000


def text_of(at_ns: int, left: int) -> str:
    return f'{at_ns:016d} {{"left":{left:07d},"held":0,"total":{UNITS}}}'


@dataclass
class Reading:
    """What the hub reads of the gate."""

    at_ns: int = 0
    time_us: int = 0
    now_ms: int = 0
    door: Door = Door.OPEN
    opens_ms: int = 0
    closes_ms: int | None = None
    left: dict = field(default_factory=lambda: {1: UNITS})
    held: dict = field(default_factory=lambda: {1: 0})
    total: dict = field(default_factory=lambda: {1: UNITS})


async def hub_server(listening: socket.socket) -> None:
    state = Reading()

    async def read_state(drop_id: int) -> Reading:
        state.time_us += 1
        return state

    def render(drop_id: int, reading: Reading, watching: int, seq: int, flavour: str) -> str:
        return text_of(reading.at_ns, reading.left[1])

    hubs.SOCKETS_PER_PROCESS_MAX = 10**6
    hub = Hub(read_state, render, count_loopback=False)

    async def app(scope, receive, send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await hub.serve_socket(scope, receive, send, DROP, hubs.HTML)

    def tick() -> None:
        state.left = {1: state.left[1] - 1}
        state.at_ns = time.monotonic_ns()
        hub.hear({"kind": "stock", "drop": DROP})

    asyncio.get_running_loop().create_task(obey(tick))
    await Server(configuration(app)).serve(sockets=[listening])


async def broadcast_server(listening: socket.socket) -> None:
    connections, left = set(), UNITS

    async def watch(connection) -> None:
        connections.add(connection)
        try:
            await connection.wait_closed()
        finally:
            connections.discard(connection)

    def tick() -> None:
        nonlocal left
        left -= 1
        broadcast(connections, text_of(time.monotonic_ns(), left))

    listening.listen(4096)
    async with serve(
        watch, sock=listening, compression=None, ping_interval=PING_SECONDS, ping_timeout=PING_SECONDS, open_timeout=60
    ):
        await obey(tick)


async def obey(tick) -> None:
    """Tick as told on standard input, until it ends."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        ticks, seconds = line.split()
        for _ in range(int(ticks)):
            tick()
            await asyncio.sleep(float(seconds))
        print("done", flush=True)


def main() -> None:
    listening = socket.socket(fileno=int(os.environ[LISTEN_FD]))
    listening.setblocking(False)
    server = hub_server if sys.argv[1] == "hub" else broadcast_server
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(server(listening))


if __name__ == "__main__":
    main()
