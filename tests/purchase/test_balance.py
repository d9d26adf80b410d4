"""For any interleaving of everybody who touches money: captures - refunds at the provider = the books."""

import asyncio

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from app.domain.orders import FINAL, OrderState, Refusal
from app.errors import BadInput, ProviderRefused, ProviderSilent
from app.payments import Notice, Outcome, OutcomeKind
from app.purchase.refunding import cancel_drop, give_back_unasked, refund_order
from tests.doubles import Died, ListQueue

ORDERS = 2
CARDS = ("pm_card_visa", "pm_card_chargeDeclined", "pm_card_authenticationRequired")
FAULTS = (Died(), ProviderSilent("no reply"), ProviderRefused("no"))
NOTICES = ("payment_intent.succeeded", "payment_intent.payment_failed", "charge.refunded")
CALLS = ("create_intent", "confirm", "retrieve", "cancel", "refund")

SITUATIONS = {
    "held": [],
    "charging": [("submit", 0, CARDS[0])],
    "authenticating": [("submit", 0, CARDS[2]), ("charge", 0)],
    "paid": [("submit", 0, CARDS[0]), ("charge", 0)],
    "paid unseen": [("submit", 0, CARDS[0]), ("fault", "confirm", "after", 1), ("charge", 0)],
    "paid unseen and given up": [
        ("submit", 0, CARDS[0]),
        ("fault", "confirm", "after", 1),
        ("charge", 0),
        ("seller gives back", 0),
    ],
    "authenticated unseen": [
        ("submit", 0, CARDS[2]),
        ("charge", 0),
        ("authenticate", 0),
        ("deadline", 0),
        ("fault", "cancel", "before", 1),
        ("give back", 0),
    ],
}

which = st.integers(0, ORDERS - 1)
steps = st.one_of(
    st.tuples(st.just("submit"), which, st.sampled_from(CARDS)),
    st.tuples(st.just("charge"), which),
    st.tuples(st.just("authenticate"), which),
    st.tuples(st.just("look up"), which),
    st.tuples(st.just("deadline"), which),
    st.tuples(st.just("give back"), which),
    st.tuples(st.just("shopper cancels"), which),
    st.tuples(st.just("seller gives back"), which),
    st.tuples(st.just("refund"), which, st.sampled_from([None, 1, 2000, 4900]), st.booleans()),
    st.tuples(st.just("fault"), st.sampled_from(CALLS), st.sampled_from(["before", "after"]), st.sampled_from(range(len(FAULTS)))),
    st.tuples(st.just("notice"), which, st.sampled_from(NOTICES), st.integers(0, 1)),
    st.tuples(st.just("time passes")),
    st.tuples(st.just("sweep")),
    st.tuples(st.just("drop cancelled")),
)


async def play(shop, drop, orders, step) -> None:
    """One step of one actor; a process that dies in it leaves what it leaves."""
    till = shop.till(ListQueue())
    order = orders[step[1]] if len(step) > 1 and isinstance(step[1], int) else None
    row = await shop.ledger.order(order) if order else None
    match step:
        case ("submit", _, card):
            await till.submit(order, row.shopper_id, card)
        case ("charge", _):
            await till.charge(order, row.attempts)
        case ("authenticate", _) if row.intent_id:
            shop.provider.complete_authentication(order)
        case ("look up", _):
            await till.look_up(order)
        case ("deadline", _):
            await shop.deadline_passes(order)
        case ("give back", _):
            await till.give_back(order, OrderState.EXPIRED, Refusal.DEADLINE)
        case ("shopper cancels", _):
            await till.cancel(order, row.shopper_id)
        case ("seller gives back", _):
            await shop.sql("UPDATE payments SET needs_attention = 'shown' WHERE order_id = $1 AND state = 'unknown'", order)
            await give_back_unasked(shop, order)
        case ("refund", _, amount, restock):
            wanted = await refund_order(shop.ledger, order, amount_minor=amount, restock=restock)
            await till.refund(order, wanted.purpose)
        case ("notice", _, kind, number) if row.intent_id:
            await till.hear(a_notice(shop, order, kind, number))
        case ("fault", call, when, fault):
            shop.provider.faults[(call, when)] = FAULTS[fault]
        case ("time passes",):
            await shop.time_passes()
        case ("sweep",):
            await shop.sweeps()
        case ("drop cancelled",):
            await cancel_drop(shop, drop.slug)


def a_notice(shop, order, kind: str, number: int) -> Notice:
    """The provider's word on an order's payment: true about a capture and about what went back, late or early about all else.

    The same `number` is the same notice, delivered once more.
    """
    intent_id = f"pi_{order}"
    captured = shop.provider.captures(order) > 0
    if kind == "payment_intent.succeeded" and not captured:
        kind = "payment_intent.created"
    found = OutcomeKind.CAPTURED if kind == "payment_intent.succeeded" else OutcomeKind.DECLINED
    refunded = shop.provider.refunded_minor(order) if kind == "charge.refunded" else None
    outcome = None if refunded is not None else Outcome(found, intent_id, 4900, "EUR")
    return Notice(f"evt_{order}_{kind}_{number}", kind, order, intent_id, outcome, refunded)


async def begin(shop, drop, order, situation) -> None:
    """Bring a hold into a situation that takes many steps to reach by chance."""
    for step in SITUATIONS[situation]:
        await play(shop, drop, [order], step)
        if step[0] == "fault":
            shop.provider.faults[("retrieve", "before")] = ProviderSilent("no reply")


async def comes_to_rest(shop, orders) -> None:
    """Everybody is alive again, the provider answers, and the time to pay is over."""
    shop.provider.faults.clear()
    for order in orders:
        await shop.deadline_passes(order)
    for _ in range(5):
        await shop.time_passes()
        await shop.sweeps()


async def one_story(shop, situations, story) -> None:
    drop = await shop.opens(units=ORDERS)
    orders = [await shop.holds(drop, await shop.shopper()) for _ in range(ORDERS)]
    for order, situation in zip(orders, situations, strict=True):
        await begin(shop, drop, order, situation)
    for step in story:
        try:
            await play(shop, drop, orders, step)
        except (Died, BadInput):
            pass
        await money_agrees(shop, drop, orders, resting=False)
    await comes_to_rest(shop, orders)
    await money_agrees(shop, drop, orders, resting=True)
    shop.provider.faults.clear()


async def money_agrees(shop, drop, orders, *, resting: bool) -> None:
    for order in orders:
        [money] = await shop.sql(
            "SELECT coalesce(max(captured_minor), 0) AS captured, coalesce(max(refunded_minor), 0) AS refunded"
            " FROM payments WHERE order_id = $1",
            order,
        )
        captured, refunded = 4900 * shop.provider.captures(order), shop.provider.refunded_minor(order)
        assert captured in (0, 4900) and refunded <= captured, "charged twice, or more given back than taken"
        assert money["captured"] <= captured and money["refunded"] <= refunded, "the books say more than the provider did"
        if not resting:
            continue
        row = await shop.ledger.order(order)
        assert (money["captured"], money["refunded"]) == (captured, refunded), (row, captured, refunded)
        assert row.state is OrderState.PAID or row.state in FINAL, row
        if row.state is not OrderState.PAID:
            assert captured == refunded, f"money of a gone order was kept: {row}"
        assert len(shop.warehouse.numbers(order)) <= 1
    if resting:
        books = await shop.books_close(drop)
        assert books["findings"] == []
        assert (await shop.ledger.verify_history()).broken == []


def every_situation_by_itself(tell):
    """What many steps lead to is told in any case, not only when chance finds it."""
    for situation in SITUATIONS:
        tell = example((situation,) * ORDERS, [])(tell)
    return tell


async def test_captures_minus_refunds_are_the_books_in_any_story(shop):
    loop = asyncio.get_running_loop()

    @every_situation_by_itself
    @settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
    @given(st.tuples(*[st.sampled_from(sorted(SITUATIONS))] * ORDERS), st.lists(steps, max_size=12))
    def tell(situations, story):
        asyncio.run_coroutine_threadsafe(one_story(shop, situations, story), loop).result(60)

    await asyncio.to_thread(tell)
