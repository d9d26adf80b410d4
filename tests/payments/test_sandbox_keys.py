"""Stripe's rules for idempotency keys, as the sandbox provider keeps them."""

import asyncio

INTENT = {"amount": "4900", "currency": "eur", "metadata[order]": "o-1"}


def keyed(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


async def create(api, key: str | None = None, **more) -> dict:
    response = await api.post("/v1/payment_intents", data=INTENT | more, headers=keyed(key) if key else {})
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_repeat_answers_the_same_body_and_says_that_it_is_one(api):
    first = await api.post("/v1/payment_intents", data=INTENT, headers=keyed("repeat"))
    again = await api.post("/v1/payment_intents", data=INTENT, headers=keyed("repeat"))
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers


async def test_without_a_key_every_call_is_another(api):
    assert (await create(api))["id"] != (await create(api))["id"]


async def test_the_order_of_the_fields_makes_no_other_request(api):
    first = await api.post("/v1/payment_intents", data=INTENT, headers=keyed("fields"))
    again = await api.post("/v1/payment_intents", data=dict(reversed(INTENT.items())), headers=keyed("fields"))
    assert again.content == first.content


async def test_a_key_with_other_parameters_is_an_idempotency_error(api):
    await create(api, "other-parameters")
    response = await api.post("/v1/payment_intents", data=INTENT | {"amount": "4901"}, headers=keyed("other-parameters"))
    assert (response.status_code, response.json()["error"]["type"]) == (400, "idempotency_error")


async def test_a_key_at_another_endpoint_is_an_idempotency_error(api):
    intent = await create(api, "other-endpoint")
    response = await api.post(f"/v1/payment_intents/{intent['id']}/cancel", headers=keyed("other-endpoint"))
    assert (response.status_code, response.json()["error"]["type"]) == (400, "idempotency_error")


async def test_a_decline_is_replayed_although_a_later_attempt_succeeded(api):
    path = f"/v1/payment_intents/{(await create(api))['id']}/confirm"
    first = await api.post(path, data={"payment_method": "pm_card_chargeDeclined"}, headers=keyed("decline"))
    await api.post(path, data={"payment_method": "pm_card_visa"}, headers=keyed("decline-2"))
    again = await api.post(path, data={"payment_method": "pm_card_chargeDeclined"}, headers=keyed("decline"))
    assert (first.status_code, again.status_code, again.content) == (402, 402, first.content)


async def test_a_refusal_of_a_call_that_began_to_execute_is_replayed(api):
    intent = await create(api)
    refused = await api.post("/v1/refunds", data={"payment_intent": intent["id"]}, headers=keyed("too-early"))
    await api.post(f"/v1/payment_intents/{intent['id']}/confirm", data={"payment_method": "pm_card_visa"})
    again = await api.post("/v1/refunds", data={"payment_intent": intent["id"]}, headers=keyed("too-early"))
    assert (refused.status_code, again.content) == (400, refused.content)


async def test_a_request_that_failed_validation_is_forgotten(api):
    wrong = await api.post("/v1/payment_intents", data=INTENT | {"amount": "12.50"}, headers=keyed("validation"))
    assert wrong.status_code == 400
    await create(api, "validation")


async def test_of_many_equal_calls_in_flight_one_runs_and_the_others_are_told_to_wait(api, sandbox):
    intent = await create(api)
    sandbox.script(latency=[0.5, 0.5], latency_taken="before")
    path, data = f"/v1/payment_intents/{intent['id']}/confirm", {"payment_method": "pm_card_visa"}
    responses = await asyncio.gather(*(api.post(path, data=data, headers=keyed("in-flight")) for _ in range(20)))
    refused = [response for response in responses if response.status_code == 409]
    assert len(refused) == 19
    assert {response.json()["error"]["code"] for response in refused} == {"idempotency_key_in_use"}
    assert (await api.post(path, data=data, headers=keyed("in-flight"))).headers["Idempotent-Replayed"] == "true"
    assert (sandbox.row_of(intent["id"])["captured"], sandbox.row_of(intent["id"])["attempts"]) == (4900, 1)


async def test_an_outage_is_forgotten_and_the_key_works_after_it(api, sandbox):
    sandbox.script(outage=True)
    assert (await api.post("/v1/payment_intents", data=INTENT, headers=keyed("outage"))).status_code == 503
    sandbox.script(outage=False)
    await create(api, "outage")


async def test_a_key_that_is_too_long_is_refused(api):
    response = await api.post("/v1/payment_intents", data=INTENT, headers=keyed("k" * 256))
    assert response.status_code == 400
