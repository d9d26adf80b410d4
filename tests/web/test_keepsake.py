"""The secret link and the confirmation: A07 of the field faults, and what a buyer can print."""

import base64
from uuid import uuid4

import pytest

from app.domain.links import link_key, order_link
from app.domain.orders import OrderState
from tests.web.conftest import FORM, JSON, PARTIAL


def link_to(shop, order) -> str:
    return order_link(link_key(shop.settings.secret), order)


async def test_a_link_shows_the_order_on_any_device_and_nothing_can_be_done_with_it(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    page = await shop.browser().get(link_to(shop, order))
    assert page.status_code == 200 and str(order) in page.text and "Night &lt;lamp&gt;" in page.text
    assert "<form" not in page.text.split("<main")[1].split("</main")[0]
    assert page.headers["x-robots-tag"] == "noindex, nofollow" and page.headers["cache-control"] == "private, no-store"
    assert page.headers["referrer-policy"] == "same-origin"
    assert f"/sign-in?next=/orders/{order}" in page.text
    assert "owner@example.org" in page.text  # whom to ask
    [row] = await shop.rows("SELECT email_written FROM shoppers WHERE id = $1", owner.shopper_id)
    assert row["email_written"] not in page.text


async def test_the_owner_is_led_to_the_order_itself(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    answer = await owner.get(link_to(shop, order))
    assert (answer.status_code, answer.headers["location"]) == (303, f"/orders/{order}")


async def test_a_link_that_is_none_and_an_order_that_is_none_are_one_answer(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    good = link_to(shop, order)
    bodies = set()
    for path in (
        "/o/" + base64.urlsafe_b64encode(order.bytes).rstrip(b"=").decode(),  # minus its secret
        good[:-1] + ("A" if good[-1] != "A" else "B"),
        order_link(link_key("another installation's secret, 32 bytes"), order),
        link_to(shop, uuid4()),
        f"/o/{order}",
        "/o/x",
    ):
        answer = await shop.browser().get(path, headers=JSON)
        assert answer.status_code == 404, path
        bodies.add(answer.text)
    assert len(bodies) == 1


async def test_no_store_is_asked_for_a_link_that_is_none(shop, monkeypatch):
    async def asked(*_):
        raise AssertionError("the ledger was asked")

    monkeypatch.setattr(type(shop.ledger), "order", asked)
    assert (await shop.browser().get("/o/" + "A" * 43)).status_code == 404


async def test_strangers_find_nothing_of_an_order_anywhere(shop):
    """A07: every address of an order, with its id and with its neighbours, asked by nobody and by somebody else."""
    drop, owner, stranger = await shop.opens(units=3), await shop.shopper(), await shop.shopper()
    order = await shop.holds(drop, owner)
    neighbour = type(order)(int=order.int + 1)
    for path in ("", "/status", "/confirmation", "/address"):
        bodies = {(await stranger.get(f"/orders/{one}{path}", headers=JSON)).text for one in (order, neighbour, uuid4())}
        assert len(bodies) == 1, path
        for headers in ({}, JSON, PARTIAL):
            assert (await stranger.get(f"/orders/{order}{path}", headers=headers)).status_code == 404
            assert (await shop.browser().get(f"/orders/{order}{path}", headers=headers)).status_code in (303, 200, 401)
            assert "Night" not in (await shop.browser().get(f"/orders/{order}{path}", headers=headers)).text
    for path, fields in (("pay", {"payment_method": "pm_card_visa"}), ("cancel", {}), ("address", {"name": "x"})):
        for one in (order, neighbour):
            assert (await stranger.post(f"/orders/{one}/{path}", data=fields, headers=FORM)).status_code == 404
            assert (await shop.browser().post(f"/orders/{one}/{path}", json=fields, headers=JSON)).status_code == 401
    [row] = await shop.rows("SELECT state, attempts FROM orders")
    assert (row["state"], row["attempts"]) == (OrderState.PENDING_PAYMENT, 0)


async def test_the_confirmation_is_the_owners_and_says_everything(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    await shop.rows("UPDATE drops SET ships = true")
    order = await shop.holds(drop, owner)
    typed = {"name": "Mira Lind", "street": "Torsgatan 1", "postcode": "11362", "town": "Stockholm", "country": "SE"}
    await owner.post(f"/orders/{order}/address", data=typed, headers=FORM)
    await shop.rows("UPDATE orders SET state = 'PAID', paid_at = now() WHERE id = $1", order)
    page = (await owner.get(f"/orders/{order}/confirmation")).text
    for said in (str(order), "€49.00", "Torsgatan 1", "Sweden", "Atelier", "Paid on", "owner@example.org", link_to(shop, order)):
        assert said in page, said
    linked = (await shop.browser().get(link_to(shop, order))).text
    assert "Torsgatan 1" in linked and "€49.00" in linked


@pytest.mark.parametrize("state", ["EXPIRED", "FAILED", "CANCELLED", "REFUSED", "REFUNDED"])
async def test_a_link_tells_how_an_order_ended(shop, state):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    await shop.rows("UPDATE orders SET state = $2, released = true, ended_at = now() WHERE id = $1", order, state)
    page = await shop.browser().get(link_to(shop, order))
    assert page.status_code == 200 and f'data-order-state="{state}"' in page.text and "Sign in to pay" not in page.text


async def test_every_order_page_names_whom_to_ask(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    assert f'href="mailto:owner@example.org?subject={order}"' in (await owner.get(f"/orders/{order}")).text
