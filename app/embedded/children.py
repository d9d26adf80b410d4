"""Children that never outlive their parent, and a name for a process that its number alone is not.

On Linux the kernel kills a tied child when its parent ends, however it ends. Elsewhere the next `up` ends what was left behind: it
finds the numbers in a file and trusts them only where the process also started at the recorded moment, so a number that now belongs
to somebody else's process is left alone.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1
POLL_SECONDS = 0.01
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Run in the child between fork and exec: SIGKILL this process when its parent thread ends."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def tied(before: Callable[[], None] | None = None) -> Callable[[], None]:
    """-> a `preexec_fn` that runs `before` (a change of account, say), then ties the child to the process that called this.

    A parent that died between fork and tie is noticed too: the child ends at once.
    """
    parent = os.getpid()

    def tie() -> None:
        if before is not None:
            before()
        die_with_parent()  # after `before`: a change of account would undo it
        if os.getppid() != parent:
            os._exit(1)

    return tie


def started_at(pid: int) -> str | None:
    """-> when this process started, as text that is equal only for the same process; None when there is no such process."""
    if sys.platform == "linux":
        try:
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return None
        state, *fields = stat.rpartition(")")[2].split()
        return None if state in "ZX" else fields[18]
    shown = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True)
    return shown.stdout.strip() or None


def end_leftover(pid: int, started: str, seconds: float = 5.0) -> bool:
    """Kill process `pid` if it is the one that started at `started`, and wait until it is gone -> whether it was there."""
    if started_at(pid) != started:
        return False
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return True
    return wait_gone(pid, started, seconds)


def wait_gone(pid: int, started: str | None, seconds: float) -> bool:
    """Wait until the process `pid` that started at `started` is gone -> whether it is."""
    deadline = time.monotonic() + seconds
    while started is not None and started_at(pid) == started:
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
