"""Stripe's card form: where a card may still be asked for, with Stripe's two keys; on no other page, and never without them."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from app.domain.links import link_key, order_link
from app.web.orders import with_card_form
from tests.web.conftest import FORM, JSON, PARTIAL, URL, open_shop, settings_with
from tests.web.test_templates import an_order

KEYS = {"stripe_secret_key": "sk_test_x", "stripe_publishable_key": "pk_test_of_this_shop"}
STRANGERS = {
    "script-src": "'self' https://js.stripe.com https://*.js.stripe.com",
    "frame-src": "https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com",
}
TOKEN = "ctoken_1NnQUf2eZvKYlo2CIObdtbnb"


@pytest.fixture
async def shop(redis_url, database_url):
    async with open_shop(settings_with(redis_url, database_url, **KEYS)) as shop:
        yield shop


def policy(answer) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in answer.headers["content-security-policy"].split(";"))
    return {name: sources for name, _, sources in parts}


async def test_the_page_where_one_pays_lets_stripes_form_in_and_tells_it_the_amount(shop):
    drop = await shop.opens(limit=2, units=2)
    client = await shop.shopper()
    order = await shop.holds(drop, client, quantity=2)
    page = await client.get(f"/orders/{order}")
    assert 'data-script="https://js.stripe.com/clover/stripe.js"' in page.text
    assert 'data-key="pk_test_of_this_shop" data-amount="9800" data-currency="eur"' in page.text
    assert re.search(r'<script src="/static/js/stripe\.js\?v=\w+" type="module">', page.text)
    assert "pm_card_" not in page.text and "sk_test_x" not in page.text
    allowed = policy(page)
    assert {name: allowed[name] for name in STRANGERS} == STRANGERS
    assert allowed["connect-src"] == f"'self' ws://{URL.removeprefix('http://')} https://api.stripe.com"
    assert "unsafe" not in str(allowed) and allowed["default-src"] == allowed["form-action"] == "'self'"
    part = await client.get(f"/orders/{order}/status", headers=PARTIAL)
    assert 'data-key="pk_test_of_this_shop"' in part.text


async def test_the_form_comes_into_a_page_that_was_opened_before_the_order_was_written_down(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = (await client.post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)).json()["order"]
    page = await client.get(f"/orders/{order}")
    assert 'data-order-state="CONFIRMING"' in page.text and "stripe.js" in page.text and "data-card-form" not in page.text
    assert policy(page)["script-src"] == STRANGERS["script-src"]


async def test_whoever_comes_by_the_link_in_a_mail_pays_in_the_same_form(shop):
    order = await shop.holds(await shop.opens(), await shop.shopper())
    page = await shop.browser().get(order_link(link_key(shop.settings.secret), order))
    assert 'data-key="pk_test_of_this_shop"' in page.text and policy(page)["script-src"] == STRANGERS["script-src"]


async def test_every_other_page_keeps_the_strict_policy(shop):
    drop = await shop.opens(units=3)
    client = await shop.shopper()
    paid = await shop.holds(drop, client)
    assert (await client.post(f"/orders/{paid}/pay", json={"payment_method": "pm_card_visa"}, headers=JSON)).status_code == 202
    await shop.till.charge(paid, 1)
    paths = ("/", f"/drops/{drop.slug}", "/orders", f"/orders/{paid}", f"/orders/{paid}/confirmation", "/account", "/sign-in",
             "/nowhere", "/orders/x", "/static/js/stripe.js")  # fmt: skip
    for path in paths:
        answer = await client.get(path)
        assert "stripe.com" not in answer.headers["content-security-policy"], path
        assert policy(answer).keys() == policy(await client.get("/healthz")).keys(), path
        assert "js.stripe.com" not in answer.text, path


async def test_the_token_of_the_form_is_what_the_worker_charges(shop):
    client = await shop.shopper()
    order = await shop.holds(await shop.opens(), client)
    answer = await client.post(f"/orders/{order}/pay", data={"payment_method": TOKEN}, headers=FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/orders/{order}")
    assert [tuple(row) for row in await shop.rows("SELECT n, payment_method FROM attempts")] == [(1, TOKEN)]
    assert shop.jobs.jobs[-1][0] == "charge"


async def test_a_form_sent_without_a_token_is_refused_and_costs_no_attempt(shop):
    client = await shop.shopper()
    order = await shop.holds(await shop.opens(), client)
    answer = await client.post(f"/orders/{order}/pay", data={"payment_method": ""}, headers=FORM | PARTIAL)
    assert answer.status_code == 422
    assert not await shop.rows("SELECT 1 FROM attempts")


async def test_without_the_keys_nothing_of_it_is_there(redis_url, database_url):
    async with open_shop(settings_with(redis_url, database_url)) as shop:
        client = await shop.shopper()
        order = await shop.holds(await shop.opens(), client)
        page = await client.get(f"/orders/{order}")
        assert "pm_card_visa" in page.text
        assert "stripe" not in page.text and "stripe" not in page.headers["content-security-policy"]


@pytest.mark.parametrize(("currency", "amount_minor", "amount"), [("JPY", 80, 80), ("ISK", 800, 80_000), ("KWD", 1250, 1250)])
def test_the_form_shows_the_amount_as_stripe_counts_it(currency, amount_minor, amount):
    doors = SimpleNamespace(settings=settings_with("", "", **KEYS))
    order = replace(an_order(), amount_minor=amount_minor, currency=currency, moving=True)
    form = with_card_form(order, doors).card_form
    assert (form.amount, form.currency) == (amount, currency.lower())
    assert with_card_form(replace(order, moving=False), doors).card_form is None
