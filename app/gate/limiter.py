"""At most so many calls in so many seconds, per name, counted across all processes: a sliding window.

Guarantees
- A counted call is counted in the gate (lua/limit.lua), so any number of processes together let exactly `calls_max` pass in any
  window. Refused calls extend nothing, and the seconds to wait are exact, rounded up.
- What this process knows spares the gate: it remembers the calls that it let pass, and a name that the gate refused. It refuses
  from memory only what the gate would refuse too, so a caller who hammers costs the gate `calls_max` questions a window at most.
- Patience is free: of a limit of EXACT_CALLS or more, the first fifteenth of a name's calls in a window passes without asking.
  These calls are owed: the next call that does ask carries them along and has them counted at the time they were made. So a shopper
  who presses once or twice costs no question, and nobody gains by it but one who is already at the limit elsewhere: at most that
  fifteenth for every further process. Smaller limits have no credit and are exact to the call.

The gate gone: each process counts for itself until it is back. Bounded: `names_max` names; the oldest is forgotten first, of those
who called once, then of all. Whoever called once, as nearly all of a crowd do, is remembered as one number: a hundred thousand
lists would have the garbage collector stop the process for a tenth of a second.
"""

import itertools
import math
import secrets
from collections import OrderedDict

from app.clock import monotonic
from app.errors import GateUnreachable
from app.gate.gate import Gate

EXACT_CALLS = 30  # smaller limits have no credit
CREDIT_SHARE = 15  # one call of this many is on credit
NAMES_MAX = 100_000
ASK = -1  # `look`: this process cannot tell


class _Calls:
    """What this process let pass of one name, oldest first; monotonic seconds."""

    __slots__ = ("made_at", "owed", "shut_until")

    def __init__(self) -> None:
        self.made_at: list[float] = []
        self.owed: list[float] = []
        self.shut_until = 0.0


class Limiter:
    """One per process and kind of name. `kind` keeps the names of two limiters apart."""

    def __init__(self, gate: Gate, kind: str, calls_max: int, window_seconds: float, *, names_max: int = NAMES_MAX):
        self._gate, self._kind = gate, kind
        self._calls_max, self._window = calls_max, window_seconds
        self._credit_calls = calls_max // CREDIT_SHARE if calls_max >= EXACT_CALLS else 0
        self._names_max = names_max
        # Ordered dictionaries: the oldest of a plain one is found by walking over all that were taken out before it.
        self._once: OrderedDict[object, float] = OrderedDict()  # name -> when its only call was let pass on credit
        self._calls: OrderedDict[object, _Calls] = OrderedDict()  # everybody else
        self._process, self._numbers = secrets.token_hex(6), itertools.count()

    async def allow(self, name: object) -> int:
        """Count one call -> 0, or the whole seconds until one may pass."""
        wait = self.look(name)
        return await self.ask(name) if wait == ASK else wait

    def look(self, name: object) -> int:
        """What this process can say by itself -> 0: passed, on credit; seconds to wait; or ASK: `ask` must follow at once."""
        now = monotonic()
        if self._passes_once(name, now):
            return 0
        calls = self._of(name)
        if calls.shut_until > now:
            return math.ceil(calls.shut_until - now)
        made_at = calls.made_at
        while made_at and made_at[0] <= now - self._window:
            made_at.pop(0)
        if len(made_at) >= self._calls_max:
            return math.ceil(made_at[0] + self._window - now)
        made_at.append(now)
        if len(made_at) > self._credit_calls:
            return ASK
        calls.owed.append(now)
        return 0

    def passes_on_credit(self, name: object) -> bool:
        """-> whether `look` would say 0; then the call is counted as by `look`, else not at all."""
        now = monotonic()
        if self._passes_once(name, now):
            return True
        if not self.has_credit(name):
            return False
        calls = self._of(name)
        calls.made_at.append(now)
        calls.owed.append(now)
        return True

    def has_credit(self, name: object) -> bool:
        """Would `look` say 0? Counts nothing."""
        now = monotonic()
        calls = self._calls.get(name)
        if calls is None:
            return (self._once.get(name, -math.inf) > now - self._window) < self._credit_calls
        return calls.shut_until <= now and sum(at > now - self._window for at in calls.made_at) < self._credit_calls

    async def ask(self, name: object) -> int:
        """Have the call that `look` just took in counted by the gate, with those that are owed -> 0, or seconds to wait."""
        now = monotonic()
        calls = self._of(name)
        made_at = calls.made_at[-1] if calls.made_at else now
        owed, calls.owed = [at for at in calls.owed if at > now - self._window], []
        told = [(self._call_name(), round((now - at) * 1e6)) for at in owed]
        try:
            wait_us = await self._gate.limit(
                f"{self._kind}:{name}", self._calls_max, round(self._window * 1e6), [*told, (self._call_name(), 0)]
            )
        except GateUnreachable:
            calls.owed = owed + calls.owed  # counted here alone until the gate is back
            return 0
        if not wait_us:
            return 0
        if made_at in calls.made_at:
            calls.made_at.remove(made_at)
        calls.shut_until = max(calls.shut_until, monotonic() + wait_us / 1e6)
        return math.ceil(wait_us / 1e6)

    def _call_name(self) -> str:
        return f"{self._process}{next(self._numbers):x}"

    def _passes_once(self, name: object, now: float) -> bool:
        """-> whether this is the only call that is remembered of this name, and it is on credit; then it is counted."""
        if not self._credit_calls or name in self._calls or self._once.get(name, -math.inf) > now - self._window:
            return False
        if name not in self._once:
            self._make_room()
        self._once[name] = now
        return True

    def _of(self, name: object) -> _Calls:
        calls = self._calls.get(name)
        if calls is None:
            made_at = self._once.pop(name, None)
            self._make_room()
            calls = self._calls[name] = _Calls()
            if made_at is not None:
                calls.made_at.append(made_at)
                calls.owed.append(made_at)
        return calls

    def _make_room(self) -> None:
        if len(self._once) + len(self._calls) >= self._names_max:
            (self._once or self._calls).popitem(last=False)
