"""Who is let in: by a key, within its scopes, at its pace, for as long as it is in use."""

import pytest

from app.domain.scopes import Scope
from app.gate import Limiter
from app.web.api.keys import new_key
from tests.web.conftest import JSON
from tests.web.seller.conftest import doors_of, signs_in
from tests.web.seller.test_matrix import Role

from .conftest import program_of


def is_problem(answer, status: int) -> bool:
    body = answer.json()
    return answer.status_code == status == body["status"] and answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "sent",
    [None, "", "Bearer", "Bearer x", f"Bearer {new_key()}", "Basic abc", f"Bearer {new_key()}0", "Bearer \xff"],
    ids=["nothing", "empty", "no key", "short", "unknown", "another scheme", "too long", "not ASCII"],
)
async def test_without_a_key_in_use_nobody_is_let_in(shop, sent):
    headers = {} if sent is None else {"authorization": sent.encode("latin-1")}
    answer = await shop.browser().get("/api/v1/drops", headers=headers)
    assert is_problem(answer, 401) and answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_cookie_of_the_dashboard_is_no_key(shop, owner):
    assert (await owner.get("/seller", headers=JSON)).status_code == 200
    assert is_problem(await owner.get("/api/v1/drops"), 401)
    assert is_problem(await owner.post("/api/v1/drafts", json={}), 401)


async def test_a_key_is_no_session_of_the_dashboard(shop, program):
    assert (await program.get(f"{shop.settings.public_url}/seller/staff", headers=JSON)).status_code == 401


async def test_a_revoked_key_opens_nothing_from_the_next_request_on(shop, owner, program):
    assert (await program.get("/drops")).status_code == 200
    asked = await owner.post(f"/seller/keys/{program.key_id}/revoke", data={"sure": "yes"})
    assert asked.status_code == 303
    assert is_problem(await program.get("/drops"), 401)


async def test_in_another_process_it_is_forgotten_within_seconds(shop, program, monkeypatch):
    """No feed says so here: the memory alone runs out."""
    from app.web.api import keys

    now = [0.0]
    monkeypatch.setattr(keys, "monotonic", lambda: now[0])
    assert (await program.get("/drops")).status_code == 200
    await shop.ledger.revoke_api_key(shop.shop_id, program.key_id, "owner")
    now[0] += keys.KEY_SECONDS_MAX
    assert is_problem(await program.get("/drops"), 401)


async def test_the_feed_makes_every_process_forget(shop, program):
    keys = doors_of(shop).api_keys
    await program.get("/drops")
    assert keys._known
    memory = shop.app.inner.inner._lifespan_managers[0].__self__
    memory.hear({"kind": "sellers"})
    assert not keys._known


async def test_a_key_without_the_scope_hears_which_one_it_would_need(shop):
    reader = await program_of(shop, Scope.READ)
    answer = await reader.get("/orders")
    assert is_problem(answer, 403) and answer.json()["scope"] == "orders"


async def test_a_key_that_asks_too_often_waits_and_others_do_not(shop, program):
    doors_of(shop).api_limiter.__dict__.update(Limiter(shop.gate, "key", 3, 60.0).__dict__)
    other = await program_of(shop, Scope.READ)
    assert [(await program.get("/drops")).status_code for _ in range(3)] == [200] * 3
    refused = await program.get("/drops")
    assert is_problem(refused, 429) and 0 < int(refused.headers["retry-after"]) <= 60
    assert (await other.get("/drops")).status_code == 200


async def test_what_is_wrong_is_said_as_a_problem_whatever_is_asked_for(shop, program):
    for answer in (
        await program.get("/nowhere", headers={"accept": "text/html"}),
        await program.get("/drops/999", headers={"accept": "text/html"}),
        await shop.browser().get("/api/v1/nowhere", headers={"accept": "text/html"}),
    ):
        assert is_problem(answer, 404)


async def test_a_method_that_is_not_used_hears_in_its_language_which_ones_are(shop, program):
    refused = await program.delete("/drops", headers={"accept-language": "de"})
    assert is_problem(refused, 405) and refused.json()["allowed"] == ["GET", "HEAD"] and refused.headers["allow"] == "GET, HEAD"
    assert refused.json()["detail"] == "Diese Methode gibt es hier nicht."
    draft = await program.put("/drafts/1")
    assert draft.json()["allowed"] == ["DELETE", "GET", "HEAD", "PATCH"] and "GET, HEAD" in draft.headers["allow"]


async def test_a_body_of_another_kind_hears_which_one_is_taken(program):
    refused = await program.post("/drafts", content=b"a=b", headers={"content-type": "text/plain", "accept-language": "de"})
    assert is_problem(refused, 415) and refused.headers["accept"] == "application/json"
    assert refused.json()["detail"] == "Sende ein JSON-Objekt."


async def test_whatever_is_accepted_the_answer_is_json(program):
    for accept in ("text/csv", "application/xml;q=0.5", "image/*", "application/json;q=0", ""):
        answer = await program.get("/drops", headers={"accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


async def test_another_sites_page_cannot_ask(shop, program):
    answer = await program.post("/drafts", json={}, headers={"origin": "https://evil.example"})
    assert answer.status_code == 403 and "scope" not in answer.json()


async def test_it_works_in_production_too(production_shop):
    shop = production_shop
    program = await program_of(shop, Scope.READ)
    answer = await program.get("https://shop.example/api/v1/drops")
    assert answer.status_code == 200 and answer.json() == {"items": [], "next": None}
    assert answer.headers["cache-control"] == "no-store"


async def test_support_may_not_make_keys(shop):
    client = await signs_in(shop, Role.MANAGER)
    assert (await client.get("/seller/keys", headers=JSON)).status_code == 403
