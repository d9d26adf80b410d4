"""The provider counts what the shop means, in every currency, on the charge and on the refund (A18)."""

import pytest

from app.domain.money import format_money
from app.mail.letters import Letters
from app.payments import StripeProvider
from app.purchase.refunding import refund_order
from tests.doubles import ListQueue
from tests.sandboxes import PROVIDER, PROVIDER_TIMEOUT_SECONDS, Sandbox


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    sandbox = Sandbox(PROVIDER, tmp_path_factory.mktemp("provider"))
    yield sandbox
    sandbox.stops()


@pytest.mark.parametrize(
    ("currency", "price_minor", "shown"), [("JPY", 80, "¥80"), ("KWD", 1250, "KWD\xa01.250"), ("EUR", 1999, "€19.99")]
)
async def test_charge_and_refund_are_what_was_meant(shop, sandbox, currency, price_minor, shown):
    shop.provider = StripeProvider("sk_test_sandbox", api_base=sandbox.url, timeout_seconds=PROVIDER_TIMEOUT_SECONDS)
    drop = await shop.opens(price_minor=price_minor, currency=currency)
    order = await shop.pays(drop)
    row = await shop.ledger.order(order)
    assert (row.state, row.amount_minor, row.currency) == ("PAID", price_minor, currency)
    assert format_money(row.amount_minor, row.currency) == shown
    at_provider = sandbox.row_of(row.intent_id)
    assert (at_provider["amount"], at_provider["captured"], at_provider["currency"]) == (price_minor, price_minor, currency.lower())
    wanted = await refund_order(shop.ledger, order, restock=True)
    assert wanted.amount_minor == price_minor
    assert await shop.till(ListQueue()).refund(order, wanted.purpose) == "refunded"
    assert sandbox.row_of(row.intent_id)["refunded"] == price_minor
    [letter] = [message for message in await shop.ledger.newest(10) if message.kind == "money_back"]
    assert shown.replace("\xa0", " ") in Letters("https://shop.example").write(letter).text.replace("\xa0", " ")
    await shop.books_close(drop)
    await shop.provider.close()
