"""Everybody who touches money and parcels at the same instant, over the real adapter and the sandbox provider.

test_balance.py takes its actors in turn, and so finds the order of steps that breaks a rule; here they really run beside each
other, with lost replies, declines, an outage and workers that are taken for dead, and meet in the ledger's locks. The seed decides
who does what; who comes first is the machine's.
"""

import asyncio
from random import Random

import httpx
import pytest

from app.domain.orders import FINAL, OrderState, Refusal
from app.errors import DoormanError
from app.payments import Notice, Outcome, OutcomeKind, StripeProvider
from app.purchase.refunding import cancel_drop, give_back_unasked, refund_order
from tests.doubles import ListQueue
from tests.sandboxes import PROVIDER, Sandbox

SHOPPERS = 12
ROUNDS = 10
ACTS_AT_ONCE = 3  # per order
CALL_SECONDS = 1.0
CARDS = ("pm_card_visa", "pm_card_visa", "pm_card_authenticationRequired", "pm_card_chargeDeclined", "ctoken_nobody_made")
PRICE_MINOR = 4900


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    sandbox = Sandbox(PROVIDER, tmp_path_factory.mktemp("provider"))
    yield sandbox
    sandbox.stops()


class Everybody:
    """Who may act on one order, each with a till of its own, as each process has."""

    def __init__(self, shop, sandbox, chance: Random):
        self.shop, self.sandbox, self.chance = shop, sandbox, chance

    @property
    def till(self):
        return self.shop.till(ListQueue())

    async def acts(self, order, shopper) -> None:
        """One of them does one thing; a refusal is an answer."""
        acts = (
            (6, self.submits), (8, self.charges), (1, self.cancels), (2, self.comes_back_from_the_bank), (3, self.hears),
            (2, self.refunds), (2, self.takes_over), (1, self.gives_back), (1, self.gives_up), (3, self.ships),
            (2, self.authenticates),
        )  # fmt: skip
        [(_, act)] = self.chance.choices(acts, weights=[weight for weight, _ in acts])
        try:
            await act(order, shopper)
        except DoormanError:
            pass

    async def submits(self, order, shopper):
        await self.till.submit(order, shopper, self.chance.choice(CARDS))

    async def charges(self, order, _):
        await self.till.charge(order, self.chance.choice((1, 1, 2, 3)))

    async def cancels(self, order, shopper):
        await self.till.cancel(order, shopper)

    async def comes_back_from_the_bank(self, order, _):
        await self.till.look_up(order)

    async def hears(self, order, _):
        """What the provider says now, delivered more than once, and behind it a failure that is long over."""
        intent_id = (await self.shop.ledger.order(order)).intent_id
        if intent_id:
            outcome = await self.shop.provider.retrieve(intent_id)
            captured = outcome.kind is OutcomeKind.CAPTURED
            kind = "payment_intent.succeeded" if captured else "payment_intent.payment_failed"
            await self.till.hear(Notice(f"evt_{order}_{kind}_{self.chance.randrange(2)}", kind, order, intent_id, outcome, None))
            old = Outcome(OutcomeKind.DECLINED, intent_id, PRICE_MINOR, "EUR")
            await self.till.hear(Notice(f"evt_{order}_old", "payment_intent.payment_failed", order, intent_id, old, None))

    async def refunds(self, order, _):
        amount = self.chance.choice((None, 100, PRICE_MINOR, PRICE_MINOR + 1, 2 * PRICE_MINOR))
        wanted = await refund_order(self.shop.ledger, order, amount_minor=amount, restock=self.chance.random() < 0.5)
        await asyncio.gather(*(self.till.refund(order, wanted.purpose) for _ in range(2)))

    async def takes_over(self, order, _):
        await self.shop.claim_dies(order)
        await self.till.take_over(order)

    async def gives_back(self, order, _):
        await self.till.give_back(order, OrderState.EXPIRED, Refusal.DEADLINE)

    async def gives_up(self, order, _):
        await give_back_unasked(self.shop, order)

    async def ships(self, order, _):
        await self.chance.choice((self.shop.packer().ship, self.shop.packer().resubmit))(order)

    async def authenticates(self, order, _):
        intent_id = (await self.shop.ledger.order(order)).intent_id
        if intent_id:
            async with httpx.AsyncClient() as browser:
                decision = self.chance.choice(("complete", "complete", "fail"))
                await browser.post(f"{self.sandbox.url}/sandbox/authenticate/{intent_id}", data={"decision": decision})


@pytest.mark.parametrize("seed", range(3))
async def test_whoever_meets_whom_the_provider_and_the_books_agree_in_the_end(shop, sandbox, seed):
    chance = Random(seed)
    everybody = Everybody(shop, sandbox, chance)
    shop.provider = StripeProvider("sk_test_x", api_base=sandbox.url, timeout_seconds=CALL_SECONDS)
    drop = await shop.opens(units=3 * SHOPPERS, limit=3, price_minor=PRICE_MINOR)
    orders = []
    for _ in range(SHOPPERS):
        shopper = await shop.shopper()
        orders.append((await shop.holds(drop, shopper, quantity=chance.choice((1, 2, 3))), shopper))
    sandbox.script(decline_rate=0.3, latency=[0, 0.05], drop_after_capture=2)
    for number in range(ROUNDS):
        if number in (4, 7):
            for order, _ in chance.sample(orders, 3):
                await shop.deadline_passes(order)
            sandbox.script(outage=number == 7, drop_after_capture=2)
        if number == 8:
            sandbox.script(outage=False)
        others = [shop.sweeps()] if number % 3 == 1 else []
        if number == 8 and seed == 1:
            others.append(cancel_drop(shop, drop.slug))
        await asyncio.gather(*(everybody.acts(*one) for one in orders for _ in range(ACTS_AT_ONCE)), *others)
    sandbox.script(decline_rate=0, latency=[0, 0], drop_after_capture=0)
    await comes_to_rest(shop, orders)
    for order, _ in orders:
        await agrees(shop, sandbox, order)
    assert (await shop.books_close(drop))["findings"] == []
    assert (await shop.ledger.verify_history()).broken == []
    await shop.provider.close()


async def comes_to_rest(shop, orders) -> None:
    for order, _ in orders:
        await shop.deadline_passes(order)
    for _ in range(6):
        await shop.time_passes()
        await shop.sweeps()


async def agrees(shop, sandbox, order) -> None:
    """One order at rest: one intent, its capture kept or back, one parcel at most; a person is told of what excludes each other."""
    row, told = await shop.ledger.order(order), await shop.events(order)
    intents = [one for one in sandbox.ledger() if one["order"] == str(order)]
    assert len(intents) <= 1, told
    captured, refunded = (intents[0]["captured"], intents[0]["refunded"]) if intents else (0, 0)
    [books] = await shop.sql(
        "SELECT coalesce(max(captured_minor), 0) AS captured, coalesce(max(refunded_minor), 0) AS refunded"
        " FROM payments WHERE order_id = $1",
        order,
    )
    assert (books["captured"], books["refunded"]) == (captured, refunded), told
    parcels = len(shop.warehouse.numbers(order))
    shown = [found.kind for found in await shop.ledger.attention(3 * SHOPPERS) if found.order_id == order]
    if row.state is OrderState.PAID:
        assert captured == row.amount_minor > refunded, told
        assert parcels == 1 or "parcel" in shown, told
    else:
        assert row.state in FINAL and captured == refunded, told
        assert parcels == 0 or (parcels == 1 and "parcel" in shown), told
