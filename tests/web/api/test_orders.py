"""Orders by API: found, told whole, refunded once, mails and parcels again."""

from app.domain.scopes import Scope
from app.ledger.shop_orders import SENT_AGAIN_AN_HOUR_MAX

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


async def test_what_needs_a_person_is_listed(shop, program):
    order_id = await paid(shop)
    await shop.rows("UPDATE payments SET needs_attention = 'nobody knows' WHERE order_id = $1", order_id)
    await shop.rows(
        "UPDATE messages SET state = 'failed', error = '550 no such user' WHERE order_id = $1 AND kind = 'confirmation'", order_id
    )
    found = (await program.get("/attention")).json()
    assert [(one["kind"], one["order_id"], one["why"]) for one in found["items"]] == [("payment", str(order_id), "nobody knows")]
    assert [(one["kind"], one["error"]) for one in found["mails"]] == [("confirmation", "550 no such user")] and not found["more"]


async def test_another_shops_orders_are_in_no_list(shop, program):
    await paid(shop)
    stranger = await program_of(shop, *Scope, shop_id=shop.other_shop_id)
    assert (await stranger.get("/orders")).json()["items"] == [] and (await stranger.get("/attention")).json()["items"] == []
    assert (await program.get("/orders")).json()["items"]
