"""What the crowd asks for: every press of Buy is counted, second by second, and handed to the ledger once a second.

Guarantees: a press costs one dictionary entry and never waits (`count`). A process hands in its own counts so far, so a lost answer
or a retry counts nothing twice. What is remembered is bounded; what had to be forgotten because the ledger was away for too long is
itself counted, and the report says so. Around the opening counts keep their second, long before and after it their minute: a drop
that stays open for a year does not fill the ledger.

The ledger gone: counts wait here and go out when it is back. This process killed: what it counted since its last word (a second) is
lost, and the ledger knows from when on (`counting_gaps`). The clock set back: seconds that come twice are counted once.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

import structlog

from app.clock import monotonic
from app.domain.verdicts import Verdict
from app.errors import LedgerUnreachable
from app.ledger import Asks, Ledger

FLUSH_SECONDS = 1.0
STOP_SECONDS_MAX = 2.0
IDLE_SECONDS = 5.0  # with nothing to hand in, "still counting" is said this often
KEPT_MAX = 50_000  # (drop, second, verdict) remembered while the ledger is away
ROWS_PER_WORD_MAX = 5_000
MINUTE_SECONDS = 60
EXACT_BEFORE_SECONDS = 60  # by the second from this long before the opening
EXACT_AFTER_SECONDS = 2 * 3600  # until this long after it

Key = tuple[int, int, int, str]  # drop id, where the stretch begins (seconds since 1970), its seconds, verdict

log = structlog.get_logger("demand")


class Demand:
    """One per web process. `opens_at`: drop id -> when it opens; None: no such drop is known."""

    def __init__(self, ledger: Ledger, opens_at: Callable[[int], datetime | None]):
        self.ledger = ledger
        self.opens_at = opens_at
        self.process = secrets.token_hex(6)
        self.since = datetime.now(UTC)
        self.uncounted = 0
        self._fresh: dict[tuple[int, int, str], int] = {}
        self._kept: dict[Key, int] = {}
        self._unsaid: set[Key] = set()
        self._said_at = float("-inf")

    def count(self, drop_id: int, verdict: Verdict) -> None:
        """Somebody pressed Buy and this was the answer."""
        key = (drop_id, int(time.time()), verdict)
        self._fresh[key] = self._fresh.get(key, 0) + 1

    async def hand_in_for_ever(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            try:
                await self.hand_in()
            except Exception:
                log.exception("demand could not be handed in; trying again")

    async def stop(self) -> None:
        """Hand in the rest and say that nothing is missing. A ledger that is away holds nobody up: it will say that we died."""
        try:
            async with asyncio.timeout(STOP_SECONDS_MAX):
                if await self.hand_in():
                    await self.ledger.counter_stopped(self.process)
        except (LedgerUnreachable, TimeoutError):
            log.warning("the ledger is away: what was counted last is lost")

    async def hand_in(self) -> bool:
        """Say everything that was not said yet -> False: the ledger is away, it waits."""
        now = int(time.time())
        self._keep_fresh()
        if not self._unsaid and monotonic() - self._said_at < IDLE_SECONDS:
            return True
        until = datetime.fromtimestamp(now, UTC)
        try:
            while True:
                word = sorted(self._unsaid)[:ROWS_PER_WORD_MAX]
                complete = len(word) == len(self._unsaid)
                said = [self._asks(key) for key in word]
                await self.ledger.add_demand(self.process, self.since, until if complete else self.since, said, self.uncounted)
                self._unsaid.difference_update(word)
                if complete:
                    break
        except LedgerUnreachable as error:
            log.warning("demand is not handed in yet", waiting=len(self._unsaid), error=str(error))
            return False
        self._said_at = monotonic()
        self._kept = {key: asks for key, asks in self._kept.items() if key in self._unsaid or key[1] + key[2] >= now}
        return True

    def _asks(self, key: Key) -> Asks:
        drop_id, second, seconds, verdict = key
        return Asks(drop_id, datetime.fromtimestamp(second, UTC), seconds, verdict, self._kept[key])

    def _keep_fresh(self) -> None:
        """Counts of the hot path -> counts to hand in."""
        fresh, self._fresh = self._fresh, {}
        for (drop_id, second, verdict), asks in fresh.items():
            start, seconds = self._stretch(drop_id, second)
            key = (drop_id, start, seconds, str(verdict))
            if key not in self._kept and len(self._kept) >= KEPT_MAX:
                self.uncounted += asks
                continue
            self._kept[key] = self._kept.get(key, 0) + asks
            self._unsaid.add(key)

    def _stretch(self, drop_id: int, second: int) -> tuple[int, int]:
        """-> (begin, seconds) of the stretch that this second is counted in."""
        opens_at = self.opens_at(drop_id)
        after = second - opens_at.timestamp() if opens_at is not None else 0.0
        if -EXACT_BEFORE_SECONDS <= after <= EXACT_AFTER_SECONDS:
            return second, 1
        return second - second % MINUTE_SECONDS, MINUTE_SECONDS
