"""The bare baselines: what the same server, with the same settings, does for an ASGI callable that has nothing to do.

    python -m app.bench.bare ANSWER.json      serves on the socket in DOORMAN_LISTEN_FD

/same   reads the body and answers the given bytes: what HTTP itself costs
/form   also reads the form and verifies the session cookie: what any honest shop must do before it can say anything

ANSWER.json is {"status", "headers": [[name, value]], "body_hex"}: an answer of Doorman's own, so that both sides send the same
bytes. The cookie's key comes from DOORMAN_SECRET, as in a web process.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

import uvloop

from app.embedded.children import tied
from app.settings import Settings
from app.web.serve import BACKLOG_CONNECTIONS, LISTEN_FD, Server, configuration
from app.web.session import Sessions

SAME, FORM = "/same", "/form"
NOT_COPIED = (b"date", b"connection")  # the server's own


def bare(answer: dict, sessions: Sessions):
    """-> the ASGI callable."""
    start = {
        "type": "http.response.start",
        "status": answer["status"],
        "headers": [(name.encode(), value.encode()) for name, value in answer["headers"]],
    }
    body = {"type": "http.response.body", "body": bytes.fromhex(answer["body_hex"])}

    async def app(scope, receive, send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        received = b""
        if scope["method"] == "POST":
            received = await _body(receive)
        if scope["path"] == FORM:
            fields = dict(parse_qsl(received.decode("ascii"), keep_blank_values=True))
            cookie = next(value for name, value in scope["headers"] if name == b"cookie")
            if "key" not in fields or sessions.of_cookies(cookie) is None:
                raise ValueError("the baseline was sent a form without a key, or a stranger's cookie")
        await send(dict(start))
        await send(body)

    return app


async def _body(receive) -> bytes:
    message = await receive()
    received = message["body"]
    while message["more_body"]:
        message = await receive()
        received += message["body"]
    return received


async def _lifespan(receive, send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


@contextmanager
def serving(
    command: list[str], environment: dict[str, str], log: Path, pipes: bool = False
) -> Iterator[tuple[str, subprocess.Popen]]:
    """-> (host:port, process) of `python -m COMMAND` on a socket handed down to it. `pipes`: we talk to it."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG_CONNECTIONS) as listening, log.open("wb") as words:
        told = {**os.environ, **environment, LISTEN_FD: str(listening.fileno())}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", *command], env=told, pass_fds=(listening.fileno(),), preexec_fn=tied(), stderr=words,
            stdin=subprocess.PIPE if pipes else subprocess.DEVNULL, stdout=subprocess.PIPE if pipes else words,
        )  # fmt: skip
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}", process
        finally:
            process.kill()
            process.wait()


def main() -> None:
    listening = socket.socket(fileno=int(os.environ[LISTEN_FD]))
    listening.setblocking(False)
    answer = json.loads(Path(sys.argv[1]).read_text())
    app = bare(answer, Sessions(Settings.from_environment()))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(Server(configuration(app)).serve(sockets=[listening]))


if __name__ == "__main__":
    main()
