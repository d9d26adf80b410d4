"""The adapter against the sandbox provider, and against a neighbour that answers whatever a test tells it to."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager

import pytest

from app.errors import ProviderRefused, ProviderSilent
from app.payments import Outcome, OutcomeKind, StripeProvider

RETURN_URL = "https://shop.example/orders/1?back=1"
SHORT_SECONDS = 0.3


async def intent_for(provider, order, amount_minor=4900, currency="EUR") -> str:
    return await provider.create_intent(order, amount_minor, currency)


async def token_of(api, card: str) -> str:
    """What Stripe's form would hand us for this card, made by Stripe's own helper for tests."""
    return (await api.post("/v1/test_helpers/confirmation_tokens", data={"payment_method": card})).json()["id"]


async def test_a_good_card_is_captured_with_its_amount_and_currency(provider, order):
    intent = await intent_for(provider, order)
    outcome = await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    assert outcome == Outcome(OutcomeKind.CAPTURED, intent, 4900, "EUR")
    assert await provider.retrieve(intent) == outcome


async def test_an_order_has_one_intent_however_often_it_is_created(provider, order):
    assert len({await intent_for(provider, order) for _ in range(3)}) == 1


@pytest.mark.parametrize(("amount_minor", "currency"), [(80, "JPY"), (1250, "KWD"), (1999, "EUR")])
async def test_the_provider_sees_and_refunds_minor_units_as_they_are(provider, sandbox, order, amount_minor, currency):
    intent = await intent_for(provider, order, amount_minor, currency)
    outcome = await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    assert (outcome.amount_minor, outcome.currency) == (amount_minor, currency)
    await provider.refund(order, "late_money", intent, amount_minor)
    row = sandbox.row_of(intent)
    assert (row["captured"], row["refunded"], row["currency"], row["order"]) == (
        amount_minor,
        amount_minor,
        currency.lower(),
        str(order),
    )


@pytest.mark.parametrize("currency", ["ISK", "HUF", "UGX"])
async def test_a_currency_that_stripe_alone_counts_in_hundredths_keeps_its_amount_on_our_side(provider, sandbox, order, currency):
    intent = await intent_for(provider, order, 800, currency)
    outcome = await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    assert (outcome.amount_minor, outcome.currency) == (800, currency)
    await provider.refund(order, "seller", intent, 300)
    assert (sandbox.row_of(intent)["captured"], sandbox.row_of(intent)["refunded"]) == (80_000, 30_000)


@pytest.mark.parametrize(
    ("payment_method", "reason"),
    [
        ("pm_card_chargeDeclined", "generic_decline"),
        ("pm_card_visa_chargeDeclined", "generic_decline"),
        ("pm_card_chargeDeclinedInsufficientFunds", "insufficient_funds"),
        ("pm_card_visa_chargeDeclinedStolenCard", "stolen_card"),
        ("pm_card_chargeDeclinedExpiredCard", "expired_card"),
        ("pm_card_chargeDeclinedIncorrectCvc", "incorrect_cvc"),
        ("pm_card_chargeDeclinedProcessingError", "processing_error"),
        ("pm_card_nobody_has", "invalid_payment_method"),
        ("'; DROP TABLE intents; --", "invalid_payment_method"),
    ],
)
async def test_a_declined_card_is_an_outcome_with_its_reason(provider, sandbox, order, payment_method, reason):
    intent = await intent_for(provider, order)
    outcome = await provider.confirm(order, 1, intent, payment_method, RETURN_URL)
    assert outcome == Outcome(OutcomeKind.DECLINED, intent, 4900, "EUR", reason=reason)
    assert sandbox.row_of(intent)["captured"] == 0


async def test_the_same_intent_takes_another_card_after_a_decline(provider, sandbox, order):
    intent = await intent_for(provider, order)
    await provider.confirm(order, 1, intent, "pm_card_chargeDeclined", RETURN_URL)
    assert (await provider.retrieve(intent)).reason == "generic_decline"
    assert (await provider.confirm(order, 2, intent, "pm_card_mastercard", RETURN_URL)).kind is OutcomeKind.CAPTURED
    assert sandbox.row_of(intent)["attempts"] == 2


async def test_an_attempt_repeated_answers_what_it_answered_first(provider, sandbox, order):
    intent = await intent_for(provider, order)
    first = await provider.confirm(order, 1, intent, "pm_card_chargeDeclinedInsufficientFunds", RETURN_URL)
    await provider.confirm(order, 2, intent, "pm_card_visa", RETURN_URL)
    again = await provider.confirm(order, 1, intent, "pm_card_chargeDeclinedInsufficientFunds", RETURN_URL)
    assert again == first
    assert (sandbox.row_of(intent)["attempts"], sandbox.row_of(intent)["captured"]) == (2, 4900)


async def test_an_intent_that_nobody_confirmed_is_declined_without_a_reason(provider, order):
    outcome = await provider.retrieve(await intent_for(provider, order))
    assert (outcome.kind, outcome.reason) == (OutcomeKind.DECLINED, None)


async def test_a_card_that_wants_authentication_names_the_page(provider, sandbox, order):
    intent = await intent_for(provider, order)
    outcome = await provider.confirm(order, 1, intent, "pm_card_authenticationRequired", RETURN_URL)
    assert (outcome.kind, outcome.action_url) == (OutcomeKind.ACTION, f"{sandbox.url}/sandbox/authenticate/{intent}")
    assert sandbox.row_of(intent)["captured"] == 0


# what Stripe's form in the browser makes


async def test_a_token_of_stripes_form_is_charged_like_the_card_in_it_and_once(provider, api, sandbox, order):
    intent, token = await intent_for(provider, order), await token_of(api, "pm_card_visa")
    outcome = await provider.confirm(order, 1, intent, token, RETURN_URL)
    assert outcome == Outcome(OutcomeKind.CAPTURED, intent, 4900, "EUR")
    assert await provider.confirm(order, 1, intent, token, RETURN_URL) == outcome
    assert (sandbox.row_of(intent)["attempts"], sandbox.row_of(intent)["captured"]) == (1, 4900)


@pytest.mark.parametrize(
    ("card", "reason"),
    [("pm_card_chargeDeclined", "generic_decline"), ("pm_card_chargeDeclinedExpiredCard", "expired_card")],
)
async def test_a_token_whose_card_is_declined_is_used_up_and_another_one_may_pay(provider, api, sandbox, order, card, reason):
    intent, token = await intent_for(provider, order), await token_of(api, card)
    assert (await provider.confirm(order, 1, intent, token, RETURN_URL)).reason == reason
    again = await provider.confirm(order, 2, intent, token, RETURN_URL)
    assert (again.kind, again.reason) == (OutcomeKind.DECLINED, "invalid_payment_method")
    paid = await provider.confirm(order, 3, intent, await token_of(api, "pm_card_mastercard"), RETURN_URL)
    assert (paid.kind, sandbox.row_of(intent)["captured"]) == (OutcomeKind.CAPTURED, 4900)


async def test_a_token_nobody_made_is_a_declined_card(provider, order):
    outcome = await provider.confirm(order, 1, await intent_for(provider, order), "ctoken_nobody_made", RETURN_URL)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.DECLINED, "invalid_payment_method")


async def test_the_bank_asks_the_holder_of_a_token_on_a_page_of_its_own_too(provider, api, sandbox, browser, order):
    intent, token = await intent_for(provider, order), await token_of(api, "pm_card_authenticationRequired")
    outcome = await provider.confirm(order, 1, intent, token, RETURN_URL)
    assert (outcome.kind, outcome.action_url) == (OutcomeKind.ACTION, f"{sandbox.url}/sandbox/authenticate/{intent}")
    await browser.post(outcome.action_url, data={"decision": "complete"})
    assert (await provider.retrieve(intent)).kind is OutcomeKind.CAPTURED


async def test_a_question_that_only_the_browsers_sdk_could_ask_is_a_declined_card_and_another_card_may_pay(
    provider, api, sandbox, order
):
    intent, token = await intent_for(provider, order), await token_of(api, "pm_card_authenticationRequired")
    confirmed = await api.post(f"/v1/payment_intents/{intent}/confirm", data={"confirmation_token": token})
    assert confirmed.json()["next_action"]["type"] == "use_stripe_sdk"
    outcome = await provider.retrieve(intent)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.DECLINED, "authentication_unavailable")
    assert (await provider.confirm(order, 2, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CAPTURED
    assert sandbox.row_of(intent)["captured"] == 4900


async def test_a_cancelled_intent_takes_no_more_money(provider, sandbox, order):
    intent = await intent_for(provider, order)
    await provider.confirm(order, 1, intent, "pm_card_authenticationRequired", RETURN_URL)
    assert (await provider.cancel(order, intent)).kind is OutcomeKind.CANCELLED
    assert (await provider.cancel(order, intent)).kind is OutcomeKind.CANCELLED
    assert (await provider.confirm(order, 2, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CANCELLED
    assert sandbox.row_of(intent)["captured"] == 0


async def test_cancelling_what_is_captured_says_captured(provider, order):
    intent = await intent_for(provider, order)
    await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    assert await provider.cancel(order, intent) == Outcome(OutcomeKind.CAPTURED, intent, 4900, "EUR")


async def test_a_new_attempt_on_a_captured_intent_says_captured_and_charges_nothing(provider, sandbox, order):
    intent = await intent_for(provider, order)
    await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    assert (await provider.confirm(order, 2, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CAPTURED
    assert sandbox.row_of(intent)["captured"] == 4900


async def test_intents_are_found_by_their_order(provider, order):
    intent = await intent_for(provider, order)
    assert [outcome.intent_id for outcome in await provider.find(order)] == [intent]


async def test_one_purpose_is_refunded_once(provider, sandbox, order):
    intent = await intent_for(provider, order)
    await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    assert await provider.refund(order, "late_money", intent, 4900) == await provider.refund(order, "late_money", intent, 4900)
    assert sandbox.row_of(intent)["refunded"] == 4900


async def test_parts_are_refunded_under_purposes_of_their_own_and_never_above_the_capture(provider, sandbox, order):
    intent = await intent_for(provider, order)
    await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    await provider.refund(order, "seller:1", intent, 1900)
    with pytest.raises(ProviderRefused):
        await provider.refund(order, "seller:2", intent, 3001)
    await provider.refund(order, "seller:3", intent, 3000)
    assert sandbox.row_of(intent)["refunded"] == 4900


async def test_a_refund_of_what_was_never_captured_is_refused(provider, order):
    with pytest.raises(ProviderRefused):
        await provider.refund(order, "late_money", await intent_for(provider, order), 4900)


async def test_a_lost_reply_is_silence_and_the_capture_is_found_once(provider, sandbox, order):
    intent = await intent_for(provider, order)
    sandbox.script(drop_after_capture=1)
    with pytest.raises(ProviderSilent):
        await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)
    assert (await provider.retrieve(intent)).kind is OutcomeKind.CAPTURED
    assert (await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CAPTURED
    row = sandbox.row_of(intent)
    assert (row["captured"], row["attempts"]) == (4900, 1)


async def test_an_outage_is_silence_for_every_call_and_changes_nothing(provider, sandbox, order):
    intent = await intent_for(provider, order)
    sandbox.script(outage=True)
    for call in (
        provider.create_intent(order, 4900, "EUR"),
        provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL),
        provider.retrieve(intent),
        provider.cancel(order, intent),
        provider.refund(order, "late_money", intent, 4900),
        provider.find(order),
    ):
        with pytest.raises(ProviderSilent):
            await call
    sandbox.script(outage=False)
    assert (sandbox.row_of(intent)["attempts"], sandbox.row_of(intent)["captured"]) == (0, 0)
    assert (await provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CAPTURED


async def test_of_two_equal_attempts_in_flight_one_is_told_and_the_other_hears_silence(provider, sandbox, order):
    intent = await intent_for(provider, order)
    sandbox.script(latency=[0.5, 0.5], latency_taken="before")
    attempts = [provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL) for _ in range(2)]
    answers = await asyncio.gather(*attempts, return_exceptions=True)
    assert sorted(type(answer) for answer in answers if isinstance(answer, Exception)) == [ProviderSilent]
    assert [answer.kind for answer in answers if isinstance(answer, Outcome)] == [OutcomeKind.CAPTURED]
    assert (sandbox.row_of(intent)["attempts"], sandbox.row_of(intent)["captured"]) == (1, 4900)


async def test_the_whole_call_ends_in_time_even_when_every_byte_comes_slowly(order):
    async def drip(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.05)

    async with neighbour(drip) as provider:
        started = asyncio.get_running_loop().time()
        with pytest.raises(ProviderSilent, match="within"):
            await provider.retrieve("pi_1")
        assert asyncio.get_running_loop().time() - started < SHORT_SECONDS * 5


async def test_an_address_where_nobody_listens_is_silence():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        provider = StripeProvider(
            "sk_test_x", api_base=f"http://127.0.0.1:{closed.getsockname()[1]}", timeout_seconds=SHORT_SECONDS
        )
        with pytest.raises(ProviderSilent):
            await provider.retrieve("pi_1")
        await provider.close()


ERROR = {"error": {"type": "api_error", "message": "no"}}
IN_USE = {"error": {"type": "idempotency_error", "code": "idempotency_key_in_use", "message": "busy"}}
OTHER_USE = {
    "error": {"type": "idempotency_error", "message": "Keys for idempotent requests can only be used with the same parameters."}
}


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, ERROR, ProviderSilent),
        (502, "<html>bad gateway</html>", ProviderSilent),
        (503, ERROR, ProviderSilent),
        (504, "", ProviderSilent),
        (429, {"error": {"type": "invalid_request_error", "code": "rate_limit", "message": "slow down"}}, ProviderSilent),
        (429, {"error": {"type": "invalid_request_error", "code": "lock_timeout", "message": "locked"}}, ProviderSilent),
        (409, IN_USE, ProviderSilent),
        (408, ERROR, ProviderSilent),
        (200, "<html>a captive portal</html>", ProviderSilent),
        (302, "", ProviderSilent),
        (400, OTHER_USE, ProviderRefused),
        (400, {"error": {"type": "invalid_request_error", "code": "parameter_unknown", "message": "what?"}}, ProviderRefused),
        (401, {"error": {"type": "invalid_request_error", "message": "Invalid API Key"}}, ProviderRefused),
        (403, {"error": {"type": "invalid_request_error", "message": "not yours"}}, ProviderRefused),
        (404, {"error": {"type": "invalid_request_error", "code": "resource_missing", "message": "none"}}, ProviderRefused),
    ],
)
async def test_whatever_is_not_a_clear_answer_is_silence_and_only_a_faulty_request_is_refused(order, status, body, error):
    text = body if isinstance(body, str) else json.dumps(body)
    async with neighbour(answering(status, text)) as provider:
        for call in (
            provider.create_intent(order, 4900, "EUR"),
            provider.confirm(order, 1, "pi_1", "pm_card_visa", RETURN_URL),
            provider.retrieve("pi_1"),
            provider.cancel(order, "pi_1"),
            provider.refund(order, "late_money", "pi_1", 4900),
            provider.find(order),
        ):
            with pytest.raises(error):
                await call


async def test_no_call_is_repeated_behind_our_back(order):
    asked = []
    async with neighbour(answering(500, json.dumps(ERROR), asked)) as provider:
        with pytest.raises(ProviderSilent):
            await provider.confirm(order, 3, "pi_1", "pm_card_visa", RETURN_URL)
    assert len(asked) == 1
    assert f"idempotency-key: {order}:3" in asked[0].lower()


async def test_a_caller_that_is_cancelled_stays_cancelled(provider, sandbox, order):
    intent = await intent_for(provider, order)
    sandbox.script(latency=[1, 1], latency_taken="before")
    running = asyncio.ensure_future(provider.confirm(order, 1, intent, "pm_card_visa", RETURN_URL))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@asynccontextmanager
async def neighbour(serve):
    """-> a provider whose far side is `serve(reader, writer)`."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    provider = StripeProvider("sk_test_x", api_base=f"http://127.0.0.1:{port}", timeout_seconds=SHORT_SECONDS)
    yield provider
    await provider.close()
    server.close()


def answering(status: int, body: str, asked: list[str] | None = None):
    async def serve(reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        if asked is not None:
            asked.append(head)
        writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n{body}".encode())
        await writer.drain()
        writer.close()

    return serve
