"""The order's page and its verbs: the contract's fields and statuses, and that "not yours" and "not there" are one answer."""

from uuid import UUID, uuid4

import pytest

from app.clock import from_ms, iso, now_ms
from app.domain.ids import new_order_id
from app.web import orders_view
from app.web.app import ORDER_TOKEN_SECONDS
from app.web.signing import Signer
from tests.web.conftest import FORM, JSON, PARTIAL

FIELDS = ("order drop variant quantity state payment pay_by attempts_left amount_minor currency tracking reason").split()


def our_word(shop, order: UUID, shopper_id: int, drop_id: int, age_seconds: float) -> str:
    signer = Signer(shop.settings.secret, "order", seconds_valid=ORDER_TOKEN_SECONDS)
    return signer.sign([str(order), shopper_id, drop_id, now_ms() - int(age_seconds * 1000)])


async def test_a_recorded_order_has_the_contracts_fields(shop):
    drop = await shop.opens(units=3, limit=2)
    client = await shop.shopper()
    order = await shop.holds(drop, client, quantity=2)
    answer = await client.get(f"/orders/{order}", headers=JSON)
    row = await shop.ledger.order(order)
    assert answer.status_code == 200
    assert list(answer.json()) == FIELDS
    assert answer.json() == {
        "order": str(order),
        "drop": drop.slug,
        "variant": "one",
        "quantity": 2,
        "state": "PENDING_PAYMENT",
        "payment": "none",
        "pay_by": iso(row.pay_by),
        "attempts_left": 3,
        "amount_minor": 9800,
        "currency": "EUR",
        "tracking": None,
        "reason": None,
    }


async def test_until_it_is_recorded_the_gates_receipt_answers(shop):
    drop = await shop.opens(units=3, variants=(("S", 2), ("M", 2)), limit=2)
    client = await shop.shopper()
    bought = (await client.post(f"/drops/{drop.slug}/buy", json={"variant": "M", "quantity": 2}, headers=JSON)).json()
    receipt = await shop.gate.receipt(drop.id, UUID(bought["order"]))
    answer = (await client.get(f"/orders/{bought['order']}", headers=JSON)).json()
    assert list(answer) == FIELDS
    assert (answer["state"], answer["variant"], answer["quantity"], answer["amount_minor"]) == ("CONFIRMING", "M", 2, 9800)
    assert answer["pay_by"] == bought["pay_by"] == iso(from_ms(receipt.pay_by_ms))


async def test_not_yours_and_not_there_are_one_answer(shop):
    drop = await shop.opens(units=3)
    owner, stranger = await shop.shopper(), await shop.shopper()
    recorded = await shop.holds(drop, owner)
    unrecorded = (await (await shop.shopper()).post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)).json()["order"]
    nowhere = [
        recorded,
        unrecorded,
        new_order_id(drop.id),
        new_order_id(9999),
        uuid4(),
        "1",
        "x",
        str(recorded)[:-1],
        f"{{{recorded}}}",
    ]
    for headers in (JSON, {}, PARTIAL):
        reads = [await stranger.get(f"/orders/{order}{tail}", headers=headers) for order in nowhere for tail in ("", "/status")]
        assert {answer.status_code for answer in reads} == {404}
        assert len({answer.text for answer in reads}) == 1, {answer.text for answer in reads}
    writes = [
        await stranger.post(f"/orders/{order}/pay", json={"payment_method": "pm_card_visa"}, headers=JSON) for order in nowhere
    ]
    writes += [await stranger.post(f"/orders/{order}/cancel", json={}, headers=JSON) for order in nowhere]
    assert {(answer.status_code, answer.text) for answer in writes} == {(404, writes[0].text)}
    assert (await shop.ledger.order(recorded)).state == "PENDING_PAYMENT"
    assert not await shop.rows("SELECT 1 FROM attempts")


async def test_without_a_session_json_hears_401_and_a_person_signs_in_first(shop):
    order = new_order_id(1)
    client = shop.browser()
    assert (await client.get(f"/orders/{order}", headers=JSON)).status_code == 401
    answer = await client.get(f"/orders/{order}?t=abc")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next=/orders/{order}%3Ft%3Dabc")
    assert (await client.get("/orders", headers=JSON)).status_code == 401


# lost by both stores


async def test_for_ten_seconds_our_own_word_is_enough(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = new_order_id(drop.id)
    word = our_word(shop, order, client.shopper_id, drop.id, 5)
    answer = await client.get(f"/orders/{order}?t={word}", headers=JSON)
    assert (answer.status_code, answer.json()["state"]) == (200, "CONFIRMING")
    page = await client.get(f"/orders/{order}?t={word}")
    assert f'data-status="/orders/{order}/status?t={word}"' in page.text  # the page goes on asking with it


async def test_after_ten_seconds_a_place_that_nobody_knows_is_lost_and_said_to_be_free_of_charge(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = new_order_id(drop.id)
    word = our_word(shop, order, client.shopper_id, drop.id, orders_view.LOST_SECONDS + 1)
    answer = await client.get(f"/orders/{order}?t={word}", headers=JSON)
    assert (answer.json()["state"], answer.json()["payment"], answer.json()["reason"]) == ("LOST", "none", "gate_lost")
    page = await client.get(f"/orders/{order}?t={word}")
    assert page.status_code == 200
    assert "not charged" in page.text and f"/drops/{drop.slug}" in page.text
    paid = await client.post(f"/orders/{order}/pay?t={word}", json={"payment_method": "pm_card_visa"}, headers=JSON)
    assert (paid.status_code, paid.json()) == (409, {"state": "LOST"})


async def test_our_word_to_somebody_else_or_about_something_else_is_worth_nothing(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = new_order_id(drop.id)
    for word in (
        our_word(shop, order, client.shopper_id + 1, drop.id, 1),
        our_word(shop, new_order_id(drop.id), client.shopper_id, drop.id, 1),
        our_word(shop, order, client.shopper_id, drop.id + 1, 1),
        our_word(shop, order, client.shopper_id, drop.id, 1)[:-1],
        Signer(shop.settings.secret, "asked", seconds_valid=60).sign([str(order), client.shopper_id, drop.id, now_ms()]),
        "",
    ):
        assert (await client.get(f"/orders/{order}?t={word}", headers=JSON)).status_code == 404


# pay


async def test_paying_is_202_and_asks_for_the_charge(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    answer = await client.post(f"/orders/{order}/pay", json={"payment_method": "pm_card_visa"}, headers=JSON)
    assert (answer.status_code, answer.json()) == (202, {"state": "PROCESSING"})
    assert shop.jobs.jobs == [("charge", order, 1, 0)]
    assert await shop.till.charge(order, 1) == "paid"
    seen = (await client.get(f"/orders/{order}", headers=JSON)).json()
    assert (seen["state"], seen["payment"]) == ("PAID", "captured")


async def test_what_cannot_be_paid_is_409_with_the_state(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    await client.post(f"/orders/{order}/cancel", json={}, headers=JSON)
    answer = await client.post(f"/orders/{order}/pay", json={"payment_method": "pm_card_visa"}, headers=JSON)
    assert (answer.status_code, answer.json()) == (409, {"state": "CANCELLED"})


async def test_an_unrecorded_order_cannot_be_paid_yet(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = (await client.post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)).json()["order"]
    for verb, fields in (("pay", {"payment_method": "pm_card_visa"}), ("cancel", {})):
        answer = await client.post(f"/orders/{order}/{verb}", json=fields, headers=JSON)
        assert (answer.status_code, answer.json()) == (409, {"state": "CONFIRMING"})


async def test_a_payment_that_needs_authentication_answers_with_the_address(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    await client.post(f"/orders/{order}/pay", json={"payment_method": "pm_card_authenticationRequired"}, headers=JSON)
    assert await shop.till.charge(order, 1) == "action"
    answer = await client.post(f"/orders/{order}/pay", json={"payment_method": "pm_card_visa"}, headers=JSON)
    bank = answer.json()["authenticate"]
    assert answer.status_code == 202 and bank.startswith("https://bank.example/authenticate")
    page = await client.get(f"/orders/{order}")
    assert f'href="{bank}"' in page.text
    assert shop.jobs.jobs[1:] == []
    await client.get(f"/orders/{order}?back=1")
    assert shop.jobs.jobs[-1][:2] == ("look_up", order)


async def test_a_declined_card_leaves_the_hold_and_is_said(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    await client.post(f"/orders/{order}/pay", json={"payment_method": "pm_card_chargeDeclined"}, headers=JSON)
    assert await shop.till.charge(order, 1) == "declined"
    seen = (await client.get(f"/orders/{order}", headers=JSON)).json()
    assert (seen["state"], seen["attempts_left"]) == ("PENDING_PAYMENT", 2)
    assert "declined" in (await client.get(f"/orders/{order}/status", headers=PARTIAL)).text


@pytest.mark.parametrize("method", ["", "pm card", "pm_\x00", "é", "m" * 65, "../x", 7, None])
async def test_a_payment_method_that_is_none_is_422(shop, method):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    answer = await client.post(f"/orders/{order}/pay", json={"payment_method": method}, headers=JSON)
    assert (answer.status_code, answer.json()["field"]) == (422, "payment_method")
    assert not await shop.rows("SELECT 1 FROM attempts")


# cancel


async def test_cancelling_gives_the_unit_back(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    for _ in range(2):  # the second time it is cancelled already, and that is what was wanted
        answer = await client.post(f"/orders/{order}/cancel", json={}, headers=JSON)
        assert (answer.status_code, answer.json()) == (200, {"state": "CANCELLED"})
    assert (await shop.gate.peek(drop.id)).left == {drop.variants[0].id: 1}


async def test_a_submitted_payment_cannot_be_cancelled(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    await client.post(f"/orders/{order}/pay", json={"payment_method": "pm_card_visa"}, headers=JSON)
    answer = await client.post(f"/orders/{order}/cancel", json={}, headers=JSON)
    assert answer.status_code == 409
    await shop.till.charge(order, 1)
    answer = await client.post(f"/orders/{order}/cancel", json={}, headers=JSON)
    assert (answer.status_code, answer.json()) == (409, {"state": "PAID"})


# the other languages


async def test_plain_forms_lead_back_to_the_orders_page(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    for verb, fields in (("pay", {"payment_method": "pm_card_visa"}), ("cancel", {})):
        answer = await client.post(f"/orders/{order}/{verb}", data=fields, headers=FORM)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/orders/{order}")


async def test_htmx_gets_the_status_fragment(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    for answer, state in (
        (await client.get(f"/orders/{order}", headers=PARTIAL), "PENDING_PAYMENT"),
        (await client.get(f"/orders/{order}/status", headers=PARTIAL), "PENDING_PAYMENT"),
        (await client.post(f"/orders/{order}/cancel", headers=PARTIAL | FORM), "CANCELLED"),
    ):
        assert answer.status_code == 200
        assert "<html" not in answer.text and f'data-order-state="{state}"' in answer.text


async def test_the_page_shows_the_order_and_its_list(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    page = await client.get(f"/orders/{order}")
    assert page.status_code == 200 and 'data-order-state="PENDING_PAYMENT"' in page.text
    assert "Night &lt;lamp&gt;" in page.text and "Night <lamp>" not in page.text
    assert page.headers["cache-control"].startswith("private")
    assert f"/orders/{order}" in (await client.get("/orders")).text
    listed = (await client.get("/orders", headers=JSON)).json()["orders"]
    assert [row["order"] for row in listed] == [str(order)]
    assert (await client.get("/account")).status_code == 200


async def test_the_variant_of_a_drop_that_has_only_one_is_not_named(shop):
    for name, shown in (("Standard", False), ("Brass <x>", True)):
        drop, client = await shop.opens(variants=((name, 3),), limit=3), await shop.shopper()
        await shop.holds(drop, client, quantity=2)
        for path in (f"/drops/{drop.slug}", "/orders"):
            page = (await client.get(path)).text.split('data-order-state="PENDING_PAYMENT"')[1]
            page = page.split("Pay now")[0].split("</li>")[0]
            assert ("Brass &lt;x&gt; × 2" in page) is shown and "× 2" in page, path
            assert "Standard" not in page and "&amp;lt;" not in page, path
