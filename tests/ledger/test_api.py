import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from app.domain.scopes import Scope
from app.errors import BadInput
from app.ledger.api import KEYS_MAX, Repeated

DIGEST, OTHER_DIGEST = b"d" * 32, b"e" * 32
KEY = "dm_0123456789abcdef"


async def actions(scene):
    return [entry.action for entry in await scene.ledger.audit_log(scene.shop_id)]


async def later(scene, by: timedelta) -> None:
    await scene.hand.execute("UPDATE api_repeats SET begun_at = begun_at - $1::interval", by)


async def begins(scene, key="one", digest=DIGEST, shop_id=None):
    token = uuid4()
    return token, await scene.ledger.begin_repeatable(shop_id or scene.shop_id, key, digest, token)


async def test_a_key_is_known_by_its_hash_and_by_nothing_else(scene):
    key_id = await scene.ledger.make_api_key(scene.shop_id, "Stock bot", [Scope.READ, Scope.DROPS], KEY, "owner@example.org")
    shown = await scene.ledger.api_key_shown(KEY)
    assert (shown.id, shown.shop_id, shown.scopes) == (key_id, scene.shop_id, {Scope.READ, Scope.DROPS})
    assert shown.actor == "API key Stock bot" and shown.may(Scope.READ) and not shown.may(Scope.MONEY)
    assert await scene.ledger.api_key_shown(KEY + "0") is None
    row = await scene.hand.fetchrow("SELECT * FROM api_keys")
    assert KEY.encode() not in repr(tuple(row)).encode() and row["hint"] == "cdef"


async def test_a_revoked_key_opens_nothing_and_stays_in_the_list(scene):
    key_id = await scene.ledger.make_api_key(scene.shop_id, "Stock bot", [Scope.READ], KEY, "owner@example.org")
    assert await scene.ledger.revoke_api_key(scene.shop_id, key_id, "owner@example.org")
    assert not await scene.ledger.revoke_api_key(scene.shop_id, key_id, "owner@example.org")
    assert await scene.ledger.api_key_shown(KEY) is None
    [known] = await scene.ledger.api_keys(scene.shop_id)
    assert known.revoked_by == "owner@example.org"
    assert await actions(scene) == ["API key revoked", "API key made"]


async def test_another_shop_neither_sees_nor_revokes_a_key(scene):
    other = await scene.ledger.create_shop("Elsewhere", "stranger@example.org")
    key_id = await scene.ledger.make_api_key(scene.shop_id, "Stock bot", [Scope.READ], KEY, "x")
    assert await scene.ledger.api_key(other, key_id) is None and await scene.ledger.api_keys(other) == []
    assert not await scene.ledger.revoke_api_key(other, key_id, "x")
    assert await scene.ledger.api_key_shown(KEY)


async def test_its_last_use_is_noted_about_once_a_minute(scene):
    await scene.ledger.make_api_key(scene.shop_id, "Stock bot", [Scope.READ], KEY, "x")
    [unused] = await scene.ledger.api_keys(scene.shop_id)
    await scene.ledger.api_key_shown(KEY)
    [used] = await scene.ledger.api_keys(scene.shop_id)
    await scene.ledger.api_key_shown(KEY)
    [again] = await scene.ledger.api_keys(scene.shop_id)
    assert unused.used_at is None and used.used_at is not None and again.used_at == used.used_at


async def test_a_shop_has_a_bounded_number_of_keys_in_use(scene):
    ids = [await scene.ledger.make_api_key(scene.shop_id, "k", [Scope.READ], f"{KEY}{n}", "x") for n in range(KEYS_MAX)]
    with pytest.raises(BadInput, match="as many keys"):
        await scene.ledger.make_api_key(scene.shop_id, "k", [Scope.READ], KEY, "x")
    await scene.ledger.revoke_api_key(scene.shop_id, ids[0], "x")
    assert await scene.ledger.make_api_key(scene.shop_id, "k", [Scope.READ], KEY, "x")


async def test_of_requests_at_once_under_one_key_one_is_carried_out(scene):
    told = [found for _token, found in await asyncio.gather(*(begins(scene) for _ in range(5)))]
    assert sum(isinstance(found, UUID) for found in told) == 1 and told.count(Repeated(DIGEST, None, None)) == 4


async def test_a_repeat_gets_the_answer_of_the_first(scene):
    token, first = await begins(scene)
    assert first == token and await scene.ledger.keep_answer(scene.shop_id, "one", token, 201, b"{}")
    assert (await begins(scene))[1] == Repeated(DIGEST, 201, b"{}")
    assert (await begins(scene, digest=OTHER_DIGEST))[1].digest == DIGEST


async def test_keys_of_two_shops_are_two(scene):
    await begins(scene)
    assert (await begins(scene, shop_id=await scene.ledger.create_shop("Elsewhere", "x@example.org")))[1] != Repeated(
        DIGEST, None, None
    )


async def test_what_came_to_nothing_may_be_tried_again_otherwise(scene):
    token, _ = await begins(scene)
    await scene.ledger.forget_repeatable(scene.shop_id, "one", token)
    second, wish = await begins(scene, digest=OTHER_DIGEST)
    assert wish == second


async def test_whoever_died_at_it_is_followed_by_the_same_request_only(scene):
    dead, wish = await begins(scene)
    await later(scene, timedelta(seconds=61))
    assert (await begins(scene, digest=OTHER_DIGEST))[1] == Repeated(DIGEST, None, None)
    successor, found = await begins(scene)
    assert found == wish != successor  # so that what the dead one did is not done twice
    assert not await scene.ledger.keep_answer(scene.shop_id, "one", dead, 201, b"late")
    assert await scene.ledger.keep_answer(scene.shop_id, "one", successor, 201, b"{}")


async def test_a_day_later_a_key_is_free_and_its_answer_forgotten(scene):
    token, _ = await begins(scene)
    await scene.ledger.keep_answer(scene.shop_id, "one", token, 201, b"{}")
    await later(scene, timedelta(hours=23))
    assert await scene.ledger.forget_old_answers() == 0
    await later(scene, timedelta(hours=2))
    second, wish = await begins(scene, digest=OTHER_DIGEST)
    assert wish == second
    await later(scene, timedelta(hours=25))
    assert await scene.ledger.forget_old_answers() == 1
