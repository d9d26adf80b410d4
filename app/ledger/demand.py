"""What the crowd asked for: presses of Buy per second, as the web processes counted them.

A process says its own counts so far, never differences, so that saying them again (a lost answer, a retry) changes nothing. What a
process had counted and not said when it died is lost; `counting_gaps` says of which moment that is true.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from app.ledger.pool import Pool

SILENT_SECONDS = 15.0  # a counter not heard of for this long is dead
GAPS_MAX = 20


class Asks(NamedTuple):
    """Presses of Buy in one drop with one answer, in the `seconds` (1 or 60) from `second` on."""

    drop_id: int
    second: datetime
    seconds: int
    verdict: str
    asks: int


class Stretch(NamedTuple):
    """The same over all processes."""

    second: datetime
    seconds: int
    verdict: str
    asks: int


@dataclass(frozen=True, slots=True)
class DemandTotals:
    """All presses of a drop. `first`, `last`: from when to when; None: nobody pressed."""

    by_verdict: dict[str, int]
    first: datetime | None
    last: datetime | None

    @property
    def asks(self) -> int:
        return sum(self.by_verdict.values())


class CountingGap(NamedTuple):
    """What one web process could not hand in: all it answered after `counted_until` (`died`), or `uncounted` presses before."""

    counted_until: datetime
    uncounted: int
    died: bool


class DemandPart(Pool):
    async def add_demand(
        self, process: str, since: datetime, counted_until: datetime, asks: Sequence[Asks], uncounted: int = 0
    ) -> None:
        """One process's counts so far, complete up to `counted_until`. `uncounted`: presses it ever had to forget."""
        async with self._transaction() as ask:
            if asks:
                await ask.count("add_demand", process, *map(list, zip(*asks, strict=True)))
            await ask.count("counted_until", process, since, counted_until, uncounted)

    async def counter_stopped(self, process: str) -> None:
        """It has said everything and will count no more."""
        await self._count("counter_stopped", process)

    async def demand_since(self, drop_id: int, since: datetime) -> list[Stretch]:
        """-> oldest first."""
        return [Stretch(*row) for row in await self._rows("demand_since", drop_id, since)]

    async def demand_totals(self, drop_id: int) -> DemandTotals:
        rows = await self._rows("demand_totals", drop_id)
        return DemandTotals(
            {row["verdict"]: row["asks"] for row in rows},
            min((row["first"] for row in rows), default=None),
            max((row["last"] for row in rows), default=None),
        )

    async def demand_peak(self, drop_id: int) -> tuple[datetime, int] | None:
        """-> the busiest second and its presses; None: nothing was counted by the second."""
        row = await self._row("demand_peak", drop_id)
        return None if row is None else (row["second"], row["asks"])

    async def demand_reach(self, drop_id: int, share: float) -> tuple[datetime, datetime] | None:
        """-> the first second with a press, and the one by which `share` of all presses counted by the second had come."""
        row = await self._row("demand_reach", drop_id, share)
        return None if row["first"] is None else (row["first"], row["last"])

    async def demand_buckets(self, drop_id: int, since: datetime, until: datetime, bucket_seconds: int) -> list[Stretch]:
        """-> presses counted by the second in [since, until), in buckets that begin at `since`, oldest first."""
        rows = await self._rows("demand_buckets", drop_id, since, until, float(bucket_seconds))
        return [Stretch(row["second"], bucket_seconds, row["verdict"], row["asks"]) for row in rows]

    async def counting_gaps(self, since: datetime, until: datetime, now: datetime) -> list[CountingGap]:
        """-> what is missing in the counts of this time, oldest first, at most GAPS_MAX."""
        silent = now - timedelta(seconds=SILENT_SECONDS)
        return [CountingGap(*row) for row in await self._rows("counting_gaps", since, until, silent, GAPS_MAX)]
