"""The till against a provider that dies, lies and forgets: one capture, one outcome."""

import pytest

from app.domain.links import link_key, order_link
from app.domain.orders import OrderState, Refusal
from app.errors import ProviderSilent
from app.ledger import NotPayable, Submitted
from tests.doubles import Died, ListQueue
from tests.purchase.conftest import SECRET

CRASH_POINTS = [
    ("create_intent", "before"),
    ("create_intent", "after"),
    ("confirm", "before"),
    ("confirm", "after"),
]


async def submitted(shop, drop, method="pm_card_visa"):
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    assert isinstance(await shop.till(ListQueue()).submit(order, shopper, method), Submitted)
    return order, shopper


async def test_a_good_card_pays_the_order_once(shop):
    drop = await shop.opens(units=2)
    order, _ = await submitted(shop, drop)
    assert await shop.till().charge(order, 1) == "paid"
    assert await shop.till().charge(order, 1) == "lost"
    assert await shop.state(order) == "PAID"
    assert shop.provider.captures(order) == 1
    assert (await shop.books_close(drop))["paid"] == 1


async def test_a_paid_unit_turns_all_held_into_sold_out(shop):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop)
    other = await shop.shopper()
    assert (await shop.buys(drop, other)).verdict == "all_held"
    await shop.till().charge(order, 1)
    assert (await shop.buys(drop, other)).verdict == "sold_out"


async def test_a_declined_card_returns_the_hold_until_attempts_are_used_up(shop):
    drop = await shop.opens(units=1, attempts=2)
    order, shopper = await submitted(shop, drop, "pm_card_chargeDeclined")
    assert await shop.till().charge(order, 1) == "declined"
    assert await shop.state(order) == "PENDING_PAYMENT"
    assert isinstance(await shop.till(ListQueue()).submit(order, shopper, "pm_card_chargeDeclined"), Submitted)
    assert await shop.till().charge(order, 2) == "given back"
    assert await shop.state(order) == "FAILED"
    assert (await shop.books_close(drop))["gate_left"] == 1


async def test_a_decline_after_the_deadline_expires_the_order(shop):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop, "pm_card_chargeDeclined")
    await shop.deadline_passes(order)
    await shop.till().charge(order, 1)
    await shop.sweeps()
    assert await shop.state(order) == "EXPIRED"
    await shop.books_close(drop)


async def test_nothing_is_payable_twice_at_once_or_after_the_end(shop):
    drop = await shop.opens(units=1)
    order, shopper = await submitted(shop, drop)
    assert isinstance(await shop.till(ListQueue()).submit(order, shopper, "pm_card_visa"), NotPayable)
    await shop.till().charge(order, 1)
    refused = await shop.till(ListQueue()).submit(order, shopper, "pm_card_visa")
    assert isinstance(refused, NotPayable) and refused.state == "PAID"


@pytest.mark.parametrize("point", CRASH_POINTS, ids=lambda point: "-".join(point))
@pytest.mark.parametrize("fault", [Died(), ProviderSilent("no reply")], ids=["killed", "no-reply"])
@pytest.mark.parametrize("overdue", [False, True], ids=["in-time", "overdue"])
@pytest.mark.parametrize("method", ["pm_card_visa", "pm_card_chargeDeclined"])
async def test_a_charge_that_dies_anywhere_ends_with_one_outcome(shop, point, fault, overdue, method):
    drop = await shop.opens(units=1, attempts=1)
    order, _ = await submitted(shop, drop, method)
    shop.provider.faults[point] = fault
    try:
        await shop.till().charge(order, 1)
    except Died:
        pass
    if await shop.state(order) == "PROCESSING":
        await shop.claim_dies(order)
    if overdue:
        await shop.deadline_passes(order)
    for _ in range(3):
        await shop.sweeps()
        if await shop.state(order) == "PROCESSING":
            await shop.claim_dies(order)
    state = await shop.state(order)
    assert state in ("PAID", "EXPIRED", "FAILED"), state
    assert shop.provider.captures(order) == (state == "PAID")
    assert state == "PAID" or method != "pm_card_visa" or overdue, "a payment in time with a good card was lost"
    await shop.books_close(drop)


async def test_a_worker_that_dies_after_the_capture_and_before_the_write_charges_once(shop, monkeypatch):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop)

    async def dies(*_, **__):
        raise Died()

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(shop.ledger, "settle_paid", dies)
        await shop.till().charge(order, 1)
    assert shop.provider.captures(order) == 1 and await shop.state(order) == "PROCESSING"
    await shop.claim_dies(order)
    await shop.sweeps()
    assert await shop.state(order) == "PAID" and shop.provider.captures(order) == 1
    assert shop.provider.calls["confirm"] == 1, "the take-over must look before it charges"


async def test_a_silent_provider_keeps_the_unit_until_it_answers(shop):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop)
    shop.provider.faults = {("confirm", "after"): ProviderSilent("lost"), ("retrieve", "before"): ProviderSilent("outage")}
    assert await shop.till().charge(order, 1) == "unknown"
    await shop.deadline_passes(order)
    await shop.claim_dies(order)
    shop.provider.faults = {("retrieve", "before"): ProviderSilent("outage")}
    await shop.sweeps()
    assert await shop.state(order) == "PROCESSING", "the unit must be neither sold nor given away"
    assert (await shop.ledger.order(order)).payment == "unknown"
    await shop.claim_dies(order)
    await shop.sweeps()
    assert await shop.state(order) == "PAID" and shop.provider.captures(order) == 1


async def test_an_authentication_leaves_the_hold_and_completes_later(shop):
    drop = await shop.opens(units=1)
    order, shopper = await submitted(shop, drop, "pm_card_authenticationRequired")
    assert await shop.till().charge(order, 1) == "action"
    row = await shop.ledger.order_for(order, shopper)
    assert row.state == "PENDING_PAYMENT" and row.action_url.startswith("https://bank.example")
    link = order_link(link_key(SECRET), order)
    assert row.action_url.endswith(f"back=http://127.0.0.1:8000{link}?back=1")  # in whatever browser the bank leads back to it
    shop.provider.complete_authentication(order)
    assert await shop.till().look_up(order) == "paid"
    assert await shop.till().look_up(order) == "already"
    assert await shop.state(order) == "PAID"


async def test_an_authentication_finished_unseen_is_found_by_the_sweeper(shop):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop, "pm_card_authenticationRequired")
    await shop.till().charge(order, 1)
    shop.provider.complete_authentication(order)
    await shop.deadline_passes(order)
    await shop.sweeps()
    assert await shop.state(order) == "PAID", "the intent had succeeded before it could be cancelled"


async def test_an_authentication_never_finished_gives_the_unit_back_and_can_capture_no_more(shop):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop, "pm_card_authenticationRequired")
    await shop.till().charge(order, 1)
    await shop.deadline_passes(order)
    await shop.sweeps()
    shop.provider.complete_authentication(order)
    assert await shop.state(order) == "EXPIRED" and shop.provider.captures(order) == 0
    await shop.books_close(drop)


async def test_money_for_an_order_that_is_gone_is_refunded_once(shop):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop, "pm_card_authenticationRequired")
    await shop.till().charge(order, 1)
    shop.provider.complete_authentication(order)
    # an operator gives the unit back although the provider could not be asked
    await shop.sql("UPDATE orders SET state = 'EXPIRED', released = false WHERE id = $1", order)
    await shop.sql("UPDATE stock SET sold = 0 WHERE drop_id = $1", drop.id)
    await shop.sql("INSERT INTO movements SELECT id, 'returned', drop_id, variant_id, -quantity FROM orders WHERE id = $1", order)
    assert await shop.till(ListQueue()).look_up(order) == "late"
    for _ in range(3):
        await shop.sweeps()
        await shop.till(ListQueue()).look_up(order)
    row = await shop.ledger.order(order)
    assert row.state == "EXPIRED" and row.payment == "refunded"
    assert shop.provider.refunded(order) == 1
    assert (await shop.books_close(drop))["gate_left"] == 1


async def test_a_refund_whose_reply_is_lost_is_asked_again_under_its_key(shop):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop)
    await shop.till().charge(order, 1)
    await shop.ledger.want_refund(order, "seller:1", 4900)
    shop.provider.faults[("refund", "after")] = ProviderSilent("lost")
    assert await shop.till().refund(order, "seller:1") == "unknown"
    assert await shop.till().refund(order, "seller:1") == "refunded"
    assert shop.provider.refunded(order) == 1


async def test_another_amount_at_the_provider_is_never_paid(shop):
    drop = await shop.opens(units=1)
    order, _ = await submitted(shop, drop)
    await shop.provider.create_intent(order, 1, "EUR")
    assert await shop.till(ListQueue()).charge(order, 1) == "mismatch"
    assert await shop.state(order) != "PAID"
    await shop.sweeps()
    assert shop.provider.refunded(order) == 1


async def test_cancelling_gives_an_untouched_hold_back_at_once(shop):
    drop = await shop.opens(units=1)
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    assert await shop.till().cancel(order, shopper) is OrderState.CANCELLED
    assert (await shop.books_close(drop))["gate_left"] == 1


async def test_cancelling_after_a_decline_cancels_the_intent_first(shop):
    drop = await shop.opens(units=1)
    order, shopper = await submitted(shop, drop, "pm_card_chargeDeclined")
    await shop.till().charge(order, 1)
    assert await shop.till().cancel(order, shopper) is OrderState.CANCELLED
    assert shop.provider.calls["cancel"] == 1
    await shop.books_close(drop)


async def test_a_payment_being_made_cannot_be_cancelled(shop):
    drop = await shop.opens(units=1)
    order, shopper = await submitted(shop, drop)
    assert await shop.till().cancel(order, shopper) is not OrderState.CANCELLED
    assert await shop.till().charge(order, 1) == "paid"


async def test_a_give_back_that_dies_is_finished_by_the_next_worker(shop):
    drop = await shop.opens(units=1)
    order, shopper = await submitted(shop, drop, "pm_card_chargeDeclined")
    await shop.till().charge(order, 1)
    shop.provider.faults[("cancel", "after")] = Died()
    with pytest.raises(Died):
        await shop.till().give_back(order, OrderState.CANCELLED, Refusal.BY_SHOPPER, shopper_id=shopper)
    assert await shop.state(order) == "PROCESSING"
    await shop.claim_dies(order)
    await shop.sweeps()
    assert await shop.state(order) == "CANCELLED"
    await shop.books_close(drop)
