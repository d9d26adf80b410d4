"""What needs a person, by API: paged without a gap, each thing with the operations that settle it."""

import pytest

from app.domain.scopes import Scope
from app.web.api.paging import cursor_of

from .conftest import program_of
from .test_orders import paid

ORDER = "00000007-0000-4000-8000-000000000001"


async def troubled(shop, count: int) -> list[str]:
    """So many paid orders with a payment to look at, and a confirmation and a notice of the hold that did not arrive."""
    drop = await shop.opens(units=count)
    orders = [str(await paid(shop, drop)) for _ in range(count)]
    await shop.rows("UPDATE payments SET needs_attention = 'nobody knows'")
    await shop.rows("UPDATE messages SET state = 'failed', error = '550 no such user'")
    return orders


async def pages(program, **wanted) -> list[dict]:
    found = [(await program.get("/attention", params=wanted)).json()]
    while found[-1]["next"]:
        found.append((await program.get("/attention", params=wanted | {"cursor": found[-1]["next"]})).json())
    return found


async def test_what_needs_a_person_says_why_and_what_may_be_done(shop, program):
    [order_id] = await troubled(shop, 1)
    found = (await program.get("/attention")).json()
    [one] = found["items"]
    assert (one["kind"], one["order_id"], one["why"]) == ("payment", order_id, "nobody knows")
    assert one["may"] == ["ask_order_again", "refund_order", "look_at_order"]
    assert [(mail["kind"], mail["error"], mail["may"]) for mail in found["mails"]] == [
        ("confirmation", "550 no such user", ["resend_mail", "see_mail"]), ("hold", "550 no such user", ["see_mail"]),
    ]  # fmt: skip
    assert (found["more"], found["next"]) == (False, None)
    operations = {
        one["operationId"] for path in (await program.get("/openapi.json")).json()["paths"].values() for one in path.values()
    }
    assert {deed for entry in (one, *found["mails"]) for deed in entry["may"]} <= operations


async def test_pages_of_both_lists_follow_each_other_without_a_gap(shop, program):
    orders = await troubled(shop, 5)
    [whole] = await pages(program)
    assert [one["order_id"] for one in whole["items"]] == orders and len(whole["mails"]) == 10
    found = await pages(program, limit=3)
    assert [(len(page["items"]), len(page["mails"]), page["more"]) for page in found] == [
        (3, 3, True), (2, 3, True), (0, 3, True), (0, 1, False),
    ]  # fmt: skip
    assert [one for page in found for one in page["items"]] == whole["items"]
    assert [one for page in found for one in page["mails"]] == whole["mails"]


async def test_what_is_settled_meanwhile_moves_no_page(shop, program):
    orders = await troubled(shop, 4)
    first = (await program.get("/attention", params={"limit": 2})).json()
    for order_id in orders[:3]:
        assert (await program.post(f"/orders/{order_id}/looked-at")).json()["done"]
    second = (await program.get("/attention", params={"limit": 2, "cursor": first["next"]})).json()
    assert [one["order_id"] for one in first["items"] + second["items"]] == [*orders[:2], orders[3]]


async def test_refunds_of_one_order_are_told_apart_on_a_pages_edge(shop, program):
    order_id = await paid(shop)
    for amount in (100, 200, 300):
        assert (await program.post(f"/orders/{order_id}/refund", json={"amount_minor": amount})).status_code == 202
    await shop.rows("UPDATE refunds SET needs_attention = 'no answer'")
    found = await pages(program, limit=1)
    assert sorted(one["amount_minor"] for page in found for one in page["items"]) == [100, 200, 300] and len(found) == 3
    assert {one["kind"] for page in found for one in page["items"]} == {"refund"}


async def test_a_refused_mail_that_was_looked_at_leaves_the_list_and_is_written_down(shop, program):
    await troubled(shop, 1)
    mail, other = (await program.get("/attention")).json()["mails"]
    assert [(await program.post(f"/mails/{mail['id']}/seen")).json()["done"] for _ in range(2)] == [True, False]
    assert [one["id"] for one in (await program.get("/attention")).json()["mails"]] == [other["id"]]
    entries = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "mail looked at"]
    assert [(entry.actor, entry.subject) for entry in entries] == [("API key Bot", f"mail {mail['id']}")]
    for unknown in (10**18, 2**70):
        assert (await program.post(f"/mails/{unknown}/seen")).status_code == 404


async def test_another_shops_troubles_are_in_no_list_and_are_seen_to_by_nobody_else(shop, program):
    await troubled(shop, 1)
    stranger = await program_of(shop, *Scope, shop_id=shop.other_shop_id)
    told = (await stranger.get("/attention")).json()
    assert told["items"] == [] == told["mails"]
    mail = (await program.get("/attention")).json()["mails"][0]
    assert (await stranger.post(f"/mails/{mail['id']}/seen")).status_code == 404


@pytest.mark.parametrize(
    "place",
    [
        (),
        (None, 0),
        (("0001-01-01T00:00:00Z", ORDER, "payment", ""), None),
        (("2026-01-01T00:00:00Z", "one", "payment", ""), None),
        (("2026-01-01T00:00:00Z", ORDER, "refund", "a\x00b"), None),
        (("2026-01-01T00:00:00Z", ORDER, "refund", "x" * 250), None),
    ],
    ids=["nothing", "no mail", "before all time", "no order", "a control character", "too long"],
)
async def test_a_cursor_that_is_none_of_ours_is_refused(program, place):
    refused = await program.get("/attention", params={"cursor": cursor_of(*place)})
    assert (refused.status_code, refused.json()["field"]) == (422, "cursor")
