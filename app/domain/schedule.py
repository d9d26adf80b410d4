"""A time as a seller types it, in the time zone of their choice, becomes one moment, or a sentence about why it cannot. Pure.

Twice a year a clock lies. In spring it leaves out an hour: a time in the gap does not exist, and is refused with the two times
beside it. In autumn an hour happens twice: a time in it is two moments, and the seller is asked which. Neither is guessed.
"""

import functools
import re
import zoneinfo
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

YEAR_MIN, YEAR_MAX = 2000, 2199

_LOCAL = re.compile(r"(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?")
_UNOFFERED = ("posix", "right", "localtime")
_REGIONS = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")


class Which(StrEnum):
    """Of the two moments that a repeated time names."""

    EARLIER = "earlier"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment, in UTC."""

    at: datetime


@dataclass(frozen=True, slots=True)
class Gap:
    """The clock leaves this time out. `before`, `after`: local, the last minute before the gap and the first one after it."""

    before: datetime
    after: datetime


@dataclass(frozen=True, slots=True)
class Repeated:
    """The clock shows this time twice. Both in UTC."""

    earlier: datetime
    later: datetime


def moment_of(typed: str, zone_name: str, which: str = "") -> Moment | Gap | Repeated | None:
    """'2026-12-01T20:00', 'Europe/Berlin' -> what that is; None: no such date or zone. `which`: a Which, for a repeated time."""
    zone, local = zone_named(zone_name), local_time(typed)
    if zone is None or local is None:
        return None
    earlier, later = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if earlier.astimezone(zone).replace(tzinfo=None) != local:
        return _gap(earlier, later, zone)
    if earlier == later:
        return Moment(earlier)
    if which in set(Which):
        return Moment(earlier if which == Which.EARLIER else later)
    return Repeated(earlier, later)


def local_time(typed: str) -> datetime | None:
    """-> the naive time that was typed, as browsers write it; None for what is none."""
    found = _LOCAL.fullmatch(typed.strip()) if typed.isascii() else None
    try:
        local = datetime(*(int(part or 0) for part in found.groups())) if found else None
    except ValueError:
        return None
    return local if local and YEAR_MIN <= local.year <= YEAR_MAX else None


def typed_in(moment: datetime, zone_name: str) -> tuple[str, str]:
    """-> (how a seller types this moment there, which of two it is where the clock shows it twice, else "")."""
    zone = zone_named(zone_name) or UTC
    local = moment.astimezone(zone)
    text = f"{local:%Y-%m-%dT%H:%M}" + (f":{local:%S}" if local.second else "")
    twice = isinstance(moment_of(text, zone_name), Repeated)
    return text, (Which.LATER.value if local.fold else Which.EARLIER.value) if twice else ""


def zone_named(name: str) -> zoneinfo.ZoneInfo | None:
    return zoneinfo.ZoneInfo(name) if name in _known() else None


@functools.cache
def zones() -> tuple[str, ...]:
    """-> the names that are offered, in alphabetical order."""
    return ("UTC", *sorted(name for name in _known() if name.partition("/")[0] in _REGIONS))


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(
        name for name in zoneinfo.available_timezones() if name.partition("/")[0] not in ("posix", "right", "localtime")
    )


def _gap(one: datetime, other: datetime, zone: zoneinfo.ZoneInfo) -> Gap:
    """Find the jump between the two readings of a time that does not exist."""
    first = min(one, other).replace(second=0) - timedelta(days=1)
    offset = first.astimezone(zone).utcoffset()
    minutes = range(3 * 24 * 60)
    after = bisect_left(minutes, True, key=lambda n: (first + timedelta(minutes=n)).astimezone(zone).utcoffset() != offset)
    return Gap(*((first + timedelta(minutes=n)).astimezone(zone).replace(tzinfo=None) for n in (after - 1, after)))
