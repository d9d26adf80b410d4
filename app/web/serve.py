"""`python -m app.web.serve`: one web process.

It listens on the socket it was handed (DOORMAN_LISTEN_FD: several processes then share one port and the kernel spreads
connections), or on --host/--port. SIGTERM and SIGINT stop it gracefully: no new connections, requests under way get GRACE_SECONDS,
sockets are told to reconnect. A connection that sends nothing, or a head drop by drop, is closed (patience.py).
"""

import argparse
import asyncio
import gc
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
import uvloop

from app import wiring
from app.logs import configure_log
from app.settings import Settings
from app.web.app import create_app
from app.web.patience import Patience
from app.web.render import Renderer

LISTEN_FD = "DOORMAN_LISTEN_FD"
GRACE_SECONDS = 5
KEEP_ALIVE_SECONDS = 30
BACKLOG_CONNECTIONS = 16_384  # the whole crowd may knock in the same second
SOCKET_BYTES_MAX = 4096  # one inbound message; the hub judges the finer bound
SOCKET_QUEUE_MAX = 4
PING_SECONDS = 20.0
GARBAGE_THRESHOLDS = (10_000, 20, 100)  # requests leave few cycles behind; Python's own 700 looks for them after every tenth
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m app.web.serve", description="one web process of Doorman")
    arguments.add_argument("--host", default="127.0.0.1")
    arguments.add_argument("--port", type=int, default=8000)
    wanted = arguments.parse_args()
    configure_log()
    logging.getLogger("uvicorn.error").addFilter(worth_a_line)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(Settings.from_environment(), listening_socket(wanted.host, wanted.port)))


def worth_a_line(record: logging.LogRecord) -> bool:
    """A handshake that we refused is an answer, not an error: a stranger must not be able to fill the log with it."""
    return "without completing handshake" not in record.getMessage()


def listening_socket(host: str, port: int) -> socket.socket:
    """-> the socket that was handed down, or a new one."""
    handed_down = os.environ.get(LISTEN_FD)
    if handed_down:
        return socket.socket(fileno=int(handed_down))
    listening = socket.create_server((host, port), backlog=BACKLOG_CONNECTIONS, reuse_port=False)
    listening.setblocking(False)
    return listening


async def serve(settings: Settings, listening: socket.socket) -> None:
    """Serve until a signal says stop."""
    async with wiring.web(settings) as parts:
        app = create_app(parts)
        warming = asyncio.create_task(warm(app.problems.renderer))
        try:
            await Server(configuration(app)).serve(sockets=[listening])
        finally:
            warming.cancel()


async def warm(renderer: Renderer) -> None:
    """What the first people would wait for, made beside them."""
    await renderer.compile_ahead()
    spare_collections()


def configuration(app) -> uvicorn.Config:
    """-> how an ASGI application is served here; the baselines of `doorman bench` are served the same way."""
    return uvicorn.Config(
        app,
        http=Patience,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        ws_max_size=SOCKET_BYTES_MAX,
        ws_max_queue=SOCKET_QUEUE_MAX,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        lifespan="on",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,  # app/logs.py
        log_level="warning",
        backlog=BACKLOG_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


class Server(uvicorn.Server):
    """uvicorn's own way raises the signal again after it has stopped, which would end the process before its parts are closed."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        spare_collections()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in STOP_SIGNALS:
                loop.remove_signal_handler(number)


def spare_collections() -> None:
    """What stands now stands for ever: the garbage collector need not walk through it again and again while a crowd is served."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)


if __name__ == "__main__":
    main()
