"""The bank's page that a card with authentication leads to."""

import re
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

import pytest

from app.domain.ids import new_order_id
from app.payments import OutcomeKind

RETURN_URL = 'https://shop.example/orders/1?back=1&x="><script>'


class Page(HTMLParser):
    """What a person finds on a page: its heading, its buttons, its link."""

    def __init__(self, markup: str):
        super().__init__()
        self.buttons: dict[str, str] = {}
        self.form: dict[str, str] | None = None
        self.link = None
        self.language = None
        self.tags: set[str] = set()
        self.feed(markup)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.add(tag)
        if tag == "button":
            self.buttons[found["value"]] = found["name"]
        elif tag == "a":
            self.link = found["href"]
        elif tag == "form":
            self.form = found
        elif tag == "html":
            self.language = found["lang"]


@pytest.fixture
async def asked(provider, order):
    """-> (intent, address of its page)."""
    intent = await provider.create_intent(order, 4900, "EUR")
    outcome = await provider.confirm(order, 1, intent, "pm_card_authenticationRequired", RETURN_URL)
    return intent, outcome.action_url


async def test_completing_it_captures_and_leads_back_to_the_shop(provider, sandbox, asked, browser):
    intent, url = asked
    text = (await browser.get(url)).text
    page = Page(text)
    assert "EUR 49.00" in text
    assert page.buttons == {"complete": "decision", "fail": "decision"}
    assert (page.form["method"], page.language, "script" in page.tags) == ("post", "en", False)
    done = Page((await browser.post(url, data={"decision": "complete"})).text)
    assert (await provider.retrieve(intent)).kind is OutcomeKind.CAPTURED
    assert sandbox.row_of(intent)["captured"] == 4900
    back = parse_qs(urlsplit(done.link).query)
    assert (back["back"], back["payment_intent"], back["redirect_status"]) == (["1"], [intent], ["succeeded"])
    assert "script" not in done.tags


async def test_failing_it_declines_the_attempt_and_another_card_may_follow(provider, order, asked, browser):
    intent, url = asked
    done = Page((await browser.post(url, data={"decision": "fail"})).text)
    outcome = await provider.retrieve(intent)
    assert (outcome.kind, outcome.reason) == (OutcomeKind.DECLINED, "payment_intent_authentication_failure")
    assert parse_qs(urlsplit(done.link).query)["redirect_status"] == ["failed"]
    assert (await provider.confirm(order, 2, intent, "pm_card_visa", RETURN_URL)).kind is OutcomeKind.CAPTURED


async def test_deciding_twice_changes_nothing(sandbox, asked, browser):
    intent, url = asked
    for decision in ("complete", "complete", "fail"):
        assert (await browser.post(url, data={"decision": decision})).status_code == 200
    assert (sandbox.row_of(intent)["captured"], sandbox.row_of(intent)["attempts"]) == (4900, 1)


async def test_after_a_cancel_it_captures_no_more(provider, sandbox, order, asked, browser):
    intent, url = asked
    assert (await provider.cancel(order, intent)).kind is OutcomeKind.CANCELLED
    await browser.post(url, data={"decision": "complete"})
    assert sandbox.row_of(intent)["captured"] == 0
    assert Page((await browser.get(url)).text).buttons == {}


async def test_the_buyers_bank_is_open_while_the_provider_is_out(provider, sandbox, asked, browser):
    intent, url = asked
    sandbox.script(outage=True)
    assert (await browser.get(url)).status_code == 200
    await browser.post(url, data={"decision": "complete"})
    sandbox.script(outage=False)
    assert (await provider.retrieve(intent)).kind is OutcomeKind.CAPTURED


async def test_a_bank_may_ask_and_still_decline(provider, order, browser):
    intent = await provider.create_intent(order, 4900, "EUR")
    card = "pm_card_authenticationRequiredChargeDeclinedInsufficientFunds"
    outcome = await provider.confirm(order, 1, intent, card, RETURN_URL)
    await browser.post(outcome.action_url, data={"decision": "complete"})
    assert (await provider.retrieve(intent)).reason == "insufficient_funds"


async def test_an_unknown_payment_and_an_unknown_decision_are_refused(sandbox, asked, browser):
    intent, url = asked
    assert (await browser.get(f"{sandbox.url}/sandbox/authenticate/pi_none")).status_code == 404
    assert (await browser.post(f"{sandbox.url}/sandbox/authenticate/pi_none", data={"decision": "complete"})).status_code == 404
    assert (await browser.post(url, data={"decision": "maybe"})).status_code == 400
    assert (await browser.post(url, content=b"\xff")).status_code == 400
    assert sandbox.row_of(intent)["captured"] == 0


async def test_the_ledger_is_a_page_too_and_shows_hostile_text_as_text(sandbox, api, browser):
    await api.post(
        "/v1/payment_intents", data={"amount": "4900", "currency": "eur", "metadata[order]": "<script>alert(1)</script>"}
    )
    text = (await browser.get(sandbox.url)).text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert {"table", "th"} <= Page(text).tags and "script" not in Page(text).tags


async def test_the_ledger_reads_like_one_newest_first_with_what_moved(mortal, mortal_provider, order, browser):
    intent = await mortal_provider.create_intent(order, 4900, "EUR")
    await mortal_provider.confirm(order, 1, intent, "pm_card_chargeDeclined", "https://shop.example/")
    await mortal_provider.confirm(order, 2, intent, "pm_card_visa", "https://shop.example/")
    await mortal_provider.refund(order, "seller", intent, 900)
    untried = await mortal_provider.create_intent(new_order_id(8), 800, "JPY")
    text = (await browser.get(mortal.url)).text
    lines = [re.findall(r"<td>(.*?)</td>", line) for line in re.findall(r"<tr>(.*?)</tr>", text)[1:]]
    assert [line[2:] for line in lines] == [
        ["JPY 800", "not tried yet", "–", "–", "0", untried],
        ["EUR 49.00", "refunded in part", "EUR 49.00", "EUR 9.00", "2", intent],
    ]
    assert lines[1][1] == str(order) and "2 of 2 payments" in text
    assert "<li>1 in EUR: EUR 49.00 captured, EUR 9.00 refunded</li>" in text
