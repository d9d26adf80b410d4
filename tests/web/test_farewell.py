"""Deleting an account: said first, done whole, and never past a payment."""

from tests.web.conftest import FORM, JSON


async def test_the_page_says_what_happens_and_does_nothing(shop):
    client = await shop.shopper()
    page = await client.get("/account/delete")
    assert page.status_code == 200 and 'name="consent"' in page.text and "cannot be undone" in page.text
    assert "/account/delete" in (await client.get("/account")).text
    assert (await client.get("/account")).status_code == 200


async def test_nothing_is_deleted_without_a_word_of_consent(shop):
    client = await shop.shopper()
    unsure = await client.post("/account/delete", data={}, headers=FORM)
    assert unsure.status_code == 422 and "Tick the box" in unsure.text
    assert (await client.post("/account/delete", json={"consent": "no"}, headers=JSON)).json()["field"] == "consent"
    assert (await client.get("/account")).status_code == 200


async def test_with_it_the_account_goes_and_every_session_with_it(shop):
    client = await shop.shopper()
    other_device = shop.browser(client.headers["cookie"])
    await client.post("/account/address", headers=FORM, data={
        "name": "Mira", "street": "Torsgatan 1", "postcode": "11362", "town": "Stockholm", "country": "SE"})  # fmt: skip
    gone = await client.post("/account/delete", data={"consent": "yes"}, headers=FORM)
    assert (gone.status_code, gone.headers["location"]) == (303, "/")
    assert "session=" in gone.headers["set-cookie"] and "Max-Age=0" in gone.headers["set-cookie"]
    for browser in (client, other_device):
        assert (await browser.get("/account", headers=JSON)).status_code == 401
    [row] = await shop.rows("SELECT email, deleted_at FROM shoppers WHERE id = $1", client.shopper_id)
    assert row["email"].endswith("@deleted.invalid") and row["deleted_at"]
    assert not await shop.rows("SELECT 1 FROM addresses")


async def test_what_was_held_is_given_back_first(shop):
    drop, client = await shop.opens(units=1), await shop.shopper()
    order = await shop.holds(drop, client)
    assert "goes back on sale at once" in (await client.get("/account/delete")).text
    assert (await client.post("/account/delete", json={"consent": "yes"}, headers=JSON)).json() == {"deleted": True}
    [row] = await shop.rows("SELECT state, released FROM orders WHERE id = $1", order)
    assert (row["state"], row["released"]) == ("CANCELLED", True)
    assert (await shop.gate.peek(drop.id)).left == {drop.variants[0].id: 1}


async def test_a_payment_under_way_keeps_the_account(shop):
    drop, client = await shop.opens(), await shop.shopper()
    order = await shop.holds(drop, client)
    await client.post(f"/orders/{order}/pay", json={"payment_method": "pm_card_visa"}, headers=JSON)
    await shop.rows("UPDATE orders SET state = 'PROCESSING', claim = gen_random_uuid(), claimed_at = now() WHERE id = $1", order)
    refused = await client.post("/account/delete", json={"consent": "yes"}, headers=JSON)
    assert (refused.status_code, refused.json()) == (409, {"in_the_way": [str(order)]})
    page = await client.post("/account/delete", data={"consent": "yes"}, headers=FORM)
    assert page.status_code == 409 and "a payment is under way" in page.text
    assert (await client.get("/account")).status_code == 200


async def test_the_limit_per_person_cannot_be_got_around_by_leaving(shop):
    drop, client = await shop.opens(units=2), await shop.shopper()
    order = await shop.holds(drop, client)
    await shop.rows("UPDATE orders SET state = 'PAID', paid_at = now() WHERE id = $1", order)
    page = await client.post("/account/delete", data={"consent": "yes"}, headers=FORM)
    assert page.status_code == 409 and "the drop still sells" in page.text


async def test_who_is_not_signed_in_deletes_nothing(shop):
    assert (await shop.browser().post("/account/delete", json={"consent": "yes"}, headers=JSON)).status_code == 401
