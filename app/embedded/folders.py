"""Where the embedded servers keep things: secrets, sockets and the log in files only we can read, on a path that is short enough.

A unix socket's path may be at most 107 bytes, whatever the depth of DATA, so sockets lie in a folder of their own under the
temporary folder. Its name is random and noted in DATA/sockets; a folder noted by an earlier `up` that was killed is removed first.
"""

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

from app.errors import StartFailed

SOCKET_PATH_BYTES_MAX = 103  # macOS; Linux takes 107
LONGEST_SOCKET_NAME = "postgres/.s.PGSQL.5432"
PREFIX = "doorman-"
SECRET_BYTES = 24
LOG_BYTES_MAX = 16 * 1024 * 1024
FREE_BYTES_MIN = 64 * 1024 * 1024  # to start on a folder that has data
FREE_BYTES_FIRST = 200 * 1024 * 1024  # to make one


def make_private(folder: Path) -> Path:
    """Make DATA -> its resolved path. Only we may list it; as root, the database's account may pass through to what is its own."""
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
        folder = folder.resolve()
        if not folder.is_dir():
            raise StartFailed(f"{folder} is not a folder; choose another with --data")
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise StartFailed(f"{folder} belongs to somebody else; choose another with --data")
    except OSError as error:
        raise StartFailed(f"Cannot make the data folder {folder}: {error.strerror}") from error
    return folder


def check_space(folder: Path, first: bool) -> None:
    """StartFailed when the disk of `folder` is too full for servers that promise to keep what they were told."""
    free, wanted = shutil.disk_usage(folder).free, FREE_BYTES_FIRST if first else FREE_BYTES_MIN
    if free < wanted:
        raise StartFailed(f"The disk of {folder} is full: {free // 2**20} MB are free and {wanted // 2**20} MB are needed to start")


def kept_secret(path: Path) -> str:
    """-> the secret in this file, made on first use (mode 0600)."""
    with contextlib.suppress(FileExistsError):
        write_private(path, secrets.token_urlsafe(SECRET_BYTES), exclusive=True)
    return path.read_text().strip()


def write_private(path: Path, text: str, exclusive: bool = False) -> None:
    """Write a file that only we may read (0600), whole or not at all. `exclusive`: FileExistsError where there is one already."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp makes it 0600
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        if exclusive:
            os.link(draft, path)
        else:
            os.replace(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)


def socket_folder(data: Path) -> Path:
    """-> a new short folder for the sockets of the servers of `data`; the one of an earlier run is removed."""
    note = data / "sockets"
    if note.exists():
        drop_socket_folder(data)
    bases = [Path(tempfile.gettempdir()), Path("/tmp")]
    base = next((base for base in bases if _fits(base)), None)
    if base is None:
        raise StartFailed(f"The path of the temporary folder {bases[0]} is too long for a unix socket; set TMPDIR to a short one")
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    folder.chmod(0o711 if os.geteuid() == 0 else 0o700)
    write_private(note, str(folder))
    return folder


def drop_socket_folder(data: Path) -> None:
    """Remove the socket folder noted in `data`, if it is one of ours."""
    note = data / "sockets"
    with contextlib.suppress(OSError):
        folder = Path(note.read_text().strip())
        seen = folder.lstat()
        if stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.geteuid() and folder.name.startswith(PREFIX):
            shutil.rmtree(folder, ignore_errors=True)
    note.unlink(missing_ok=True)


def _fits(base: Path) -> bool:
    longest = base / f"{PREFIX}12345678" / LONGEST_SOCKET_NAME
    return base.is_dir() and os.access(base, os.W_OK) and len(os.fsencode(longest)) <= SOCKET_PATH_BYTES_MAX


def open_log(path: Path) -> tuple[BinaryIO, int]:
    """-> (the log opened for a server to append to, its size now). A log over its bound starts anew."""
    file = path.open("ab")
    if file.tell() > LOG_BYTES_MAX:
        file.truncate(0)
    return file, os.fstat(file.fileno()).st_size


def reason_in(log: Path, since: int) -> str:
    """-> the line in which a server said why it stopped, of what it wrote after byte `since`."""
    try:
        lines = log.read_bytes()[since:].decode(errors="replace").strip().splitlines()
    except OSError:
        return "no output"
    for words in ((os.strerror(errno.ENOSPC),), ("FATAL", "PANIC"), ("rror",), ("",)):
        for line in reversed(lines):
            if any(word in line for word in words):
                return without_stamp(line)
    return "no output"


def without_stamp(line: str) -> str:
    """'2026-11-30 18:53:41.152 UTC [9145] FATAL:  could not ...' -> 'FATAL: could not ...'."""
    return " ".join(re.sub(r"^\d{4}-\d\d-\d\d \S+ \S+ \[\d+\] ", "", line.strip()).split())
