"""The journal: written with the grant, read by a group from its first entry, emptied only by what the ledger has."""

import asyncio

from app.domain.keys import digest_of

from .helpers import DROP, LARGE, SMALL, arm, buy, granted, record_all, server_ms


async def test_a_reservation_is_in_the_journal_with_everything_the_ledger_needs(gate, client):
    await arm(gate, {SMALL: 5}, per_person=5)
    answer = await buy(gate, 1, quantity=2, key="mine")
    ((drop_id, (entry,)),) = await gate.read_journal([DROP], "one", 10, 1)
    assert drop_id == DROP
    assert (entry.order_id, entry.buyer, entry.variant_id, entry.quantity) == (answer.order_id, 1, SMALL, 2)
    assert (entry.key, entry.digest, entry.pay_by_ms, entry.place_id, entry.fault) == (
        "mine", digest_of(SMALL, 2), answer.pay_by_ms, None, None,
    )  # fmt: skip
    assert 0 <= await server_ms(client) - entry.reserved_ms < 5000


async def test_entries_come_in_the_order_of_the_grants_and_at_most_so_many_at_a_time(gate):
    await arm(gate, {SMALL: 5})
    orders = [await granted(gate, buyer) for buyer in range(5)]
    read = []
    for expected in (2, 2, 1):
        ((_, entries),) = await gate.read_journal([DROP], "one", 2, 1)
        assert len(entries) == expected
        read += entries
    assert [entry.order_id for entry in read] == orders
    assert await gate.read_journal([DROP], "one", 2, 1) == []


async def test_an_entry_counts_until_it_is_acknowledged_and_acknowledging_twice_is_harmless(gate, client):
    await arm(gate, {SMALL: 2})
    await granted(gate, 1)
    await granted(gate, 2)
    ((_, entries),) = await gate.read_journal([DROP], "one", 10, 1)
    assert await gate.journal_length(DROP) == 2
    for _ in range(2):
        await gate.ack(DROP, [entries[0].entry_id])
        assert await gate.journal_length(DROP) == (await gate.peek(DROP)).journal == 1
    pending = await client.xpending(f"{{drop:{DROP}}}:journal", "recorder")
    assert pending["pending"] == 1


async def test_thousands_of_entries_are_acknowledged_in_one_step(gate, client):
    await arm(gate)
    pipeline = client.pipeline(transaction=False)
    for n in range(9000):
        pipeline.xadd(f"{{drop:{DROP}}}:journal", {"order": n})
    entry_ids = [entry_id.decode() for entry_id in await pipeline.execute()]
    await gate.ack(DROP, entry_ids[:-1])
    assert await gate.journal_length(DROP) == 1


async def test_acknowledging_nothing_is_nothing(gate, client):
    await gate.ack(DROP, [])
    assert await client.dbsize() == 0


async def test_a_dead_readers_entries_are_taken_over_and_a_live_ones_are_not(gate):
    await arm(gate, {SMALL: 3})
    orders = [await granted(gate, buyer) for buyer in range(3)]
    await gate.read_journal([DROP], "dead", 10, 1)
    assert await gate.take_over(DROP, "alive", 60_000, 10) == []
    taken = await gate.take_over(DROP, "alive", 0, 2)
    assert [entry.order_id for entry in taken] == orders[:2]
    await gate.ack(DROP, [entry.entry_id for entry in taken])
    assert [entry.order_id for entry in await gate.take_over(DROP, "alive", 0, 10)] == orders[2:]


async def test_idle_entries_are_found_behind_hundreds_that_are_not(gate, client):
    await arm(gate, {SMALL: 401})
    await asyncio.gather(*(buy(gate, buyer) for buyer in range(401)))
    ((_, entries),) = await gate.read_journal([DROP], "busy", 500, 1)
    last = entries[-1]
    await client.execute_command("XCLAIM", f"{{drop:{DROP}}}:journal", "recorder", "dead", 0, last.entry_id, "IDLE", 90_000)
    assert [entry.order_id for entry in await gate.take_over(DROP, "alive", 60_000, 10)] == [last.order_id]


async def test_drops_without_a_gate_are_left_out_of_a_read(gate):
    await arm(gate)
    order = await granted(gate, 1)
    ((drop_id, (entry,)),) = await gate.read_journal([DROP - 1, DROP, DROP + 1], "one", 10, 1)
    assert (drop_id, entry.order_id) == (DROP, order)
    assert await gate.read_journal([DROP - 1, DROP + 1], "one", 10, 1) == []
    assert await gate.take_over(DROP + 1, "one", 0, 10) == []


async def test_a_waiting_reader_hears_of_a_reservation_and_holds_nobody_up(gate, client):
    await arm(gate)
    reading = asyncio.create_task(gate.read_journal([DROP], "one", 10, 30_000))
    await _readers_waiting(client, 1)
    order = await granted(gate, 1)
    ((_, (entry,)),) = await asyncio.wait_for(reading, 5)
    assert entry.order_id == order


async def test_two_readers_wait_at_once_and_an_entry_reaches_one_of_them(gate, client):
    await arm(gate, {SMALL: 2})
    readers = [asyncio.create_task(gate.read_journal([DROP], f"reader-{n}", 1, 30_000)) for n in range(2)]
    await _readers_waiting(client, 2)
    orders = {await granted(gate, 1), await granted(gate, 2)}
    answers = await asyncio.wait_for(asyncio.gather(*readers), 5)
    assert {entry.order_id for ((_, (entry,)),) in answers} == orders


async def test_a_cancelled_reader_leaves_its_entries_to_others(gate, client):
    await arm(gate)
    reading = asyncio.create_task(gate.read_journal([DROP], "one", 10, 30_000))
    await _readers_waiting(client, 1)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await _readers_waiting(client, 0)
    order = await granted(gate, 1)
    ((_, (entry,)),) = await gate.read_journal([DROP], "two", 10, 1000)
    assert entry.order_id == order


async def test_a_reader_survives_the_loss_of_the_journal_it_waits_for(gate, client):
    await arm(gate)
    reading = asyncio.create_task(gate.read_journal([DROP], "one", 10, 500))
    await _readers_waiting(client, 1)
    await client.flushall()
    assert await asyncio.wait_for(reading, 5) == []


async def test_an_entry_that_is_none_of_ours_is_delivered_with_its_fault_and_hides_no_other(gate, client):
    await arm(gate, {SMALL: 1, LARGE: 1})
    await granted(gate, 1)
    await client.xadd(f"{{drop:{DROP}}}:journal", {"order": "not an id", "buyer": "7"})
    await granted(gate, 2, LARGE)
    entries = await record_all(gate)
    assert [entry.fault is None for entry in entries] == [True, False, True]
    assert entries[1].raw == {"order": "not an id", "buyer": "7"}


async def _readers_waiting(client, readers: int) -> None:
    """Return once the server says that exactly so many wait."""
    while (await client.info("clients"))["blocked_clients"] != readers:
        pass
