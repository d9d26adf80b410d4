"""The waitlist's doors: one tap, one place, in order; private; and the page says whose turn it is."""

from uuid import UUID

import pytest

from app.domain.drops import Door
from app.domain.links import link_key, order_link
from app.purchase.drops import change_door
from tests.web.conftest import FORM, JSON, PARTIAL

HTMX = PARTIAL | {"content-type": FORM["content-type"]}


async def all_held(shop, units=1, **more):
    """A drop with every unit in a checkout -> (drop, its first buyer's client, their order)."""
    drop = await shop.opens(units=units, **more)
    holder = await shop.shopper()
    for _ in range(units - 1):
        await shop.holds(drop, await shop.shopper())
    return drop, holder, await shop.holds(drop, holder)


async def test_joining_is_201_and_joining_again_is_the_same_place(shop):
    drop, _, _ = await all_held(shop)
    ada, bob = await shop.shopper(), await shop.shopper()
    first = await ada.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)
    second = await bob.post(f"/drops/{drop.slug}/waitlist", json={"variant": "one", "quantity": 1}, headers=JSON)
    again = await ada.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)
    assert [(answer.status_code, answer.json()) for answer in (first, second, again)] == [
        (201, {"place": 1, "ahead": 0}),
        (201, {"place": 2, "ahead": 1}),
        (200, {"place": 1, "ahead": 0}),
    ]


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [({"variant": "no such"}, 422, "variant"), ({"quantity": 0}, 422, "quantity"), ({"quantity": 2}, 422, "quantity")],
)
async def test_bad_input_names_its_field(shop, fields, status, field):
    drop, _, _ = await all_held(shop)
    answer = await (await shop.shopper()).post(f"/drops/{drop.slug}/waitlist", json=fields, headers=JSON)
    assert (answer.status_code, answer.json()["field"]) == (status, field)


async def test_only_the_signed_in_wait(shop):
    drop, _, _ = await all_held(shop)
    browser = shop.browser()
    assert (await browser.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)).status_code == 401
    answer = await browser.post(f"/drops/{drop.slug}/waitlist", data={}, headers=FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next=/drops/{drop.slug}")


async def test_who_can_buy_need_not_wait(shop):
    drop = await shop.opens(units=1)
    answer = await (await shop.shopper()).post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)
    assert (answer.status_code, answer.json()["verdict"]) == (409, "available")


async def test_who_has_their_share_does_not_wait(shop):
    drop, holder, _ = await all_held(shop)
    answer = await holder.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)
    assert (answer.status_code, answer.json()["verdict"]) == (409, "already_yours")


async def test_nobody_waits_before_the_opening_or_after_the_end(shop):
    early = await shop.opens(units=1, opens_in_seconds=60)
    ada = await shop.shopper()
    answer = await ada.post(f"/drops/{early.slug}/waitlist", json={}, headers=JSON)
    assert (answer.status_code, answer.json()["verdict"]) == (409, "not_open") and answer.headers["retry-after"]
    drop, _, _ = await all_held(shop)
    await change_door(shop, drop.slug, Door.CLOSED)
    await shop.app_hears(drop)
    answer = await ada.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)
    assert (answer.status_code, answer.json()["verdict"]) == (409, "closed")


async def test_leaving_makes_room_and_is_harmless_twice(shop):
    drop, _, _ = await all_held(shop)
    ada, bob = await shop.shopper(), await shop.shopper()
    for client in (ada, bob):
        await client.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)
    left = [(await ada.post(f"/drops/{drop.slug}/waitlist/leave", json={}, headers=JSON)).json() for _ in range(2)]
    assert left == [{"left": True}, {"left": False}]
    places = (await bob.get(f"/drops/{drop.slug}/waitlist", headers=JSON)).json()["places"]
    assert places == [{"place": 2, "ahead": 0, "variant": "one", "quantity": 1, "state": "waiting"}]


async def test_the_page_of_who_waits_says_their_number_and_nobody_elses_page_does(shop):
    drop, _, _ = await all_held(shop)
    ada, bob = await shop.shopper(), await shop.shopper()
    assert 'data-place="' not in (await ada.get(f"/drops/{drop.slug}", headers=FORM)).text
    answer = await ada.post(f"/drops/{drop.slug}/waitlist", data={"variant": "one"}, headers=FORM)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/drops/{drop.slug}?list=yours")
    await shop.app_hears(drop)
    page = (await ada.get(f"/drops/{drop.slug}", headers=FORM)).text
    assert 'data-place="1" data-ahead="0"' in page and 'data-variant-waiting="1"' in page
    other = (await bob.get(f"/drops/{drop.slug}", headers=FORM)).text
    assert "data-place=" not in other and 'data-waiting="1"' in other


async def test_htmx_gets_the_viewers_own_fragment_also_for_a_refusal(shop):
    drop, _, _ = await all_held(shop)
    ada = await shop.shopper()
    answer = await ada.post(f"/drops/{drop.slug}/waitlist", data={"variant": "one"}, headers=HTMX)
    assert answer.status_code == 201 and 'data-place="1"' in answer.text and answer.text.startswith('<section class="mine"')
    free = await shop.opens(units=1)
    answer = await ada.post(f"/drops/{free.slug}/waitlist", data={"variant": "one"}, headers=HTMX)
    assert answer.status_code == 409 and 'data-verdict="available"' in answer.text


async def test_whose_turn_it_is_sees_it_and_pays_on_the_order_page(shop):
    drop, holder, order = await all_held(shop)
    ada = await shop.shopper()
    await ada.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)
    await holder.post(f"/orders/{order}/cancel", json={}, headers=JSON)
    await shop.records(drop)
    await shop.app_hears(drop)
    scene = (await ada.get(f"/drops/{drop.slug}", headers=PARTIAL)).text
    assert 'data-variant-called="1"' in scene and 'data-left="0"' in scene
    page = (await ada.get(f"/drops/{drop.slug}/mine", headers=PARTIAL)).text
    assert "data-offered" in page and "It’s your turn" in page
    (offer,) = (await ada.get(f"/drops/{drop.slug}/waitlist", headers=JSON)).json()["places"]
    shown = (await ada.get(f"/orders/{offer['order']}", headers=FORM)).text
    assert "It’s your turn." in shown and "data-ring" in shown
    paid = await ada.post(f"/orders/{offer['order']}/pay", json={"payment_method": "pm_card_visa"}, headers=JSON)
    assert paid.status_code == 202
    mails = (await ada.get("/dev/mail", headers=JSON)).json()
    (mail,) = [mail for mail in mails if mail["kind"] == "your_turn"]
    link = order_link(link_key(shop.settings.secret), UUID(offer["order"]))
    assert mail["order"] == offer["order"] and link in mail["text"]


async def test_a_place_is_private(shop):
    drop, _, _ = await all_held(shop)
    ada, bob = await shop.shopper(), await shop.shopper()
    await ada.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)
    assert (await bob.get(f"/drops/{drop.slug}/waitlist", headers=JSON)).json() == {"places": []}
    assert (await shop.browser().get(f"/drops/{drop.slug}/waitlist", headers=JSON)).status_code == 401


async def test_who_hammers_the_list_is_slowed_down(shop):
    drop, _, _ = await all_held(shop)
    ada = await shop.shopper()
    answers = [await ada.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON) for _ in range(32)]
    assert {answer.status_code for answer in answers[:30]} == {200, 201}
    assert answers[-1].status_code == 429 and answers[-1].headers["retry-after"]


async def test_the_page_states_the_rule(shop):
    drop, _, _ = await all_held(shop, limit=2, offer_seconds=600.0)
    page = (await shop.browser().get(f"/drops/{drop.slug}", headers=FORM)).text
    assert "held for the next on the list for 10 minutes, in the order of joining" in page
    assert "passed over for the moment and keeps their number" in page
    everybody = await shop.opens(units=1, waitlist="notify")
    page = (await shop.browser().get(f"/drops/{everybody.slug}", headers=FORM)).text
    assert "everybody on the list is told at the same moment" in page


async def test_whoever_has_three_unpaid_holds_is_told_to_pay_one_first_and_may_join_the_list(shop):
    drop, ada = await shop.opens(units=9, limit=9), await shop.shopper()
    holds = [await shop.holds(drop, ada) for _ in range(3)]
    refused = await ada.post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)
    assert (refused.status_code, refused.json()) == (200, {"verdict": "already_yours", "order": str(holds[-1]), "allowed": 0})
    plain = await ada.post(f"/drops/{drop.slug}/buy", data={}, headers=FORM)
    assert (plain.status_code, plain.headers["location"]) == (303, f"/orders/{holds[-1]}")
    page = (await ada.get(f"/drops/{drop.slug}")).text
    assert "data-pay-first" in page and "data-buy-button" not in page and "Join the list" in page
    assert (await ada.post(f"/drops/{drop.slug}/waitlist", json={}, headers=JSON)).status_code == 201
    await ada.post(f"/orders/{holds[0]}/cancel", json={}, headers=JSON)
    assert "data-pay-first" not in (await ada.get(f"/drops/{drop.slug}")).text
