"""What needs a person: events that a webhook did not take, for those who may act; reasons and findings in the reader's language."""

import json

import pytest

from app.languages import ENGLISH, GERMAN
from app.web.seller.watch_room import flavour_of
from tests.web.conftest import FORM
from tests.web.seller.conftest import Belongings, doors_of

TRIED = {"at": "2026-11-30T20:00:00.000Z", "seconds": 0.1, "error": "no answer within 10 seconds"}


@pytest.fixture
async def given_up(shop):
    """Two events of one webhook that were given up -> (webhook, deliveries)."""
    own = Belongings(shop, shop.shop_id)
    hook_id = await own.of("hook_id")
    await own.of("order")
    rows = await shop.rows(
        "INSERT INTO hook_deliveries (hook_id, event_id, state, tries, attempts) "
        "SELECT $1, id, 'failed', 8, $2::jsonb FROM events WHERE kind IN ('held', 'paid') RETURNING id",
        hook_id,
        json.dumps([TRIED]),
    )
    return hook_id, [row["id"] for row in rows]


async def test_they_stand_in_the_list_and_in_the_badge_of_whoever_may_act(shop, owner, support, stranger, given_up):
    hook_id, events = given_up
    page = (await owner.get("/seller/attention")).text
    assert "Events that a webhook did not take" in page and "https://example.com/in" in page
    assert "An order was paid" in page and "8 tries, the last answer: no answer within 10 seconds" in page
    assert all(f"/seller/webhooks/{hook_id}/deliveries/{one}/again" in page for one in events)
    assert (await owner.get("/seller/attention/count")).text == "2"
    for other in (support, stranger):
        assert "Nothing needs you." in (await other.get("/seller/attention")).text
        assert (await other.get("/seller/attention/count")).text == ""
    german = (await owner.get("/seller/attention?lang=de")).text
    assert "8 Versuche, die letzte Antwort: keine Antwort innerhalb von 10 Sekunden" in german


async def test_one_is_sent_again_from_the_list_and_leads_back_to_it(shop, owner, given_up):
    hook_id, [first, second] = given_up
    path = f"/seller/webhooks/{hook_id}/deliveries/{first}"
    answer = await owner.post(f"{path}/again", data={"back": "attention"}, headers=FORM)
    assert answer.headers["location"] == "/seller/attention"
    page = (await owner.get("/seller/attention")).text
    assert f"/deliveries/{first}/" not in page and f"/deliveries/{second}/" in page
    assert (await owner.post(f"{path}/again", headers=FORM)).headers["location"] == f"/seller/webhooks/{hook_id}?said=again"


async def test_one_that_was_seen_to_leaves_the_list_and_stays_in_the_webhook_s_log(shop, owner, given_up):
    hook_id, [first, second] = given_up
    for _again in range(2):
        answer = await owner.post(f"/seller/webhooks/{hook_id}/deliveries/{first}/seen", headers=FORM)
        assert answer.headers["location"] == "/seller/attention"
    assert (await owner.get("/seller/attention/count")).text == "1"
    log = (await owner.get(f"/seller/webhooks/{hook_id}?state=failed")).text
    assert f'data-delivery="{first}"' in log and f'data-delivery="{second}"' in log and "30 Nov 2026, 20:00 UTC" in log
    assert (await owner.post(f"/seller/webhooks/{hook_id}/deliveries/987654321/seen", headers=FORM)).status_code == 404


async def test_all_of_a_webhook_are_seen_to_at_once(shop, owner, given_up):
    hook_id, _events = given_up
    assert (await owner.post(f"/seller/webhooks/{hook_id}/seen", headers=FORM)).status_code == 303
    assert "Nothing needs you." in (await owner.get("/seller/attention")).text
    page = (await owner.get("/seller/audit")).text
    assert "webhook event looked at" in page


async def test_why_something_needs_a_person_is_said_in_the_reader_s_language(shop, owner):
    order = await Belongings(shop, shop.shop_id).of("order")
    await shop.rows(
        "UPDATE payments SET state = 'unknown', needs_attention = "
        "'outcome unknown: the payment provider gave no answer within 10 s', asked_again = 5 WHERE order_id = $1",
        order,
    )
    await shop.rows("UPDATE parcels SET needs_attention = 'the warehouse said: 418 teapot' WHERE order_id = $1", order)
    for path in ("/seller/attention", f"/seller/orders/{order}"):
        german = (await owner.get(f"{path}?lang=de")).text
        assert "Ausgang unbekannt: der Zahlungsanbieter hat innerhalb von 10 s nicht geantwortet" in german
        assert "the warehouse said: 418 teapot" in german, "what is nobody's sentence is left as it is"
        english = (await owner.get(f"{path}?lang=en")).text
        assert "outcome unknown: the payment provider gave no answer within 10 s" in english


async def test_what_the_books_find_wrong_is_said_in_the_watcher_s_language(shop):
    drop = await shop.opens()
    await shop.rows("UPDATE stock SET sold = sold + 1 WHERE variant_id IN (SELECT id FROM variants WHERE drop_id = $1)", drop.id)
    watch = doors_of(shop).watch
    look = await watch.look(drop.id, fresh=True)
    assert f"variant {look.variants[0].variant_id}: sold 1, movements sum to 0" in look.audit.findings
    assert "1 verkauft, die Bewegungen ergeben 0" in watch.draw(look, flavour_of(GERMAN, "UTC"))
    assert "sold 1, movements sum to 0" in watch.draw(look, flavour_of(ENGLISH, "UTC"))
