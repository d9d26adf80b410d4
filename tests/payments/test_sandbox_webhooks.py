"""Webhooks of the sandbox provider, received by a small server and read by the SDK."""

import asyncio
import json

import pytest
import stripe

from app.payments import StripeProvider
from tests.sandboxes import PROVIDER, PROVIDER_TIMEOUT_SECONDS, Sandbox, seen

SECRET = "whsec_test"
RETURN_URL = "https://shop.example/orders/1"
CREATED, SUCCEEDED = "payment_intent.created", "payment_intent.succeeded"


class Receiver:
    """Answers every message with `status`, and keeps what it has seen, oldest first."""

    def __init__(self):
        self.status = 200
        self.messages: list[tuple[str, bytes]] = []

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = await reader.readexactly(int(headers["content-length"]))
        self.messages.append((headers["stripe-signature"], body))
        writer.write(f"HTTP/1.1 {self.status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    @property
    def kinds(self) -> list[str]:
        return [json.loads(body)["type"] for _, body in self.messages]


@pytest.fixture
async def receiver():
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0)
    receiver.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/webhooks/stripe"
    yield receiver
    server.close()


@pytest.fixture
def sender(tmp_path, receiver):
    sandbox = Sandbox(PROVIDER, tmp_path, SANDBOX_WEBHOOK_URL=receiver.url, SANDBOX_WEBHOOK_SECRET=SECRET)
    yield sandbox
    sandbox.stops()


@pytest.fixture
async def pay(sender, order):
    """Make a payment at the provider, which is worth two events."""
    provider = StripeProvider("sk_test_sandbox", api_base=sender.url, timeout_seconds=PROVIDER_TIMEOUT_SECONDS)

    async def pay(card: str = "pm_card_visa") -> str:
        intent = await provider.create_intent(order, 4900, "EUR")
        await provider.confirm(order, 1, intent, card, RETURN_URL)
        return intent

    yield pay
    await provider.close()


async def test_they_arrive_in_order_signed_as_the_sdk_expects(pay, receiver):
    intent = await pay()
    await seen(lambda: len(receiver.messages) == 2)
    signature, body = receiver.messages[1]
    event = stripe.Webhook.construct_event(body, signature, SECRET)
    assert (event.type, event.data.object.id, event.data.object.amount_received) == (SUCCEEDED, intent, 4900)
    with pytest.raises(stripe.SignatureVerificationError):
        stripe.Webhook.construct_event(body.replace(b"4900", b"4901"), signature, SECRET)
    assert receiver.kinds == [CREATED, SUCCEEDED]


async def test_one_that_was_not_taken_comes_again_and_over_a_restart(pay, receiver, sender):
    receiver.status = 500
    await pay()
    await seen(lambda: receiver.kinds.count(SUCCEEDED) >= 1)
    sender.killed()
    receiver.status = 200
    before = len(receiver.messages)
    sender.start()
    await seen(lambda: {CREATED, SUCCEEDED} <= set(receiver.kinds[before:]))


async def test_double_sends_each_twice(pay, receiver, sender):
    sender.script(webhooks="double")
    await pay()
    await seen(lambda: len(receiver.messages) == 4)
    assert sorted(receiver.kinds) == [CREATED, CREATED, SUCCEEDED, SUCCEEDED]
    assert len({json.loads(body)["id"] for _, body in receiver.messages}) == 2


async def test_reorder_sends_the_newest_first(pay, receiver, sender):
    sender.script(webhooks="reorder")
    await pay()
    await seen(lambda: len(receiver.messages) == 2)
    assert receiver.kinds == [SUCCEEDED, CREATED]


async def test_mute_sends_nothing_of_what_happens_then(pay, receiver, sender):
    sender.script(webhooks="mute")
    muted = await pay()
    sender.script(webhooks="normal", decline_rate=1)
    await pay_again(sender)
    await seen(lambda: len(receiver.messages) == 2)
    assert all(json.loads(body)["data"]["object"]["id"] != muted for _, body in receiver.messages)


async def test_in_an_outage_nothing_is_sent_and_afterwards_all(pay, receiver, sender, browser):
    await pay("pm_card_authenticationRequired")
    await seen(lambda: len(receiver.messages) == 2)
    sender.script(outage=True)
    page = f"{sender.url}/sandbox/authenticate/{sender.ledger()[0]['payment_intent']}"
    await browser.post(page, data={"decision": "complete"})
    assert sender.ledger()[0]["captured"] == 4900
    assert SUCCEEDED not in receiver.kinds
    sender.script(outage=False)
    await seen(lambda: SUCCEEDED in receiver.kinds)


async def pay_again(sender) -> None:
    """Another intent and its declined attempt: two more events."""
    provider = StripeProvider("sk_test_sandbox", api_base=sender.url, timeout_seconds=PROVIDER_TIMEOUT_SECONDS)
    order = "another"
    await provider.confirm(order, 1, await provider.create_intent(order, 100, "EUR"), "pm_card_visa", RETURN_URL)
    await provider.close()
