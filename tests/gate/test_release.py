"""A unit comes back exactly once, to the right person (R3), and the doors and stock a seller moves."""

from uuid import UUID, uuid4

import pytest

from app.domain.drops import Door

from .helpers import DROP, LARGE, SMALL, arm, buy, check_arithmetic, contents, granted, heir, image, record_all, server_ms

# ---- release -------------------------------------------------------------------------------------------------------------


async def test_a_second_release_returns_nothing(gate, client):
    await arm(gate)
    order = await granted(gate, 1)
    assert (await gate.release(DROP, order)).verdict == "released"
    assert (await gate.release(DROP, order)).verdict == "absent"
    assert (await gate.peek(DROP)).left == {SMALL: 1}
    await check_arithmetic(gate, client)


async def test_a_late_second_release_does_not_touch_the_same_persons_newer_order(gate, client):
    await arm(gate)
    old = await granted(gate, 1)
    await gate.release(DROP, old)
    new = await granted(gate, 1)
    assert (await gate.release(DROP, old)).verdict == "absent"
    assert (await gate.peek(DROP)).left == {SMALL: 0}
    assert await gate.receipt(DROP, new) is not None


async def test_not_ready_is_no_confirmation(gate, client):
    assert (await gate.release(DROP, uuid4())).verdict == "not_ready"
    assert await client.dbsize() == 0


@pytest.mark.parametrize("paid", [False, True])
async def test_released_units_are_public_stock_whether_they_were_paid_or_not(gate, client, paid):
    await arm(gate, {SMALL: 3}, per_person=3)
    order = await granted(gate, 1, quantity=3)
    if paid:
        await gate.settle(DROP, order)
    await gate.release(DROP, order)
    peek = await gate.peek(DROP)
    assert (peek.left, peek.held) == ({SMALL: 3}, {SMALL: 0})
    await check_arithmetic(gate, client)


async def test_a_release_changes_the_stamp_even_when_the_receipt_is_absent(gate):
    await arm(gate)
    snapshot = await gate.snapshot(DROP)
    assert (await gate.release(DROP, uuid4())).verdict == "absent"
    assert await gate.mend(DROP, snapshot.stamp, image()) == "moved"


# ---- heirs ---------------------------------------------------------------------------------------------------------------


async def test_the_next_place_takes_over_the_unit_and_the_journal_says_so(gate, client):
    await arm(gate)
    order = await granted(gate, 1)
    next_in_line = heir(5, 2)
    answer = await gate.release(DROP, order, [next_in_line])
    assert (answer.verdict, answer.offered_order, answer.heir) == ("offered", next_in_line.order_id, next_in_line)
    entry = (await record_all(gate))[-1]
    assert (entry.order_id, entry.buyer, entry.key, entry.digest, entry.place_id) == (
        next_in_line.order_id, 2, "place:5", next_in_line.digest, 5,
    )  # fmt: skip
    assert (await gate.receipt(DROP, order), (await gate.receipt(DROP, next_in_line.order_id)).buyer) == (None, 2)
    assert (await buy(gate, 3)).verdict == "all_held"
    await check_arithmetic(gate, client)


async def test_move_hands_the_receipt_to_one_person(gate, client):
    await arm(gate)
    order = await granted(gate, 1)
    assert (await gate.move(DROP, order, heir(5, 2))).verdict == "offered"
    assert (await gate.move(DROP, order, heir(6, 3))).verdict == "absent"
    await check_arithmetic(gate, client)


async def test_two_units_never_go_to_one_place(gate, client):
    await arm(gate, {SMALL: 2}, per_person=5)
    first, second = await granted(gate, 1), await granted(gate, 1)
    assert (await gate.release(DROP, first, [heir(5, 2)])).verdict == "offered"
    assert (await gate.release(DROP, second, [heir(5, 2)])).verdict == "released"
    await check_arithmetic(gate, client)


async def test_an_heir_is_never_given_more_than_the_limit(gate, client):
    await arm(gate, {SMALL: 2})
    order = await granted(gate, 1)
    await granted(gate, 2)
    assert (await gate.release(DROP, order, [heir(5, 2), heir(6, 3)])).heir.place_id == 6
    await check_arithmetic(gate, client)


async def test_an_heir_who_wants_more_than_there_is_is_passed_over(gate):
    await arm(gate, {SMALL: 2}, per_person=5)
    await granted(gate, 1)
    order = await granted(gate, 1)
    assert (await gate.release(DROP, order, [heir(5, 2, quantity=2), heir(6, 3)])).heir.place_id == 6


async def test_what_the_heir_does_not_take_is_public_stock(gate, client):
    await arm(gate, {SMALL: 3}, per_person=3)
    order = await granted(gate, 1, quantity=3)
    assert (await gate.release(DROP, order, [heir(5, 2)])).verdict == "offered"
    assert (await gate.peek(DROP)).left == {SMALL: 2}
    await check_arithmetic(gate, client)


async def test_a_freed_unit_of_one_size_is_not_offered_as_another(gate):
    await arm(gate, {SMALL: 1, LARGE: 1})
    assert (await gate.release(DROP, await granted(gate, 1), [heir(5, 2, LARGE)])).verdict == "released"


@pytest.mark.parametrize("door", [Door.PAUSED, Door.CLOSED, Door.CANCELLED, Door.NOT_READY])
async def test_nobody_is_offered_a_unit_through_a_door_that_is_not_open(gate, door):
    await arm(gate)
    order = await granted(gate, 1)
    await gate.set_door(DROP, door, 0, None)
    assert (await gate.release(DROP, order, [heir(5, 2)])).verdict == "released"


async def test_nobody_is_offered_a_unit_while_the_journal_is_full(gate):
    await arm(gate, journal_entries_max=1)
    assert (await gate.release(DROP, await granted(gate, 1), [heir(5, 2)])).verdict == "released"


async def test_an_offer_may_have_a_hold_of_its_own(gate, client):
    await arm(gate, hold_ms=1000)
    answer = await gate.release(DROP, await granted(gate, 1), [heir(5, 2, hold_ms=900_000)])
    receipt = await gate.receipt(DROP, answer.offered_order)
    assert receipt.pay_by_ms > await server_ms(client) + 800_000


async def test_public_stock_is_offered_without_an_old_receipt(gate, client):
    await arm(gate)
    first = await gate.offer(DROP, [heir(5, 2)])
    assert (first.verdict, first.heir.buyer) == ("offered", 2)
    assert (await gate.offer(DROP, [heir(6, 3)])).verdict == "absent"
    await check_arithmetic(gate, client)


# ---- door ----------------------------------------------------------------------------------------------------------------


async def test_a_moved_door_is_what_peek_and_snapshot_see(gate):
    await arm(gate)
    assert await gate.set_door(DROP, Door.PAUSED, 1000, 2000) == "done"
    for seen in (await gate.peek(DROP), await gate.snapshot(DROP)):
        assert (seen.door, seen.opens_ms, seen.closes_ms) == (Door.PAUSED, 1000, 2000)
    await gate.set_door(DROP, Door.OPEN, 0, None)
    assert (await gate.peek(DROP)).closes_ms is None


@pytest.mark.parametrize("ended", [Door.CLOSED, Door.CANCELLED])
async def test_a_door_that_was_closed_never_opens_by_a_word_that_comes_late(gate, ended):
    await arm(gate)
    assert await gate.set_door(DROP, ended, 1000, 2000) == "done"
    for late in (Door.OPEN, Door.PAUSED, Door.NOT_READY):
        assert await gate.set_door(DROP, late, 0, None) == "closed"
    seen = await gate.peek(DROP)
    assert (seen.door, seen.opens_ms, seen.closes_ms) == (ended, 1000, 2000)
    assert await gate.set_door(DROP, Door.CLOSED, 1000, None) == "done"


async def test_an_empty_gate_has_no_door(gate, client):
    assert await gate.set_door(DROP, Door.OPEN, 0, None) == "not_ready"
    assert await client.dbsize() == 0


# ---- adjust --------------------------------------------------------------------------------------------------------------


async def test_units_are_added_once_per_operation(gate, client):
    await arm(gate)
    operation = uuid4()
    assert [await gate.adjust(DROP, operation, SMALL, 5) for _ in range(2)] == ["done", "repeated"]
    peek = await gate.peek(DROP)
    assert (peek.left, peek.total) == ({SMALL: 6}, {SMALL: 6})
    assert (await gate.snapshot(DROP)).adjustments == {operation}
    await check_arithmetic(gate, client)


async def test_only_unsold_units_can_be_taken_away_and_only_whole(gate, client):
    await arm(gate, {SMALL: 3})
    await granted(gate, 1)
    before = await contents(client)
    assert await gate.adjust(DROP, uuid4(), SMALL, -3) == "too_few"
    assert await contents(client) == before
    assert await gate.adjust(DROP, uuid4(), SMALL, -2) == "done"
    assert (await gate.peek(DROP)).left == {SMALL: 0}
    await check_arithmetic(gate, client)


async def test_an_adjustment_that_was_too_few_may_succeed_later_under_the_same_operation(gate):
    await arm(gate)
    order, operation = await granted(gate, 1), uuid4()
    assert await gate.adjust(DROP, operation, SMALL, -1) == "too_few"
    await gate.release(DROP, order)
    assert await gate.adjust(DROP, operation, SMALL, -1) == "done"


async def test_an_operation_the_ledgers_image_has_counted_is_not_counted_again(gate):
    operation = uuid4()
    await arm(gate, {SMALL: 6}, adjustments=[operation])
    assert await gate.adjust(DROP, operation, SMALL, 5) == "repeated"
    assert (await gate.peek(DROP)).left == {SMALL: 6}


async def test_an_adjustment_waits_for_a_gate_that_knows_the_variant(gate, client):
    assert await gate.adjust(DROP, UUID(int=1), SMALL, 1) == "not_ready"
    await arm(gate)
    assert await gate.adjust(DROP, UUID(int=1), LARGE, 1) == "not_ready"
    await check_arithmetic(gate, client)


# ---- the drop's end, and several heirs at once --------------------------------------------------------------------------


async def test_units_that_come_back_together_are_one_offer_per_person_in_order(gate, client):
    await arm(gate, {SMALL: 3}, per_person=3)
    order = await granted(gate, 1, quantity=3)
    heirs = [heir(place, place) for place in (5, 6, 7, 8)]
    answer = await gate.release(DROP, order, heirs)
    assert (answer.verdict, answer.heirs) == ("offered", tuple(heirs[:3]))
    snapshot, _ = await check_arithmetic(gate, client)
    assert snapshot.stock == {SMALL: 0}
    assert [entry.place_id for entry in await record_all(gate)][1:] == [5, 6, 7]
    assert await gate.offered_places(DROP, [4, 5, 7, 8]) == {5, 7}


@pytest.mark.parametrize(("ends_in_seconds", "stands_seconds"), [(3600, 600), (300, 300), (121, 121), (119, None), (-2, None)])
async def test_an_offer_ends_with_the_drop_and_is_not_made_for_less_than_two_minutes(gate, client, ends_in_seconds, stands_seconds):
    now_ms = await server_ms(client)
    await arm(gate, closes_ms=now_ms + 3_600_000)
    order = await granted(gate, 1)
    await gate.set_door(DROP, Door.OPEN, 0, now_ms + ends_in_seconds * 1000)
    answer = await gate.release(DROP, order, [heir(5, 2, hold_ms=600_000)])
    if stands_seconds is None:
        assert answer.verdict == "released"
    else:
        assert answer.verdict == "offered"
        stands_ms = (await gate.receipt(DROP, answer.offered_order)).pay_by_ms - now_ms
        assert 0 <= stands_ms - stands_seconds * 1000 < 5000 if stands_seconds == 600 else stands_ms == stands_seconds * 1000
    await check_arithmetic(gate, client)


async def test_the_end_is_judged_by_the_drops_own_clock(gate, client):
    now_ms = await server_ms(client)
    await arm(gate, closes_ms=now_ms + 3_600_000)
    order = await granted(gate, 1)
    snapshot = await gate.snapshot(DROP)
    shifted = image({SMALL: 1}, closes_ms=now_ms + 3_600_000, clock_offset_ms=3_600_000, receipts=list(snapshot.receipts.values()))
    await record_all(gate)
    assert await gate.mend(DROP, (await gate.snapshot(DROP)).stamp, shifted) == "mended"
    assert (await gate.release(DROP, order, [heir(5, 2)])).verdict == "released"


async def test_nobody_is_offered_a_unit_before_the_door_opens(gate, client):
    await arm(gate, opens_ms=await server_ms(client) + 60_000)
    assert (await gate.offer(DROP, [heir(5, 2)])).verdict == "absent"


async def test_added_units_go_to_the_next_in_line_without_being_public_for_a_moment(gate, client):
    await arm(gate, {SMALL: 0})
    operation = uuid4()
    assert await gate.adjust(DROP, operation, SMALL, 2, [heir(5, 2)]) == "done"
    assert await gate.adjust(DROP, operation, SMALL, 2, [heir(6, 3)]) == "repeated"
    snapshot, _ = await check_arithmetic(gate, client)
    assert (snapshot.stock, snapshot.totals) == ({SMALL: 0}, {SMALL: 2})
    assert [entry.buyer for entry in await record_all(gate)] == [2, 3]
