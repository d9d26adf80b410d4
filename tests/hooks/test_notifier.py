"""From an event in the ledger to somebody else's server, which is down, slow, lies or dies."""

import asyncio
import hmac
from uuid import uuid4

from app.domain.hooks import KINDS, secret_of
from app.hooks import Notifier
from app.hooks.notifier import PER_HOOK_MAX, RETRY_SECONDS, TRIES_MAX

from .conftest import KEY
from .receiver import drips, hangs, hangs_up, says

NONCE = b"n" * 20


async def hears(scene, receiver, *kinds: str) -> int:
    return await scene.ledger.add_hook(scene.shop_id, receiver.url, kinds or tuple(KINDS), NONCE, "owner")


async def runs(notifier: Notifier) -> None:
    """One round: hand out, send, note."""
    await notifier.step()
    await notifier.all_told()


async def due_now(scene) -> None:
    await scene.hand.execute(
        "UPDATE hook_deliveries SET next_try_at = now(), claimed_until = CASE WHEN claim IS NOT NULL THEN now() END"
    )


async def log_of(scene, hook_id: int):
    return await scene.ledger.deliveries(scene.shop_id, hook_id, 200)


def proven(received, nonce: bytes = NONCE) -> bool:
    """What a receiver does with the signature."""
    parts = [part.split("=", 1) for part in received.headers["doorman-signature"].split(",")]
    [at] = [value for name, value in parts if name == "t"]
    secret = secret_of(KEY, nonce).encode()
    expected = hmac.digest(secret, at.encode() + b"." + received.body, "sha256").hex()
    return any(name == "v1" and hmac.compare_digest(value, expected) for name, value in parts)


async def test_what_happened_is_told_signed_and_noted(scene, receiver, notifier):
    hook_id = await hears(scene, receiver, "order.paid")
    order_id = await scene.paid()
    await runs(notifier)
    [got] = receiver.received
    assert got.event["kind"] == got.headers["doorman-event"] == "order.paid"
    assert got.event["id"] == got.headers["doorman-event-id"] and got.event["id"].startswith("evt_")
    assert got.event["order"] == {
        "id": str(order_id),
        "variant": "One size",
        "quantity": 1,
        "amount_minor": 4900,
        "currency": "EUR",
    }
    assert got.event["drop"] == {"id": scene.drop.id, "slug": scene.drop.slug}
    assert proven(got) and not proven(got, b"m" * 20)
    [delivery] = await log_of(scene, hook_id)
    assert delivery.state == "delivered" and (delivery.attempts[0].status, delivery.attempts[0].answer) == (200, "ok")


async def test_nothing_that_is_sent_says_who_bought(scene, receiver, notifier):
    await hears(scene, receiver)
    await scene.paid()
    await runs(notifier)
    assert len(receiver.received) >= 2 and not any(b"@" in got.body or b"shopper" in got.body for got in receiver.received)


async def test_a_receiver_that_was_down_hears_it_once_it_is_back(scene, receiver, notifier):
    hook_id = await hears(scene, receiver, "order.paid")
    await scene.paid()
    await receiver.close()
    await runs(notifier)
    [delivery] = await log_of(scene, hook_id)
    assert delivery.state == "waiting" and delivery.attempts[0].status is None and delivery.attempts[0].error
    await receiver.open()
    await runs(notifier)
    assert receiver.received == []  # not before it is due
    await due_now(scene)
    await runs(notifier)
    assert [got.event["kind"] for got in receiver.received] == ["order.paid"]


async def test_only_2xx_counts_as_taken_and_every_try_is_the_same_event(scene, receiver, notifier):
    hook_id = await hears(scene, receiver, "order.paid")
    receiver.answers = [says(500, text="oh"), says(302, "location: /elsewhere"), says(404), hangs_up, drips, hangs, says(204)]
    await scene.paid()
    for _ in range(7):
        await runs(notifier)
        await due_now(scene)
    [delivery] = await log_of(scene, hook_id)
    assert delivery.state == "delivered"
    assert [attempt.status for attempt in delivery.attempts] == [500, 302, 404, None, None, None, 204]
    assert len(receiver.received) == 7 and len({got.body for got in receiver.received}) == 1
    assert all(proven(got) for got in receiver.received)


async def test_tries_become_rarer_and_the_last_one_is_said_to_have_failed(scene, receiver, notifier):
    hook_id = await hears(scene, receiver, "order.paid")
    receiver.answers = [says(500)] * TRIES_MAX
    await scene.paid()
    pauses = []
    for _ in range(TRIES_MAX):
        await runs(notifier)
        [delivery] = await log_of(scene, hook_id)
        if delivery.state == "waiting":
            pauses.append(await scene.hand.fetchval("SELECT extract(epoch FROM next_try_at - now())::float8 FROM hook_deliveries"))
        await due_now(scene)
    assert delivery.state == "failed" and len(delivery.attempts) == TRIES_MAX
    assert all(planned - 5 < pause <= planned for planned, pause in zip(RETRY_SECONDS, pauses, strict=True))
    await runs(notifier)
    assert len(receiver.received) == TRIES_MAX


async def test_a_failed_event_that_is_sent_again_by_hand_arrives_under_its_old_id(scene, receiver, notifier):
    hook_id = await hears(scene, receiver, "order.paid")
    await scene.paid()
    await runs(notifier)
    [delivery] = await log_of(scene, hook_id)
    await scene.ledger.send_delivery_again(scene.shop_id, hook_id, delivery, "owner")
    await runs(notifier)
    first, second = receiver.received
    assert first.body == second.body and len((await log_of(scene, hook_id))[0].attempts) == 2


async def test_a_worker_that_dies_after_sending_leaves_it_to_be_sent_again(scene, receiver, notifier):
    await hears(scene, receiver, "order.paid")
    await scene.paid()
    await scene.ledger.hand_out_events()
    [due] = await scene.ledger.claim_deliveries(uuid4(), 10, 4)  # and nothing more is heard of who claimed it
    await runs(notifier)
    assert receiver.received == []
    await due_now(scene)
    await runs(notifier)
    assert [got.event["kind"] for got in receiver.received] == [due.told.kind]


async def test_a_receiver_that_hangs_holds_up_nobody_else(scene, receiver, notifier):
    from .receiver import Receiver

    quick = await Receiver().open()
    receiver.answers = [hangs] * 20
    await hears(scene, receiver, "order.held")
    await hears(scene, quick, "order.held")
    for _ in range(6):
        await scene.hold()
    await notifier.step()
    assert len(await quick.until(PER_HOOK_MAX)) >= PER_HOOK_MAX and len(await receiver.until(PER_HOOK_MAX)) == PER_HOOK_MAX
    await notifier.all_told()
    await runs(notifier)
    assert len(quick.received) == 6
    await quick.close()


async def test_the_loop_tells_what_happens_while_it_runs_and_stops_when_it_is_told(scene, receiver, notifier):
    await hears(scene, receiver, "order.held", "order.paid")
    running = asyncio.create_task(notifier.run())
    await scene.paid()
    assert {got.event["kind"] for got in await receiver.until(2)} == {"order.held", "order.paid"}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert not notifier._sending
