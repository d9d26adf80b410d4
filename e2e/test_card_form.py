"""Paying through the payment provider's own card form.

Stripe itself is out of reach here: a stand-in for its script has the same calls, frame and addresses, and makes its tokens at the
sandbox. The page, its policy, the shop and the charge behind them are the real ones.
"""

import re

import httpx
import pytest
from playwright.async_api import Route, expect

from e2e.people import Person
from tests.house import House
from tests.sandboxes import PROVIDER, Sandbox

pytestmark = pytest.mark.slow

SECRET = "sk_test_sandbox"
CARDS = {"4242424242424242": "pm_card_visa", "4000000000000002": "pm_card_chargeDeclined"}
SCRIPT = """
window.Stripe = (key, { locale }) => ({
  elements({ mode, amount, currency, paymentMethodTypes }) {
    let card;
    return {
      create: (kind) => ({
        mount(place) {
          card = document.createElement("input");
          card.setAttribute("aria-label", "Card number");
          card.dataset.asked = JSON.stringify({ key, locale, kind, mode, amount, currency, paymentMethodTypes });
          const frame = document.createElement("iframe");
          frame.src = "https://js.stripe.com/frame.html";
          place.append(card, frame);
        },
        destroy() {},
      }),
      submit: async () => (card.value ? {} : { error: { message: "Your card number is incomplete." } }),
      card: () => card.value,
    };
  },
  async createConfirmationToken({ elements }) {
    const answer = await fetch("https://api.stripe.com/v1/confirmation_tokens", { method: "POST", body: elements.card() });
    return { confirmationToken: await answer.json() };
  },
});
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    sandbox = Sandbox(PROVIDER, tmp_path_factory.mktemp("provider"))
    yield sandbox
    sandbox.stops()


@pytest.fixture(scope="module")
def house(sandbox):
    """A shop with both of the provider's keys."""
    keys = {"STRIPE_SECRET_KEY": SECRET, "STRIPE_PUBLISHABLE_KEY": "pk_test_shop"}
    house = House.made(web=1, STRIPE_API_BASE=sandbox.url, **keys)
    try:
        house.start()
        house.opens_drop("lamp", 3)
        yield house
    finally:
        house.tear_down()


@pytest.fixture
async def mira(house, sandbox, browser):
    """Somebody with a hold, on its page; `mira.tokens` are those that the form made for her."""
    [cookie] = house.shoppers(1)
    mira = await Person.comes(house, browser, cookie=cookie)
    mira.tokens = []
    mira.blocked = False

    async def stripe(route: Route) -> None:
        if mira.blocked:
            await route.abort()
        elif route.request.url.startswith("https://api."):
            made = httpx.post(
                f"{sandbox.url}/v1/test_helpers/confirmation_tokens",
                data={"payment_method": CARDS[route.request.post_data]},
                headers={"Authorization": f"Bearer {SECRET}"},
            )
            mira.tokens.append(made.json()["id"])
            await route.fulfill(body=made.text, content_type="application/json", headers={"access-control-allow-origin": "*"})
        elif route.request.url.endswith(".html"):
            await route.fulfill(body="a field of the provider", content_type="text/html")
        else:
            await route.fulfill(body=SCRIPT, content_type="text/javascript")

    await mira.page.route(re.compile(r"^https://(js|api)\.stripe\.com/"), stripe)
    yield mira
    await mira.leaves()


def strangers(person: Person) -> set[str]:
    """-> whom the page asked outside the shop; everything else that was complained of fails."""
    asked = {re.match(r"a request to https://([^/]+)/", complaint) for complaint in person.complaints}
    assert None not in asked, person.complaints
    return {host[1] for host in asked}


async def types(person: Person, number: str) -> None:
    await person.page.get_by_label("Card number").fill(number)
    await person.page.get_by_role("button", name=re.compile("^Order and pay ")).dblclick()


async def test_an_unfinished_card_is_said_a_declined_one_may_be_replaced_and_a_good_one_pays_once(mira, sandbox):
    await mira.opens("/drops/lamp")
    await mira.buys()
    await mira.sees_order("PENDING_PAYMENT")
    field = mira.page.get_by_label("Card number")
    await expect(field).to_have_attribute(
        "data-asked",
        '{"key":"pk_test_shop","locale":"en","kind":"payment","mode":"payment","amount":4900,"currency":"eur",'
        '"paymentMethodTypes":["card"]}',
    )
    await expect(mira.page.frame_locator("[data-card-form] iframe").locator("body")).to_have_text("a field of the provider")
    await types(mira, "")
    await expect(mira.page.get_by_role("alert")).to_have_text("Your card number is incomplete.")
    assert mira.tokens == []
    await types(mira, "4000000000000002")
    await mira.page.locator("[data-notice]").wait_for()
    await types(mira, "4242424242424242")  # the form stands on the page again
    await mira.sees_order("PAID")
    assert len(mira.tokens) == 2, "one token a try, however often the button was tapped"
    [row] = [row for row in sandbox.ledger() if row["order"] in mira.page.url]
    assert (row["attempts"], row["captured"]) == (2, 4900)
    assert strangers(mira) == {"js.stripe.com", "api.stripe.com"}
    await mira.looks_again()
    mira.complaints.clear()
    await mira.opens("/")
    assert mira.complaints == [], "no other page asks anybody else"


async def test_a_form_that_does_not_load_says_so_and_comes_with_the_next_tap(mira):
    mira.blocked = True
    await mira.opens("/drops/lamp")
    await mira.buys()
    await expect(mira.page.get_by_role("alert")).to_contain_text("did not load")
    mira.blocked = False
    await mira.page.get_by_role("button", name=re.compile("^Order and pay ")).click()
    await types(mira, "4242424242424242")
    await mira.sees_order("PAID")
