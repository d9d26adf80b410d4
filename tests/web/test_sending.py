"""Where a parcel goes: asked before paying when a drop ships, and of nobody else."""

import json

import pytest

from app.domain.addresses import address_from
from tests.web.conftest import FORM, JSON, PARTIAL

TYPED = {"name": "Mira Lind", "street": "Torsgatan 1", "postcode": "11362", "town": "Stockholm", "country": "SE"}
PAY = {"payment_method": "pm_card_visa"}


async def holds_one_that_ships(shop, client):
    drop = await shop.opens(units=5, limit=3)
    await shop.rows("UPDATE drops SET ships = true WHERE id = $1", drop.id)
    return drop, await shop.holds(drop, client, key=f"k-{client.shopper_id}")


async def goes_to(shop, order) -> dict | None:
    [row] = await shop.rows("SELECT address FROM orders WHERE id = $1", order)
    return row["address"] and json.loads(row["address"])


async def test_a_drop_that_ships_nothing_asks_nothing(shop):
    drop, client = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, client)
    page = await client.get(f"/orders/{order}")
    assert "address" not in (await client.get(f"/orders/{order}", headers=JSON)).json()
    assert "data-send-to" not in page.text and "/address" not in page.text
    assert (await client.get(f"/orders/{order}/address")).headers["location"] == f"/orders/{order}"
    assert (await client.post(f"/orders/{order}/pay", json=PAY, headers=JSON)).status_code == 202


async def test_no_payment_without_an_address(shop):
    client = await shop.shopper()
    _, order = await holds_one_that_ships(shop, client)
    refused = await client.post(f"/orders/{order}/pay", json=PAY, headers=JSON)
    assert (refused.status_code, refused.json()["field"]) == (422, "address")
    plain = await client.post(f"/orders/{order}/pay", data=PAY, headers=FORM)
    assert (plain.status_code, plain.headers["location"]) == (303, f"/orders/{order}/address")
    partial = await client.post(f"/orders/{order}/pay", data=PAY, headers=PARTIAL)
    assert partial.headers["hx-redirect"] == f"/orders/{order}/address"
    assert not await shop.rows("SELECT 1 FROM attempts")


async def test_the_whole_way_of_a_plain_form(shop):
    client = await shop.shopper()
    _, order = await holds_one_that_ships(shop, client)
    page = await client.get(f"/orders/{order}/address")
    assert page.status_code == 200 and 'autocomplete="postal-code"' in page.text and ">Sweden<" in page.text
    given = await client.post(f"/orders/{order}/address", data=TYPED, headers=FORM)
    assert (given.status_code, given.headers["location"]) == (303, f"/orders/{order}")
    assert "113 62 Stockholm" in (await client.get(f"/orders/{order}")).text
    assert (await client.post(f"/orders/{order}/pay", data=PAY, headers=FORM)).headers["location"] == f"/orders/{order}"
    assert await shop.rows("SELECT 1 FROM attempts WHERE order_id = $1", order)
    assert (await client.get(f"/orders/{order}", headers=JSON)).json()["address"]["town"] == "Stockholm"


async def test_a_wrong_field_is_said_beside_it_and_nothing_typed_is_lost(shop):
    client = await shop.shopper()
    _, order = await holds_one_that_ships(shop, client)
    wrong = TYPED | {"country": "DE", "postcode": "1136", "name": '"><script>'}
    page = await client.post(f"/orders/{order}/address", data=wrong, headers=FORM)
    assert page.status_code == 422
    assert "This is no postal code of that country." in page.text and 'value="1136"' in page.text
    assert "&#34;&gt;&lt;script&gt;" in page.text and "<script>" not in page.text.split("<main")[1]
    refused = await client.post(f"/orders/{order}/address", json=wrong, headers=JSON)
    assert (refused.status_code, refused.json()["field"]) == (422, "postcode")
    assert await goes_to(shop, order) is None


async def test_a_payment_can_carry_the_address(shop):
    client = await shop.shopper()
    _, order = await holds_one_that_ships(shop, client)
    paid = await client.post(f"/orders/{order}/pay", json=PAY | {"address": TYPED}, headers=JSON)
    assert paid.status_code == 202
    assert (await goes_to(shop, order))["postcode"] == "113 62"


async def test_the_last_address_is_ready_the_next_time(shop):
    client = await shop.shopper()
    drop, first = await holds_one_that_ships(shop, client)
    await client.post(f"/orders/{first}/address", data=TYPED, headers=FORM)
    second = await shop.holds(drop, client, key="second")
    page = (await client.get(f"/orders/{second}")).text
    assert "Torsgatan 1" in page and 'name="address_id"' in page
    [kept] = await shop.ledger.addresses_of(client.shopper_id)
    paid = await client.post(f"/orders/{second}/pay", data=PAY | {"address_id": kept.id}, headers=FORM)
    assert paid.headers["location"] == f"/orders/{second}"
    assert (await goes_to(shop, second))["street"] == "Torsgatan 1"


async def test_nobody_uses_or_removes_anybody_elses_address(shop):
    owner, stranger = await shop.shopper(), await shop.shopper()
    await owner.post("/account/address", data=TYPED, headers=FORM)
    [kept] = await shop.ledger.addresses_of(owner.shopper_id)
    _, order = await holds_one_that_ships(shop, stranger)
    used = await stranger.post(f"/orders/{order}/address", json={"address_id": kept.id}, headers=JSON)
    assert (used.status_code, used.json()["field"]) == (422, "address_id")
    assert (await stranger.post(f"/account/address/{kept.id}/forget", headers=FORM)).status_code == 404
    assert "Torsgatan" not in (await stranger.get("/account")).text
    assert await shop.ledger.addresses_of(owner.shopper_id) == [kept]


async def test_a_strangers_order_takes_no_address(shop):
    owner, stranger = await shop.shopper(), await shop.shopper()
    _, order = await holds_one_that_ships(shop, owner)
    for answer in (
        await stranger.get(f"/orders/{order}/address"),
        await stranger.post(f"/orders/{order}/address", data=TYPED, headers=FORM),
        await stranger.get("/orders/00000001-0000-4000-8000-000000000000/address"),
    ):
        assert answer.status_code == 404
    assert (await shop.browser().get(f"/orders/{order}/address")).headers["location"].startswith("/sign-in?next=")
    assert await goes_to(shop, order) is None


async def test_addresses_are_saved_and_removed_in_the_account(shop):
    client = await shop.shopper()
    saved = await client.post("/account/address", data=TYPED | {"next": "/drops/lamp"}, headers=FORM)
    assert saved.headers["location"] == "/drops/lamp"
    assert (await client.post("/account/address", data=TYPED | {"next": "//evil.example"}, headers=FORM)).headers["location"] == "/"
    page = (await client.get("/account")).text
    assert "Torsgatan 1" in page and "Sweden" in page
    [kept] = await shop.ledger.addresses_of(client.shopper_id)
    assert (await client.post(f"/account/address/{kept.id}/forget", headers=FORM)).headers["location"] == "/account"
    assert "Torsgatan 1" not in (await client.get("/account")).text


@pytest.mark.parametrize("kept", ["0", "x", "-1", "9" * 30, "%00"])
async def test_an_address_that_no_row_can_have_is_not_there(shop, kept):
    client = await shop.shopper()
    assert (await client.post(f"/account/address/{kept}/forget", headers=FORM)).status_code in (400, 404)


async def holds_one_sent_to(shop, client, *countries):
    drop, order = await holds_one_that_ships(shop, client)
    await shop.rows("UPDATE drops SET shipping_countries = $2 WHERE id = $1", drop.id, list(countries))
    await shop.app_hears(drop)
    return drop, order


async def test_a_country_that_is_not_served_is_told_which_are(shop):
    client = await shop.shopper()
    _, order = await holds_one_sent_to(shop, client, "DE", "NO")
    page = await client.post(f"/orders/{order}/address", data=TYPED, headers=FORM)
    assert page.status_code == 422 and "It is not sent to Sweden, only to: Germany, Norway." in page.text
    assert 'value="Torsgatan 1"' in page.text
    paid = await client.post(f"/orders/{order}/pay", json=PAY | {"address": TYPED}, headers=JSON)
    assert (paid.status_code, paid.json()["field"]) == (422, "country")
    assert await goes_to(shop, order) is None
    served = TYPED | {"country": "NO", "postcode": "0150"}
    assert (await client.post(f"/orders/{order}/address", data=served, headers=FORM)).status_code == 303
    assert (await goes_to(shop, order))["country"] == "NO"


async def test_only_countries_that_are_served_are_offered(shop):
    client = await shop.shopper()
    drop, order = await holds_one_sent_to(shop, client, "DE", "NO")
    page = (await client.get(f"/orders/{order}/address")).text
    assert ">Norway<" in page and ">Sweden<" not in page
    assert ">Sweden<" in (await client.get("/account/address")).text
    assert "It is sent by parcel, to: Germany, Norway." in (await shop.browser().get(f"/drops/{drop.slug}")).text


async def test_the_ledger_itself_takes_no_address_in_a_country_that_is_not_served(shop):
    client = await shop.shopper()
    _, order = await holds_one_sent_to(shop, client, "DE")
    assert not await shop.ledger.send_to(order, client.shopper_id, address_from(TYPED))
    assert await goes_to(shop, order) is None
