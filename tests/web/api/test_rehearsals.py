"""Rehearsals by API: begun, followed, read, stopped; those of another drop are not there."""

import os
import signal

import pytest

from app.errors import StartFailed
from app.rehearsal import shelf
from tests.web.seller.test_rehearsals import NAME, put, runs


@pytest.fixture
async def drop(shop):
    return await shop.opens(units=3, opens_in_seconds=3600)


async def test_a_rehearsal_is_begun_once_and_its_report_read(shop, program, drop, shelving):
    wish = {"crowd": 500, "seconds": 20, "faults": "usual"}
    begun, again = [await program.post(f"/drops/{drop.id}/rehearsals", json=wish, key="one") for _ in range(2)]
    assert begun.status_code == 202 and begun.content == again.content and begun.json()["report"] is None
    [played] = shelving
    assert (played.slug, played.crowd, played.seconds, played.browsers, len(played.faults)) == (drop.slug, 500, 20, 0, 5)
    told = (await program.get(f"/drops/{drop.id}/rehearsals/{begun.json()['id']}")).json()
    assert (told["running"], told["verdict"], told["report"]["verdict"]) == (False, "go", "go")
    [listed] = (await program.get(f"/drops/{drop.id}/rehearsals")).json()["items"]
    assert listed == {name: value for name, value in told.items() if name != "report"}
    [entry] = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "rehearsal begun"]
    assert (entry.actor, entry.subject, entry.after["crowd"]) == ("API key Bot", drop.slug, 500)


async def test_everything_broken_gets_the_time_it_needs(program, drop, shelving):
    await program.post(f"/drops/{drop.id}/rehearsals", json={"faults": "all", "seconds": 20})
    assert shelving[0].seconds >= 90 and "browser-clock" not in shelving[0].faults


@pytest.mark.parametrize("wrong", [{"crowd": 0}, {"crowd": 50_001}, {"seconds": 9}, {"seconds": 601}, {"faults": "earthquake"}])
async def test_odd_wishes_begin_nothing(program, drop, shelving, wrong):
    refused = await program.post(f"/drops/{drop.id}/rehearsals", json=wrong)
    assert (refused.status_code, refused.json()["field"]) == (422, next(iter(wrong))) and shelving == []


@pytest.mark.parametrize("why", [shelf.Busy("another one"), StartFailed("there are no servers here")])
async def test_a_machine_that_cannot_says_so(program, drop, monkeypatch, why):
    def refuse(data, wish):
        raise why

    monkeypatch.setattr(shelf, "begin", refuse)
    refused = await program.post(f"/drops/{drop.id}/rehearsals", json={})
    assert refused.status_code == 409 and refused.json()["detail"]


async def test_a_running_one_is_followed_and_stopped(shop, program, drop, monkeypatch):
    runs(shop, drop)
    told = (await program.get(f"/drops/{drop.id}/rehearsals/{NAME}")).json()
    assert (told["running"], told["answers"], told["fault"], told["report"]) == (True, 1234, "the worker is killed", None)
    ended = []
    monkeypatch.setattr(shelf, "is_busy", lambda data: True)
    monkeypatch.setattr(os, "kill", lambda pid, number: ended.append((pid, number)))
    assert (await program.post(f"/drops/{drop.id}/rehearsals/{NAME}/stop")).json() == {"done": True}
    assert ended == [(os.getpid(), signal.SIGTERM)]
    [entry] = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "rehearsal stopped"]
    assert entry.after == {"rehearsal": NAME}


async def test_another_drops_rehearsal_is_not_there(shop, program, drop):
    put(shop, drop)
    other = await shop.opens()
    path = f"/drops/{other.id}/rehearsals"
    assert (await program.get(path)).json()["items"] == []
    assert (await program.get(f"{path}/{NAME}")).status_code == 404 == (await program.post(f"{path}/{NAME}/stop")).status_code
    assert (await program.post(f"/drops/{drop.id}/rehearsals/{NAME}/stop")).json() == {"done": False}, "it has ended already"
