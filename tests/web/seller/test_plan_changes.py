"""What touches a promise: more pieces, fewer unsold ones, a later opening, the end; each asked about first and written down."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from app.domain.drops import UNITS_MAX, Door
from app.domain.plan import DOOR_SHUT, NO_UNITS_ANY_MORE, NOT_LATER, TOO_NEAR
from app.domain.schedule import typed_in
from app.languages import when
from app.mail.letters import Letters
from tests.web.conftest import JSON

SURE = {"sure": "yes"}


async def audited(shop) -> list[tuple[str, dict, dict]]:
    log = await shop.ledger.audit_log(shop.shop_id)
    return [(entry.action, dict(entry.before), dict(entry.after)) for entry in reversed(log)]


def units(drop, number, direction="more", variant=0, **more) -> dict[str, str]:
    return {"variant": str(drop.variants[variant].id), "units": str(number), "direction": direction, "op": str(uuid4())} | more


async def totals(shop, drop) -> list[int]:
    return [variant.units_total for variant in (await shop.ledger.drop_by_id(drop.id)).variants]


async def test_pieces_are_released_after_a_question_at_gate_and_ledger_and_written_down(shop, owner):
    drop = await shop.opens(variants=(("S", 2), ("M", 3)))
    asked = await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, 4, variant=1))
    assert "Release 4 more pieces of M?" in asked.text and await totals(shop, drop) == [2, 3]
    done = await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, 4, variant=1) | SURE)
    assert done.headers["location"] == f"/seller/drops/{drop.id}/change?said=units"
    assert await totals(shop, drop) == [2, 7] and sum((await shop.gate.peek(drop.id)).left.values()) == 9
    assert await audited(shop) == [("units added", {"M": 3}, {"M": 7})]
    assert "Every page shows the new number" in (await owner.get(done.headers["location"])).text


async def test_the_same_wish_twice_is_one(shop, owner):
    drop = await shop.opens(units=2)
    wish = units(drop, 4) | SURE
    for _ in range(2):
        assert (await owner.post(f"/seller/drops/{drop.id}/units", data=wish)).status_code == 303
    assert await totals(shop, drop) == [6] and len(await audited(shop)) == 1


async def test_the_same_wish_for_another_drop_is_refused_and_nothing_is_said_to_be_done(shop, owner):
    drop, other = await shop.opens(units=2), await shop.opens(units=2)
    wish = units(drop, 4) | SURE
    assert (await owner.post(f"/seller/drops/{drop.id}/units", data=wish)).status_code == 303
    elsewhere = await owner.post(f"/seller/drops/{other.id}/units", data=units(other, 4) | SURE | {"op": wish["op"]})
    assert elsewhere.status_code == 422 and "sent already, for another change" in elsewhere.text
    assert await totals(shop, other) == [2] and len(await audited(shop)) == 1


async def test_two_who_send_the_same_wish_at_once_are_written_down_once(shop, owner):
    drop = await shop.opens(units=2)
    wish = units(drop, 4) | SURE
    answers = await asyncio.gather(*(owner.post(f"/seller/drops/{drop.id}/units", data=wish) for _time in range(2)))
    assert {answer.headers["location"] for answer in answers} == {f"/seller/drops/{drop.id}/change?said=units"}
    assert await totals(shop, drop) == [6] and await audited(shop) == [("units added", {"one": 2}, {"one": 6})]


@pytest.mark.parametrize("how", ["ended", "cancelled", "closed by its time"])
@pytest.mark.parametrize("direction", ["more", "less"])
async def test_the_pieces_of_a_drop_that_is_over_do_not_change(shop, owner, how, direction):
    drop = await shop.opens(units=2, closes_in_seconds=-1 if how == "closed by its time" else None)
    if how != "closed by its time":
        await shop.ledger.change_door(drop.id, Door.CLOSED if how == "ended" else Door.CANCELLED)
    for sure in ({}, SURE):  # nobody is asked whether they are sure of what will be refused
        page = await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, 1, direction) | sure)
        assert page.status_code == 422, page.text
    json = await owner.post(f"/seller/drops/{drop.id}/units", json=units(drop, 1, direction), headers=JSON)
    assert (json.status_code, json.json()["detail"]) == (422, NO_UNITS_ANY_MORE)
    if how != "cancelled":
        assert NO_UNITS_ANY_MORE in page.text and 'name="units"' not in page.text
    assert await totals(shop, drop) == [2] and await audited(shop) == []


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"units": 0},
        {"units": -5},
        {"units": "-5"},
        {"units": -5, "direction": "less"},
        {"units": "many"},
        {"units": True},
        {"units": 1.5},
        {"units": [1]},
        {"units": "1000000000"},
        {"units": 1, "direction": "sideways"},
        {"units": 1, "direction": None},
        {"units": 1, "variant": "Plaid"},
        {"units": 1, "variant": ["one"]},
        {"units": 1, "op": "not a uuid"},
        {"units": 1, "op": 7},
        {"units": 1, "op": ""},
    ],
)
async def test_odd_wishes_are_refused_with_a_sentence_and_change_nothing(shop, owner, wish):
    drop = await shop.opens(units=9)
    answer = await owner.post(f"/seller/drops/{drop.id}/units", json=wish, headers=JSON)
    assert answer.status_code == 422 and answer.json()["detail"] and answer.json()["field"]
    assert await totals(shop, drop) == [9] and await audited(shop) == []


async def test_a_variant_never_has_more_units_than_one_may_be_published_with(shop, owner):
    drop = await shop.opens(units=UNITS_MAX - 5)
    refused = await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, 6) | SURE)
    assert refused.status_code == 422 and "at most 1,000,000 pieces" in refused.text
    assert (await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, 5) | SURE)).status_code == 303
    assert await totals(shop, drop) == [UNITS_MAX]


async def test_only_what_is_unsold_is_taken_away_whole_or_not_at_all(shop, owner):
    drop = await shop.opens(units=5)
    await shop.holds(drop, await shop.shopper())
    page = (await owner.get(f"/seller/drops/{drop.id}/change")).text
    assert '<td class="listing__number">4</td>' in page
    refused = await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, 5, "less") | SURE)
    assert refused.status_code == 422 and 'value="5"' in refused.text and await totals(shop, drop) == [5]
    assert (await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, 4, "less") | SURE)).status_code == 303
    assert await totals(shop, drop) == [1] and sum((await shop.gate.peek(drop.id)).left.values()) == 0
    assert await audited(shop) == [("units taken away", {next(iter(drop.variants)).name: 5}, {drop.variants[0].name: 1})]


async def test_what_the_gate_has_sold_already_is_not_taken_away(shop, owner):
    """Granted, and not yet written by the recorder: the gate knows better, and the wish is undone whole."""
    drop = await shop.opens(units=5)
    await (await shop.shopper()).post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)
    refused = await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, 5, "less") | SURE)
    assert refused.status_code == 422 and "Nothing was taken away" in refused.text
    assert await totals(shop, drop) == [5] and await audited(shop) == []


@pytest.mark.parametrize("number", ["", "0", "-1", "x", "1.5", "10000000", "٤"])
async def test_an_odd_number_of_pieces_is_refused_with_a_sentence(shop, owner, number):
    drop = await shop.opens(units=2)
    page = await owner.post(f"/seller/drops/{drop.id}/units", data=units(drop, number) | SURE)
    assert page.status_code == 422 and "Say how many: a whole number from 1 to 1,000,000." in page.text
    other = await shop.opens(units=2)
    foreign = await owner.post(f"/seller/drops/{drop.id}/units", data=units(other, 1) | SURE)
    assert foreign.status_code == 422 and await totals(shop, other) == [2]


# ---- a later opening


def later(drop, days=1.0, version=1, **more) -> dict[str, str]:
    return {
        "version": str(version),
        "opens": typed_in(drop.opens_at + timedelta(days=days), drop.time_zone)[0],
        "closes": "",
    } | more


async def test_a_drop_is_postponed_after_a_question_that_says_who_hears_of_it(shop, owner):
    drop = await shop.opens(units=2, opens_in_seconds=7200, time_zone="Europe/Berlin")
    shopper = await shop.shopper()
    await shop.ledger.remind(drop.id, shopper.shopper_id)
    asked = await owner.post(f"/seller/drops/{drop.id}/postpone", data=later(drop))
    assert "1 person who asked or waits gets a mail." in asked.text and "Europe/Berlin" in asked.text
    assert (await shop.ledger.drop_by_id(drop.id)).opens_at == drop.opens_at
    done = await owner.post(f"/seller/drops/{drop.id}/postpone", data=later(drop) | SURE)
    assert done.headers["location"] == f"/seller/drops/{drop.id}/change?said=postponed"
    after = await shop.ledger.drop_by_id(drop.id)
    opens_at = drop.opens_at + timedelta(days=1)
    assert after.opens_at == opens_at and (await shop.gate.peek(drop.id)).opens_ms == round(opens_at.timestamp() * 1000)
    [mail] = [mail for mail in await shop.ledger.newest(5) if mail.kind == "opening_moved"]
    letter = Letters("https://shop.example").write(mail)
    assert "opens later" in letter.subject and when(opens_at) in letter.subject and f"/drops/{drop.slug}" in letter.html
    assert [action for action, _, _ in await audited(shop)] == ["drop postponed"]


async def test_a_stale_postponement_changes_nothing(shop, owner):
    drop = await shop.opens(units=2, opens_in_seconds=7200)
    assert (await owner.post(f"/seller/drops/{drop.id}/postpone", data=later(drop) | SURE)).status_code == 303
    stale = await owner.post(f"/seller/drops/{drop.id}/postpone", data=later(drop, days=2) | SURE)
    assert stale.status_code == 409 and "Somebody changed this drop meanwhile" in stale.text
    assert (await shop.ledger.drop_by_id(drop.id)).opens_at == drop.opens_at + timedelta(days=1)


@pytest.mark.parametrize(
    ("opens_in_seconds", "change", "sentence"),
    [
        (7200, {"opens": ""}, "When does the door open?"),
        (7200, {"opens": "2027-03-28T02:30"}, "leave this time out"),
        (7200, {"opens": "2027-10-31T02:30"}, "show this time twice"),
        (7200, {"opens": "2020-01-01T00:00"}, "That is over."),
        (7200, {"closes": "2020-01-01T00:00"}, "The door closes after it opens."),
        (40, {}, TOO_NEAR),
        (-10, {}, TOO_NEAR),
    ],
)
async def test_what_is_no_postponement_is_refused_with_a_sentence(shop, owner, opens_in_seconds, change, sentence):
    drop = await shop.opens(units=2, opens_in_seconds=opens_in_seconds, time_zone="Europe/Berlin")
    for sure in ({}, SURE):  # nobody is asked whether they are sure of what will be refused
        page = await owner.post(f"/seller/drops/{drop.id}/postpone", data=later(drop) | change | sure)
        assert page.status_code == 422
    assert page.status_code == 422
    json = await owner.post(f"/seller/drops/{drop.id}/postpone", json=later(drop) | change, headers=JSON)
    assert json.status_code == 422 and sentence in json.json()["detail"]
    assert (await shop.ledger.drop_by_id(drop.id)).opens_at == drop.opens_at


async def test_an_opening_is_never_brought_forward_nor_one_that_ended_moved(shop, owner):
    drop = await shop.opens(units=2, opens_in_seconds=7200)
    earlier = await owner.post(f"/seller/drops/{drop.id}/postpone", json=later(drop, days=-0.04), headers=JSON)
    assert (earlier.status_code, earlier.json()["detail"]) == (422, NOT_LATER)
    await shop.ledger.change_door(drop.id, Door.CLOSED)
    ended = await owner.post(f"/seller/drops/{drop.id}/postpone", json=later(drop), headers=JSON)
    assert (ended.status_code, ended.json()["detail"]) == (422, DOOR_SHUT)


# ---- the end


async def test_a_drop_is_cancelled_after_a_question_and_its_progress_is_shown(shop, owner):
    drop, shopper = await shop.opens(units=3), await shop.shopper()
    order = await shop.holds(drop, shopper)
    await shop.pays(order)
    asked = await owner.post(f"/seller/drops/{drop.id}/cancel", data={})
    assert "All the money of 1 order goes back" in asked.text and "It cannot be undone." in asked.text
    assert (await shop.ledger.drop_by_id(drop.id)).door is Door.OPEN
    assert (await owner.get(f"/seller/drops/{drop.id}/cancelling")).headers["location"] == f"/seller/drops/{drop.id}/change"
    done = await owner.post(f"/seller/drops/{drop.id}/cancel", data=SURE)
    assert done.headers["location"] == f"/seller/drops/{drop.id}/cancelling"
    page = (await owner.get(done.headers["location"])).text
    assert 'http-equiv="refresh"' in page and "Orders end and money goes back by itself." in page
    far = (await owner.get(done.headers["location"], headers=JSON)).json()
    assert (far["orders"], far["to_refund"], far["done"]) == (1, 1, False)
    assert (await shop.gate.peek(drop.id)).door == "closed"
    again = await owner.post(f"/seller/drops/{drop.id}/cancel", data=SURE)
    assert again.status_code == 303 and await audited(shop) == [("drop cancelled", {"door": "open"}, {"door": "cancelled"})]
    assert "This drop was cancelled." in (await owner.get(f"/seller/drops/{drop.id}/change")).text


async def test_a_cancelled_drop_without_orders_is_done_at_once(shop, owner):
    drop = await shop.opens(units=3, opens_in_seconds=600)
    await owner.post(f"/seller/drops/{drop.id}/cancel", data=SURE)
    page = (await owner.get(f"/seller/drops/{drop.id}/cancelling")).text
    assert "Done: every order has ended" in page and "http-equiv" not in page
