"""The Doorman that a measure is taken of: the `up` that serves a data folder, or a throwaway one that goes when the measure ends.

A throwaway `up` has embedded servers, a temporary data folder and a free port, whatever the environment names: a measure never
writes into somebody's database unless it was pointed at it with --data. It is a child of ours and dies with us.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import redis

from app import running
from app.embedded.children import tied
from app.errors import StartFailed
from app.live.feed import CHANNEL
from app.settings import Settings

START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 30.0
NOT_HANDED_ON = ("REDIS_URL", "QUEUE_REDIS_URL", "FEED_REDIS_URL", "DATABASE_URL", "STRIPE_API_BASE", "STRIPE_SECRET_KEY",
                 "DOORMAN_ENV", "DOORMAN_PUBLIC_URL", "SMTP_URL")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Site:
    """A running Doorman: its data folder and settings. `run` reads run.json anew, for process numbers change."""

    data: Path
    settings: Settings
    url: str
    own: bool  # started for this measure

    @property
    def run(self) -> dict:
        return json.loads((self.data / running.RUN).read_text())


@contextmanager
def site(data: Path | None, *, web: int, environment: Mapping[str, str] | None = None) -> Iterator[Site]:
    """-> the `up` that serves `data` (None: the default folder, if one serves it), else a throwaway one with `web` web processes.

    `environment`: further settings of a throwaway `up`; with them only a throwaway one will do. StartFailed says why there is none.
    """
    folder = data or running.DATA_DEFAULT
    if not environment and running.is_served(folder):
        yield _found(folder)
        return
    if data is not None:
        reason = "a measure with settings of its own starts its own Doorman" if environment else "no doorman up serves it"
        raise StartFailed(f"{data} cannot be used: {reason}; leave --data out")
    with tempfile.TemporaryDirectory(prefix="doorman-bench-") as temporary:
        process = _start(Path(temporary), web, environment or {})
        try:
            _await_ready(Path(temporary), process)
            yield _found(Path(temporary), own=True)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _found(data: Path, own: bool = False) -> Site:
    settings = Settings.from_environment(running.environment_with(data, {} if own else os.environ))
    if settings.production:
        raise StartFailed("this is a production installation: measures make synthetic shoppers, which it does not allow")
    return Site(data, settings, json.loads((data / running.RUN).read_text())["url"], own)


def _start(data: Path, web: int, environment: Mapping[str, str]) -> subprocess.Popen:
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_HANDED_ON}
    command = [sys.executable, "-P", "-m", "app.cli", "up", "--port", "0", "--data", str(data), "--no-demo", "--web", str(web)]
    with (data / "up.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env={**inherited, **environment}, preexec_fn=tied())


def _await_ready(data: Path, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while not _is_ready(data):
        if process.poll() is not None or time.monotonic() > deadline:
            raise StartFailed(f"the Doorman to measure did not start; its last words: {_last_words(data / 'up.log')}")
        time.sleep(0.05)


def _is_ready(data: Path) -> bool:
    """Does it serve, with every web process? One is enough for its own readiness, and the others would still be starting."""
    try:
        run = json.loads((data / running.RUN).read_text())
        return status_of(f"{run['url']}/readyz") == 200 and _listeners(data) >= len(run["web"])
    except (OSError, ValueError, redis.RedisError):
        return False


def _listeners(data: Path) -> int:
    """-> web processes that have begun to listen to the feed, the last step of their start."""
    settings = Settings.from_environment(running.environment_with(data, {}))
    with redis.Redis.from_url(settings.feed_redis_url or settings.redis_url) as client:
        return dict(client.pubsub_numsub(CHANNEL)).get(CHANNEL.encode(), 0)


def _last_words(log: Path) -> str:
    return " / ".join(log.read_text(errors="replace").strip().splitlines()[-3:]) or "none"


def status_of(url: str, cookie: str | None = None) -> int:
    """-> the status of a GET. OSError when nobody answers."""
    request = urllib.request.Request(url, headers={"Cookie": cookie} if cookie else {})  # noqa: S310 (our own server)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


async def new_drop(office, title: str, units: int, hold_seconds: float = 600.0):
    """-> a fresh open drop (app.domain.drops.Drop) of one variant, in the first shop or a new one."""
    from app.ledger import NewDrop
    from app.purchase.drops import create_drop

    shop_id = await office.ledger.first_shop() or await office.ledger.create_shop("Bench", "bench@example.org")
    slug = f"bench-{os.getpid()}-{time.time_ns() // 1_000_000}"
    return await create_drop(
        office,
        NewDrop(
            shop_id=shop_id,
            slug=slug,
            title=title,
            price_minor=4900,
            currency="EUR",
            opens_at=datetime.now(UTC),
            variants=(("Standard", units),),
            hold_seconds=hold_seconds,
        ),
    )
