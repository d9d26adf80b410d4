"""Not missing an opening: the calendar file, and a mail."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from app import clock
from app.domain.drops import Door
from app.purchase.drops import change_door
from app.purchase.sweeping import Sweeper
from app.web.calendar import calendar, folded
from tests.web.conftest import FORM, JSON

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


async def test_the_calendar_file_says_when_the_door_opens(shop):
    drop = await shop.opens(opens_in_seconds=3600)
    answer = await shop.browser().get(f"/drops/{drop.slug}.ics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/calendar")
    assert f'filename="{drop.slug}.ics"' in answer.headers["content-disposition"]
    assert f"DTSTART:{drop.opens_at:%Y%m%dT%H%M%SZ}\r\n" in answer.text
    assert "SUMMARY:Night <lamp>\r\n" in answer.text and f"/drops/{drop.slug}" in answer.text
    assert (await shop.browser().get("/drops/nothing-of-that-name.ics")).status_code == 404
    assert f'href="/drops/{drop.slug}.ics"' in (await shop.browser().get(f"/drops/{drop.slug}")).text


async def test_lines_are_escaped_and_folded_as_the_standard_wants(shop):
    drop = replace(await shop.opens(opens_in_seconds=3600), title="Lamp; \\ comma, né\r\nEND:VCALENDAR " + "👩‍🚀" * 40)
    lines = calendar(drop, "https://shop.example/drops/x", NOW).split("\r\n")
    assert lines[-1] == "" and all(len(line.encode()) <= 75 for line in lines)
    unfolded = "\r\n".join(lines).replace("\r\n ", "")
    assert "SUMMARY:Lamp\\; \\\\ comma\\, né\\nEND:VCALENDAR " + "👩‍🚀" * 40 + "\r\n" in unfolded
    assert unfolded.count("\r\nEND:VCALENDAR\r\n") == 1


def test_folding_cuts_no_character_in_two():
    pieces = folded("é" * 200).split("\r\n ")
    assert "".join(pieces) == "é" * 200 and len(pieces) > 5


async def test_the_event_keeps_its_identity_and_follows_the_drop(shop):
    drop = await shop.opens(opens_in_seconds=3600)
    moved = replace(drop, opens_at=drop.opens_at + timedelta(hours=1), closes_at=drop.opens_at + timedelta(hours=1, minutes=5))
    files = [calendar(one, "https://shop.example/drops/x", NOW) for one in (drop, moved, replace(drop, door=Door.CANCELLED))]
    assert len({re.search(r"UID:(\S+)", file)[1] for file in files}) == 1
    assert f"DTEND:{moved.closes_at:%Y%m%dT%H%M%SZ}" in files[1]
    assert "STATUS:CONFIRMED" in files[0] and "STATUS:CANCELLED" in files[2]


def sweeper(shop) -> Sweeper:
    sweeper = Sweeper.__new__(Sweeper)
    sweeper._ledger = shop.ledger
    return sweeper


async def reminders(shop) -> list:
    return await shop.rows("SELECT recipient, data FROM messages WHERE kind = 'opens_soon'")


async def test_whoever_asked_is_told_once_shortly_before(shop):
    drop, client = await shop.opens(opens_in_seconds=3600), await shop.shopper()
    for _ in range(2):
        asked = await client.post(f"/drops/{drop.slug}/remind", headers=FORM)
        assert (asked.status_code, asked.headers["location"]) == (303, f"/drops/{drop.slug}?said=reminded")
    assert "We will tell you" in (await client.get(f"/drops/{drop.slug}?said=reminded")).text
    await sweeper(shop)._warn()
    assert await reminders(shop) == []  # not yet
    await shop.rows("UPDATE drops SET opens_at = now() + interval '10 minutes' WHERE id = $1", drop.id)
    for _ in range(2):
        await sweeper(shop)._warn()
    [told] = await reminders(shop)
    [row] = await shop.rows("SELECT email_written FROM shoppers WHERE id = $1", client.shopper_id)
    assert told["recipient"] == row["email_written"] and drop.slug in told["data"]


async def test_a_drop_that_will_not_open_reminds_nobody(shop):
    drop, client = await shop.opens(opens_in_seconds=600), await shop.shopper()
    await client.post(f"/drops/{drop.slug}/remind", headers=FORM)
    await shop.rows("UPDATE drops SET door = 'cancelled' WHERE id = $1", drop.id)
    await sweeper(shop)._warn()
    assert await reminders(shop) == []


async def test_nobody_is_reminded_of_what_has_opened_or_is_not_there(shop):
    client = await shop.shopper()
    drop = await shop.opens()
    for slug in (drop.slug, "not-there"):
        assert (await client.post(f"/drops/{slug}/remind", json={}, headers=JSON)).status_code == 404
    assert (await shop.browser().post(f"/drops/{drop.slug}/remind", json={}, headers=JSON)).status_code == 401


async def test_a_drop_that_moves_after_its_reminder_went_out_is_told_of_again(shop):
    drop, client = await shop.opens(opens_in_seconds=600), await shop.shopper()
    await client.post(f"/drops/{drop.slug}/remind", headers=FORM)
    await sweeper(shop)._warn()
    assert len(await reminders(shop)) == 1
    await change_door(shop, drop.slug, Door.OPEN, opens_at=clock.now() + timedelta(hours=3))
    await sweeper(shop)._warn()
    assert len(await reminders(shop)) == 1  # not yet
    await change_door(shop, drop.slug, Door.OPEN, opens_at=clock.now() + timedelta(minutes=5))
    for _ in range(2):
        await sweeper(shop)._warn()
    assert len(await reminders(shop)) == 2
