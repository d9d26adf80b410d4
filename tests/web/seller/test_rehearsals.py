"""Rehearsals in the dashboard: asked before they begin, watched while they run, read when they have ended."""

import json
import os
from pathlib import Path

import pytest

from app.rehearsal import shelf, stage
from tests.rehearsal.history import WEBP, shelved
from tests.web.conftest import FORM, JSON, PARTIAL

NAME = "20261130-180000-1-lamp"
WISH = {"crowd": "500", "seconds": "20", "faults": "usual", "sure": "yes"}


@pytest.fixture
async def drop(shop):
    return await shop.opens(units=3, opens_in_seconds=3600)


@pytest.fixture
def begun(monkeypatch):
    """What was begun, without beginning it."""
    wishes = []
    monkeypatch.setattr(shelf, "begin", lambda data, wish: wishes.append(wish) or NAME)
    return wishes


def put(shop, drop, **changes) -> Path:
    return shelved(Path(shop.settings.data), NAME, drop.slug, title=drop.title, **changes)


def runs(shop, drop, **changes) -> None:
    """A rehearsal of which this very process is the one that plays."""
    folder = Path(shop.settings.data) / "rehearsals" / NAME
    folder.mkdir(parents=True)
    progress = {
        "id": NAME, "slug": drop.slug, "phase": "the drop is open", "crowd": 500, "answers": 1234, "ended": 77, "pid": os.getpid(),
        "books": None, "fault": "the worker is killed", "verdict": None, "why": None,
    }  # fmt: skip
    (folder / "progress.json").write_text(json.dumps(progress | changes))


async def test_it_is_asked_what_it_means_before_it_begins(manager, drop, begun):
    url = f"/seller/drops/{drop.id}/rehearse"
    page = await manager.get(url)
    assert page.status_code == 200 and "There was none yet." in page.text
    asked = await manager.post(url, data={"crowd": "500", "faults": "usual"}, headers=FORM)
    assert asked.status_code == 200 and begun == []
    assert "500 made-up shoppers play this drop in a shop of its own" in asked.text
    answer = await manager.post(url, data=WISH, headers=FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/seller/drops/{drop.id}/rehearsals/{NAME}")
    [wish] = begun
    assert (wish.slug, wish.crowd, wish.seconds, wish.browsers) == (drop.slug, 500, 20, 0)
    assert wish.faults == ("web-killed", "recorder-killed", "redis-restarted", "worker-killed", "provider-outage")


async def test_everything_broken_gets_the_time_it_needs(manager, drop, begun):
    await manager.post(f"/seller/drops/{drop.id}/rehearse", data=WISH | {"faults": "all", "seconds": "20"}, headers=FORM)
    [wish] = begun
    assert wish.seconds >= 90 and "queue-starved" in wish.faults
    assert "browser-clock" not in wish.faults, "there is no browser whose clock could jump"


async def test_programs_begin_it_at_once(shop, manager, drop, begun):
    answer = await manager.post(f"/seller/drops/{drop.id}/rehearse", json={"crowd": 50}, headers=JSON)
    assert (answer.status_code, answer.json()["rehearsal"]) == (202, NAME)
    assert begun[0].crowd == 50
    for wrong in ([], {"usual": 1}, ["usual"], 7):
        answer = await manager.post(f"/seller/drops/{drop.id}/rehearse", json={"crowd": 50, "faults": wrong or [[]]}, headers=JSON)
        assert answer.status_code == 422
    assert len(begun) == 1
    [entry] = await shop.rows("SELECT actor, subject FROM audit WHERE action = 'rehearsal begun'")
    assert tuple(entry) == (manager.email, drop.slug)


@pytest.mark.parametrize(
    "wrong", [{"crowd": "0"}, {"crowd": "50001"}, {"crowd": "many"}, {"seconds": "9"}, {"faults": "earthquake"}]
)
async def test_odd_wishes_begin_nothing_and_keep_what_was_typed(manager, drop, begun, wrong):
    answer = await manager.post(f"/seller/drops/{drop.id}/rehearse", data=WISH | {"crowd": "777"} | wrong, headers=FORM)
    assert answer.status_code == 422 and begun == []
    assert 'role="alert"' in answer.text
    if "crowd" not in wrong:
        assert 'value="777"' in answer.text


async def test_while_another_one_runs_it_says_so(manager, drop, monkeypatch):
    def refuse(data, wish):
        raise shelf.Busy

    monkeypatch.setattr(shelf, "begin", refuse)
    page = await manager.post(f"/seller/drops/{drop.id}/rehearse", data=WISH, headers=FORM)
    assert page.status_code == 409 and "Another rehearsal is running" in page.text
    told = await manager.post(f"/seller/drops/{drop.id}/rehearse", json=WISH, headers=JSON)
    assert told.status_code == 409 and "Another rehearsal is running" in told.json()["detail"]


async def test_a_machine_without_servers_says_so_plainly_and_offers_nothing_to_press(manager, drop, monkeypatch):
    monkeypatch.setattr(stage, "find_spec", lambda name: None)
    page = (await manager.get(f"/seller/drops/{drop.id}/rehearse")).text
    assert "This machine cannot rehearse." in page and f"doorman rehearse {drop.slug}" in page
    assert f'action="/seller/drops/{drop.id}/rehearse"' not in page


async def test_a_running_one_shows_how_far_it_is_and_can_be_stopped(shop, manager, drop):
    runs(shop, drop)
    page = (await manager.get(f"/seller/drops/{drop.id}/rehearsals/{NAME}")).text
    assert "The drop is open" in page and "1,234" in page and "the worker is killed" in page
    assert f'action="/seller/drops/{drop.id}/rehearsals/{NAME}/stop"' in page
    part = await manager.get(f"/seller/drops/{drop.id}/rehearsals/{NAME}/progress", headers=PARTIAL)
    assert part.text.startswith("<section") and "hx-refresh" not in part.headers
    listed = (await manager.get(f"/seller/drops/{drop.id}/rehearse")).text
    assert f"/seller/drops/{drop.id}/rehearsals/{NAME}" in listed and "running" in listed


async def test_once_it_has_ended_the_page_is_loaded_anew_and_is_the_report(shop, manager, drop):
    put(shop, drop)
    url = f"/seller/drops/{drop.id}/rehearsals/{NAME}"
    assert (await manager.get(f"{url}/progress", headers=PARTIAL)).headers["hx-refresh"] == "true"
    page = (await manager.get(url)).text
    assert "This drop is ready." in page and "Night &lt;lamp&gt;" in page
    assert f'src="{url}/pictures/01.webp"' in page
    assert " style=" not in page and "<style" not in page, "the dashboard's policy forbids them"
    picture = await manager.get(f"{url}/pictures/01.webp")
    assert (picture.headers["content-type"], picture.content) == ("image/webp", WEBP)
    told = (await manager.get(url, headers=JSON)).json()
    assert (told["report"]["verdict"], told["progress"]["running"]) == ("go", False)


async def test_the_report_is_kept_as_one_file(shop, manager, drop):
    put(shop, drop)
    answer = await manager.get(f"/seller/drops/{drop.id}/rehearsals/{NAME}/report.html")
    assert answer.headers["content-disposition"] == f'attachment; filename="rehearsal-{NAME}.html"'
    assert answer.text.startswith("<!doctype html>") and "data:image/webp" in answer.text


async def test_one_that_broke_off_says_why(shop, manager, drop):
    (put(shop, drop, verdict=None) / "rehearse.log").write_text("doorman: the disk is full\n")
    page = (await manager.get(f"/seller/drops/{drop.id}/rehearsals/{NAME}")).text
    assert "Could not be run" in page and "the disk is full" in page


async def test_another_drops_rehearsal_is_not_there(shop, manager, drop):
    put(shop, drop)
    other = await shop.opens(units=1)
    for path in ("", "/progress", "/report.html", "/pictures/01.webp"):
        assert (await manager.get(f"/seller/drops/{other.id}/rehearsals/{NAME}{path}")).status_code == 404
    assert (await manager.get(f"/seller/drops/{drop.id}/rehearsals/{NAME}/pictures/report.json")).status_code == 404


async def test_who_may_not_sell_may_not_rehearse(shop, support, viewer, drop, begun):
    put(shop, drop)
    for client in (support, viewer):
        assert (await client.get(f"/seller/drops/{drop.id}/rehearse")).status_code == 403
        assert (await client.post(f"/seller/drops/{drop.id}/rehearse", data=WISH, headers=FORM)).status_code == 403
        assert (await client.get(f"/seller/drops/{drop.id}/rehearsals/{NAME}")).status_code == 403
    assert begun == []
