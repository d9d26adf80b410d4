"""The two clocks of a process: wall time for people and deadlines, monotonic time for ages and timeouts.

Neither opens a drop: that is the gate's clock (R11). `now_ms` is for display and for logs.
"""

import time
from datetime import UTC, datetime

monotonic = time.monotonic


def now() -> datetime:
    return datetime.now(UTC)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def from_ms(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def to_ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def iso(moment: datetime) -> str:
    """-> '2026-11-30T20:00:00.412Z'."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
