"""Which core does what, and how much of it a process used.

A ratio is honest only when the server is what limits it: the web process gets core SERVER to itself, and everything else (the load
generator, Valkey, PostgreSQL, workers) shares core LOAD. Where the system cannot pin, or has one core, `pinned` is False and the
report says so.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

SERVER, LOAD = 0, 1  # positions among the cores that this process may use
CPU_CLOCK_OF_PROCESS = 2  # Linux: CPUCLOCK_SCHED, the low bits of a process's clock id
_CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

pinned = len(_CORES) >= 2


def allowed() -> set[int]:
    """-> the cores that this process may use now."""
    return os.sched_getaffinity(0) if _CORES else set()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Afterwards this process may use the cores that it may use now."""
    before = allowed()
    try:
        yield
    finally:
        for thread in _threads(os.getpid()) if before else ():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, before)


def pin(pid: int, position: int) -> None:
    """Keep every thread of this process (0: ours) on one core."""
    if not pinned:
        return
    for thread in _threads(pid or os.getpid()):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(thread, {_CORES[position]})


def pin_apart(servers: Iterable[int], others: Iterable[int] = ()) -> None:
    """`servers` on one core; ourselves and `others` on another."""
    pin(0, LOAD)
    for pid in others:
        pin(pid, LOAD)
    for pid in servers:
        pin(pid, SERVER)


def cpu_seconds(pid: int) -> float:
    """-> CPU time of all threads of a running process of ours, in steps of nanoseconds (Linux), else of its last `ps`."""
    if sys.platform == "linux":
        return time.clock_gettime((~pid << 3) | CPU_CLOCK_OF_PROCESS)
    import subprocess

    shown = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True, check=True).stdout.strip()
    seconds = 0.0
    for part in shown.split(":"):
        seconds = 60 * seconds + float(part)
    return seconds


def pss_bytes(pid: int) -> int:
    """-> proportional set size: what this process would free if it ended. OSError when it cannot be read (not Linux)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no Pss of process {pid}")


def _threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return [pid]
