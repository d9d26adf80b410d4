"""Keys and webhooks in the dashboard: made, shown once, revoked; told, failed, sent again."""

import re
from uuid import uuid4

import pytest

from app.domain.hooks import Attempt
from app.domain.scopes import Scope
from tests.web.api.conftest import program_of
from tests.web.conftest import FORM, JSON
from tests.web.seller.conftest import doors_of

HOOK = {"url": "https://example.com/in", "kind-order.paid": "on"}


def shown_once(page) -> str:
    return re.search(r"data-shown-once>([^<]+)<", page.text)[1]


async def hook_of(shop, owner):
    """-> (a webhook, an event that it was handed)."""
    await owner.post("/seller/webhooks", data=HOOK, headers=FORM)
    drop = await shop.opens(units=3)
    order_id = await shop.holds(drop, await shop.shopper())
    await shop.pays(order_id)
    await shop.ledger.hand_out_events()
    [hook] = await shop.ledger.hooks(shop.shop_id)
    [delivery] = await shop.ledger.deliveries(shop.shop_id, hook.id, 10)
    return hook, delivery


async def test_before_there_is_anything_the_pages_say_what_they_are_for(owner):
    assert "No keys yet" in (await owner.get("/seller/keys")).text
    assert "No webhooks yet" in (await owner.get("/seller/webhooks")).text


async def test_a_key_is_shown_once_and_opens_what_was_ticked(shop, owner):
    made = await owner.post("/seller/keys", data={"name": "Stock bot", "scope-read": "on", "scope-orders": "on"}, headers=FORM)
    key = shown_once(made)
    assert made.status_code == 201 and key.startswith("dm_") and made.headers["cache-control"] == "no-store"
    listed = (await owner.get("/seller/keys")).text
    assert "Stock bot" in listed and key not in listed and key[-4:] in listed and "never" in listed
    program = shop.browser(authorization=f"Bearer {key}")
    answers = [(await program.get(f"/api/v1{path}")).status_code for path in ("/drops", "/orders", "/webhooks")]
    assert answers == [200, 200, 403]
    assert "never" not in (await owner.get("/seller/keys")).text


@pytest.mark.parametrize(
    ("form", "field"), [({"scope-read": "on"}, "name"), ({"name": "x"}, "scopes"), ({"name": "x" * 81, "scope-read": "on"}, "name")]
)
async def test_a_key_without_a_name_or_a_scope_is_refused_beside_its_field(shop, owner, form, field):
    refused = await owner.post("/seller/keys", data=form, headers=FORM)
    assert refused.status_code == 422 and f'id="{field}-problem"' in refused.text and form.get("name", "") in refused.text
    assert await shop.ledger.api_keys(shop.shop_id) == []


async def test_revoking_asks_first_and_stands_in_the_audit_log(shop, owner):
    program = await program_of(shop, Scope.READ, name="Old bot")
    asked = await owner.post(f"/seller/keys/{program.key_id}/revoke", headers=FORM)
    assert asked.status_code == 200 and "Old bot" in asked.text and (await program.get("/drops")).status_code == 200
    await owner.post(f"/seller/keys/{program.key_id}/revoke", data={"sure": "yes"}, headers=FORM)
    assert (await program.get("/drops")).status_code == 401
    assert "revoked" in (await owner.get("/seller/keys")).text
    assert [entry.action for entry in await shop.ledger.audit_log(shop.shop_id)] == ["API key revoked", "API key made"]


async def test_another_shops_keys_and_webhooks_are_not_there(shop, owner, stranger):
    program = await program_of(shop, Scope.READ)
    hook, delivery = await hook_of(shop, owner)
    for path in (f"/seller/keys/{program.key_id}/revoke", f"/seller/webhooks/{hook.id}", f"/seller/webhooks/{hook.id}/remove",
                 f"/seller/webhooks/{hook.id}/secret", f"/seller/webhooks/{hook.id}/deliveries/{delivery.id}/again"):  # fmt: skip
        assert (await stranger.post(path, data={"sure": "yes"}, headers=FORM)).status_code == 404
    assert (await stranger.get(f"/seller/webhooks/{hook.id}")).status_code == 404
    assert hook.url not in (await stranger.get("/seller/webhooks")).text and (await program.get("/drops")).status_code == 200


async def test_a_webhooks_secret_is_shown_once_and_replaced_on_asking(shop, owner):
    added = await owner.post("/seller/webhooks", data=HOOK, headers=FORM)
    [hook] = await shop.ledger.hooks(shop.shop_id)
    secret = shown_once(added)
    assert added.status_code == 201 and secret.startswith("whsec_")
    assert secret not in (await owner.get(f"/seller/webhooks/{hook.id}")).text
    asked = await owner.post(f"/seller/webhooks/{hook.id}/secret", headers=FORM)
    assert "24 hours" in asked.text and (await shop.ledger.hook(shop.shop_id, hook.id)).rotated_at is None
    replaced = await owner.post(f"/seller/webhooks/{hook.id}/secret", data={"sure": "yes"}, headers=FORM)
    assert shown_once(replaced) != secret


@pytest.mark.parametrize("form", [{"url": "ftp://x", "kind-order.paid": "on"}, {"url": "https://example.com/"}])
async def test_a_webhook_that_leads_nowhere_or_hears_nothing_is_refused_beside_its_field(shop, owner, form):
    refused = await owner.post("/seller/webhooks", data=form, headers=FORM)
    field = "kinds" if len(form) == 1 else "url"
    assert refused.status_code == 422 and f'id="{field}-problem"' in refused.text and form["url"] in refused.text
    assert await shop.ledger.hooks(shop.shop_id) == []


async def test_the_log_tells_what_was_answered_and_sends_again(shop, owner):
    hook, delivery = await hook_of(shop, owner)
    claim = uuid4()
    await shop.ledger.claim_deliveries(claim, 10, 4)
    tried = Attempt("2026-11-30T20:00:00.000Z", 0.2, 500, "<b>no</b>", "")
    await shop.ledger.not_delivered(delivery.id, claim, tried, None)
    listed, log = await owner.get("/seller/webhooks"), await owner.get(f"/seller/webhooks/{hook.id}?state=failed")
    assert f"/seller/webhooks/{hook.id}?state=failed" in listed.text
    assert "given up" in log.text and "&lt;b&gt;no" in log.text and f'data-delivery="{delivery.id}"' in log.text
    assert f'data-delivery="{delivery.id}"' not in (await owner.get(f"/seller/webhooks/{hook.id}?state=delivered")).text
    await owner.post(f"/seller/webhooks/{hook.id}/deliveries/{delivery.id}/again", headers=FORM)
    assert (await shop.ledger.delivery(shop.shop_id, hook.id, delivery.id)).state == "waiting"
    assert [one.action for one in await shop.ledger.audit_log(shop.shop_id, limit=1)] == ["webhook event sent again"]


async def test_a_changed_webhook_keeps_its_log_and_a_removed_one_is_gone(shop, owner):
    hook, _delivery = await hook_of(shop, owner)
    await owner.post(f"/seller/webhooks/{hook.id}", data={"url": "https://example.org/", "kind-order.held": "on"}, headers=FORM)
    changed = await shop.ledger.hook(shop.shop_id, hook.id)
    assert (changed.url, changed.kinds) == ("https://example.org/", ("order.held",))
    assert (await owner.post(f"/seller/webhooks/{hook.id}/remove", headers=FORM)).status_code == 200
    assert await shop.ledger.hook(shop.shop_id, hook.id)
    await owner.post(f"/seller/webhooks/{hook.id}/remove", data={"sure": "yes"}, headers=FORM)
    assert (await owner.get(f"/seller/webhooks/{hook.id}")).status_code == 404


async def test_an_unproven_owner_is_asked_for_the_second_factor(shop, owner):
    await shop.rows("UPDATE seller_sessions SET proven_at = now() - interval '20 minutes'")
    doors_of(shop).sellers.forget_all()
    assert (await owner.get("/seller/keys", headers=JSON)).status_code == 403
