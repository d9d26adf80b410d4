"""Run a sandbox as its own process: `--host H --port P --data FOLDER --token-file FILE`.

When it serves it prints one line of JSON, `{"url": "http://127.0.0.1:PORT"}`, and nothing else on standard output. Port 0 takes any
free port. SIGTERM and Ctrl-C stop it; replies that are still being delayed are cut, as a crash would.
"""

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvicorn

from app.sandbox.http import Application, Protocol

STOP_SECONDS = 1
LISTEN_BACKLOG = 2048
KEEP_ALIVE_SECONDS = 60  # longer than callers keep a connection: none is closed just as it is used again
TOKEN_BYTES = 24


class _Server(uvicorn.Server):
    """Says where it serves, once it serves."""

    def __init__(self, config: uvicorn.Config, url: str):
        super().__init__(config)
        self._url = url

    async def startup(self, sockets=None) -> None:
        await super().startup(sockets)
        if self.started:
            print(json.dumps({"url": self._url}), flush=True)


def arguments(program: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--data", type=Path, required=True, help="folder of the sandbox's own store")
    parser.add_argument("--token-file", type=Path, required=True, help="secret of the script and ledger doors; made when missing")
    return parser.parse_args()


def token(path: Path) -> str:
    """-> the token in this file, made on first use (mode 0600)."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(TOKEN_BYTES))
    return path.read_text().strip()


def listen(host: str, port: int) -> tuple[socket.socket, str]:
    """-> (bound socket, url). Ends the process with one sentence when the address is not free."""
    # The protocol is named because asyncio switches Nagle's delay off only for sockets that say they are TCP.
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        sys.exit(f"cannot listen on {host} port {port}: {error.strerror}")
    name = f"[{host}]" if ":" in host else host
    return bound, f"http://{name}:{bound.getsockname()[1]}"


def serve(application: Application, bound: socket.socket, url: str, beside: Callable[[], Awaitable[None]] | None = None) -> None:
    """Serve until told to stop. `beside` runs for ever next to the server; when it fails, the process ends."""
    config = uvicorn.Config(
        application,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=LISTEN_BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(_Server(config, url), bound, beside))


async def _serve(server: _Server, bound: socket.socket, beside) -> None:
    serving = asyncio.ensure_future(server.serve(sockets=[bound]))
    running = {serving} | ({asyncio.ensure_future(beside())} if beside else set())
    done, pending = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    server.should_exit = True
    await serving
    for task in pending - {serving}:
        task.cancel()
    for task in done:
        task.result()
