"""What nobody could learn is shown, asked about ever more slowly, and decided by the seller's word (R6, A02)."""

import pytest

from app.errors import ProviderRefused, ProviderSilent
from app.purchase.refunding import ask_again, give_back_unasked, lawful_actions
from tests.doubles import ListQueue

ASKS = 5


async def submitted(shop, drop, method="pm_card_visa"):
    shopper = await shop.shopper()
    order = await shop.holds(drop, shopper)
    await shop.till(ListQueue()).submit(order, shopper, method)
    return order, shopper


async def stays_unknown(shop, order, error) -> None:
    """The provider answers nothing that settles anything, as often as it takes to be shown."""
    for _ in range(ASKS + 1):
        shop.provider.faults = {(call, "before"): error for call in ("retrieve", "cancel", "confirm", "create_intent")}
        await shop.time_passes()
        await shop.till(ListQueue()).take_over(order)
    shop.provider.faults = {}


@pytest.mark.parametrize("error", [ProviderRefused("invalid request"), ProviderSilent("outage")], ids=["refused", "silent"])
async def test_an_outcome_that_stays_unknown_is_shown_and_keeps_its_unit(shop, error):
    drop = await shop.opens()
    order, _ = await submitted(shop, drop)
    shop.provider.faults = {("confirm", "after"): error, ("retrieve", "before"): error}
    assert await shop.till().charge(order, 1) == "unknown"
    await stays_unknown(shop, order, error)
    [shown] = await shop.ledger.attention(10)
    assert (shown.kind, shown.state, shown.payment) == ("payment", "PROCESSING", "unknown") and str(error) in shown.why
    assert lawful_actions(shown.kind, shown.state) == ["ask again", "give back"]
    assert await shop.till().take_over(order) == "lost", "it rests before it is asked about again"
    assert (await shop.books_close(drop))["processing"] == 1
    assert await ask_again(shop.ledger, order)
    assert await shop.till().take_over(order) == "paid"
    assert await shop.ledger.attention(10) == [] and shop.provider.captures(order) == 1


async def test_a_refused_request_is_never_repeated_for_ever_nor_taken_for_a_decline(shop):
    drop = await shop.opens()
    order, _ = await submitted(shop, drop)
    shop.provider.faults = {("create_intent", "before"): ProviderRefused("no such key")}
    assert await shop.till().charge(order, 1) == "unknown"
    row = await shop.ledger.order(order)
    assert (row.state, row.payment, row.decline_reason) == ("PROCESSING", "unknown", None)
    await shop.deadline_passes(order)
    await shop.time_passes()
    await shop.sweeps()
    assert await shop.state(order) == "EXPIRED", "nothing was ever confirmed, so nothing can be charged"
    await shop.books_close(drop)


async def test_only_what_is_shown_as_unknown_can_be_given_back_unasked(shop):
    drop = await shop.opens(units=2)
    paid = await shop.pays(drop)
    order, _ = await submitted(shop, drop)
    assert not await give_back_unasked(shop, paid)
    assert not await give_back_unasked(shop, order)
    shop.provider.faults = {("confirm", "before"): ProviderSilent("x"), ("retrieve", "before"): ProviderSilent("x")}
    await shop.till().charge(order, 1)
    assert not await give_back_unasked(shop, order), "unknown for a moment is not yet the seller's to decide"


async def test_money_that_arrives_after_the_unit_was_given_back_is_refunded_and_said(shop):
    """A02: buyer 1 pays while an outage hides it; the unit is given back and sold; the capture comes to light."""
    drop = await shop.opens(units=1, hold_seconds=5)
    order, shopper = await submitted(shop, drop, "pm_card_authenticationRequired")
    await shop.till().charge(order, 1)
    shop.provider.complete_authentication(order)
    await shop.deadline_passes(order)
    shop.provider.faults = {("cancel", "before"): ProviderSilent("outage"), ("retrieve", "before"): ProviderSilent("outage")}
    await shop.sweeps()
    await stays_unknown(shop, order, ProviderSilent("outage"))
    assert await shop.state(order) == "PROCESSING"
    assert await give_back_unasked(shop, order)
    assert await shop.state(order) == "EXPIRED"
    second = await shop.pays(drop)
    assert await shop.state(second) == "PAID"
    [shown] = await shop.ledger.attention(10)
    assert shown.payment == "unknown"
    shop.provider.faults = {("cancel", "before"): ProviderSilent("outage")}
    await shop.sweeps()
    assert (await shop.ledger.order(order)).payment == "unknown"
    for _ in range(3):  # the outage ends
        await shop.time_passes()
        await shop.sweeps()
    row = await shop.ledger.order_for(order, shopper)
    assert (row.state, row.payment, row.reason) == ("EXPIRED", "refunded", "late_money")
    assert shop.provider.refunded_minor(order) == 4900 and shop.provider.captures(order) == 1
    assert await shop.ledger.attention(10) == [] and await shop.state(second) == "PAID"
    assert await shop.mails("money_back") == [row.email]
    assert await shop.ledger.parcel(order) is None
    books = await shop.books_close(drop)
    assert (books["paid"], books["gate_left"]) == (1, 0)


async def test_an_order_given_back_unasked_that_was_never_charged_ends_with_no_money(shop):
    drop = await shop.opens()
    order, _ = await submitted(shop, drop, "pm_card_authenticationRequired")
    await shop.till().charge(order, 1)
    await shop.deadline_passes(order)
    shop.provider.faults = {("cancel", "before"): ProviderSilent("outage"), ("retrieve", "before"): ProviderSilent("outage")}
    await shop.sweeps()
    await stays_unknown(shop, order, ProviderSilent("outage"))
    assert await give_back_unasked(shop, order)
    await shop.sweeps()
    shop.provider.complete_authentication(order)
    row = await shop.ledger.order(order)
    assert (row.state, row.payment) == ("EXPIRED", "none") and shop.provider.captures(order) == 0
    assert await shop.ledger.attention(10) == []
    assert (await shop.books_close(drop))["gate_left"] == 1
