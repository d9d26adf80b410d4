"""The sandbox provider as Stripe's own SDK and plain HTTP see it."""

import contextlib
import sqlite3

import httpx
import pytest
import stripe

from tests.sandboxes import PROVIDER, Sandbox

INTENT = {"amount": "4900", "currency": "eur"}


@pytest.fixture
async def client(sandbox):
    http = stripe.HTTPXClient()
    yield stripe.StripeClient("sk_test_sandbox", base_addresses={"api": sandbox.url}, http_client=http, max_network_retries=0)
    await http.close_async()


async def created(client, **more) -> stripe.PaymentIntent:
    return await client.v1.payment_intents.create_async({"amount": 4900, "currency": "eur", **more})


async def paid(client, **more) -> stripe.PaymentIntent:
    return await created(client, confirm=True, payment_method="pm_card_visa", **more)


async def test_the_sdk_reads_an_intent_and_all_that_it_becomes(client):
    intent = await created(client, metadata={"order": "o-1", "note": "Zoë & 漢字 [x]=y"}, payment_method_types=["card"])
    assert (intent.status, intent.amount, intent.currency, intent.amount_received) == ("requires_payment_method", 4900, "eur", 0)
    assert intent.metadata["note"] == "Zoë & 漢字 [x]=y"
    with pytest.raises(stripe.CardError) as declined:
        await client.v1.payment_intents.confirm_async(intent.id, {"payment_method": "pm_card_chargeDeclinedInsufficientFunds"})
    error = declined.value.error
    assert (declined.value.code, error.decline_code, error.payment_intent.id) == ("card_declined", "insufficient_funds", intent.id)
    failed = await client.v1.payment_intents.retrieve_async(intent.id)
    assert (failed.status, failed.last_payment_error.decline_code) == ("requires_payment_method", "insufficient_funds")
    captured = await client.v1.payment_intents.confirm_async(intent.id, {"payment_method": "pm_card_visa"})
    assert (captured.status, captured.amount_received, captured.last_payment_error) == ("succeeded", 4900, None)


async def test_the_sdk_reads_refunds(client):
    intent = await paid(client)
    refund = await client.v1.refunds.create_async(
        {"payment_intent": intent.id, "amount": 900, "reason": "requested_by_customer", "metadata": {"purpose": "seller"}}
    )
    assert (refund.status, refund.amount, refund.payment_intent, refund.charge) == (
        "succeeded",
        900,
        intent.id,
        intent.latest_charge,
    )
    assert await client.v1.refunds.retrieve_async(refund.id) == refund
    rest = await client.v1.refunds.create_async({"charge": intent.latest_charge})
    assert rest.amount == 4000
    listed = await client.v1.refunds.list_async({"payment_intent": intent.id})
    assert [item.id for item in listed.data] == [rest.id, refund.id]
    with pytest.raises(stripe.InvalidRequestError) as refused:
        await client.v1.refunds.create_async({"payment_intent": intent.id})
    assert refused.value.code == "charge_already_refunded"


async def test_a_refund_never_exceeds_what_is_left_of_the_capture(client, sandbox):
    intent = await paid(client)
    await client.v1.refunds.create_async({"payment_intent": intent.id, "amount": 4000})
    with pytest.raises(stripe.InvalidRequestError, match="greater than unrefunded"):
        await client.v1.refunds.create_async({"payment_intent": intent.id, "amount": 901})
    assert sandbox.row_of(intent.id)["refunded"] == 4000


async def test_the_sdk_reads_events_and_their_subjects(client):
    intent = await paid(client)
    await client.v1.refunds.create_async({"payment_intent": intent.id})
    events = (await client.v1.events.list_async({"limit": 4})).data
    kinds = ["charge.refunded", "refund.created", "payment_intent.succeeded", "payment_intent.created"]
    assert [event.type for event in events] == kinds
    assert (events[2].data.object.id, events[2].data.object.amount_received) == (intent.id, 4900)
    assert (await client.v1.events.retrieve_async(events[0].id)).data.object.amount_refunded == 4900
    named = await client.v1.events.list_async({"types": ["refund.created"], "limit": 1})
    assert [event.id for event in named.data] == [events[1].id]


async def test_lists_are_paged_newest_first(client):
    made = [(await created(client)).id for _ in range(5)]
    page = await client.v1.payment_intents.list_async({"limit": 2})
    assert ([intent.id for intent in page.data], page.has_more) == (made[:2:-1], True)
    following = await client.v1.payment_intents.list_async({"limit": 2, "starting_after": page.data[-1].id})
    assert [intent.id for intent in following.data] == made[2:0:-1]
    before = await client.v1.payment_intents.list_async({"limit": 2, "ending_before": following.data[0].id})
    assert [intent.id for intent in before.data] == made[:2:-1]
    pages = await client.v1.payment_intents.list_async({"limit": 2, "created": {"gte": 1}})
    every = [intent.id async for intent in pages.auto_paging_iter()]
    assert every[:5] == made[::-1]


async def test_intents_are_searched_by_metadata_and_status(client):
    wanted = await paid(client, metadata={"order": "search-me", "note": "x"})
    await created(client, metadata={"order": "search-me"})
    query = "metadata['order']:'search-me' AND metadata[\"note\"]:\"x\" AND status:'succeeded'"
    found = await client.v1.payment_intents.search_async({"query": query})
    assert [intent.id for intent in found.data] == [wanted.id]
    pages = await client.v1.payment_intents.search_async({"query": "metadata['order']:'search-me'", "limit": 1})
    assert len([intent async for intent in pages.auto_paging_iter()]) == 2
    with pytest.raises(stripe.InvalidRequestError):
        await client.v1.payment_intents.search_async({"query": "metadata['order']:'x' OR 1=1"})


async def test_a_captured_intent_is_not_confirmed_or_cancelled_again(client):
    intent = await paid(client)
    for call in (client.v1.payment_intents.confirm_async, client.v1.payment_intents.cancel_async):
        with pytest.raises(stripe.InvalidRequestError) as refused:
            await call(intent.id)
        assert (refused.value.code, refused.value.error.payment_intent.status) == ("payment_intent_unexpected_state", "succeeded")


async def test_the_sdk_makes_reads_and_spends_a_confirmation_token(client):
    made = await client.v1.test_helpers.confirmation_tokens.create_async(
        {"payment_method": "pm_card_amex", "return_url": "https://shop.example/back"}
    )
    assert made.id.startswith("ctoken_") and made.expires_at - made.created == 12 * 3600
    assert (made.payment_method_preview.card.brand, made.use_stripe_sdk, made.payment_intent) == ("amex", True, None)
    intent = await created(client)
    spent = await client.v1.payment_intents.confirm_async(intent.id, {"confirmation_token": made.id})
    assert (spent.status, spent.payment_method) == ("succeeded", "pm_card_amex")
    read = await client.v1.confirmation_tokens.retrieve_async(made.id)
    assert (read.payment_intent, read.expires_at) == (intent.id, None)
    other = await created(client)
    with pytest.raises(stripe.InvalidRequestError, match="used once") as refused:
        await client.v1.payment_intents.confirm_async(other.id, {"confirmation_token": made.id})
    assert refused.value.param == "confirmation_token"
    assert (await client.v1.payment_intents.retrieve_async(other.id)).status == "requires_payment_method"
    for helper in ({}, {"payment_method": "pm_card_nobody_has"}):
        with pytest.raises(stripe.InvalidRequestError) as refused:
            await client.v1.test_helpers.confirmation_tokens.create_async(helper)
        assert refused.value.param == "payment_method"


async def test_a_confirmation_token_is_good_for_twelve_hours(client, sandbox):
    made = await client.v1.test_helpers.confirmation_tokens.create_async({"payment_method": "pm_card_visa"})
    with contextlib.closing(sqlite3.connect(sandbox.data / "provider.sqlite", isolation_level=None)) as store:
        store.execute("UPDATE tokens SET created = created - 12 * 3600 - 1 WHERE id = ?", (made.id,))
    with pytest.raises(stripe.InvalidRequestError, match="expired"):
        await client.v1.payment_intents.confirm_async((await created(client)).id, {"confirmation_token": made.id})


async def test_a_cancelled_intent_says_why_and_stays_cancelled(client):
    intent = await created(client)
    cancelled = await client.v1.payment_intents.cancel_async(intent.id, {"cancellation_reason": "abandoned"})
    assert (cancelled.status, cancelled.cancellation_reason) == ("canceled", "abandoned")
    with pytest.raises(stripe.InvalidRequestError):
        await client.v1.payment_intents.confirm_async(intent.id, {"payment_method": "pm_card_visa"})


async def test_good_cards_are_declined_at_the_declared_rate_and_only_good_ones(client, sandbox):
    sandbox.script(decline_rate=1)
    with pytest.raises(stripe.CardError) as declined:
        await paid(client)
    assert declined.value.error.decline_code == "generic_decline"
    with pytest.raises(stripe.CardError) as declined:
        await created(client, confirm=True, payment_method="pm_card_chargeDeclinedExpiredCard")
    assert declined.value.code == "expired_card"
    intent = await created(client, confirm=True, payment_method="pm_card_authenticationRequired")
    assert intent.status == "requires_action"


@pytest.mark.parametrize(
    ("form", "param"),
    [
        ({"currency": "eur"}, "amount"),
        ({"amount": "0", "currency": "eur"}, "amount"),
        ({"amount": "-1", "currency": "eur"}, "amount"),
        ({"amount": "49.00", "currency": "eur"}, "amount"),
        ({"amount": "100000000", "currency": "eur"}, "amount"),
        ({"amount": "٤٩", "currency": "eur"}, "amount"),
        ({"amount": "4900"}, "currency"),
        ({"amount": "4900", "currency": "euro"}, "currency"),
        (INTENT | {"amout": "1"}, "amout"),
        (INTENT | {"payment_method": "pm_card_nobody_has"}, "payment_method"),
        (INTENT | {"confirm": "yes"}, "confirm"),
        (INTENT | {"return_url": "javascript:alert(1)"}, "return_url"),
        (INTENT | {"metadata[order]": "x" * 501}, "metadata"),
        (INTENT | {"capture_method": "manual"}, "capture_method"),
    ],
)
async def test_a_faulty_request_is_refused_by_the_name_of_its_fault_and_writes_nothing(api, sandbox, form, param):
    before = len(sandbox.ledger())
    response = await api.post("/v1/payment_intents", data=form)
    assert (response.status_code, response.json()["error"]["param"]) == (400, param)
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert len(sandbox.ledger()) == before


async def test_what_is_not_there_is_404_in_stripes_words(api):
    for path in ("/v1/payment_intents/pi_none", "/v1/refunds/re_none", "/v1/events/evt_none"):
        response = await api.get(path)
        assert (response.status_code, response.json()["error"]["code"]) == (404, "resource_missing")
    assert (await api.get("/v1/customers")).status_code == 404
    assert (await api.post("/v1/payment_intents/pi_none/confirm", data={"payment_method": "pm_card_visa"})).status_code == 404


async def test_a_body_that_is_no_form_is_refused_and_one_that_is_too_large_too(api):
    assert (await api.post("/v1/payment_intents", content=b"\xff\xfe=1")).status_code == 400
    assert (await api.post("/v1/payment_intents", content=b"a" * 100_000)).status_code == 413


async def test_it_wants_a_test_key_as_bearer_or_as_a_users_name(sandbox):
    async with httpx.AsyncClient(base_url=sandbox.url) as client:
        assert (await client.get("/v1/events")).status_code == 401
        assert (await client.get("/v1/events", headers={"Authorization": "Bearer sk_live_x"})).status_code == 401
        assert (await client.get("/v1/events", headers={"Authorization": "Basic !!"})).status_code == 401
        assert (await client.get("/v1/events", headers={"Authorization": "Bearer sk_test_x"})).status_code == 200
        assert (await client.get("/v1/events", headers=sandbox.bearer)).status_code == 200
        assert (await client.get("/v1/events", auth=("sk_test_x", ""))).status_code == 200


async def test_the_doors_need_their_token(api, browser, sandbox):
    for response in (
        await api.get("/sandbox/ledger"),
        await api.post("/sandbox/script", json={"outage": True}),
        await browser.get(f"{sandbox.url}/sandbox/ledger"),
        await browser.post(f"{sandbox.url}/sandbox/script", json={"outage": True}, headers={"Authorization": "Bearer"}),
    ):
        assert response.status_code == 401
    assert sandbox.script()["outage"] is False


@pytest.mark.parametrize(
    "script",
    [
        {"latency": [4, 1]},
        {"latency": 3},
        {"latency": [-1, 1]},
        {"latency": [0, 1e9]},
        {"decline_rate": 1.1},
        {"decline_rate": True},
        {"drop_after_capture": -1},
        {"drop_after_capture": 1.5},
        {"outage": "yes"},
        {"webhooks": "loud"},
        {"webhook": "mute"},
        {"outage": True, "latency": "x"},
        [],
    ],
)
def test_a_faulty_script_is_refused_whole(sandbox, script):
    before = sandbox.script()
    response = httpx.post(f"{sandbox.url}/sandbox/script", json=script, headers=sandbox.bearer)
    assert response.status_code == 400 and response.json()["error"]["message"]
    assert sandbox.script() == before


def test_a_script_that_is_no_json_is_refused(sandbox):
    assert httpx.post(f"{sandbox.url}/sandbox/script", content=b"{", headers=sandbox.bearer).status_code == 400


async def test_a_seed_makes_the_declines_repeat(tmp_path):
    assert await declines(tmp_path / "a", "7") == await declines(tmp_path / "b", "7")


async def declines(folder, seed: str) -> list[int]:
    """-> the answers to twenty payments by a good card at a fresh sandbox that declines half of them."""
    sandbox = Sandbox(PROVIDER, folder, SANDBOX_SEED=seed, SANDBOX_DECLINE_RATE="0.5")
    form = INTENT | {"confirm": "true", "payment_method": "pm_card_visa"}
    async with httpx.AsyncClient(base_url=sandbox.url, headers=sandbox.bearer) as client:
        answers = [(await client.post("/v1/payment_intents", data=form)).status_code for _ in range(20)]
    sandbox.stops()
    assert set(answers) == {200, 402}
    return answers
