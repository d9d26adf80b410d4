"""What a shopper reads of what happened to their order: all that concerns them, in order, and nothing of what goes on behind it."""

import re
from datetime import UTC, datetime

import pytest

from app.domain.links import link_key, order_link
from app.ledger import Event
from app.purchase.refunding import refund_order
from app.web.history import ENDED_BY, TOLD, own_history
from tests.web.conftest import JSON, PARTIAL

AT = datetime(2026, 11, 30, 20, 0, 0, 412_000, tzinfo=UTC)
BEHIND = (
    "charging", "taken over", "giving back", "asked again", "notice ignored", "looked at", "payment questioned", "parcel asked for",
    "parcel waits", "parcel resubmitted", "parcel withdrawn", "refund not confirmed", "refunded elsewhere", "refunded and shipped",
    "units returned", "units withdrawn", "offer not wanted", "mail sent again",
)  # fmt: skip


def read(page: str) -> list[str]:
    """-> the lines of the history on a page."""
    [told] = re.findall(r"<details[^>]*data-history>(.*?)</details>", page, re.DOTALL)
    return re.findall(r'<li class="row"><span>(.*?)</span>', told)


async def test_a_buyer_reads_what_happened_from_the_door_to_the_refund(shop):
    drop = await shop.opens()
    client = await shop.shopper()
    order = await shop.holds(drop, client)
    for n, card in enumerate(("pm_card_chargeDeclined", "pm_card_visa"), 1):
        await client.post(f"/orders/{order}/pay", json={"payment_method": card}, headers=JSON)
        await shop.till.charge(order, n)
    wanted = await refund_order(shop.ledger, order, amount_minor=900, restock=False)
    await shop.till.refund(order, wanted.purpose)
    page = await client.get(f"/orders/{order}")
    assert read(page.text) == [
        "You got through; it was held for you",
        "You sent a payment",
        "Not charged: That card was declined.",
        "You sent a payment",
        "Paid: €49.00",
        "A refund of €9.00 was started",
        "Refunded: €9.00",
    ]
    held = (await shop.ledger.order(order)).reserved_at
    assert f'data-local="exact">{held.strftime("%H:%M:%S.")}{held.microsecond // 1000:03d}</time>' in page.text
    assert not {"charge worker", "recorder", str(wanted.purpose)} & set(re.findall(r"[\w:-]+", page.text))
    assert "history" not in (await client.get(f"/orders/{order}", headers=JSON)).json()
    part = await client.get(f"/orders/{order}/status", headers=PARTIAL)
    assert read(part.text) == read(page.text)
    assert f'/{len(read(page.text))}"' in re.search(r'data-order-version="[^"]*"', part.text)[0], "a new line is a new version"


async def test_whoever_came_by_the_link_in_a_mail_reads_it_too_and_nobody_else(shop):
    order = await shop.holds(await shop.opens(), await shop.shopper())
    page = await shop.browser().get(order_link(link_key(shop.settings.secret), order))
    assert read(page.text) == ["You got through; it was held for you"]
    assert (await (await shop.shopper()).get(f"/orders/{order}")).status_code == 404


@pytest.mark.parametrize(("by", "line"), ENDED_BY.items())
def test_who_ended_an_order_is_said_also_when_a_worker_did_it_for_them(by, line):
    at_once = [Event("cancelled", {"by": by, "units": 1}, AT)]
    asked_for = [
        Event("giving back", {"by": "sweeper", "to": "EXPIRED"}, AT),
        Event("giving back", {"by": by, "to": "CANCELLED"}, AT),
        Event("cancelled", {"by": "charge worker", "units": 1}, AT),
    ]
    assert [moment.text for moment in own_history(at_once, "EUR")] == [line]
    assert [moment.text for moment in own_history(asked_for, "EUR")] == [line]


def test_an_answer_that_does_not_come_is_told_once_and_what_goes_on_behind_is_not_told():
    unknown = [Event("outcome unknown", {"by": "charge worker", "asked": asked, "why": "no reply"}, AT) for asked in (1, 2, 3)]
    behind = [Event(kind, {"by": "seller", "why": "internal", "amount_minor": 1}, AT) for kind in BEHIND]
    assert [moment.text for moment in own_history(unknown + behind, "EUR")] == [TOLD["outcome unknown"]]


def test_every_sentence_finds_its_values():
    detail = {"by": "x", "amount_minor": 80, "currency": "JPY", "number": "4711", "tracking": "SBX1", "reason": "expired_card"}
    told = own_history([Event(kind, detail, AT) for kind in TOLD], "EUR")
    assert len(told) == len(TOLD) and all("%" not in moment.text for moment in told)
    assert {"Paid: ¥80", "Parcel 4711 is being packed", "Not charged: The card has expired."} <= {moment.text for moment in told}
