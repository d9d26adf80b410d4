"""Webhooks by API: added, changed, told, looked at, sent again, removed."""

from uuid import uuid4

from app.domain.hooks import Attempt
from app.domain.scopes import Scope

from .conftest import program_of

HOOK = {"url": "https://example.com/in", "kinds": ["order.paid", "order.held"]}


async def told(shop, count: int = 1) -> None:
    """So many orders are held and paid, and handed out."""
    drop = await shop.opens(units=count)
    for _ in range(count):
        await shop.pays(await shop.holds(drop, await shop.shopper()))
    await shop.ledger.hand_out_events()


async def test_a_webhook_lives_from_adding_to_removing(shop, program):
    added = (await program.post("/webhooks", json=HOOK)).json()
    path = f"/webhooks/{added['id']}"
    assert (await program.get(path)).json()["kinds"] == ["order.held", "order.paid"]
    changed = await program.patch(path, json={"kinds": ["parcel.sent"]})
    assert (changed.json()["url"], changed.json()["kinds"]) == (HOOK["url"], ["parcel.sent"])
    replaced = (await program.post(f"{path}/secret")).json()
    assert replaced["secret"] not in ("", added["secret"]) and (await program.get(path)).json()["rotated_at"]
    removed = await program.delete(path)
    assert (removed.status_code, removed.content) == (204, b"")
    assert (await program.get(path)).status_code == 404 == (await program.delete(path)).status_code
    assert (await program.get("/webhooks")).json() == {"items": [], "next": None}


async def test_addresses_and_kinds_that_no_webhook_may_have_are_refused(shop, program):
    for change in ({"url": "ftp://example.com"}, {"url": "https://u:p@example.com"}, {"kinds": []}, {"kinds": ["order.eaten"]}):
        assert (await program.post("/webhooks", json=HOOK | change)).status_code == 422
    assert await shop.ledger.hooks(shop.shop_id) == []


async def test_in_production_it_leads_outside(production_shop):
    program = await program_of(production_shop, Scope.WEBHOOKS)
    for url in ("http://example.com/in", "https://127.0.0.1/in", "https://localhost/in", "https://[::1]/in"):
        refused = await program.post("https://shop.example/api/v1/webhooks", json=HOOK | {"url": url})
        assert refused.status_code == 422 and refused.json()["field"] == "url"


async def test_the_log_is_paged_narrowed_and_sends_again(shop, program):
    path = f"/webhooks/{(await program.post('/webhooks', json=HOOK)).json()['id']}"
    await told(shop, 3)
    everything = (await program.get(f"{path}/deliveries")).json()
    assert len(everything["items"]) == 6 and everything["next"] is None
    first = (await program.get(f"{path}/deliveries", params={"limit": 4})).json()
    second = (await program.get(f"{path}/deliveries", params={"limit": 4, "cursor": first["next"]})).json()
    assert first["items"] + second["items"] == everything["items"] and second["next"] is None
    claim = uuid4()
    [claimed] = await shop.ledger.claim_deliveries(claim, 1, 4)
    await shop.ledger.not_delivered(claimed.id, claim, Attempt("2026-11-30T20:00:00.000Z", 0.2, 500, "no"), None)
    [failed] = (await program.get(f"{path}/deliveries", params={"state": "failed"})).json()["items"]
    assert failed["tries"] == [{"at": "2026-11-30T20:00:00.000Z", "seconds": 0.2, "status": 500, "answer": "no", "error": ""}]
    again = await program.post(f"{path}/deliveries/{failed['id']}/resend")
    assert again.status_code == 202 and (again.json()["state"], again.json()["event"]) == ("waiting", failed["event"])
    assert (await program.get(path)).json()["failed"] == 0


async def test_another_shops_webhooks_are_not_there(shop, program):
    await program.post("/webhooks", json=HOOK)
    stranger = await program_of(shop, *Scope, shop_id=shop.other_shop_id)
    assert (await stranger.get("/webhooks")).json()["items"] == []
