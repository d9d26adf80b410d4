"""Orders by API: found, told whole, refunded once, mails and parcels again."""

from dataclasses import asdict, replace

import pytest

from app.domain.scopes import Scope
from app.ledger.shop_orders import SENT_AGAIN_AN_HOUR_MAX
from tests.web.seller.test_orders import HOME, addressed, unknown_payment

from .conftest import program_of


async def paid(shop, drop=None):
    drop = drop or await shop.opens(units=5)
    order_id = await shop.holds(drop, await shop.shopper())
    await shop.pays(order_id)
    return order_id


async def test_orders_are_listed_filtered_and_paged(shop, program):
    drop = await shop.opens(units=5)
    held = await shop.holds(drop, await shop.shopper())
    bought = [await paid(shop, drop) for _ in range(3)]
    everything = (await program.get("/orders")).json()
    assert [one["id"] for one in everything["items"]] == [*map(str, reversed(bought)), str(held)] and everything["next"] is None
    states = {one["id"] for one in (await program.get("/orders", params={"state": "PAID", "drop": drop.id})).json()["items"]}
    assert states == set(map(str, bought))
    first = (await program.get("/orders", params={"limit": 3})).json()
    second = (await program.get("/orders", params={"limit": 3, "cursor": first["next"]})).json()
    assert [one["id"] for one in first["items"] + second["items"]] == [one["id"] for one in everything["items"]]
    assert second["next"] is None
    number = everything["items"][0]["number"]
    assert [one["number"] for one in (await program.get("/orders", params={"q": number})).json()["items"]] == [number]
    for query in ({"since": "0001-01-01T00:00:00Z"}, {"state": "EATEN"}, {"drop": 0}, {"since": "yesterday"}):
        assert (await program.get("/orders", params=query)).status_code == 422


async def test_one_order_tells_its_whole_story(shop, program):
    order_id = await paid(shop)
    told = (await program.get(f"/orders/{order_id}")).json()
    assert (told["state"], told["payment"], told["left_to_refund_minor"]) == ("PAID", "captured", 4900)
    assert [one["state"] for one in told["attempts"]] == ["captured"] and {one["kind"] for one in told["events"]} >= {
        "held",
        "paid",
    }
    assert [one["kind"] for one in told["mails"]] == ["hold", "confirmation"]


async def test_a_part_and_then_the_rest_go_back_and_no_more(shop, program):
    order_id = await paid(shop)
    part = await program.post(f"/orders/{order_id}/refund", json={"amount_minor": 900}, key="part")
    again = await program.post(f"/orders/{order_id}/refund", json={"amount_minor": 900}, key="part")
    assert part.status_code == 202 and part.content == again.content and part.json()["repeated"] is False
    too_much = await program.post(f"/orders/{order_id}/refund", json={"amount_minor": 4001})
    assert too_much.status_code == 422 and too_much.json()["field"] == "amount"
    rest = (await program.post(f"/orders/{order_id}/refund", json={"restock": True})).json()
    assert rest["amount_minor"] == 4000 and rest["restock"] is True
    assert (await program.post(f"/orders/{order_id}/refund", json={})).json()["repeated"] is True
    told = (await program.get(f"/orders/{order_id}")).json()
    assert [one["amount_minor"] for one in told["refunds"]] == [900, 4000] and told["left_to_refund_minor"] == 0
    assert [job[0] for job in shop.jobs.jobs].count("refund") == 2
    assert [entry.action for entry in await shop.ledger.audit_log(shop.shop_id)].count("refunded") == 2


async def test_what_was_never_paid_is_not_refunded(shop, program):
    order_id = await shop.holds(await shop.opens(), await shop.shopper())
    assert (await program.post(f"/orders/{order_id}/refund", json={})).status_code == 422


async def test_a_mail_goes_out_again_once_per_request_and_not_without_end(shop, program):
    order_id = await paid(shop)
    told = (await program.get(f"/orders/{order_id}")).json()
    [mail_id] = [mail["id"] for mail in told["mails"] if mail["kind"] == "confirmation"]
    path = f"/orders/{order_id}/mails/{mail_id}/resend"
    answers = [(await program.post(path, key=f"k{number // 2}")).status_code for number in range(2 * SENT_AGAIN_AN_HOUR_MAX + 1)]
    assert answers == [202] * 2 * SENT_AGAIN_AN_HOUR_MAX + [409]
    mails = (await program.get(f"/orders/{order_id}")).json()["mails"]
    assert [mail["kind"] for mail in mails].count("confirmation") == 1 + SENT_AGAIN_AN_HOUR_MAX
    other = await paid(shop)
    assert (await program.post(f"/orders/{other}/mails/{mail_id}/resend")).status_code == 404


async def test_a_parcel_is_submitted_again_where_it_may_be(shop, program):
    order_id = await paid(shop)
    assert (await program.post(f"/orders/{order_id}/parcel/resubmit")).status_code == 202
    assert ("ship", order_id) in [job[:2] for job in shop.jobs.jobs]
    await shop.rows("UPDATE parcels SET state = 'made', number = 'P1'")
    assert (await program.post(f"/orders/{order_id}/parcel/resubmit")).status_code == 409


async def test_another_shops_orders_are_in_no_list(shop, program):
    await paid(shop)
    stranger = await program_of(shop, *Scope, shop_id=shop.other_shop_id)
    assert (await stranger.get("/orders")).json()["items"] == [] and (await program.get("/orders")).json()["items"]


# ---- holds


async def test_a_hold_ends_once_and_its_piece_is_on_sale_again(shop, program):
    drop = await shop.opens(units=5)
    order_id = await shop.holds(drop, await shop.shopper())
    for _ in range(2):
        ended = await program.post(f"/orders/{order_id}/cancel")
        assert (ended.status_code, ended.json()["state"], ended.json()["reason"]) == (200, "CANCELLED", "by_seller")
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 5
    [entry] = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "hold ended"]
    assert (entry.actor, entry.before, entry.after) == ("API key Bot", {"state": "PENDING_PAYMENT"}, {"state": "CANCELLED"})


async def test_a_hold_with_a_declined_payment_ends_at_the_provider_first(shop, program):
    order_id = await shop.holds(await shop.opens(), await shop.shopper())
    await shop.pays(order_id, "pm_card_chargeDeclined")
    assert (await program.post(f"/orders/{order_id}/cancel")).status_code == 200 and shop.provider.calls["cancel"] == 1


async def test_what_is_paid_or_being_charged_is_no_hold_to_end(shop, program):
    drop = await shop.opens(units=2)
    charged = await shop.holds(drop, await shop.shopper())
    await shop.till.submit(charged, (await shop.ledger.order(charged)).shopper_id, "pm_card_visa")
    for order_id in (charged, await paid(shop, drop)):
        refused = await program.post(f"/orders/{order_id}/cancel")
        assert refused.status_code == 409 and refused.json()["detail"].startswith("The hold was not ended")


# ---- what nobody knows


async def test_an_unknown_outcome_is_asked_again_or_its_piece_given_back(shop, program):
    drop = await shop.opens(units=5)
    order_id = await unknown_payment(shop, drop)
    assert (await program.post(f"/orders/{order_id}/ask-again")).status_code == 202
    stays = await program.post(f"/orders/{order_id}/looked-at")
    assert stays.status_code == 409 and "still unknown" in stays.json()["detail"]
    back = await program.post(f"/orders/{order_id}/give-back", key="one")
    assert (back.status_code, back.json()["state"]) == (200, "CANCELLED")
    assert (await program.post(f"/orders/{order_id}/give-back", key="one")).content == back.content
    assert (await program.post(f"/orders/{order_id}/give-back")).status_code == 409
    assert (await shop.gate.peek(drop.id)).left[drop.variants[0].id] == 5
    log = [(entry.action, entry.before, entry.after) for entry in await shop.ledger.audit_log(shop.shop_id)]
    assert log[:2] == [("given back unasked", {"state": "PROCESSING"}, {"state": "CANCELLED"}), ("asked again", {}, {})]


async def test_what_a_person_has_seen_to_leaves_the_list(shop, program):
    order_id = await paid(shop)
    await shop.rows("UPDATE payments SET needs_attention = 'disputed'")
    assert [(await program.post(f"/orders/{order_id}/looked-at")).json()["done"] for _ in range(2)] == [True, False]
    assert (await program.get("/attention")).json()["items"] == []
    entries = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "looked at"]
    assert [entry.before for entry in entries] == [{"why": ["disputed"]}]
    held = await shop.holds(await shop.opens(), await shop.shopper())
    known = await program.post(f"/orders/{held}/ask-again")
    assert known.status_code == 409 and "Nothing is unknown" in known.json()["detail"]


async def test_who_may_only_move_money_sees_no_person(shop, program):
    drop = await shop.opens(units=5)
    order_id = await unknown_payment(shop, drop)
    teller = await program_of(shop, Scope.MONEY)
    ended = (await teller.post(f"/orders/{order_id}/give-back")).json()
    assert sorted(ended) == ["ended_at", "id", "number", "payment", "reason", "state"]
    assert (await teller.get(f"/orders/{order_id}")).status_code == 403


# ---- the address


async def test_an_address_is_corrected_and_the_log_holds_no_address(shop, program):
    order_id = await paid(shop)
    await addressed(shop, order_id)
    known = (await program.get(f"/orders/{order_id}")).json()["address"]
    wish = {"known": known, "address": known | {"street": " Lane  9 "}}
    for _ in range(2):  # whoever has not heard the answer asks again, under another key
        corrected = await program.post(f"/orders/{order_id}/address", json=wish)
        assert corrected.status_code == 200 and corrected.json()["address"] == known | {"street": "Lane 9"}
    assert (await shop.ledger.order(order_id)).address == replace(HOME, street="Lane 9")
    [entry] = [entry for entry in await shop.ledger.audit_log(shop.shop_id) if entry.action == "address corrected"]
    assert (entry.before, entry.after) == ({}, {"changed": ["street"]})


async def test_an_address_that_the_buyer_changed_meanwhile_is_not_overwritten(shop, program):
    order_id = await paid(shop)
    await addressed(shop, order_id)
    own = replace(HOME, street="The buyer's own 3")
    await addressed(shop, order_id, own)
    wish = {"known": asdict(HOME), "address": asdict(HOME) | {"town": "Graz"}}
    stale = await program.post(f"/orders/{order_id}/address", json=wish)
    assert (stale.status_code, stale.json()["address"], stale.json()["field"]) == (409, asdict(own), "address")
    assert (await program.post(f"/orders/{order_id}/address", json=wish | {"known": None})).status_code == 409
    assert (await shop.ledger.order(order_id)).address == own
    assert (await program.post(f"/orders/{order_id}/address", json=wish | {"known": asdict(own)})).status_code == 200


async def test_an_address_stays_once_the_warehouse_knows_it_or_nobody_sends_there(shop, program):
    order_id = await paid(shop)
    await addressed(shop, order_id)
    await shop.rows("UPDATE parcels SET state = 'made', creates = 1, number = '1'")
    wish = {"known": asdict(HOME), "address": asdict(HOME) | {"street": "Lane 9"}}
    late = await program.post(f"/orders/{order_id}/address", json=wish)
    assert late.status_code == 409 and "too late" in late.json()["detail"]
    drop = await shop.opens(ships=True, shipping_fees={"AT": 490})
    held = await shop.holds(drop, await shop.shopper())
    await addressed(shop, held)
    abroad = wish | {"address": asdict(HOME) | {"country": "DE", "postcode": "10115"}}
    unsent = await program.post(f"/orders/{held}/address", json=abroad)
    assert unsent.status_code == 409 and "no shipping fee" in unsent.json()["detail"]
    assert (await shop.ledger.order(held)).address == HOME == (await shop.ledger.order(order_id)).address


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"street": ""}, "street"),
        ({"country": "Austria"}, "country"),
        ({"postcode": "1"}, "postcode"),
        ({"name": "x" * 101}, "address"),
    ],
)
async def test_a_wrong_line_of_an_address_is_said(shop, program, change, field):
    order_id = await paid(shop)
    await addressed(shop, order_id)
    wish = {"known": asdict(HOME), "address": asdict(HOME) | change}
    refused = await program.post(f"/orders/{order_id}/address", json=wish)
    assert (refused.status_code, refused.json()["field"]) == (422, field) and (await shop.ledger.order(order_id)).address == HOME


# ---- invoices


async def test_invoices_are_listed_with_their_order_and_fetched_as_files(shop, program):
    order_id = await paid(shop)
    await program.post(f"/orders/{order_id}/refund", json={"amount_minor": 900})
    [refund] = [job for job in shop.jobs.jobs if job[0] == "refund"]
    await shop.till.refund(order_id, refund[2])
    told = (await program.get(f"/orders/{order_id}")).json()["invoices"]
    assert [(one["correction"], one["amount_minor"]) for one in told] == [(False, 4900), (True, -900)]
    [line] = (await program.get("/orders")).json()["items"]
    assert line["invoice"] == told[0]["number"]
    for name, number in (
        (f"{told[0]['number']}.pdf", told[0]["number"]),
        ("invoice.pdf", told[0]["number"]),
        (f"{told[1]['number']}.pdf", told[1]["number"]),
    ):
        file = await program.get(f"/orders/{order_id}/invoices/{name}")
        assert file.status_code == 200 and file.content.startswith(b"%PDF") and file.headers["content-type"] == "application/pdf"
        assert file.headers["content-disposition"] == f'attachment; filename="{number}.pdf"'
    other = await paid(shop)
    for name in (f"{told[1]['number']}.pdf", told[0]["number"], "2026-999999.pdf"):
        assert (await program.get(f"/orders/{other}/invoices/{name}")).status_code == 404
