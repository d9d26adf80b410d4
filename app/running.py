"""What a running `doorman up` leaves in DATA, and how another command finds it.

`run.json` names the parts and their process numbers, for whoever tests from outside; `environment.json` holds the addresses and
secrets that `up` gives its parts, so that a command started beside it works with the same servers. Both are 0600 and written whole.
They are believed only while a living `up` holds the lock on DATA: after a `kill -9` they are stale and nobody reads them.
"""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path

from app.embedded.folders import write_private
from app.errors import StartFailed

DATA_DEFAULT = Path(".doorman")
LOCK, RUN, ENVIRONMENT = "lock", "run.json", "environment.json"
ADDRESSES = ("REDIS_URL", "QUEUE_REDIS_URL", "FEED_REDIS_URL", "DATABASE_URL")


def lock(data: Path) -> int:
    """Take the lock on DATA for as long as this process lives -> its descriptor. StartFailed when a living `up` holds it."""
    handle = os.open(data / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise StartFailed(f"{data} is already served by a running doorman up{_where(data)}; stop that one first") from None
    return handle


def is_served(data: Path) -> bool:
    """-> whether a living `up` holds the lock on DATA."""
    try:
        return is_held(data / LOCK)
    except PermissionError:
        raise StartFailed(f"{data} belongs to somebody else; run this as the account that runs doorman up") from None


def is_held(lock: Path) -> bool:
    """-> whether a living process holds the lock on this file."""
    try:
        handle = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def publish(data: Path, run: dict, environment: Mapping[str, str]) -> None:
    """Tell others what runs: the addresses first, so that whoever sees run.json can use it."""
    write_private(data / ENVIRONMENT, json.dumps(dict(environment), indent=1))
    write_private(data / RUN, json.dumps(run, indent=1))


def withdraw(data: Path) -> None:
    for name in (RUN, ENVIRONMENT):
        (data / name).unlink(missing_ok=True)


def environment_with(data: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """-> `environment`, completed by that of the `up` running on DATA. What is set already wins.

    StartFailed when there is neither a running `up` nor both REDIS_URL and DATABASE_URL. Production has nothing but its
    environment: the settings say themselves what is missing there.
    """
    if is_served(data) and (data / ENVIRONMENT).exists():
        found = json.loads((data / ENVIRONMENT).read_text())
        if environment.get("REDIS_URL"):  # the queue and the feed follow the gate, unless they are named themselves
            found = {name: value for name, value in found.items() if name not in ("QUEUE_REDIS_URL", "FEED_REDIS_URL")}
        return {**found, **{name: value for name, value in environment.items() if value or name not in ADDRESSES}}
    if environment.get("DOORMAN_ENV") == "production" or environment.get("REDIS_URL") and environment.get("DATABASE_URL"):
        return dict(environment)
    raise StartFailed(
        f"No running Doorman in {data}: start one with bin/up, name its folder with --data, or set REDIS_URL and DATABASE_URL"
    )


def _where(data: Path) -> str:
    try:
        run = json.loads((data / RUN).read_text())
    except (OSError, ValueError):
        return ""
    return f" (process {run['pid']}, {run['url']})"
