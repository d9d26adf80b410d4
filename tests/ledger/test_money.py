import asyncio
from uuid import uuid4

import pytest

from app.domain.ids import new_order_id
from app.domain.orders import AttemptState, MoneyState, OrderState, Refusal
from app.errors import BadInput, BrokenInvariant, NotFound
from app.ledger import NotPayable, Submitted
from app.ledger.money import UNKNOWN_ASKS_MAX
from ledger.scene import CLAIM_DEAD_SECONDS, GRACE_SECONDS, intent_of

PENDING, PROCESSING, PAID = OrderState.PENDING_PAYMENT, OrderState.PROCESSING, OrderState.PAID
LOCK_ORDER = "SELECT FROM orders WHERE id = $1 FOR UPDATE"


async def test_a_payment_goes_from_submit_to_paid(scene):
    order_id = await scene.hold()
    assert (await scene.order(order_id)).payment is MoneyState.NONE
    assert await scene.submit(order_id) == 1
    order = await scene.order(order_id)
    assert (order.state, order.payment, order.attempt_state, order.attempts_left) == (PENDING, "authorising", AttemptState.OPEN, 2)
    token = uuid4()
    claimed = await scene.ledger.claim_charge(order_id, 1, token)
    assert (claimed.n, claimed.payment_method, claimed.amount_minor, claimed.currency) == (1, "pm_card_visa", 4900, "EUR")
    assert (claimed.intent_id, claimed.leaving, claimed.overdue) == (None, None, False)
    assert await scene.ledger.store_intent(order_id, token, intent_of(order_id))
    assert await scene.capture(order_id, token) == "paid"
    order = await scene.order(order_id)
    assert (order.state, order.payment, order.attempt_n, order.intent_id) == (PAID, "captured", None, intent_of(order_id))
    assert order.paid_at is not None
    assert await scene.kinds(order_id) == ["held", "payment submitted", "charging", "paid"]
    assert (await scene.books()).paid == 1


async def test_only_the_owner_submits(scene):
    order_id = await scene.hold()
    stranger = await scene.shopper()
    for order, shopper in ((order_id, stranger), (new_order_id(scene.drop.id), stranger)):
        with pytest.raises(NotFound, match="^no such order$"):
            await scene.ledger.submit_attempt(order, shopper, "pm_card_visa")


@pytest.mark.parametrize("payment_method", ["", "x" * 256, "pm\x00", "pm\n"])
async def test_a_payment_method_is_a_name(scene, payment_method):
    order_id = await scene.hold()
    with pytest.raises(BadInput):
        await scene.ledger.submit_attempt(order_id, (await scene.order(order_id)).shopper_id, payment_method)


async def not_payable(scene, order_id):
    answer = await scene.ledger.submit_attempt(order_id, (await scene.order(order_id)).shopper_id, "pm_card_visa")
    assert isinstance(answer, NotPayable)
    return answer.state, answer.why


async def test_what_cannot_be_paid_says_why(scene):
    order_id = await scene.hold()
    await scene.submit(order_id)
    assert await not_payable(scene, order_id) == (PENDING, "in_progress")
    order_id, _ = await scene.charging()
    assert await not_payable(scene, order_id) == (PROCESSING, "in_progress")
    order_id = await scene.overdue(await scene.hold())
    assert await not_payable(scene, order_id) == (PENDING, "overdue")
    assert await not_payable(scene, await scene.paid()) == (PAID, "state")


async def test_two_submits_at_once_open_one_attempt(scene):
    order_id = await scene.hold()
    shopper = (await scene.order(order_id)).shopper_id
    async with scene.locked(LOCK_ORDER, order_id, waiting=2):
        both = [asyncio.create_task(scene.ledger.submit_attempt(order_id, shopper, "pm_card_visa")) for _ in range(2)]
    answers = await asyncio.gather(*both)
    assert sorted(type(answer).__name__ for answer in answers) == ["NotPayable", "Submitted"]
    assert (await scene.order(order_id)).attempts == 1


async def test_two_workers_claim_an_attempt_once(scene):
    order_id = await scene.hold()
    await scene.submit(order_id)
    async with scene.locked(LOCK_ORDER, order_id, waiting=2):
        both = [asyncio.create_task(scene.ledger.claim_charge(order_id, 1, uuid4())) for _ in range(2)]
    assert [claimed is None for claimed in await asyncio.gather(*both)].count(False) == 1


async def test_a_late_job_of_an_earlier_attempt_claims_nothing(scene):
    order_id = await scene.hold()
    await scene.decline(order_id)
    await scene.submit(order_id)
    assert await scene.ledger.claim_charge(order_id, 1, uuid4()) is None
    assert await scene.ledger.claim_charge(order_id, 2, uuid4())


async def test_a_swept_order_is_claimed_by_nobody(scene):
    order_id = await scene.hold()
    await scene.submit(order_id)
    await scene.overdue(order_id, GRACE_SECONDS + 1)
    token = uuid4()
    await scene.ledger.claim_give_back(order_id, token, to=OrderState.EXPIRED, reason=Refusal.DEADLINE, grace_seconds=GRACE_SECONDS)
    assert await scene.ledger.claim_charge(order_id, 1, uuid4()) is None
    await scene.ledger.give_back(order_id, token)
    assert await scene.ledger.claim_charge(order_id, 1, uuid4()) is None


async def test_an_order_keeps_its_first_intent(scene):
    order_id, token = await scene.charging()
    assert await scene.ledger.store_intent(order_id, token, intent_of(order_id))
    assert not await scene.ledger.store_intent(order_id, token, "pi_other")
    assert (await scene.order(order_id)).intent_id == intent_of(order_id)


async def test_declines_return_the_hold_until_the_attempts_are_used_up(scene):
    order_id = await scene.hold()
    for left in (2, 1):
        assert await scene.decline(order_id) == "again"
        order = await scene.order(order_id)
        assert (order.state, order.attempts_left, order.payment, order.decline_reason) == (PENDING, left, "none", "card_declined")
    _, token = await scene.charging(order_id)
    assert await scene.ledger.settle_declined(order_id, token, 3, "card_declined") == "used_up"
    order = await scene.order(order_id)
    assert (order.state, order.leaving) == (PROCESSING, OrderState.FAILED)
    assert await scene.ledger.give_back(order_id, token)
    order = await scene.order(order_id)
    assert (order.state, order.reason, order.released, order.payment) == (OrderState.FAILED, "declined", False, "none")


async def test_with_one_attempt_the_first_decline_gives_the_unit_back(scene):
    await scene.publish(payment_attempts=1)
    assert await scene.decline(await scene.hold()) == "used_up"


async def test_a_decline_past_the_deadline_expires_the_order(scene):
    order_id, token = await scene.charging()
    await scene.overdue(order_id)
    assert await scene.ledger.settle_declined(order_id, token, 1, "card_declined") == "used_up"
    assert await scene.ledger.give_back(order_id, token)
    order = await scene.order(order_id)
    assert (order.state, order.reason) == (OrderState.EXPIRED, "deadline")


async def test_a_decline_is_told_only_once(scene):
    order_id, token = await scene.charging()
    assert await scene.ledger.settle_declined(order_id, token, 1, "card_declined") == "again"
    assert await scene.ledger.settle_declined(order_id, token, 1, "card_declined") == "lost"
    assert (await scene.kinds(order_id)).count("declined") == 1


async def test_an_authentication_ends_the_claim_and_keeps_the_deadline(scene):
    order_id = await scene.hold()
    deadline = (await scene.order(order_id)).pay_by
    await scene.ask_authentication(order_id)
    order = await scene.order(order_id)
    assert (order.state, order.attempt_state, order.action_url) == (PENDING, AttemptState.ACTION, "https://provider.example/3ds")
    assert order.pay_by == deadline
    assert await scene.ledger.authentications(10) == [order_id]
    assert await scene.ledger.claim_charge(order_id, 1, uuid4()) is None
    assert await not_payable(scene, order_id) == (PENDING, "in_progress")
    assert await scene.capture(order_id, None) == "paid"
    assert await scene.ledger.authentications(10) == []


async def test_a_failed_authentication_lets_the_shopper_try_again(scene):
    order_id = await scene.hold()
    await scene.ask_authentication(order_id)
    assert not await scene.ledger.authentication_failed(order_id, "authentication_failed", n=2)
    assert await scene.ledger.authentication_failed(order_id, "authentication_failed", n=1)
    assert not await scene.ledger.authentication_failed(order_id, "authentication_failed")
    assert (await scene.order(order_id)).decline_reason == "authentication_failed"
    assert await scene.submit(order_id) == 2


async def test_the_last_failed_authentication_leaves_a_dead_claim_that_gives_back(scene):
    await scene.publish(payment_attempts=1)
    order_id = await scene.hold()
    await scene.ask_authentication(order_id)
    assert await scene.ledger.authentication_failed(order_id, None)
    assert await scene.ledger.dead_claims(10, CLAIM_DEAD_SECONDS) == [order_id]
    token = uuid4()
    claimed = await scene.ledger.take_over(order_id, token, CLAIM_DEAD_SECONDS)
    assert (claimed.leaving, claimed.intent_id, claimed.n) == (OrderState.FAILED, intent_of(order_id), None)
    assert await scene.ledger.give_back(order_id, token)
    assert await scene.state(order_id) is OrderState.FAILED


async def test_a_live_claim_is_not_taken_over(scene):
    order_id, _ = await scene.charging()
    assert await scene.ledger.dead_claims(10, CLAIM_DEAD_SECONDS) == []
    assert await scene.ledger.take_over(order_id, uuid4(), CLAIM_DEAD_SECONDS) is None


async def test_a_dead_claim_is_taken_over_once_and_its_holder_settles_nothing(scene):
    order_id, dead = await scene.charging()
    await scene.holder_dies(order_id)
    assert await scene.ledger.dead_claims(10, CLAIM_DEAD_SECONDS) == [order_id]
    tokens = [uuid4(), uuid4()]
    async with scene.locked(LOCK_ORDER, order_id, waiting=2):
        both = [asyncio.create_task(scene.ledger.take_over(order_id, token, CLAIM_DEAD_SECONDS)) for token in tokens]
    first, second = await asyncio.gather(*both)
    assert (first is None) != (second is None)
    claimed = first or second
    assert (claimed.n, claimed.intent_id, claimed.payment_method) == (1, intent_of(order_id), "pm_card_visa")
    assert await scene.capture(order_id, dead) == "lost"
    assert await scene.capture(order_id, tokens[0 if first else 1]) == "paid"
    assert await scene.capture(order_id, dead) == "already"


async def test_a_capture_that_a_poll_brings_needs_no_claim(scene):
    order_id, token = await scene.charging()
    assert await scene.capture(order_id, None) == "paid"
    assert await scene.capture(order_id, token) == "already"
    assert await scene.capture(order_id, None) == "already"
    assert (await scene.kinds(order_id)).count("paid") == 1


async def test_a_capture_wins_over_a_give_back_under_way(scene):
    order_id = await scene.hold()
    await scene.decline(order_id)
    token = uuid4()
    await scene.ledger.claim_give_back(order_id, token, to=OrderState.CANCELLED, reason=Refusal.BY_SHOPPER, grace_seconds=0)
    assert await scene.capture(order_id, token) == "paid"
    order = await scene.order(order_id)
    assert (order.state, order.reason, order.leaving) == (PAID, None, None)
    assert not await scene.ledger.give_back(order_id, token)


async def test_settle_and_give_back_of_one_claim_happen_once(scene):
    order_id, token = await scene.charging()
    async with scene.locked(LOCK_ORDER, order_id, waiting=2):
        both = [
            asyncio.create_task(scene.capture_now(order_id, token)),
            asyncio.create_task(scene.ledger.give_back(order_id, token)),
        ]
    settled, gave_back = await asyncio.gather(*both)
    assert (settled, gave_back) in {("paid", False), ("late", True)}
    assert (await scene.books()).sold == (1 if settled == "paid" else 0)


async def test_late_money_is_wanted_back_once(scene):
    order_id, token = await scene.charging()
    await scene.ledger.give_back(order_id, token)
    assert [await scene.capture(order_id, None) for _ in range(2)] == ["late", "late"]
    order = await scene.order(order_id)
    assert (order.state, order.reason, order.payment) == (OrderState.FAILED, "late_money", "captured")
    (due,) = await scene.ledger.due_refunds(10, 60)
    refund = await scene.ledger.refund(*due[:2])
    assert (refund.purpose, refund.amount_minor, refund.state) == ("late_money", 4900, "wanted")
    assert refund.intent_id == intent_of(order_id)
    assert await scene.ledger.refund_done(order_id, "late_money", "re_1")
    assert not await scene.ledger.refund_done(order_id, "late_money", "re_1")
    order = await scene.order(order_id)
    assert (order.state, order.payment) == (OrderState.FAILED, "refunded")
    assert await scene.ledger.due_refunds(10, 60) == []
    assert await scene.capture(order_id, None) == "late"
    assert (await scene.books()).refunded == 1


@pytest.mark.parametrize(("amount_minor", "currency"), [(4899, "eur"), (4901, "EUR"), (4900, "usd")])
async def test_another_amount_than_was_owed_is_never_paid(scene, amount_minor, currency):
    order_id, token = await scene.charging()

    async def capture(token):
        return await scene.ledger.settle_paid(
            order_id, token=token, intent_id=intent_of(order_id), amount_minor=amount_minor, currency=currency
        )

    assert await capture(uuid4()) == "lost"
    assert [await capture(token), await capture(token), await capture(None)] == ["mismatch"] * 3
    order = await scene.order(order_id)
    assert (order.state, order.reason, order.released) == (OrderState.FAILED, "amount_mismatch", False)
    assert order.needs_attention == f"captured {amount_minor} {currency.upper()}, owed 4900 EUR"
    (due,) = await scene.ledger.due_refunds(10, 60)
    assert (await scene.ledger.refund(*due[:2])).amount_minor == amount_minor
    assert (await scene.books()).needs_attention == 1


async def test_a_capture_of_nothing_is_a_wrong_amount_with_nothing_to_give_back(scene):
    order_id, token = await scene.charging()
    answer = await scene.ledger.settle_paid(order_id, token=token, intent_id=intent_of(order_id), amount_minor=0, currency="EUR")
    assert answer == "mismatch"
    assert (await scene.order(order_id)).state is OrderState.FAILED
    assert await scene.ledger.due_refunds(10, 60) == []


async def test_a_foreign_capture_goes_back_and_leaves_the_order_alone(scene):
    order_id, token = await scene.charging()
    assert [await scene.capture(order_id, None, intent_id="pi_foreign") for _ in range(2)] == ["mismatch"] * 2
    order = await scene.order(order_id)
    assert (order.state, order.intent_id) == (PROCESSING, intent_of(order_id))
    assert "pi_foreign" in order.needs_attention
    (due,) = await scene.ledger.due_refunds(10, 60)
    assert (await scene.ledger.refund(*due[:2])).intent_id == "pi_foreign"
    assert await scene.ledger.refund_done(order_id, due.purpose, "re_1")
    assert await scene.capture(order_id, token) == "paid"
    assert (await scene.order(order_id)).payment is MoneyState.CAPTURED


async def test_an_intent_of_another_order_is_an_alarm(scene):
    order_id, _ = await scene.charging()
    with pytest.raises(BrokenInvariant):
        await scene.capture(await scene.hold(), None, intent_id=intent_of(order_id))


async def test_a_capture_of_an_order_nobody_knows_is_lost(scene):
    answer = await scene.ledger.settle_paid(
        new_order_id(scene.drop.id), token=None, intent_id="pi_x", amount_minor=4900, currency="eur"
    )
    assert answer == "lost"


async def test_an_unknown_outcome_waits_and_after_enough_questions_asks_for_a_person(scene):
    order_id, token = await scene.charging()
    for _ in range(UNKNOWN_ASKS_MAX - 1):
        assert await scene.ledger.mark_unknown(order_id, token)
    order = await scene.order(order_id)
    assert (order.state, order.payment, order.needs_attention) == (PROCESSING, "unknown", None)
    assert await scene.ledger.mark_unknown(order_id, token)
    assert "no answer" in (await scene.order(order_id)).needs_attention
    assert not await scene.ledger.mark_unknown(order_id, uuid4())
    assert await scene.capture(order_id, token) == "paid"
    order = await scene.order(order_id)
    assert (order.payment, order.needs_attention) == ("captured", None)


async def test_work_that_is_due_is_listed_until_it_is_on_the_queue(scene):
    order_id = await scene.hold()
    n = await scene.submit(order_id)
    assert await scene.ledger.due_charges(10, 60) == [(order_id, n, 0)]
    assert await scene.ledger.mark_enqueued(order_id, n)
    assert await scene.ledger.due_charges(10, 60) == []
    assert await scene.ledger.due_charges(10, 0) == [(order_id, n, 1)]
    await scene.ledger.claim_charge(order_id, n, uuid4())
    assert await scene.ledger.due_charges(10, 0) == []


async def test_a_refund_is_listed_until_it_is_on_the_queue(scene):
    order_id = await scene.paid()
    await scene.ledger.want_refund(order_id, "seller:1", 100)
    assert await scene.ledger.due_refunds(10, 60) == [(order_id, "seller:1", 0)]
    assert await scene.ledger.mark_refund_enqueued(order_id, "seller:1")
    assert await scene.ledger.due_refunds(10, 60) == []
    assert await scene.ledger.due_refunds(10, 0) == [(order_id, "seller:1", 1)]


async def test_a_submitted_payment_names_its_attempt(scene):
    order_id = await scene.hold()
    shopper = (await scene.order(order_id)).shopper_id
    assert await scene.ledger.submit_attempt(order_id, shopper, "pm_card_visa") == Submitted(1, 0)
