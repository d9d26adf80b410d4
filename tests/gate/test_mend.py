"""Reconcile and rebuild: the gate becomes what the ledger says, all or nothing, and only if it has not moved."""

from uuid import uuid4

import pytest

from app.domain.drops import Door
from app.domain.ids import new_order_id
from app.domain.keys import digest_of
from app.errors import BrokenInvariant
from app.gate import KeyRecord, Receipt

from .helpers import (
    DROP,
    LARGE,
    SMALL,
    arm,
    buy,
    check_arithmetic,
    contents,
    granted,
    heir,
    image,
    key_of,
    receipt_of,
    record_all,
    server_ms,
    wants,
)

# ---- when ----------------------------------------------------------------------------------------------------------------

CHANGES = {
    "a reservation": lambda gate, order: buy(gate, 5),
    "a release": lambda gate, order: gate.release(DROP, order),
    "a release of a receipt that is absent": lambda gate, order: gate.release(DROP, uuid4()),
    "a settled receipt": lambda gate, order: gate.settle(DROP, order),
    "a moved door": lambda gate, order: gate.set_door(DROP, Door.PAUSED, 0, None),
    "added units": lambda gate, order: gate.adjust(DROP, uuid4(), SMALL, 1),
    "another mend": lambda gate, order: _mend_again(gate),
}


async def _mend_again(gate):
    snapshot = await gate.snapshot(DROP)
    assert await gate.mend(DROP, snapshot.stamp, image({SMALL: 3})) == "mended"


@pytest.mark.parametrize("change", CHANGES)
async def test_a_mend_is_refused_after(gate, client, change):
    await arm(gate, {SMALL: 3})
    order = await granted(gate, 1)
    await record_all(gate)
    snapshot = await gate.snapshot(DROP)
    await CHANGES[change](gate, order)
    await record_all(gate)
    before = await contents(client)
    assert await gate.mend(DROP, snapshot.stamp, image({SMALL: 9})) == "moved"
    assert await contents(client) == before


@pytest.mark.parametrize("look", ["receipt", "peek", "snapshot", "journal_length"])
async def test_looking_does_not_stand_in_a_mends_way(gate, look):
    await arm(gate)
    snapshot = await gate.snapshot(DROP)
    await getattr(gate, look)(DROP, *((uuid4(),) if look == "receipt" else ()))
    await buy(gate, 1, quantity=2)  # a no
    assert await gate.mend(DROP, snapshot.stamp, image()) == "mended"


async def test_a_mend_is_refused_while_the_journal_holds_an_entry(gate, client):
    await arm(gate)
    order = await granted(gate, 1)
    snapshot = await gate.snapshot(DROP)
    assert snapshot.journal == 1
    assert await gate.mend(DROP, snapshot.stamp, image()) == "moved"
    assert await gate.receipt(DROP, order) is not None


async def test_a_rebuild_is_refused_when_rules_have_appeared(gate):
    await arm(gate)
    assert await gate.mend(DROP, None, image({SMALL: 9})) == "moved"
    assert (await gate.peek(DROP)).left == {SMALL: 1}


async def test_a_mend_is_refused_when_the_rules_have_gone(gate, client):
    await arm(gate)
    snapshot = await gate.snapshot(DROP)
    await client.flushall()
    assert await gate.mend(DROP, snapshot.stamp, image()) == "moved"
    assert await client.dbsize() == 0


async def test_an_orphaned_journal_is_first_handed_to_the_recorders(gate, client):
    await arm(gate)
    await granted(gate, 1)
    await client.execute_command("XGROUP", "DESTROY", f"{{drop:{DROP}}}:journal", "recorder")
    await client.delete(f"{{drop:{DROP}}}:rules")
    assert await gate.mend(DROP, None, image()) == "moved"
    assert len(await record_all(gate)) == 1
    assert await gate.mend(DROP, None, image()) == "mended"


async def test_an_empty_gate_shows_nothing(gate):
    assert (await gate.peek(DROP), await gate.snapshot(DROP), await gate.receipt(DROP, uuid4())) == (None, None, None)
    assert await gate.journal_length(DROP) == 0


# ---- what ----------------------------------------------------------------------------------------------------------------


async def test_an_emptied_gate_is_rebuilt_buyers_keys_and_paid_marks_included(gate, client):
    await arm(gate, {SMALL: 3, LARGE: 2}, per_person=2)
    first = await buy(gate, 1, SMALL, 2, key="mine")
    await granted(gate, 2, LARGE)
    entries = await record_all(gate)
    await client.flushall()
    assert (await buy(gate, 3)).verdict == "not_ready"

    await gate.mend(
        DROP,
        None,
        image(
            {SMALL: 3, LARGE: 2}, per_person=2,
            receipts=[receipt_of(entries[0], paid=True), receipt_of(entries[1])], keys=[key_of(entry) for entry in entries],
        ),
    )  # fmt: skip
    peek = await gate.peek(DROP)
    assert (peek.left, peek.held, peek.total) == ({SMALL: 1, LARGE: 1}, {SMALL: 0, LARGE: 1}, {SMALL: 3, LARGE: 2})
    assert await buy(gate, 1, SMALL, 2, key="mine") == first
    assert (await buy(gate, 1, LARGE)).order_id == first.order_id, "nobody buys twice"
    await check_arithmetic(gate, client)
    assert (await gate.release(DROP, first.order_id)).verdict == "released"
    await check_arithmetic(gate, client)


async def test_a_rebuilt_gate_has_the_rules_of_the_ledger(gate, client):
    opens_ms, closes_ms = await server_ms(client) + 10_000, await server_ms(client) + 20_000
    wanted = image(
        {SMALL: 4}, door=Door.PAUSED, opens_ms=opens_ms, closes_ms=closes_ms, per_person=3, hold_ms=123, clock_offset_ms=-5,
        journal_entries_max=77, adjustments=[uuid4(), uuid4()],
    )  # fmt: skip
    assert await gate.mend(DROP, None, wanted) == "mended"
    seen = await gate.snapshot(DROP)
    for field in ("door", "opens_ms", "closes_ms", "per_person", "hold_ms", "clock_offset_ms", "journal_entries_max", "totals"):
        assert getattr(seen, field) == getattr(wanted, field), field
    assert (seen.stock, seen.adjustments, seen.receipts) == ({SMALL: 4}, frozenset(wanted.adjustments), {})


async def test_a_mend_sets_and_never_adds(gate, client):
    await arm(gate, {SMALL: 5})
    for _ in range(2):
        snapshot = await gate.snapshot(DROP)
        assert await gate.mend(DROP, snapshot.stamp, image({SMALL: 5})) == "mended"
    assert (await gate.peek(DROP)).left == {SMALL: 5}


async def test_the_receipt_of_an_order_that_is_gone_is_not_loaded_and_its_late_release_hears_absent(gate, client):
    await arm(gate)
    order = await granted(gate, 1)
    entries = await record_all(gate)
    snapshot = await gate.snapshot(DROP)
    assert await gate.mend(DROP, snapshot.stamp, image(keys=[key_of(entry) for entry in entries])) == "mended"
    assert (await gate.release(DROP, order)).verdict == "absent"
    assert (await gate.peek(DROP)).left == {SMALL: 1}
    await check_arithmetic(gate, client)


async def test_keys_the_gate_knows_survive_a_mend_that_does_not_name_them(gate, client):
    await arm(gate)
    first = await buy(gate, 1, key="refused-by-the-ledger")
    await record_all(gate)
    snapshot = await gate.snapshot(DROP)
    await gate.mend(DROP, snapshot.stamp, image())
    assert (await buy(gate, 1, key="refused-by-the-ledger")).order_id == first.order_id
    await check_arithmetic(gate, client)


async def test_the_ledgers_order_wins_over_the_gates_under_one_key(gate):
    await arm(gate)
    lost = await granted(gate, 1, key="mine")
    await record_all(gate)
    recorded = new_order_id(DROP)
    key = KeyRecord(1, "mine", recorded, digest_of(SMALL, 1), 5, SMALL, 1)
    snapshot = await gate.snapshot(DROP)
    await gate.mend(DROP, snapshot.stamp, image(receipts=[Receipt(recorded, 1, SMALL, 1, 5, False)], keys=[key]))
    assert (await buy(gate, 1, key="mine")).order_id == recorded != lost


async def test_a_refused_offer_frees_its_place_and_a_recorded_one_keeps_it(gate):
    await arm(gate, {SMALL: 2})
    refused, recorded = await gate.offer(DROP, [heir(5, 2)]), await gate.offer(DROP, [heir(6, 3)])
    entries = {entry.order_id: entry for entry in await record_all(gate)}
    snapshot = await gate.snapshot(DROP)
    kept = entries[recorded.offered_order]
    await gate.mend(DROP, snapshot.stamp, image({SMALL: 5}, per_person=5, receipts=[receipt_of(kept)], keys=[key_of(kept)]))
    assert (await gate.offer(DROP, [heir(6, 3)])).verdict == "absent"
    assert (await gate.offer(DROP, [heir(5, 2)])).verdict == "offered"
    assert refused.offered_order is not None


async def test_a_mended_gate_still_names_everyone_it_ever_granted(gate):
    await arm(gate)
    await granted(gate, 1)
    await record_all(gate)
    snapshot = await gate.snapshot(DROP)
    live = Receipt(new_order_id(DROP), 2, SMALL, 1, 5, False)
    expired = KeyRecord(3, "k", new_order_id(DROP), digest_of(SMALL, 1), 5, SMALL, 1)
    await gate.mend(DROP, snapshot.stamp, image(receipts=[live], keys=[expired]))
    assert (await gate.peek(DROP, holders=True)).holders == {1, 2, 3}


async def test_entries_older_than_the_group_are_delivered(gate, client):
    await client.xadd(f"{{drop:{DROP}}}:journal", {"order": "x"})
    assert await gate.mend(DROP, None, image()) == "moved"
    assert len(await record_all(gate)) == 1


async def test_an_image_with_more_live_units_than_its_total_is_refused_before_it_reaches_the_gate(gate, client):
    live = [Receipt(new_order_id(DROP), buyer, SMALL, 1, 5, False) for buyer in (1, 2)]
    with pytest.raises(BrokenInvariant):
        await gate.mend(DROP, None, image({SMALL: 1}, receipts=live))
    assert await client.dbsize() == 0


async def test_a_drop_with_twelve_thousand_receipts_is_mended_in_one_step(gate, client):
    orders = [Receipt(new_order_id(DROP), buyer, SMALL, 1, 5, buyer % 2 == 0) for buyer in range(12_000)]
    keys = [KeyRecord(order.buyer, "k", order.order_id, digest_of(SMALL, 1), 5, SMALL, 1) for order in orders]
    operations = [uuid4() for _ in range(2500)]
    assert await gate.mend(DROP, None, image({SMALL: 12_001}, receipts=orders, keys=keys, adjustments=operations)) == "mended"
    snapshot = await gate.snapshot(DROP)
    assert snapshot.receipts == {order.order_id: order for order in orders}
    assert snapshot.adjustments == frozenset(operations)
    assert (await buy(gate, 11_999, key="k")).order_id == orders[-1].order_id
    await check_arithmetic(gate, client)


# ---- the holders beside "nothing left" -----------------------------------------------------------------------------------


async def test_the_holders_are_named_only_when_nothing_is_left_of_any_variant(gate):
    await arm(gate, {SMALL: 1, LARGE: 1})
    await granted(gate, 1)
    assert (await gate.peek(DROP, holders=True)).holders == frozenset()
    await granted(gate, 2, LARGE)
    assert (await gate.peek(DROP, holders=True)).holders == {1, 2}


async def test_who_only_wants_the_counts_is_not_told_a_hundred_thousand_names(gate):
    await arm(gate)
    await granted(gate, 1)
    counts, names = await gate.peek(DROP), await gate.peek(DROP, holders=True)
    assert (counts.holders, counts.left) == (frozenset(), names.left)
    assert names.holders == {1}


async def test_the_holders_include_those_whose_unit_went_to_somebody_else(gate):
    await arm(gate)
    await gate.release(DROP, await granted(gate, 1))
    await granted(gate, 2)
    assert (await gate.peek(DROP, holders=True)).holders == {1, 2}


async def test_a_look_that_builds_on_an_earlier_one_knows_the_same_holders(gate):
    await arm(gate, per_person=2)
    order = await granted(gate, 1)
    first = await gate.peek(DROP, holders=True)
    again = await gate.peek(DROP, holders=True, known=first)
    assert (again.holders, again.time_us > first.time_us) == ({1}, True)
    await gate.release(DROP, order)
    emptied = await gate.peek(DROP, holders=True, known=again)
    assert emptied.holders == frozenset()
    await granted(gate, 2)
    assert (await gate.peek(DROP, holders=True, known=emptied)).holders == {1, 2}


# ---- retire --------------------------------------------------------------------------------------------------------------


async def test_a_retired_drop_leaves_no_key_behind_and_touches_no_other_drop(gate, client):
    await arm(gate, {SMALL: 2}, adjustments=[uuid4()])
    await gate.mend(DROP + 1, None, image())
    others = set(await client.keys())
    await gate.settle(DROP, await granted(gate, 1))
    await gate.offer(DROP, [heir(5, 2)])
    await record_all(gate)
    snapshot = await gate.snapshot(DROP)
    assert await gate.retire(DROP, snapshot.stamp) == "retired"
    assert {name for name in others if f"{{drop:{DROP}}}" not in name.decode()} == set(await client.keys())
    assert await gate.retire(DROP, snapshot.stamp) == "absent"
    assert (await gate.reserve(DROP, wants(1))).verdict == "not_ready"


async def test_a_drop_that_moved_or_has_a_journal_is_not_retired(gate):
    await arm(gate, {SMALL: 2})
    stamp = (await gate.snapshot(DROP)).stamp
    await granted(gate, 1)
    assert await gate.retire(DROP, stamp) == "moved"
    assert await gate.retire(DROP, (await gate.snapshot(DROP)).stamp) == "moved"
    await record_all(gate)
    assert await gate.retire(DROP, (await gate.snapshot(DROP)).stamp) == "retired"
