"""At most so many calls in so many seconds, per name, counted in this process's memory.

Fixed windows: cheap, bounded, good enough against a loop; several web processes each allow the full number. What must hold across
processes (units, mails an hour) is counted by the gate or the ledger instead.
"""

import math

from app.clock import monotonic


class Rate:
    def __init__(self, calls_max: int, seconds: float, *, names_max: int):
        self.calls_max = calls_max
        self.seconds = seconds
        self.names_max = names_max
        self.calls: dict[object, int] = {}
        self.window_ends = 0.0

    def allow(self, name: object) -> bool:
        """Count one call of this name; False when it is one too many."""
        now = monotonic()
        if now >= self.window_ends or len(self.calls) >= self.names_max:
            self.calls.clear()
            self.window_ends = now + self.seconds
        calls = self.calls[name] = self.calls.get(name, 0) + 1
        return calls <= self.calls_max

    @property
    def retry_after_seconds(self) -> int:
        """Whole seconds until the window ends, at least 1."""
        return max(1, math.ceil(self.window_ends - monotonic()))
