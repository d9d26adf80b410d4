"""The history of an order is append-only and chained: what is changed, cut out or put in is named."""

import asyncio
from uuid import uuid4

import asyncpg
import pytest


async def forge(scene, statement: str, *values) -> None:
    """Somebody with all rights of the database goes around the triggers."""
    await scene.hand.execute("SET session_replication_role = replica")
    try:
        await scene.hand.execute(statement, *values)
    finally:
        await scene.hand.execute("SET session_replication_role = DEFAULT")


async def test_every_event_carries_the_hash_of_the_one_before_it(scene):
    order = await scene.paid()
    links = await scene.hand.fetch("SELECT seq, prev, hash FROM events WHERE order_id = $1 ORDER BY seq", order)
    assert [link["seq"] for link in links] == list(range(1, len(links) + 1)) and len(links) >= 4
    assert [link["prev"] for link in links] == [None, *(link["hash"] for link in links[:-1])]
    proof = await scene.ledger.verify_history()
    assert proof.broken == [] and proof.events == await scene.hand.fetchval("SELECT count(*) FROM events")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET kind = 'refunded'",
        "UPDATE events SET at = now()",
        "DELETE FROM events",
        "TRUNCATE events",
    ],
)
async def test_the_database_refuses_to_change_or_delete_any(scene, statement):
    order = await scene.paid()
    with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="append-only"):
        await scene.hand.execute(statement)
    assert "paid" in await scene.kinds(order)


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE events SET kind = 'declined' WHERE order_id = $1 AND kind = 'paid'",
        'UPDATE events SET detail = \'{"by": "nobody"}\' WHERE order_id = $1 AND seq = 2',
        "UPDATE events SET at = at - interval '1 second' WHERE order_id = $1 AND seq = 1",
        "DELETE FROM events WHERE order_id = $1 AND seq = 2",
        "DELETE FROM events WHERE order_id = $1 AND seq = 1",
        "DELETE FROM events WHERE order_id = $1 AND kind = 'paid'",
        "DELETE FROM events WHERE order_id = $1",
        "UPDATE events SET seq = 99 - seq WHERE order_id = $1 AND seq > 1",
        "INSERT INTO events (order_id, drop_id, kind, seq, prev, hash)"
        " SELECT order_id, drop_id, 'x', seq + 1, hash, hash FROM events WHERE order_id = $1 ORDER BY seq DESC LIMIT 1",
    ],
)
async def test_whoever_goes_around_it_is_found(scene, forgery):
    order, other = await scene.paid(), await scene.paid()
    await forge(scene, forgery, order)
    proof = await scene.ledger.verify_history()
    assert proof.broken == [str(order)] and str(other) not in proof.broken


async def test_the_head_tells_that_the_end_of_a_history_was_cut_off(scene):
    order = await scene.hold()
    await scene.submit(order)
    before = (await scene.ledger.verify_history()).head
    await forge(scene, "DELETE FROM events WHERE order_id = $1 AND kind = 'payment submitted'", order)
    assert (await scene.ledger.verify_history()).head != before


async def test_what_happens_to_the_drop_itself_is_chained_too(scene):
    await asyncio.gather(*(scene.ledger.add_units(scene.drop.id, scene.drop.variants[0].id, 1, uuid4()) for _ in range(5)))
    seqs = await scene.hand.fetch("SELECT seq FROM events WHERE drop_id = $1 AND order_id IS NULL ORDER BY id", scene.drop.id)
    assert [row["seq"] for row in seqs] == list(range(1, len(seqs) + 1)) and len(seqs) >= 2
    await forge(scene, "UPDATE events SET kind = 'x' WHERE drop_id = $1 AND order_id IS NULL AND seq = 1", scene.drop.id)
    assert (await scene.ledger.verify_history()).broken == [f"drop {scene.drop.id}"]


async def test_a_whole_batch_of_the_recorder_is_chained(scene):
    await scene.publish(("One size", 50))
    entries = [scene.entry(buyer) for buyer in await scene.ledger.mint_shoppers(50)]
    await scene.ledger.record(scene.drop.id, entries)
    assert (await scene.ledger.verify_history()).broken == []
    assert await scene.hand.fetchval("SELECT count(*) FROM events WHERE order_id IS NOT NULL AND seq = 1") == 50
