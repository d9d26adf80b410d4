"""Every operation from every situation: what the SQL allows is what `domain/orders.py` TRANSITIONS says, edge by edge."""

from uuid import UUID, uuid4

import pytest

from app.domain.orders import TRANSITIONS, OrderState, Refusal
from ledger.scene import CLAIM_DEAD_SECONDS, GRACE_SECONDS, Scene, intent_of

Situation = tuple[UUID, UUID | None]  # an order, and the token of the claim on it


async def a_hold(scene: Scene) -> Situation:
    return await scene.hold(), None


async def an_overdue_hold(scene: Scene) -> Situation:
    return await scene.overdue(await scene.hold()), None


async def a_submitted_payment(scene: Scene) -> Situation:
    order_id = await scene.hold()
    await scene.submit(order_id)
    return order_id, None


async def a_submitted_payment_past_its_grace(scene: Scene) -> Situation:
    order_id, _ = await a_submitted_payment(scene)
    return await scene.overdue(order_id, GRACE_SECONDS + 1), None


async def an_authentication(scene: Scene) -> Situation:
    order_id = await scene.hold()
    await scene.ask_authentication(order_id)
    return order_id, None


async def an_overdue_authentication(scene: Scene) -> Situation:
    order_id, _ = await an_authentication(scene)
    return await scene.overdue(order_id), None


async def a_last_authentication(scene: Scene) -> Situation:
    order_id = await scene.hold()
    for _ in range(scene.drop.payment_attempts - 1):
        await scene.decline(order_id)
    await scene.ask_authentication(order_id)
    return order_id, None


async def a_declined_hold(scene: Scene) -> Situation:
    order_id = await scene.hold()
    await scene.decline(order_id)
    return order_id, None


async def an_overdue_declined_hold(scene: Scene) -> Situation:
    order_id, _ = await a_declined_hold(scene)
    return await scene.overdue(order_id), None


async def a_charge(scene: Scene) -> Situation:
    return await scene.charging()


async def an_overdue_charge(scene: Scene) -> Situation:
    order_id, token = await scene.charging()
    return await scene.overdue(order_id), token


async def a_dead_charge(scene: Scene) -> Situation:
    order_id, token = await scene.charging()
    await scene.holder_dies(order_id)
    return order_id, token


async def a_last_charge(scene: Scene) -> Situation:
    order_id = await scene.hold()
    for _ in range(scene.drop.payment_attempts - 1):
        await scene.decline(order_id)
    return await scene.charging(order_id)


async def a_give_back_of_the_overdue(scene: Scene) -> Situation:
    order_id, _ = await an_overdue_declined_hold(scene)
    return await claimed_to_give_back(scene, order_id, OrderState.EXPIRED, Refusal.DEADLINE)


async def a_give_back_of_the_cancelled(scene: Scene) -> Situation:
    order_id, _ = await a_declined_hold(scene)
    return await claimed_to_give_back(scene, order_id, OrderState.CANCELLED, Refusal.BY_SHOPPER)


async def a_give_back_of_the_failed(scene: Scene) -> Situation:
    order_id, token = await a_last_charge(scene)
    assert await scene.ledger.settle_declined(order_id, token, scene.drop.payment_attempts, "card_declined") == "used_up"
    return order_id, token


async def a_paid_order(scene: Scene) -> Situation:
    return await scene.paid(), None


async def an_expired_order(scene: Scene) -> Situation:
    order_id, token = await a_give_back_of_the_overdue(scene)
    assert await scene.ledger.give_back(order_id, token)
    return order_id, token


async def a_failed_order(scene: Scene) -> Situation:
    order_id, token = await a_give_back_of_the_failed(scene)
    assert await scene.ledger.give_back(order_id, token)
    return order_id, token


async def a_cancelled_order(scene: Scene) -> Situation:
    order_id = await scene.hold()
    assert await scene.ledger.cancel_unattempted(order_id, None, Refusal.BY_SELLER)
    return order_id, None


async def a_refunded_order(scene: Scene) -> Situation:
    order_id = await scene.paid()
    await refund_all(scene, order_id, None)
    return order_id, None


async def a_refused_order(scene: Scene) -> Situation:
    buyer = await scene.shopper()
    await scene.hold(buyer)
    entry = scene.entry(buyer)
    await scene.ledger.record(scene.drop.id, [entry])
    return entry.order_id, None


SITUATIONS = {
    OrderState.PENDING_PAYMENT: [
        a_hold, an_overdue_hold, a_submitted_payment, a_submitted_payment_past_its_grace,
        an_authentication, an_overdue_authentication,
        a_last_authentication, a_declined_hold, an_overdue_declined_hold,
    ],
    OrderState.PROCESSING: [
        a_charge, an_overdue_charge, a_dead_charge, a_last_charge, a_give_back_of_the_overdue, a_give_back_of_the_cancelled,
        a_give_back_of_the_failed,
    ],
    OrderState.PAID: [a_paid_order],
    OrderState.EXPIRED: [an_expired_order],
    OrderState.FAILED: [a_failed_order],
    OrderState.CANCELLED: [a_cancelled_order],
    OrderState.REFUNDED: [a_refunded_order],
    OrderState.REFUSED: [a_refused_order],
}  # fmt: skip


async def claimed_to_give_back(scene: Scene, order_id: UUID, to: OrderState, reason: Refusal) -> Situation:
    token = uuid4()
    assert await scene.ledger.claim_give_back(order_id, token, to=to, reason=reason, grace_seconds=GRACE_SECONDS)
    return order_id, token


async def record_again(scene, order_id, token):
    order = await scene.order(order_id)
    await scene.ledger.record(scene.drop.id, [scene.entry(order.shopper_id, order_id=order_id)])


async def submit(scene, order_id, token):
    await scene.ledger.submit_attempt(order_id, (await scene.order(order_id)).shopper_id, "pm_card_visa")


async def claim_charge(scene, order_id, token):
    await scene.ledger.claim_charge(order_id, (await scene.order(order_id)).attempts, uuid4())


async def take_over(scene, order_id, token):
    await scene.ledger.take_over(order_id, uuid4(), CLAIM_DEAD_SECONDS)


async def store_intent(scene, order_id, token):
    await scene.ledger.store_intent(order_id, token or uuid4(), intent_of(order_id))


async def settle_paid(scene, order_id, token):
    await scene.capture(order_id, token or uuid4())


async def poll_paid(scene, order_id, token):
    await scene.capture(order_id, None)


async def settle_mismatch(scene, order_id, token):
    await scene.capture(order_id, token or uuid4(), amount_minor=1)


async def poll_mismatch(scene, order_id, token):
    await scene.capture(order_id, None, amount_minor=1)


async def poll_foreign(scene, order_id, token):
    await scene.capture(order_id, None, intent_id=f"pi_foreign_{order_id.hex}")


async def settle_declined(scene, order_id, token):
    await scene.ledger.settle_declined(order_id, token or uuid4(), (await scene.order(order_id)).attempts, "card_declined")


async def settle_action(scene, order_id, token):
    await scene.ledger.settle_action(order_id, token or uuid4(), (await scene.order(order_id)).attempts, "https://provider.example")


async def authentication_failed(scene, order_id, token):
    await scene.ledger.authentication_failed(order_id, "authentication_failed")


async def mark_unknown(scene, order_id, token):
    await scene.ledger.mark_unknown(order_id, token or uuid4())


def claim_give_back(to):
    async def operation(scene, order_id, token):
        await scene.ledger.claim_give_back(order_id, uuid4(), to=to, reason=Refusal.DEADLINE, grace_seconds=GRACE_SECONDS)

    operation.__name__ = f"claim_give_back_to_{to}"
    return operation


async def give_back(scene, order_id, token):
    await scene.ledger.give_back(order_id, token or uuid4())


async def expire(scene, order_id, token):
    await scene.ledger.expire_unattempted(100)


async def cancel(scene, order_id, token):
    await scene.ledger.cancel_unattempted(order_id, None, Refusal.BY_SELLER)


async def refund_all(scene, order_id, token):
    await scene.ledger.want_refund(order_id, "seller:1", 4900)
    await scene.ledger.refund_done(order_id, "seller:1", "re_1")


async def confirm_released(scene, order_id, token):
    await scene.ledger.confirm_released(order_id)


OPERATIONS = [
    record_again, submit, claim_charge, take_over, store_intent, settle_paid, poll_paid, settle_mismatch,
    poll_mismatch, poll_foreign,
    settle_declined, settle_action, authentication_failed, mark_unknown, claim_give_back(OrderState.EXPIRED),
    claim_give_back(OrderState.CANCELLED), claim_give_back(OrderState.FAILED), give_back, expire,
    cancel, refund_all, confirm_released,
]  # fmt: skip

UNDER_A_CLAIM = [settle_paid, settle_mismatch, settle_declined, settle_action, mark_unknown, give_back, store_intent]


async def test_operations_make_exactly_the_transitions_of_the_domain(scene):
    await scene.publish(("One size", 1000))
    seen = {state: set() for state in OrderState}
    for before, situations in SITUATIONS.items():
        for situation in situations:
            for operation in OPERATIONS:
                order_id, token = await situation(scene)
                assert await scene.state(order_id) is before
                await operation(scene, order_id, token)
                after = await scene.state(order_id)
                if after is not before:
                    assert after in TRANSITIONS[before], f"{situation.__name__}: {operation.__name__} made it {after}"
                    seen[before].add(after)
    await scene.books()
    assert seen == TRANSITIONS


@pytest.mark.parametrize("situation", SITUATIONS[OrderState.PROCESSING])
async def test_whoever_lost_the_claim_changes_nothing(scene, situation):
    order_id, _ = await situation(scene)
    before = await scene.order(order_id), await scene.kinds(order_id)
    for operation in UNDER_A_CLAIM:
        await operation(scene, order_id, uuid4())
        assert (await scene.order(order_id), await scene.kinds(order_id)) == before, operation.__name__


@pytest.mark.parametrize("state", [state for state in OrderState if not TRANSITIONS[state]])
async def test_what_is_final_stays_as_it_is(scene, state):
    for situation in SITUATIONS[state]:
        order_id, token = await situation(scene)
        for operation in OPERATIONS:
            await operation(scene, order_id, token)
        assert await scene.state(order_id) is state
        await scene.books()


async def test_every_change_of_state_is_told(scene):
    order_id, token = await a_failed_order(scene)
    assert await scene.kinds(order_id) == ["held", *["payment submitted", "charging", "declined"] * 3, "failed"]
    assert all(event.detail["by"] for event in await scene.ledger.events_of(order_id))
