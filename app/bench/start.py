"""`doorman bench start`: how long `doorman up` takes until it serves, on a machine that has run it before, and what it then weighs.

The first start makes the data folder and warms the disk cache and is not counted; then it is stopped and started again. Memory is
the proportional set size of `up` and everything below it, REST_SECONDS after it serves.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from app import running
from app.bench import cores
from app.bench.report import Row, print_rows, whole
from app.bench.site import NOT_HANDED_ON, START_SECONDS_MAX, STOP_SECONDS_MAX, status_of
from app.bench.stage import descendants
from app.embedded.children import tied
from app.errors import StartFailed

TARGET_SECONDS = 3.0
TARGET_MIB = 500.0
REST_SECONDS = 3.0
LOOK_SECONDS = 0.01


def run(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="doorman-start-") as temporary:
        taken = [_start(Path(temporary), arguments.web) for _ in range(arguments.starts + 1)][1:]
    seconds, weights = [one for one, _ in taken], [sum(weight) for _, weight in taken]
    largest = sorted((round(one) for one in taken[-1][1]), reverse=True)
    serves, weighs = statistics.median(seconds), statistics.median(weights)
    rows = [
        Row("up serves", "seconds", serves, serves, TARGET_SECONDS, at_least=False, spread=(min(seconds), max(seconds))),
        Row(
            "memory at rest", "MiB of PSS, all processes", weighs, weighs, TARGET_MIB, at_least=False,
            more={"processes": len(largest), "the largest": largest[:8]},
        ),
    ]  # fmt: skip
    return print_rows("start", rows, [], arguments, web=arguments.web)


def _start(data: Path, web: int) -> tuple[float, list[float]]:
    """Start `up`, wait, weigh it, stop it -> (seconds until it serves, MiB of each process; empty where it cannot be read)."""
    environment = {name: value for name, value in os.environ.items() if name not in NOT_HANDED_ON}
    command = [sys.executable, "-P", "-m", "app.cli", "up", "--port", "0", "--data", str(data), "--no-demo", "--web", str(web)]
    with (data.parent / f"{data.name}.log").open("wb") as log:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, preexec_fn=tied())
        try:
            while not _serves(data, process):
                if process.poll() is not None or time.monotonic() > began + START_SECONDS_MAX:
                    raise StartFailed(f"doorman up did not serve within {START_SECONDS_MAX:.0f} s")
                time.sleep(LOOK_SECONDS)
            seconds = time.monotonic() - began
            time.sleep(REST_SECONDS)
            return seconds, [_mib(pid) for pid in (process.pid, *descendants(process.pid))]
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            Path(log.name).unlink()


def _serves(data: Path, process: subprocess.Popen) -> bool:
    try:
        run = json.loads((data / running.RUN).read_text())
        return run["pid"] == process.pid and status_of(f"{run['url']}/readyz") == 200
    except (OSError, ValueError, KeyError):
        return False


def _mib(pid: int) -> float:
    try:
        return cores.pss_bytes(pid) / 2**20
    except OSError:
        return 0.0  # gone meanwhile, or a system that does not tell


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--starts", type=whole, default=3, help="starts of which the median counts (%(default)s)")
    parser.add_argument("--web", type=whole, default=2, help="web processes (%(default)s)")
