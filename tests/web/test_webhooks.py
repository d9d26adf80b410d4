"""The provider's notices over HTTP: signed, fresh, once, in any order, and asked for again when our ledger failed (A04, A05)."""

import asyncio
import json
import time
from uuid import UUID, uuid4

import httpx
import pytest
import stripe

from app.errors import LedgerUnreachable
from app.web import webhooks
from tests.web.conftest import JSON, open_shop, settings_with

SECRET = "whsec_of_this_test"
SUCCEEDED, FAILED = "payment_intent.succeeded", "payment_intent.payment_failed"


@pytest.fixture
async def shop(redis_url, database_url):
    async with open_shop(settings_with(redis_url, database_url, stripe_webhook_secret=SECRET)) as shop:
        yield shop


def intent_of(order, *, status="succeeded", amount=4900, intent_id=None) -> dict:
    return {
        "id": intent_id or f"pi_{order}",
        "object": "payment_intent",
        "status": status,
        "amount": amount,
        "amount_received": amount if status == "succeeded" else 0,
        "currency": "eur",
        "metadata": {"order": str(order)},
        "last_payment_error": None if status == "succeeded" else {"code": "card_declined"},
        "next_action": None,
    }


def event(kind: str, subject: dict, *, notice_id: str | None = None) -> bytes:
    body = {
        "id": notice_id or f"evt_{uuid4().hex}",
        "object": "event",
        "type": kind,
        "created": int(time.time()) - 3600,
        "data": {"object": subject},
    }
    return json.dumps(body).encode()


def signed(body: bytes, *, secret: str = SECRET, age_seconds: float = 0) -> dict[str, str]:
    header = stripe.WebhookSignature.generate_signature_header(body.decode(), secret, int(time.time() - age_seconds))
    return {"stripe-signature": header, "content-type": "application/json; charset=utf-8", **JSON}


async def tell(shop, body: bytes, **how) -> httpx.Response:
    async with shop.browser() as provider:
        return await provider.post("/webhooks/stripe", content=body, headers=signed(body, **how))


async def effect(shop, body: bytes) -> str:
    answer = await tell(shop, body)
    assert answer.status_code == 200, answer.text
    return answer.json()["effect"]


async def submitted(shop, method="pm_card_visa"):
    drop = await shop.opens()
    buyer = await shop.shopper()
    order = await shop.holds(drop, buyer, key="k")
    await shop.till.submit(order, buyer.shopper_id, method)
    return order


async def kinds(shop, order) -> list[str]:
    return [seen.kind for seen in await shop.ledger.events_of(order)]


async def test_an_old_failure_never_overturns_a_paid_order_and_is_kept_in_its_history(shop):
    order = await submitted(shop, "pm_card_chargeDeclined")
    await shop.till.charge(order, 1)
    buyer = (await shop.ledger.order(order)).shopper_id
    await shop.till.submit(order, buyer, "pm_card_visa")
    await shop.till.charge(order, 2)
    assert await effect(shop, event(SUCCEEDED, intent_of(order))) == "already"
    for _ in range(4):
        assert await effect(shop, event(FAILED, intent_of(order, status="requires_payment_method"))) == "ignored"
    row = await shop.ledger.order(order)
    assert (row.state, row.payment) == ("PAID", "captured")
    assert (await kinds(shop, order)).count("notice ignored") == 4
    assert await shop.rows("SELECT 1 FROM movements WHERE kind = 'returned'") == []


async def test_a_capture_that_is_told_settles_the_order(shop):
    order = await submitted(shop)
    assert await effect(shop, event(SUCCEEDED, intent_of(order))) == "paid"
    assert (await shop.ledger.order(order)).state == "PAID"
    assert await shop.till.charge(order, 1) == "lost", "the job that comes later charges nobody"


async def test_the_same_notice_has_one_effect(shop):
    order = await submitted(shop)
    body = event(SUCCEEDED, intent_of(order))
    assert [await effect(shop, body) for _ in range(3)] == ["paid", "known", "known"]


@pytest.mark.parametrize("first", ["webhook", "return", "both"])
async def test_webhook_and_returning_browser_settle_once(shop, first):
    order = await submitted(shop, "pm_card_authenticationRequired")
    await shop.till.charge(order, 1)
    shop.provider.complete_authentication(order)
    webhook, back = (lambda: effect(shop, event(SUCCEEDED, intent_of(order)))), (lambda: shop.till.look_up(order))
    match first:
        case "webhook":
            seen = [await webhook(), await back()]
        case "return":
            seen = [await back(), await webhook()]
        case _:
            seen = await asyncio.gather(webhook(), back())
    assert sorted(seen) == ["already", "paid"]
    assert (await kinds(shop, order)).count("paid") == 1
    assert len(await shop.rows("SELECT 1 FROM parcels")) == 1
    assert len(await shop.rows("SELECT 1 FROM movements")) == 1


async def test_a_hundred_orders_told_and_looked_up_at_the_same_instant_settle_once_each(shop):
    drop = await shop.opens(units=100)
    orders = []
    for _ in range(100):
        buyer = await shop.shopper()
        answer = await buyer.post(f"/drops/{drop.slug}/buy", json={"key": "k"}, headers=JSON)
        orders.append((UUID(answer.json()["order"]), buyer.shopper_id))
    await shop.records(drop)
    for order, buyer in orders:
        await shop.till.submit(order, buyer, "pm_card_authenticationRequired")
        await shop.till.charge(order, 1)
        shop.provider.complete_authentication(order)
    for order, _ in orders:
        seen = await asyncio.gather(effect(shop, event(SUCCEEDED, intent_of(order))), shop.till.look_up(order))
        assert sorted(seen) == ["already", "paid"]
    for table, count in (("parcels", 100), ("movements", 100), ("events WHERE kind = 'paid'", 100)):
        assert len(await shop.rows(f"SELECT 1 FROM {table}")) == count  # noqa: S608


async def test_a_failed_authentication_is_looked_up_not_believed(shop):
    order = await submitted(shop, "pm_card_authenticationRequired")
    await shop.till.charge(order, 1)
    assert await effect(shop, event(FAILED, intent_of(order, status="requires_payment_method"))) == "looked up"
    assert shop.jobs.jobs[-1][:2] == ("look_up", order)
    assert (await shop.ledger.order(order)).attempt_state == "action"


async def test_late_money_that_is_told_goes_back(shop):
    order = await submitted(shop, "pm_card_authenticationRequired")
    await shop.till.charge(order, 1)
    await shop.rows("UPDATE orders SET state = 'EXPIRED', released = true WHERE id = $1", order)
    assert await effect(shop, event(SUCCEEDED, intent_of(order))) == "late"
    [refund] = await shop.ledger.refunds_of(order)
    assert (refund.purpose, refund.amount_minor) == ("late_money", 4900)


async def test_another_amount_is_never_paid(shop):
    order = await submitted(shop)
    await shop.provider.create_intent(order, 1, "EUR")
    assert await effect(shop, event(SUCCEEDED, intent_of(order, amount=1))) == "mismatch"
    assert (await shop.ledger.order(order)).state == "FAILED"


async def test_a_refund_nobody_asked_for_is_shown_to_the_seller(shop):
    order = await submitted(shop)
    await shop.till.charge(order, 1)
    charge = {
        "id": "ch_1",
        "object": "charge",
        "payment_intent": f"pi_{order}",
        "amount_refunded": 500,
        "currency": "eur",
        "metadata": {},
    }
    assert await effect(shop, event("charge.refunded", charge)) == "shown"
    assert [shown.order_id for shown in await shop.ledger.attention(10)] == [order]


@pytest.mark.parametrize("order", [uuid4(), "no uuid", "", None])
async def test_what_is_not_ours_is_taken_and_changes_nothing(shop, order):
    assert await effect(shop, event(SUCCEEDED, intent_of(order))) == "not ours"
    assert await effect(shop, event("customer.created", {"id": "cus_1", "object": "customer"})) == "not ours"


async def test_while_the_secret_is_rotated_the_new_and_the_old_one_are_believed_and_no_third(redis_url, database_url):
    secrets = "whsec_new, whsec_old"
    async with open_shop(settings_with(redis_url, database_url, stripe_webhook_secret=secrets)) as shop:
        body = event("customer.created", {"object": "customer", "id": "cus_1"})
        assert [(await tell(shop, body, secret=secret)).status_code for secret in ("whsec_new", "whsec_old", SECRET)] == [
            200,
            200,
            400,
        ]
        assert (await tell(shop, body, secret=secrets)).status_code == 400
        assert (await tell(shop, body, secret="whsec_old", age_seconds=400)).status_code == 400


@pytest.mark.parametrize(
    "how", [{"secret": "whsec_other"}, {"age_seconds": 400}], ids=["signed with another secret", "older than five minutes"]
)
async def test_what_is_not_signed_by_us_or_too_old_is_refused(shop, how):
    order = await submitted(shop)
    answer = await tell(shop, event(SUCCEEDED, intent_of(order)), **how)
    assert (answer.status_code, answer.json()["detail"]) == (400, webhooks.NOT_SIGNED)
    assert (await shop.ledger.order(order)).state == "PENDING_PAYMENT"


@pytest.mark.parametrize("header", ["", "t=1", "v1=00", "t=x,v1=y", "t=1,v1=é", "," * 1000])
async def test_a_signature_that_is_none_is_refused(shop, header):
    async with shop.browser() as provider:
        answer = await provider.post(
            "/webhooks/stripe",
            content=event(SUCCEEDED, intent_of(uuid4())),
            headers={"stripe-signature": header.encode("latin-1"), **JSON},
        )
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b"nil", b'{"id":7,"object":"event","type":"x","data":{"object":{}}}', b"[" * 100_000]
)
async def test_a_signed_body_that_is_no_notice_is_refused(shop, body):
    assert (await tell(shop, body)).status_code == 400


async def test_bytes_that_are_no_text_are_refused(shop):
    async with shop.browser() as provider:
        answer = await provider.post("/webhooks/stripe", content=b"\xff\xfe", headers={"stripe-signature": "t=1,v1=00", **JSON})
    assert answer.status_code == 400


async def test_a_body_changed_on_the_way_is_refused(shop):
    order = await submitted(shop)
    body = event(SUCCEEDED, intent_of(order))
    async with shop.browser() as provider:
        answer = await provider.post("/webhooks/stripe", content=body.replace(b"4900", b"4901"), headers=signed(body))
    assert answer.status_code == 400


async def test_it_comes_again_when_our_ledger_failed_and_then_has_its_effect(shop, monkeypatch):
    order = await submitted(shop)
    body = event(SUCCEEDED, intent_of(order))

    async def gone(*_, **__):
        raise LedgerUnreachable("no connection")

    for broken in ("notice_known", "settle_paid"):
        with monkeypatch.context() as patch:
            patch.setattr(shop.ledger, broken, gone)
            assert (await tell(shop, body)).status_code == 503
        assert (await shop.ledger.order(order)).state == "PENDING_PAYMENT"
    with monkeypatch.context() as patch:  # the effect is committed, the note of it is not
        patch.setattr(shop.ledger, "notice_handled", gone)
        assert (await tell(shop, body)).status_code == 503
    assert await effect(shop, body) == "already"
    assert await effect(shop, body) == "known"
    assert (await kinds(shop, order)).count("paid") == 1


async def test_without_a_secret_there_is_no_such_address(redis_url, database_url):
    async with open_shop(settings_with(redis_url, database_url)) as shop:
        assert (await tell(shop, event(SUCCEEDED, intent_of(uuid4())))).status_code == 404


async def test_it_needs_no_origin_and_may_be_large(shop):
    body = event(SUCCEEDED, intent_of(uuid4()) | {"description": "x" * 200_000})
    async with shop.browser() as provider:
        answer = await provider.post(
            "/webhooks/stripe",
            content=body,
            headers={**signed(body), "origin": "https://elsewhere.example", "sec-fetch-site": "cross-site"},
        )
        assert answer.status_code == 200
        large = event(SUCCEEDED, {"x": "x" * 300_000})
        assert (await provider.post("/webhooks/stripe", content=large, headers=signed(large))).status_code == 413
