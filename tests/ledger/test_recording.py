import asyncio
from dataclasses import replace
from uuid import uuid4

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.ids import new_order_id
from app.domain.orders import OrderState, Refusal
from app.errors import LedgerUnreachable
from app.ledger import BadEntry, Ledger

HELD, REFUSED = OrderState.PENDING_PAYMENT, OrderState.REFUSED


def states(recorded):
    return [(order.state, order.reason, order.fresh) for order in recorded]


async def test_a_batch_becomes_orders_that_owe_the_price(scene):
    ada, bob = await scene.ledger.mint_shoppers(2)
    entries = [scene.entry(ada), scene.entry(bob)]
    recorded = await scene.ledger.record(scene.drop.id, entries)
    assert [order.order_id for order in recorded] == [entry.order_id for entry in entries]
    assert states(recorded) == [(HELD, None, True)] * 2
    order = await scene.ledger.order_for(entries[0].order_id, ada)
    assert (order.state, order.amount_minor, order.currency, order.pay_by) == (HELD, 4900, "EUR", entries[0].pay_by)
    assert await scene.kinds(order.order_id) == ["held"]
    books = await scene.books()
    assert (books.sold, books.held, books.movements_sum) == (2, 2, 2)


async def test_an_empty_batch_is_nothing(scene):
    assert await scene.ledger.record(scene.drop.id, []) == []


async def test_recording_a_batch_again_changes_nothing(scene):
    entries = [scene.entry(buyer) for buyer in await scene.ledger.mint_shoppers(3)]
    await scene.ledger.record(scene.drop.id, entries)
    assert states(await scene.ledger.record(scene.drop.id, entries)) == [(HELD, None, False)] * 3
    assert (await scene.books()).sold == 3
    assert await scene.kinds(entries[0].order_id) == ["held"]


async def test_an_order_that_has_ended_is_not_revived_by_its_entry(scene):
    entry = scene.entry(await scene.shopper())
    await scene.ledger.record(scene.drop.id, [entry])
    await scene.overdue(entry.order_id)
    await scene.ledger.expire_unattempted(10)
    assert states(await scene.ledger.record(scene.drop.id, [entry])) == [(OrderState.EXPIRED, "deadline", False)]
    assert (await scene.books()).sold == 0


async def test_what_the_gate_leaked_is_refused_and_takes_no_unit(scene):
    await scene.publish(("One size", 1))
    entries = [scene.entry(buyer) for buyer in await scene.ledger.mint_shoppers(2)]
    recorded = await scene.ledger.record(scene.drop.id, entries)
    assert states(recorded) == [(HELD, None, True), (REFUSED, Refusal.GATE_LEAKED, True)]
    assert await scene.kinds(entries[1].order_id) == ["refused"]
    books = await scene.books()
    assert (books.sold, books.refused) == (1, 1)
    assert states(await scene.ledger.record(scene.drop.id, entries[1:])) == [(REFUSED, "gate_leaked", False)]


async def test_a_second_order_over_the_limit_is_refused(scene):
    ada = await scene.shopper()
    await scene.hold(ada)
    (second,) = await scene.ledger.record(scene.drop.id, [scene.entry(ada)])
    assert (second.state, second.reason) == (REFUSED, Refusal.DUPLICATE_BUYER)


async def test_the_limit_counts_live_orders_only(scene):
    ada = await scene.shopper()
    await scene.overdue(await scene.hold(ada))
    await scene.ledger.expire_unattempted(10)
    await scene.hold(ada)
    assert (await scene.books()).sold == 1


async def test_a_limit_above_one_counts_units_over_variants_and_quantities(scene):
    await scene.publish(("S", 5), ("M", 5), per_person=3)
    ada = await scene.shopper()
    wishes = [scene.entry(ada, variant=0, quantity=2), scene.entry(ada, variant=1), scene.entry(ada, variant=1)]
    recorded = await scene.ledger.record(scene.drop.id, wishes)
    assert [order.state for order in recorded] == [HELD, HELD, REFUSED]
    assert [(variant.sold, variant.held) for variant in (await scene.books()).variants] == [(2, 2), (1, 1)]
    assert (await scene.ledger.order(wishes[0].order_id)).amount_minor == 2 * 4900


async def test_a_second_order_of_one_key_is_refused_even_when_the_first_has_ended(scene):
    ada = await scene.shopper()
    await scene.overdue(await scene.hold(ada, key="k"))
    await scene.ledger.expire_unattempted(10)
    (second,) = await scene.ledger.record(scene.drop.id, [scene.entry(ada, key="k")])
    assert (second.state, second.reason) == (REFUSED, Refusal.DUPLICATE_BUYER)


async def test_the_key_of_a_refused_order_may_win_later(scene):
    await scene.publish(("One size", 1))
    ada, bob = await scene.ledger.mint_shoppers(2)
    first = await scene.hold(bob)
    await scene.ledger.record(scene.drop.id, [scene.entry(ada, key="k")])
    await scene.ledger.cancel_unattempted(first, bob, Refusal.BY_SHOPPER)
    await scene.hold(ada, key="k")


async def test_equal_keys_of_two_shoppers_or_two_drops_are_different_keys(scene):
    ada, bob = await scene.ledger.mint_shoppers(2)
    await scene.hold(ada, key="k")
    await scene.hold(bob, key="k")
    await scene.publish()
    await scene.hold(ada, key="k")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda scene, entry: replace(entry, variant_id=10**9),
        lambda scene, entry: replace(entry, buyer=10**15),
        lambda scene, entry: replace(entry, order_id=new_order_id(4_000_000_000)),
        lambda scene, entry: replace(entry, quantity=10**12),
        lambda scene, entry: replace(entry, key="\x00"),
    ],
)
async def test_a_bad_entry_is_named_and_the_rest_can_be_recorded_without_it(scene, spoil):
    good, other = (scene.entry(buyer) for buyer in await scene.ledger.mint_shoppers(2))
    bad = spoil(scene, other)
    with pytest.raises(BadEntry) as caught:
        await scene.ledger.record(scene.drop.id, [good, bad])
    assert caught.value.order_id == bad.order_id
    assert await scene.ledger.order(good.order_id) is None
    await scene.ledger.record(scene.drop.id, [good])


async def test_an_entry_of_a_drop_that_does_not_exist_is_bad(scene):
    entry = replace(scene.entry(await scene.shopper()), order_id=new_order_id(999_999))
    with pytest.raises(BadEntry) as caught:
        await scene.ledger.record(999_999, [entry])
    assert caught.value.order_id == entry.order_id


async def test_a_rejected_entry_is_kept_raw_and_the_books_report_it(scene):
    for _ in range(2):
        await scene.ledger.reject(scene.drop.id, "1-0", {"id": "x", "key": "a\x00b"}, "no shopper\x00 99")
    books = await scene.ledger.books(scene.drop.id)
    assert books.rejects == 1 and books.findings == ["1 journal entries could not be recorded"]
    assert await scene.hand.fetchval("SELECT entry->>'id' FROM journal_rejects") == "x"


async def test_two_recorders_with_the_same_batch_record_it_once(scene):
    entries = [scene.entry(buyer) for buyer in await scene.ledger.mint_shoppers(20)]
    async with scene.locked("SELECT FROM stock WHERE drop_id = $1 FOR UPDATE", scene.drop.id, waiting=2):
        both = [asyncio.create_task(scene.ledger.record(scene.drop.id, entries)) for _ in range(2)]
        await asyncio.sleep(0)
    first, second = await asyncio.gather(*both)
    assert [order.state for order in first] == [order.state for order in second] == [HELD] * 10 + [REFUSED] * 10
    assert sorted([first[0].fresh, second[0].fresh]) == [False, True]
    assert (await scene.books()).sold == 10


async def test_two_recorders_with_different_batches_sell_no_unit_twice(scene):
    buyers = await scene.ledger.mint_shoppers(20)
    batches = [[scene.entry(buyer) for buyer in buyers] for _ in range(2)]
    async with scene.locked("SELECT FROM stock WHERE drop_id = $1 FOR UPDATE", scene.drop.id, waiting=2):
        both = [asyncio.create_task(scene.ledger.record(scene.drop.id, batch)) for batch in batches]
    await asyncio.gather(*both)
    books = await scene.books()
    assert (books.sold, books.refused) == (10, 30)


async def test_a_batch_that_waits_too_long_for_its_lock_leaves_nothing(scene, database_url):
    impatient = await Ledger.open(database_url, name="impatient", connections_max=1, statement_timeout_seconds=1.0)
    entry = scene.entry(await scene.shopper())
    async with scene.locked("SELECT FROM stock WHERE drop_id = $1 FOR UPDATE", scene.drop.id, waiting=0):
        with pytest.raises(LedgerUnreachable):
            await impatient.record(scene.drop.id, [entry])
    assert await scene.ledger.order(entry.order_id) is None
    assert [order.fresh for order in await impatient.record(scene.drop.id, [entry])] == [True]
    await impatient.close()


async def test_the_schema_itself_forbids_overselling_and_a_second_order_of_a_key(scene):
    order_id = await scene.hold()
    with pytest.raises(asyncpg.CheckViolationError, match="never_oversold"):
        await scene.hand.execute("UPDATE stock SET sold = total + 1")
    with pytest.raises(asyncpg.UniqueViolationError, match="one_order_per_key"):
        await scene.hand.execute(
            """
            INSERT INTO orders (id, drop_id, variant_id, shopper_id, quantity, key, digest, state, amount_minor, currency,
                                reserved_at, deadline)
            SELECT $2, drop_id, variant_id, shopper_id, quantity, key, digest, state, amount_minor, currency, reserved_at, deadline
            FROM orders WHERE id = $1
            """,
            order_id, uuid4(),
        )  # fmt: skip


wishes = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(1, 3), st.integers(0, 4), st.booleans()), min_size=1, max_size=12
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(wishes, min_size=1, max_size=4), limit=st.integers(1, 4))
async def test_whatever_the_gate_grants_the_books_add_up(scene, batches, limit):
    await scene.publish(("S", 3), ("M", 2), per_person=limit)
    buyers = await scene.ledger.mint_shoppers(4)
    before = []
    for batch in batches:
        entries = [
            before[-1] if again and before else scene.entry(buyers[b], variant=v, quantity=q, key=f"key-{k}")
            for b, v, q, k, again in batch
        ]
        before += entries
        await scene.ledger.record(scene.drop.id, entries)
        for order in await scene.ledger.orders_of(buyers[0], 2):
            await scene.overdue(order.order_id)
        await scene.ledger.expire_unattempted(100)
    books = await scene.books()
    assert books.sold == books.movements_sum == books.held <= books.total
    assert books.over_limit == ()
