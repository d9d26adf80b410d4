import asyncio

import asyncpg
import pytest

from app.errors import LedgerUnreachable
from app.ledger import Ledger, pool


async def test_a_pool_shows_its_name_and_bounds_its_statements(database_url, scene):
    named = await Ledger.open(database_url, name="crowd", connections_max=1, statement_timeout_seconds=0.5)
    assert await scene.hand.fetchval("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'doorman-crowd'") == 1
    async with scene.locked("LOCK TABLE shops", waiting=0):
        with pytest.raises(LedgerUnreachable, match="statement timeout"):
            await named.first_shop()
    assert await named.first_shop() == scene.shop_id
    await named.close()


async def test_a_pool_never_has_more_connections_than_it_may(database_url, scene):
    small = await Ledger.open(database_url, name="small", connections_max=2)
    await asyncio.gather(*(small.first_shop() for _ in range(50)))
    assert await scene.hand.fetchval("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'doorman-small'") <= 2
    await small.close()


async def test_no_free_connection_in_time_is_unreachable(database_url, scene, monkeypatch):
    monkeypatch.setattr(pool, "ACQUIRE_SECONDS", 0.05)
    busy = await Ledger.open(database_url, name="busy", connections_max=1)
    async with busy._asking():
        with pytest.raises(LedgerUnreachable):
            await busy.first_shop()
    assert await busy.first_shop() == scene.shop_id
    await busy.close()


async def test_one_hot_pool_leaves_another_alone(database_url, scene):
    hot = await Ledger.open(database_url, name="hot", connections_max=1)
    async with hot._asking():
        async with asyncio.timeout(5):
            assert await scene.ledger.first_shop() == scene.shop_id
    await hot.close()


async def test_a_lost_connection_is_unreachable_and_the_next_call_has_a_new_one(ledger, scene):
    async with scene.locked("LOCK TABLE shops", waiting=1):
        call = asyncio.create_task(ledger.first_shop())
    assert await call == scene.shop_id
    async with scene.locked("LOCK TABLE shops", waiting=0):
        call = asyncio.create_task(ledger.first_shop())
        await scene.until_waiting(1)
        await scene.hand.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        with pytest.raises(LedgerUnreachable):
            await call
    assert await ledger.first_shop() == scene.shop_id


async def test_a_transaction_that_is_cut_off_leaves_nothing(ledger, scene):
    with pytest.raises(LedgerUnreachable):
        async with ledger._transaction() as ask:
            await ask.value("add_shop", "Half a shop")
            await scene.hand.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")
    assert await ledger.shop_named("Half a shop") is None


async def test_a_cancelled_call_does_not_poison_its_connection(database_url, scene):
    one = await Ledger.open(database_url, name="one", connections_max=1)
    async with scene.locked("LOCK TABLE shops", waiting=0):
        call = asyncio.create_task(one.first_shop())
        await scene.until_waiting(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert await one.first_shop() == scene.shop_id
    await one.close()


async def test_no_postgres_is_unreachable(tmp_path):
    with pytest.raises(LedgerUnreachable):
        await Ledger.open(f"postgresql://doorman@/doorman?host={tmp_path}", name="nobody", connections_max=1)


async def test_a_closed_ledger_is_unreachable(database_url):
    closed = await Ledger.open(database_url, name="closed", connections_max=1)
    await closed.close()
    with pytest.raises(LedgerUnreachable):
        await closed.first_shop()


async def test_a_fault_of_ours_is_no_outage(ledger):
    with pytest.raises(asyncpg.InterfaceError, match="expects 1 argument"):
        await ledger._rows("shopper", 1, 2)


@pytest.mark.parametrize("change", ["password=wrong", "dbname=no_such_database"])
async def test_a_wrong_address_is_unreachable(database_url, change):
    with pytest.raises(LedgerUnreachable):
        await Ledger.open(f"{database_url}&{change}".replace("doorman:test@", "doorman@"), name="wrong", connections_max=1)


async def test_a_value_that_no_column_can_hold_is_our_fault_and_no_outage(ledger):
    with pytest.raises(asyncpg.DataError):
        await ledger.shopper(2**70)
