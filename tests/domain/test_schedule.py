"""When a seller's clock lies, twice a year: the gap is refused, the repeated hour is asked about, everything else is one moment."""

from datetime import UTC, datetime

import pytest

from app.domain.schedule import Gap, Moment, Repeated, Which, moment_of, typed_in, zone_named, zones


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("zone", "typed", "at"),
    [
        ("UTC", "2026-12-01T20:00", "2026-12-01T20:00"),
        ("Europe/Berlin", "2026-12-01T20:00", "2026-12-01T19:00"),
        ("Europe/Berlin", "2026-07-01 20:00", "2026-07-01T18:00"),
        ("Europe/Berlin", "2026-03-29T01:59", "2026-03-29T00:59"),
        ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00"),
        ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00"),
        ("America/New_York", "2026-03-08T03:00:30", "2026-03-08T07:00:30"),
        ("Asia/Kathmandu", "2026-01-01T00:00", "2025-12-31T18:15"),
        ("Asia/Tokyo", "2026-03-29T02:30", "2026-03-28T17:30"),
        ("Australia/Lord_Howe", "2026-10-04T02:30", "2026-10-03T15:30"),
    ],
)
def test_a_time_is_one_moment(zone, typed, at):
    assert moment_of(typed, zone) == Moment(utc(at))


@pytest.mark.parametrize(
    ("zone", "typed", "before", "after"),
    [
        ("Europe/Berlin", "2026-03-29T02:00", "2026-03-29T01:59", "2026-03-29T03:00"),
        ("Europe/Berlin", "2026-03-29T02:59:59", "2026-03-29T01:59", "2026-03-29T03:00"),
        ("Europe/London", "2026-03-29T01:30", "2026-03-29T00:59", "2026-03-29T02:00"),
        ("America/New_York", "2026-03-08T02:30", "2026-03-08T01:59", "2026-03-08T03:00"),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-04T01:59", "2026-10-04T02:30"),  # half an hour
        ("Pacific/Apia", "2011-12-30T12:00", "2011-12-29T23:59", "2011-12-31T00:00"),  # a whole day
        ("Africa/Cairo", "2026-04-24T00:30", "2026-04-23T23:59", "2026-04-24T01:00"),  # at midnight
    ],
)
def test_a_time_in_the_gap_does_not_exist(zone, typed, before, after):
    assert moment_of(typed, zone) == moment_of(typed, zone, Which.LATER) == Gap(local(before), local(after))


@pytest.mark.parametrize(
    ("zone", "typed", "earlier", "later"),
    [
        ("Europe/Berlin", "2026-10-25T02:00", "2026-10-25T00:00", "2026-10-25T01:00"),
        ("Europe/Berlin", "2026-10-25T02:59", "2026-10-25T00:59", "2026-10-25T01:59"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T05:30", "2026-11-01T06:30"),
        ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-04T14:45", "2026-04-04T15:15"),
    ],
)
def test_a_repeated_time_is_two_moments_until_one_is_chosen(zone, typed, earlier, later):
    assert moment_of(typed, zone) == moment_of(typed, zone, "both") == Repeated(utc(earlier), utc(later))
    assert moment_of(typed, zone, Which.EARLIER) == Moment(utc(earlier))
    assert moment_of(typed, zone, Which.LATER) == Moment(utc(later))
    for which in Which:  # and the way back says which of the two it was
        assert typed_in(moment_of(typed, zone, which).at, zone) == (typed, which.value)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "tomorrow",
        "2026-02-30T10:00",
        "2026-12-01",
        "2026-12-01T25:00",
        "1999-12-31T23:59",
        "9999-01-01T00:00",
        "２０２６-12-01T20:00",
    ],
)
def test_what_is_no_time_is_none(typed):
    assert moment_of(typed, "UTC") is None


@pytest.mark.parametrize("zone", ["", "CEST!", "../../etc/passwd", "/etc/passwd", "Europe", "europe/berlin", "posix/UTC"])
def test_what_is_no_zone_is_none(zone):
    assert moment_of("2026-12-01T20:00", zone) is None


def test_every_zone_that_is_offered_works():
    assert len(zones()) > 400 and {"UTC", "Europe/Berlin", "Asia/Kolkata", "Pacific/Chatham"} <= set(zones())
    assert [zone for zone in zones() if zone_named(zone) is None or typed_in(utc("2026-12-01T20:00"), zone)[0] == ""] == []


def test_seconds_are_written_only_where_there_are_any():
    assert typed_in(utc("2026-12-01T20:00:07"), "Asia/Tokyo") == ("2026-12-02T05:00:07", "")
    assert typed_in(utc("2026-12-01T20:00"), "Nowhere/Land") == ("2026-12-01T20:00", "")
