"""Idempotency-Key: the same request is answered again and done once."""

import asyncio
from uuid import uuid4

import pytest

from app.domain.drops import Door
from app.errors import LedgerUnreachable
from app.web.api import drops as api_drops
from app.web.api.operation import UNDER_WAY

DRAFT = {"title": "Night lamp", "variants": [{"units": 5}]}


async def drafts(shop) -> int:
    return len(await shop.ledger.drafts(shop.shop_id))


async def test_the_same_again_is_the_same_answer_and_nothing_is_done_twice(shop, program):
    first = await program.post("/drafts", json=DRAFT, key="one")
    again = await program.post("/drafts", json=DRAFT, key="one")
    assert (first.status_code, first.content) == (again.status_code, again.content) and first.status_code == 201
    assert "idempotency-replayed" not in first.headers and again.headers["idempotency-replayed"] == "true"
    assert await drafts(shop) == 1


async def test_another_request_under_the_key_is_refused(shop, program):
    await program.post("/drafts", json=DRAFT, key="one")
    for path, body in (
        ("/drafts", DRAFT | {"title": "Other"}),
        ("/webhooks", {"url": "https://example.com/", "kinds": ["order.paid"]}),
    ):
        answer = await program.post(path, json=body, key="one")
        assert answer.status_code == 422 and answer.json()["field"] == "Idempotency-Key"
    assert await drafts(shop) == 1


async def test_while_the_first_is_under_way_a_repeat_is_told_to_wait(shop, program, monkeypatch):
    begun, go_on = asyncio.Event(), asyncio.Event()
    add_draft = shop.ledger.add_draft

    async def slowly(*arguments):
        begun.set()
        await go_on.wait()
        return await add_draft(*arguments)

    monkeypatch.setattr(shop.ledger, "add_draft", slowly)
    first = asyncio.create_task(program.post("/drafts", json=DRAFT, key="one"))
    await begun.wait()
    meanwhile = await program.post("/drafts", json=DRAFT, key="one")
    go_on.set()
    assert meanwhile.status_code == 409 and meanwhile.headers["retry-after"] == "1" and meanwhile.json()["detail"] == UNDER_WAY
    assert (await first).status_code == 201
    assert (await program.post("/drafts", json=DRAFT, key="one")).content == (await first).content
    assert await drafts(shop) == 1


async def test_a_refusal_leaves_the_key_free(shop, program):
    drop = await shop.opens()
    await shop.ledger.change_door(drop.id, Door.CANCELLED)
    assert (await program.post(f"/drops/{drop.id}/resume", key="one")).status_code == 422
    assert (await program.post("/drafts", json=DRAFT, key="one")).status_code == 201


@pytest.mark.parametrize("key", ["", " ", "a b", "k" * 65, "place:1"])
async def test_a_post_without_a_lawful_key_is_refused(shop, program, key):
    answer = await program.request("POST", "/drafts", json=DRAFT, headers={"idempotency-key": key} if key else {})
    assert answer.status_code == 400 and answer.json()["field"] == "Idempotency-Key" and await drafts(shop) == 0


async def test_two_keys_in_one_request_are_refused(shop, program):
    headers = [
        ("idempotency-key", "one"),
        ("idempotency-key", "two"),
        ("content-type", "application/json"),
        *program.headers.items(),
    ]
    assert (await program.request("POST", "/drafts", content=b"{}", headers=headers)).status_code == 400


async def test_whoever_lost_the_ledger_in_the_middle_is_followed_by_the_same_wish(shop, program, monkeypatch):
    """The units were added; the audit entry and the answer were lost. The repeat adds nothing and answers."""
    drop, key = await shop.opens(units=5), uuid4().hex
    change_units = api_drops.planning.change_units

    async def and_then_nothing(*arguments):
        await change_units(*arguments)
        raise LedgerUnreachable("gone")

    monkeypatch.setattr(api_drops.planning, "change_units", and_then_nothing)
    assert (await program.post(f"/drops/{drop.id}/units", json={"units": 3}, key=key)).status_code == 503
    monkeypatch.setattr(api_drops.planning, "change_units", change_units)
    assert (await program.post(f"/drops/{drop.id}/units", json={"units": 3}, key=key)).status_code == 409
    await shop.rows("UPDATE api_repeats SET begun_at = begun_at - interval '61 seconds'")
    answer = await program.post(f"/drops/{drop.id}/units", json={"units": 3}, key=key)
    assert answer.status_code == 200 and answer.json()["variants"][0]["units_total"] == 8
    assert (await shop.ledger.drop_by_id(drop.id)).units_total == 8


async def test_a_secret_is_told_again_to_a_repeat_and_is_nowhere_at_rest(shop, program):
    hook = {"url": "https://example.com/in", "kinds": ["order.paid"]}
    first, again = [await program.post("/webhooks", json=hook, key="one") for _ in range(2)]
    secret = first.json()["secret"]
    assert first.json() == again.json() and secret.startswith("whsec_")
    [row] = await shop.rows("SELECT api_repeats::text AS kept, hooks::text AS hook, body FROM api_repeats, hooks")
    assert secret not in row["kept"] + row["hook"] and secret.encode() not in row["body"]
    assert len(await shop.ledger.hooks(shop.shop_id)) == 1
