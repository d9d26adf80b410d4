"""A card typed into Stripe's own form, from its token to the settled order, with the real adapter and the sandbox as Stripe."""

import httpx
import pytest

from app.domain.orders import OrderState
from app.payments import StripeProvider
from tests.doubles import ListQueue
from tests.sandboxes import PROVIDER, PROVIDER_TIMEOUT_SECONDS, Sandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    sandbox = Sandbox(PROVIDER, tmp_path_factory.mktemp("provider"))
    yield sandbox
    sandbox.stops()


@pytest.fixture
async def shop(shop, sandbox):
    shop.provider = StripeProvider("sk_test_sandbox", api_base=sandbox.url, timeout_seconds=PROVIDER_TIMEOUT_SECONDS)
    yield shop
    await shop.provider.close()


def typed(sandbox, card: str) -> str:
    """Somebody types this card into the form -> the token that the browser sends us."""
    answer = httpx.post(
        f"{sandbox.url}/v1/test_helpers/confirmation_tokens",
        data={"payment_method": card},
        headers={"Authorization": "Bearer sk_test_sandbox"},
    )
    return answer.json()["id"]


async def test_a_token_pays_for_its_order_once(shop, sandbox):
    drop = await shop.opens()
    order = await shop.pays(drop, typed(sandbox, "pm_card_visa"))
    row = await shop.ledger.order(order)
    assert (row.state, row.payment) == ("PAID", "captured")
    assert sandbox.row_of(row.intent_id)["captured"] == row.amount_minor
    await shop.books_close(drop)


async def test_a_declined_token_leaves_the_hold_and_a_new_one_pays(shop, sandbox):
    drop = await shop.opens()
    declined = typed(sandbox, "pm_card_chargeDeclinedInsufficientFunds")
    order = await shop.pays(drop, declined)
    row = await shop.ledger.order(order)
    assert (row.state, row.decline_reason) == ("PENDING_PAYMENT", "insufficient_funds")
    till = shop.till(ListQueue())
    for n, token, state in ((2, declined, "PENDING_PAYMENT"), (3, typed(sandbox, "pm_card_visa"), "PAID")):
        await till.submit(order, row.shopper_id, token)
        await till.charge(order, n)
        assert await shop.state(order) == state
    assert sandbox.row_of(row.intent_id)["captured"] == row.amount_minor
    await shop.books_close(drop)


async def test_a_reply_that_was_lost_is_found_again_though_the_token_is_spent(shop, sandbox):
    drop = await shop.opens()
    sandbox.script(drop_after_capture=1)
    order = await shop.pays(drop, typed(sandbox, "pm_card_visa"))
    await shop.time_passes()
    await shop.sweeps()
    row = await shop.ledger.order(order)
    assert (row.state, sandbox.row_of(row.intent_id)["attempts"]) == ("PAID", 1)
    await shop.books_close(drop)


@pytest.mark.parametrize(("decision", "state"), [("complete", OrderState.PAID), ("fail", OrderState.PENDING_PAYMENT)])
async def test_the_bank_of_a_token_asks_on_its_page(shop, sandbox, decision, state):
    drop = await shop.opens()
    order = await shop.pays(drop, typed(sandbox, "pm_card_authenticationRequired"))
    row = await shop.ledger.order(order)
    assert (row.state, row.action_url) == ("PENDING_PAYMENT", f"{sandbox.url}/sandbox/authenticate/{row.intent_id}")
    httpx.post(row.action_url, data={"decision": decision})
    await shop.till(ListQueue()).look_up(order)
    assert await shop.state(order) == state
    await shop.books_close(drop)
