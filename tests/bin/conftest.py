"""`doorman up` as its own process, with stand-ins for the parts that this folder does not test."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from app.embedded.children import started_at, wait_gone
from app.embedded.postgres import SHARED

DRIVER = Path(__file__).with_name("up_driver.py")
START_SECONDS = 60.0
STOP_SECONDS = 30.0


class Up:
    """One `up` on `data`. `output` is what it printed so far."""

    def __init__(self, data: Path, *, port: int = 0, web: int = 2, **environment: str):
        self.data, self.log = data, Path(tempfile.mkstemp(prefix="doorman-up-", suffix=".log")[1])
        clean = {name: value for name, value in os.environ.items() if not name.endswith(("_URL", "_SECONDS"))}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, DRIVER, str(port), str(data), str(web)],
                env=clean | environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip

    @property
    def output(self) -> str:
        return self.log.read_text()

    @property
    def run(self) -> dict:
        return json.loads((self.data / "run.json").read_text())

    def serves(self) -> "Up":
        self.until(lambda: "Doorman serves" in self.output, "it serves")
        return self

    def until(self, condition, what: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            assert self.process.poll() is None, f"up ended before {what}:\n{self.output}"
            assert time.monotonic() < deadline, f"not within {START_SECONDS:g} s: {what}\n{self.output}"
            time.sleep(0.02)

    def ends(self) -> int:
        """-> its exit code; the test fails when it goes on."""
        return self.process.wait(STOP_SECONDS)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.ends()

    def pids(self) -> list[int]:
        run = self.run
        singles = [run[name]["pid"] for name in ("redis", "postgres", "provider", "warehouse")]
        return [run["pid"], *run["web"], *run["worker"], *run["recorder"], *filter(None, singles)]

    def kill_everything(self) -> None:
        """kill -9 of `up` and all its parts at once, as a crash of the machine's memory would have it."""
        known = {pid: started_at(pid) for pid in self.pids()}
        for pid in known:
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        assert all(wait_gone(pid, started, 5.0) for pid, started in known.items() if pid != self.process.pid)

    def get(self, path: str = "/") -> str:
        with urllib.request.urlopen(self.run["url"] + path, timeout=10) as answer:
            return answer.read().decode()


@pytest.fixture
def data():
    """Where a DATA folder may come to be, below a folder that the database's account may pass through."""
    place = Path(tempfile.mkdtemp(prefix="doorman-up-"))
    place.chmod(0o711)
    yield place / "data"
    noted = place / "data" / "postgres-folder"
    if noted.exists() and Path(noted.read_text()).parent == SHARED:
        shutil.rmtree(noted.read_text(), ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def up(data):
    """Start an `up`; whatever is still running after the test is ended."""
    started = []

    def start(folder: Path = data, **options) -> Up:
        started.append(Up(folder, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.log.unlink()
