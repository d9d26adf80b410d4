"""Every verdict of the gate, and the order in which it judges."""

import asyncio
from uuid import UUID

import pytest

from app.domain.drops import Door
from app.domain.orders import UNPAID_HOLDS_MAX
from app.domain.verdicts import Verdict
from app.errors import BadInput

from .helpers import DROP, LARGE, SMALL, arm, buy, check_arithmetic, contents, granted, heir, server_ms, wants

HOUR_MS = 3_600_000

# what the drop is like, what buyer 1 asks of it, what the gate says; buyer 9 took `taken` units of SMALL before
TABLE = {
    "one unit of one": ({}, {}, 0, "reserved"),
    "the last unit is in somebody's checkout": ({}, {}, 1, "all_held"),
    "units fit whole or not at all": ({"totals": {SMALL: 2}, "per_person": 3}, {"quantity": 3}, 0, "sold_out"),
    "two of two": ({"totals": {SMALL: 2}, "per_person": 2}, {"quantity": 2}, 0, "reserved"),
    "no unit was ever there": ({"totals": {SMALL: 0}}, {}, 0, "sold_out"),
    "another variant's stock does not help": ({"totals": {SMALL: 0, LARGE: 5}}, {}, 0, "sold_out"),
    "another variant's checkouts do not count": ({"totals": {SMALL: 1, LARGE: 0}}, {"variant": LARGE}, 1, "sold_out"),
    "more than a person may have": ({"totals": {SMALL: 5}}, {"quantity": 2}, 0, "already_yours"),
    "before opening": ({"opens_in_ms": HOUR_MS}, {}, 0, "not_open"),
    "the clock is set forward past the opening": ({"opens_in_ms": HOUR_MS, "clock_offset_ms": 2 * HOUR_MS}, {}, 0, "reserved"),
    "the clock is set back before the opening": ({"opens_in_ms": -HOUR_MS, "clock_offset_ms": -2 * HOUR_MS}, {}, 0, "not_open"),
    "after closing": ({"closes_in_ms": -1}, {}, 0, "closed"),
    "before closing": ({"closes_in_ms": HOUR_MS}, {}, 0, "reserved"),
    "paused": ({"door": Door.PAUSED}, {}, 0, "paused"),
    "paused before opening": ({"door": Door.PAUSED, "opens_in_ms": HOUR_MS}, {}, 0, "paused"),
    "closed by the seller": ({"door": Door.CLOSED}, {}, 0, "closed"),
    "cancelled": ({"door": Door.CANCELLED}, {}, 0, "closed"),
    "shut for a mend": ({"door": Door.NOT_READY}, {}, 0, "not_ready"),
    "the ledger is too far behind": ({"totals": {SMALL: 5}, "journal_entries_max": 1}, {}, 1, "not_ready"),
    "a variant the gate does not know yet": ({}, {"variant": 999}, 0, "not_ready"),
}


@pytest.mark.parametrize("case", TABLE)
async def test_the_gate_answers(gate, client, case):
    rules, request, taken, verdict = TABLE[case]
    now_ms = await server_ms(client)
    times = {word: now_ms + rules[f"{word[:-3]}_in_ms"] for word in ("opens_ms", "closes_ms") if f"{word[:-3]}_in_ms" in rules}
    await arm(gate, **{word: value for word, value in rules.items() if not word.endswith("_in_ms")}, **times)
    if taken:
        await granted(gate, 9, quantity=taken)
    assert (await buy(gate, 1, **request)).verdict == verdict
    await check_arithmetic(gate, client)


async def test_an_empty_gate_is_not_ready_and_stays_empty(gate, client):
    answer = await buy(gate, 1)
    assert answer.verdict is Verdict.NOT_READY
    assert answer.retry_after_seconds >= 1
    assert await client.dbsize() == 0


async def test_a_yes_carries_the_order_and_the_deadline(gate, client):
    await arm(gate, hold_ms=600_000)
    wanted = wants(1)
    before = await server_ms(client)
    answer = await gate.reserve(DROP, wanted)
    after = await server_ms(client)
    assert answer.order_id == wanted.order_id
    assert before + 600_000 <= answer.pay_by_ms <= after + 600_000
    receipt = await gate.receipt(DROP, answer.order_id)
    assert (receipt.buyer, receipt.variant_id, receipt.quantity, receipt.pay_by_ms, receipt.paid) == (
        1,
        SMALL,
        1,
        answer.pay_by_ms,
        False,
    )


async def test_the_deadline_is_real_time_even_when_the_drops_clock_is_set_forward(gate, client):
    await arm(gate, clock_offset_ms=HOUR_MS, hold_ms=1000)
    assert (await buy(gate, 1)).pay_by_ms <= await server_ms(client) + 1000


async def test_a_no_writes_nothing(gate, client):
    await arm(gate, {SMALL: 1, LARGE: 0})
    await granted(gate, 1)
    before = await contents(client)
    answers = [await buy(gate, 2), await buy(gate, 1), await buy(gate, 2, LARGE)]
    assert [answer.verdict for answer in answers] == ["all_held", "already_yours", "sold_out"]
    assert await contents(client) == before


async def test_not_open_says_when_and_how_long_to_wait_rounded_up(gate, client):
    opens_ms = await server_ms(client) + 5000
    await arm(gate, opens_ms=opens_ms)
    answer = await buy(gate, 1)
    now_ms = await server_ms(client)
    assert answer.opens_at_ms == opens_ms
    assert (opens_ms - now_ms) / 1000 <= answer.retry_after_seconds <= 5


# ---- keys (R10) ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", [Door.PAUSED, Door.CLOSED, Door.NOT_READY])
async def test_a_granted_key_answers_the_same_order_through_any_door(gate, client, door):
    await arm(gate)
    first = await buy(gate, 1, key="mine")
    await gate.set_door(DROP, door, await server_ms(client) + HOUR_MS, None)
    assert await buy(gate, 1, key="mine") == first


async def test_the_retry_of_a_lost_reserved_hears_reserved_and_not_already_yours(gate):
    await arm(gate)
    first = await buy(gate, 1, key="mine")
    assert await buy(gate, 1, key="mine") == first
    assert (await buy(gate, 1, key="another")).verdict is Verdict.ALREADY_YOURS


async def test_a_granted_key_answers_the_same_order_after_its_unit_went_back(gate):
    await arm(gate)
    first = await buy(gate, 1, key="mine")
    await gate.release(DROP, first.order_id)
    assert await buy(gate, 1, key="mine") == first
    assert (await buy(gate, 1, key="a new page")).verdict is Verdict.RESERVED


async def test_a_granted_key_answers_the_same_order_while_the_journal_is_full(gate):
    await arm(gate, journal_entries_max=1)
    first = await buy(gate, 1, key="mine")
    assert await buy(gate, 1, key="mine") == first


@pytest.mark.parametrize("other", [{"quantity": 2}, {"variant": LARGE}])
async def test_other_content_under_a_granted_key_is_a_conflict(gate, other):
    await arm(gate, {SMALL: 5, LARGE: 5}, per_person=5)
    await granted(gate, 1, key="mine")
    assert (await buy(gate, 1, key="mine", **other)).verdict is Verdict.KEY_CONFLICT


async def test_a_refusal_stores_nothing_so_the_same_key_may_win_later_with_other_content(gate):
    await arm(gate, {SMALL: 1, LARGE: 1})
    order = await granted(gate, 9)
    assert (await buy(gate, 1, key="mine")).verdict is Verdict.ALL_HELD
    await gate.release(DROP, order)
    assert (await buy(gate, 1, LARGE, key="mine")).verdict is Verdict.RESERVED


async def test_another_shoppers_equal_key_is_another_key(gate):
    await arm(gate, {SMALL: 2})
    assert await granted(gate, 1, key="same") != await granted(gate, 2, key="same")


async def test_a_buyer_and_key_cannot_be_mistaken_for_another_pair(gate):
    await arm(gate, {SMALL: 2})
    assert await granted(gate, 1, key="2:x") != await granted(gate, 12, key="x")


async def test_a_shopper_cannot_use_the_key_of_a_waitlist_place(gate):
    await arm(gate)
    with pytest.raises(BadInput):
        await buy(gate, 1, key="place:5")


async def test_one_key_twenty_times_in_parallel_is_one_order(gate, client):
    await arm(gate, {SMALL: 20}, per_person=20)
    answers = await asyncio.gather(*(buy(gate, 1, key="mine") for _ in range(20)))
    assert len({answer.order_id for answer in answers}) == 1
    assert (await gate.peek(DROP)).left == {SMALL: 19}
    await check_arithmetic(gate, client)


# ---- the limit -----------------------------------------------------------------------------------------------------------


async def test_the_limit_counts_all_variants_of_the_drop(gate):
    await arm(gate, {SMALL: 5, LARGE: 5}, per_person=2)
    await granted(gate, 1, SMALL)
    newest = await granted(gate, 1, LARGE)
    answer = await buy(gate, 1, LARGE)
    assert (answer.verdict, answer.order_id, answer.allowed) == (Verdict.ALREADY_YOURS, newest, 0)


async def test_already_yours_says_what_is_left_of_the_limit(gate):
    await arm(gate, {SMALL: 9}, per_person=3)
    order = await granted(gate, 1, quantity=2)
    answer = await buy(gate, 1, quantity=2)
    assert (answer.verdict, answer.order_id, answer.allowed) == (Verdict.ALREADY_YOURS, order, 1)
    assert (await buy(gate, 1, quantity=1)).verdict is Verdict.RESERVED


@pytest.mark.parametrize("gone", [0, 1, 2])
async def test_already_yours_names_a_receipt_that_is_still_there(gate, gone):
    await arm(gate, {SMALL: 9}, per_person=3)
    orders = [await granted(gate, 1) for _ in range(3)]
    await gate.release(DROP, orders.pop(gone))
    answer = await buy(gate, 1, quantity=2)
    assert answer.order_id == orders[-1]
    assert await gate.receipt(DROP, answer.order_id) is not None


async def test_already_yours_names_no_order_when_the_wish_alone_is_over_the_limit(gate):
    await arm(gate, {SMALL: 9}, per_person=2)
    answer = await buy(gate, 1, quantity=3)
    assert (answer.verdict, answer.order_id, answer.allowed) == (Verdict.ALREADY_YOURS, None, 2)


async def test_a_released_unit_no_longer_counts_against_the_limit(gate):
    await arm(gate)
    await gate.release(DROP, await granted(gate, 1))
    assert (await buy(gate, 1)).verdict is Verdict.RESERVED


async def test_three_unpaid_holds_are_all_that_a_buyer_may_have_at_once(gate, client):
    await arm(gate, {SMALL: 9, LARGE: 9}, per_person=9)
    holds = [await granted(gate, 1, variant) for variant in (SMALL, LARGE, SMALL)]
    assert len(holds) == UNPAID_HOLDS_MAX
    before = await contents(client)
    refused = await buy(gate, 1, LARGE)
    assert (refused.verdict, refused.order_id, refused.allowed) == (Verdict.ALREADY_YOURS, holds[-1], 0)
    assert await contents(client) == before
    assert (await buy(gate, 2)).verdict is Verdict.RESERVED
    await check_arithmetic(gate, client)


@pytest.mark.parametrize("how", ["settle", "release"])
async def test_who_pays_a_hold_or_gives_it_back_may_buy_again(gate, how):
    await arm(gate, {SMALL: 9}, per_person=9)
    holds = [await granted(gate, 1) for _ in range(UNPAID_HOLDS_MAX)]
    await getattr(gate, how)(DROP, holds[1])
    fourth = await granted(gate, 1)
    refused = await buy(gate, 1)
    assert (refused.verdict, refused.order_id, refused.allowed) == (Verdict.ALREADY_YOURS, fourth, 0)


async def test_whoever_has_three_unpaid_holds_is_offered_what_they_waited_for(gate):
    await arm(gate, {SMALL: 5}, per_person=9)
    for _ in range(UNPAID_HOLDS_MAX):
        await granted(gate, 1)
    assert len((await gate.offer(DROP, [heir(5, 1)])).heirs) == 1
    assert (await buy(gate, 1)).verdict is Verdict.ALREADY_YOURS


# ---- held or sold --------------------------------------------------------------------------------------------------------


async def test_all_held_becomes_sold_out_once_the_last_checkout_is_paid(gate):
    await arm(gate, {SMALL: 2})
    first, second = await granted(gate, 1), await granted(gate, 2)
    assert (await buy(gate, 3)).verdict is Verdict.ALL_HELD
    await gate.settle(DROP, first)
    assert (await buy(gate, 3)).verdict is Verdict.ALL_HELD
    await gate.settle(DROP, second)
    assert (await buy(gate, 3)).verdict is Verdict.SOLD_OUT


async def test_settling_twice_changes_nothing_the_second_time(gate, client):
    await arm(gate, {SMALL: 2})
    order = await granted(gate, 1)
    await granted(gate, 2)
    assert await gate.settle(DROP, order) == "settled"
    before = await contents(client)
    assert await gate.settle(DROP, order) == "settled"
    assert await contents(client) == before
    await check_arithmetic(gate, client)


async def test_settling_what_is_not_there_changes_nothing(gate, client):
    await arm(gate)
    before = await contents(client)
    assert await gate.settle(DROP, UUID(int=1)) == "absent"
    assert await contents(client) == before
    assert await gate.settle(DROP + 1, UUID(int=1)) == "not_ready"


# ---- crowds --------------------------------------------------------------------------------------------------------------


async def test_two_thousand_buyers_for_a_hundred_units_are_exactly_a_hundred(gate, client):
    await arm(gate, {SMALL: 100})
    answers = await asyncio.gather(*(buy(gate, buyer) for buyer in range(2000)))
    verdicts = [answer.verdict for answer in answers]
    assert (verdicts.count("reserved"), verdicts.count("all_held")) == (100, 1900)
    assert verdicts[:100] == ["reserved"] * 100, "who asked first was served first"
    await check_arithmetic(gate, client)
    assert await gate.journal_length(DROP) == 100
