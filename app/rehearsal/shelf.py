"""What the dashboard does with rehearsals: begin one, see how far it is, read its report, stop it.

A rehearsal begun here is the command `doorman rehearse` in a session of its own, attached to the `up` that serves DATA: it stops by
itself, cleanly, when that ends. Everything else is read from DATA/rehearsals/ID (progress, report, pictures), so any web process of
this machine may look, and one that dies loses nothing. Light on purpose: nothing heavy is imported here.
"""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from app import running
from app.embedded.children import started_at
from app.embedded.folders import make_private, write_private
from app.errors import StartFailed
from app.rehearsal.layout import FOLDER, LOCK, LOG, PICTURES, PROGRESS, REPORT_JSON, new_id
from app.rehearsal.plan import Wish

ID = re.compile(r"\d{8}-\d{6}-\d{1,10}-[a-z0-9-]{1,64}")
PICTURE = re.compile(r"\d{2}\.webp")
LISTED_MAX = 20
UNKNOWN_YET = {
    "began": "",
    "answers": 0,
    "ended": 0,
    "sockets": 0,
    "seconds": 0.0,
    "fault": None,
    "books": None,
    "why": None,
    "sentences": {},
}
_begun: set[subprocess.Popen] = set()


class Busy(StartFailed):
    """Another rehearsal is running on this machine."""


def begin(data: Path, wish: Wish) -> str:
    """Start a rehearsal in the background -> its id. Busy; StartFailed: there are no servers for it here."""
    from app.rehearsal.stage import what_is_missing

    _bury()
    if missing := what_is_missing():
        raise StartFailed(missing)
    home = make_private(data) / FOLDER
    home.mkdir(mode=0o700, exist_ok=True)
    if is_busy(data):
        raise Busy("another rehearsal is running on this machine; wait until it has ended, or stop it")
    name = new_id(wish.slug)
    folder = home / name
    folder.mkdir(mode=0o700)
    words = wish.command().split()[1:]
    attached = ["--attached"] if running.is_served(data) else []  # without an `up` there is nobody to end with
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "app.cli", *words, "--data", str(data), "--name", name, *attached],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    _begun.add(process)
    first = {"id": name, "slug": wish.slug, "phase": "starting", "crowd": wish.crowd, "pid": process.pid, "verdict": None}
    with suppress(FileExistsError):
        write_private(folder / PROGRESS, json.dumps(first), exclusive=True)
    return name


def is_busy(data: Path) -> bool:
    """-> whether a rehearsal of this data folder is running."""
    return running.is_held(data / FOLDER / LOCK)


def of_drop(data: Path, slug: str) -> list[dict]:
    """-> the rehearsals of this drop, newest first: their progress, with the report's verdict and time where there is one."""
    home = data / FOLDER
    names = [path.name for path in home.iterdir() if ID.fullmatch(path.name)] if home.is_dir() else []
    found = []
    for name in sorted(names, reverse=True):
        progress = progress_of(data, name, slug)
        if progress is not None:
            found.append(progress)
        if len(found) == LISTED_MAX:
            break
    return found


def progress_of(data: Path, name: str, slug: str) -> dict | None:
    """-> how far a rehearsal of this drop is; None: there is none of this name, or it is another drop's.

    `running` says whether its process lives; one that ended without a verdict was broken off, and `why` says what is known.
    """
    folder = _folder(data, name)
    if folder is None:
        return None
    try:
        progress = json.loads((folder / PROGRESS).read_text())
    except (OSError, ValueError):
        return None
    if progress.get("slug") != slug:
        return None
    progress = UNKNOWN_YET | progress
    _bury()
    progress["running"] = progress["verdict"] is None and started_at(progress["pid"]) is not None
    if progress["verdict"] is None and not progress["running"]:
        progress |= {"verdict": "failed", "why": _last_words(folder)}
    return progress


def report_of(data: Path, name: str, slug: str) -> dict | None:
    """-> the report of a rehearsal of this drop, None where there is none."""
    folder = _folder(data, name)
    if folder is None:
        return None
    with suppress(OSError, ValueError):
        report = json.loads((folder / REPORT_JSON).read_text())
        return report if report["drop"]["slug"] == slug else None
    return None


def picture_of(data: Path, name: str, file: str) -> bytes | None:
    """-> one picture, a WebP."""
    return _read(_folder(data, name), f"{PICTURES}/{file}") if PICTURE.fullmatch(file) else None


def stop(data: Path, name: str, slug: str) -> bool:
    """Ask a running rehearsal to end and leave nothing -> whether it was running."""
    progress = progress_of(data, name, slug)
    if progress is None or not progress["running"] or not is_busy(data):
        return False
    with suppress(ProcessLookupError):
        os.kill(progress["pid"], signal.SIGTERM)
    return True


def _folder(data: Path, name: str) -> Path | None:
    return data / FOLDER / name if ID.fullmatch(name) else None


def _read(folder: Path | None, name: str) -> bytes | None:
    with suppress(OSError):
        return None if folder is None else (folder / name).read_bytes()
    return None


def _last_words(folder: Path) -> str:
    with suppress(OSError):
        lines = (folder / LOG).read_text(errors="replace").strip().splitlines()
        return lines[-1].removeprefix("doorman: ") if lines else ""
    return ""


def _bury() -> None:
    """Take note of those that have ended, so that the kernel can forget them."""
    for process in list(_begun):
        if process.poll() is not None:
            _begun.discard(process)
