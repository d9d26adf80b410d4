"""The secret link and the confirmation: A07 of the field faults, and what a buyer can print."""

import base64
from uuid import uuid4

import pytest

from app.domain.links import link_key, order_link
from app.domain.orders import OrderState
from tests.web.conftest import FORM, JSON, PARTIAL

PAY = {"payment_method": "pm_card_visa"}
HERE = {"name": "Mira Lind", "street": "Torsgatan 1", "postcode": "11362", "town": "Stockholm", "country": "SE"}


def link_to(shop, order) -> str:
    return order_link(link_key(shop.settings.secret), order)


async def ships(shop, owner):
    drop = await shop.opens(units=5, limit=3)
    await shop.rows("UPDATE drops SET ships = true WHERE id = $1", drop.id)
    return drop, await shop.holds(drop, owner)


async def test_a_link_shows_the_order_on_any_device_and_leads_straight_to_paying(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    link = link_to(shop, order)
    page = await shop.browser().get(link)
    assert page.status_code == 200 and "Night &lt;lamp&gt;" in page.text and 'data-order-state="PENDING_PAYMENT"' in page.text
    for address in (f'action="{link}/pay"', f'action="{link}/cancel"', f'data-status="{link}/status"'):
        assert address in page.text
    assert f"/orders/{order}" not in page.text  # nothing on it needs a sign-in
    assert "owner@example.org" in page.text  # whom to ask
    [row] = await shop.rows("SELECT email_written FROM shoppers WHERE id = $1", owner.shopper_id)
    assert row["email_written"] not in page.text


async def test_no_page_of_a_link_is_listed_or_kept_or_named_to_another_site_and_none_makes_a_session(shop):
    owner = await shop.shopper()
    _, order = await ships(shop, owner)
    link, phone = link_to(shop, order), shop.browser()
    answers = [await phone.get(link + below) for below in ("", "/status", "/address")]
    answers += [await phone.post(link + below, data={**PAY, **HERE}, headers=FORM) for below in ("/address", "/pay", "/cancel")]
    answers += [await phone.get(link, headers=JSON), await phone.post(link + "/pay", json=PAY, headers=JSON)]
    for answer in answers:
        assert answer.status_code in (200, 303, 202, 409), answer.text
        assert answer.headers["x-robots-tag"] == "noindex, nofollow" and answer.headers["cache-control"] == "private, no-store"
        assert answer.headers["referrer-policy"] == "same-origin" and "set-cookie" not in answer.headers


@pytest.mark.parametrize("headers", [FORM, PARTIAL])
async def test_the_bearer_of_a_link_pays_without_signing_in(shop, headers):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    link, phone = link_to(shop, order), shop.browser()
    answer = await phone.post(f"{link}/pay", data=PAY, headers=headers)
    if headers is FORM:
        assert (answer.status_code, answer.headers["location"]) == (303, link)
    else:
        assert answer.status_code == 202 and 'data-order-state="PROCESSING"' in answer.text
    assert 'data-order-state="PROCESSING"' in (await phone.get(f"{link}/status", headers=PARTIAL)).text
    await shop.till.charge(order, 1)
    assert (await phone.get(link, headers=JSON)).json()["state"] == "PAID"
    fragment = (await phone.get(f"{link}/status", headers=PARTIAL)).text
    assert f'href="{link}">Confirmation to print' in fragment
    again = await phone.post(f"{link}/pay", json=PAY, headers=JSON)
    assert (again.status_code, again.json()) == (409, {"state": "PAID"})


async def test_the_bearer_of_a_link_gives_the_unit_back_in_one_step(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    answer = await shop.browser().post(f"{link_to(shop, order)}/cancel", data={}, headers=FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, link_to(shop, order))
    [row] = await shop.rows("SELECT state FROM orders")
    assert row["state"] == "CANCELLED" and list((await shop.gate.peek(drop.id)).left.values()) == [1]


async def test_the_bearer_says_where_it_goes_and_touches_nothing_else_of_the_account(shop):
    owner = await shop.shopper()
    await owner.post("/account/address", data={**HERE, "street": "Hemlig väg 9"}, headers=FORM)
    [kept] = await shop.ledger.addresses_of(owner.shopper_id)
    _, order = await ships(shop, owner)
    link, phone = link_to(shop, order), shop.browser()
    asked = await phone.get(f"{link}/address")
    assert asked.status_code == 200 and f'action="{link}/address"' in asked.text
    assert "Hemlig" not in asked.text and "Hemlig" not in (await phone.get(link)).text
    borrowed = await phone.post(f"{link}/pay", json=PAY | {"address_id": str(kept.id)}, headers=JSON)
    assert borrowed.status_code == 422 and not await shop.rows("SELECT 1 FROM attempts")
    plain = await phone.post(f"{link}/pay", data=PAY, headers=FORM)
    assert plain.headers["location"] == f"{link}/address"
    given = await phone.post(f"{link}/address", data=HERE, headers=FORM)
    assert given.headers["location"] == link
    assert (await phone.post(f"{link}/pay", data=PAY, headers=FORM)).headers["location"] == link
    assert await shop.rows("SELECT 1 FROM attempts WHERE order_id = $1", order)
    assert [one.address.street for one in await shop.ledger.addresses_of(owner.shopper_id)] == ["Hemlig väg 9"]


async def test_of_a_paid_order_the_bearer_can_change_nothing(shop):
    owner = await shop.shopper()
    _, order = await ships(shop, owner)
    link, phone = link_to(shop, order), shop.browser()
    await phone.post(f"{link}/address", data=HERE, headers=FORM)
    await phone.post(f"{link}/pay", data=PAY, headers=FORM)
    await shop.till.charge(order, 1)
    moved = await phone.post(f"{link}/address", json={**HERE, "street": "Elsewhere 1"}, headers=JSON)
    assert (moved.status_code, moved.json()) == (409, {"address_given": False})
    assert (await phone.post(f"{link}/cancel", json={}, headers=JSON)).status_code == 409
    assert (await phone.get(f"{link}/address")).headers["location"] == link
    [row] = await shop.rows("SELECT state, address ->> 'street' AS street FROM orders")
    assert (row["state"], row["street"]) == ("PAID", HERE["street"])
    assert (await owner.post(f"/orders/{order}/address", json=HERE, headers=JSON)).status_code == 200  # its owner still may


async def test_back_from_the_bank_the_link_asks_how_it_ended(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    link, phone = link_to(shop, order), shop.browser()
    await phone.post(f"{link}/pay", json={"payment_method": "pm_card_authenticationRequired"}, headers=JSON)
    await shop.till.charge(order, 1)
    assert (await phone.post(f"{link}/pay", json=PAY, headers=JSON)).json()["authenticate"].startswith("https://")
    shop.jobs.jobs.clear()
    assert (await phone.get(f"{link}?back=1")).status_code == 200
    assert [job[0] for job in shop.jobs.jobs] == ["look_up"]
    assert (await owner.get(f"{link}?back=1")).headers["location"] == f"/orders/{order}?back=1"


async def test_another_site_cannot_pay_or_give_back_through_a_link_it_learnt(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    for path in ("pay", "cancel", "address"):
        answer = await shop.browser().post(
            f"{link_to(shop, order)}/{path}", data=PAY, headers={**FORM, "origin": "https://evil.example"}
        )
        assert answer.status_code == 403
    [row] = await shop.rows("SELECT state, attempts FROM orders")
    assert (row["state"], row["attempts"]) == ("PENDING_PAYMENT", 0)


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
        answers = [await shop.browser().get(path + below, headers=JSON) for below in ("", "/status", "/address")]
        answers += [await shop.browser().post(path + below, json=PAY, headers=JSON) for below in ("/pay", "/cancel", "/address")]
        assert [answer.status_code for answer in answers] == [404] * 6, path
        bodies |= {answer.text for answer in answers}
    assert len(bodies) == 1
    [row] = await shop.rows("SELECT state, attempts FROM orders")
    assert (row["state"], row["attempts"]) == ("PENDING_PAYMENT", 0)


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
    assert page.status_code == 200 and f'data-order-state="{state}"' in page.text
    assert "<form" not in page.text.split("<main")[1].split("</main")[0]


async def test_every_order_page_names_whom_to_ask(shop):
    drop, owner = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, owner)
    assert f'href="mailto:owner@example.org?subject={order}"' in (await owner.get(f"/orders/{order}")).text
