"""Children that never outlive their parent (Linux: the kernel kills them; elsewhere the next `up` cleans up by pid file)."""

import ctypes
import signal
import sys

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Run in the child between fork and exec: SIGKILL this process when its parent thread ends."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
