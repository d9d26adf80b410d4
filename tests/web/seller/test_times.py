"""One clock for everybody who works for a shop: every time on the dashboard is told in the shop's zone, and the zone is named."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from app.languages import GERMAN, clock, day_of, in_zone, second, speaking, when
from app.web.seller.watch_room import flavour_of
from tests.web.conftest import FORM, JSON
from tests.web.seller.conftest import Belongings, doors_of
from tests.web.seller.test_matrix import routes_of

ZONE = ZoneInfo("Asia/Kathmandu")  # 5:45 ahead of UTC: no other zone's clock shows the same minutes
TIME = re.compile(r'<time datetime="([^"]+)"([^>]*)>([^<]+)</time>')


def told_right(moment: str, text: str) -> bool:
    """Whether a time's words are the moment's in the zone: its minute, or where it tells no hour its day."""
    local = datetime.fromisoformat(moment).astimezone(ZONE)
    return f"{local:%H:%M}" in text if ":" in text else str(local.day) in text


async def test_every_time_of_every_page_is_told_in_the_shop_s_zone(shop, owner):
    await shop.ledger.set_time_zone(shop.shop_id, str(ZONE), "test")
    own, wrong, pages, times = Belongings(shop, shop.shop_id, email=owner.email), [], 0, 0
    await own.of("drop_id")
    await shop.rows("UPDATE drops SET time_zone = $1", str(ZONE))  # in which it was planned
    for route in routes_of(shop):
        if route.method != "GET" or route.path.endswith("/preview") or route.right is None:
            continue  # a preview is a shopper's page
        path = route.filled({name: await own.of(name) for name, _kind in route.parameters})
        answer = await owner.get(path)
        if answer.status_code != 200 or "html" not in answer.headers["content-type"]:
            continue
        pages += 1
        for moment, attributes, text in TIME.findall(answer.text):
            times += 1
            by_script = "data-local" in attributes and 'data-side="seller"' not in answer.text
            if by_script or not told_right(moment, text):
                wrong.append(f"{path}: {moment} is told as {text}")
        if re.search(r"\d UTC\b", answer.text):
            wrong.append(f"{path}: a time in UTC")
        if "<footer" in answer.text and "Asia/Kathmandu" not in answer.text.partition("<footer")[2]:
            wrong.append(f"{path}: its foot does not name the zone")
    assert not wrong, "\n".join(wrong)
    assert pages > 15 and times > 20, (pages, times)


async def test_the_clock_is_set_in_the_settings_and_every_page_follows_at_once(shop, owner, viewer):
    assert "Times are the shop’s, for everybody who looks: UTC." in (await viewer.get("/seller")).text
    answer = await owner.post("/seller/shop/time-zone", data={"time_zone": " Asia/Kathmandu "}, headers=FORM)
    assert answer.headers["location"] == "/seller/shop?saved=1"
    page = (await viewer.get("/seller")).text
    assert "Times are the shop’s, for everybody who looks: Asia/Kathmandu." in page and "/seller/shop#time-zone" not in page
    page = (await owner.get("/seller/shop")).text
    assert 'value="Asia/Kathmandu"' in page and '<option value="Europe/Berlin">' in page and "/seller/shop#time-zone" in page
    [entry] = [one for one in await shop.ledger.audit_log(shop.shop_id) if one.action == "shop settings changed"]
    assert (entry.before, entry.after) == ({"time_zone": "UTC"}, {"time_zone": "Asia/Kathmandu"})


@pytest.mark.parametrize("typed", ["", "Berlin", "Europe/Nowhere", "../etc/passwd", "posix/UTC"])
async def test_a_zone_that_is_none_changes_nothing_and_stays_on_the_page(shop, owner, typed):
    answer = await owner.post("/seller/shop/time-zone", data={"time_zone": typed}, headers=FORM)
    assert answer.status_code == 422 and 'id="time_zone-problem"' in answer.text and f'value="{typed}"' in answer.text
    assert (await owner.post("/seller/shop/time-zone", json={"time_zone": typed}, headers=JSON)).status_code == 422
    assert "everybody who looks: UTC." in (await owner.get("/seller")).text


async def test_the_same_clock_set_again_is_no_news(shop, owner):
    for _again in range(2):
        await owner.post("/seller/shop/time-zone", data={"time_zone": "Asia/Kathmandu"}, headers=FORM)
    assert len([one for one in await shop.ledger.audit_log(shop.shop_id) if one.action == "shop settings changed"]) == 1


async def test_what_is_pushed_to_the_live_view_is_in_the_shop_s_zone_and_the_watcher_s_language(shop):
    drop = await shop.opens()
    watch = doors_of(shop).watch
    drawn = watch.draw(await watch.look(drop.id), flavour_of(GERMAN, str(ZONE)))
    assert "Bücher" in drawn
    times = TIME.findall(drawn)
    assert times and all(told_right(moment, text) for moment, _attributes, text in times)


async def test_a_shopper_s_page_keeps_the_reader_s_own_clock(shop):
    await shop.ledger.set_time_zone(shop.shop_id, str(ZONE), "test")
    drop = await shop.opens(opens_in_seconds=3600)
    page = (await shop.browser(accept="text/html").get(f"/drops/{drop.slug}")).text
    assert f"data-local>{when(drop.opens_at)}</time>" in page and "Kathmandu" not in page


async def test_what_the_next_request_reads_is_not_told_by_the_clock_of_the_one_before(shop, owner):
    await shop.ledger.set_time_zone(shop.shop_id, str(ZONE), "test")
    await shop.browser().post("/sign-in", json={"email": "ada@example.org"}, headers=JSON)
    assert " +0545" in (await owner.get("/seller/you")).text
    mailbox = (await shop.browser(accept="text/html").get("/dev/mail")).text
    assert " UTC</time>" in mailbox and "+0545" not in mailbox


async def test_a_drop_that_is_planned_in_another_zone_is_told_in_its_own_while_it_is_changed(shop, owner):
    await shop.ledger.set_time_zone(shop.shop_id, str(ZONE), "test")
    drop = await shop.opens(opens_in_seconds=7200, time_zone="Asia/Tokyo")
    page = (await owner.get(f"/seller/drops/{drop.id}/change")).text
    with in_zone(ZoneInfo("Asia/Tokyo")):
        assert f"It opens at {when(drop.opens_at)} (Asia/Tokyo)." in page
    assert "What is planned is told in the drop’s own zone" in page.partition("<footer")[2]


def test_times_are_in_utc_until_a_zone_is_used():
    moment = datetime(2026, 11, 30, 20, 5, tzinfo=UTC)
    with in_zone(ZoneInfo("Europe/Berlin")), speaking(GERMAN):
        assert when(moment) == "30.11.2026, 21:05 CET"
        assert (clock(moment), second(moment)) == ("21:05:00 CET", "21:05:00")
    with in_zone(ZoneInfo("Asia/Tokyo")):
        assert day_of(moment) == "1 Dec 2026"
    assert when(moment) == "30 Nov 2026, 20:05 UTC" and day_of(moment) == "30 Nov 2026"
