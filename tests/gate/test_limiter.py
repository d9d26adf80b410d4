"""The sliding window: exactly so many calls pass, whoever counts them, and a refused one costs its caller nothing."""

import asyncio
import math

import pytest

from app.clock import now_ms
from app.gate import Gate, Limiter, limiter
from app.gate.keys import limit_key

WINDOW_US = 10_000_000


class Counting:
    """A gate that counts the questions put to it."""

    def __init__(self, gate: Gate):
        self.gate, self.questions = gate, 0

    async def limit(self, *question):
        self.questions += 1
        return await self.gate.limit(*question)


async def passed(limiters, name="mira", calls=100) -> int:
    """All calls in one burst, spread over the limiters -> how many passed."""
    waits = await asyncio.gather(*(limiters[number % len(limiters)].allow(name) for number in range(calls)))
    assert all(0 <= wait <= 10 for wait in waits)
    return waits.count(0)


async def test_a_burst_over_two_processes_passes_exactly_as_often_as_the_limit_says(gate):
    processes = [Limiter(gate, "buyer", 10, 10.0) for _ in range(2)]
    assert await passed(processes) == 10
    assert await passed(processes) == 0
    assert await passed(processes, name="nils") == 10


async def test_calls_of_one_microsecond_are_counted_one_by_one(gate, client):
    calls = [(f"call{number}", 0) for number in range(100)]
    wait_us = await gate.limit("mira", 10, WINDOW_US, calls)  # one script: one reading of the clock
    assert 0 < wait_us <= WINDOW_US
    assert await client.zcard(limit_key("mira")) == 10


async def test_the_key_never_grows_past_the_limit_and_expires_by_itself(gate, client):
    for number in range(50):
        await gate.limit("mira", 5, WINDOW_US, [(f"call{number}", 0)])
        assert await client.zcard(limit_key("mira")) <= 5
    assert 0 < await client.pttl(limit_key("mira")) <= WINDOW_US / 1000


async def test_refused_calls_extend_nothing_and_the_wait_is_exact(gate, client):
    assert await gate.limit("mira", 1, WINDOW_US, [("first", 4_000_000)]) == 0  # made four seconds ago
    before = await client.pttl(limit_key("mira"))
    waits = [await gate.limit("mira", 1, WINDOW_US, [(f"again{number}", 0)]) for number in range(20)]
    assert all(5_000_000 < wait <= 6_000_000 for wait in waits) and waits == sorted(waits, reverse=True)
    assert await client.zrange(limit_key("mira"), 0, -1) == [b"first"]
    assert await client.pttl(limit_key("mira")) <= before


async def test_as_many_pass_again_once_the_window_has_moved(gate):
    assert await gate.limit("mira", 10, 200_000, [(f"old{number}", 0) for number in range(10)]) == 0
    wait_us = await gate.limit("mira", 10, 200_000, [("refused", 0)])
    await asyncio.sleep(wait_us / 1e6)
    assert await gate.limit("mira", 10, 200_000, [(f"new{number}", 0) for number in range(10)]) == 0
    assert 0 < await gate.limit("mira", 10, 200_000, [(f"more{number}", 0) for number in range(11)])


async def test_a_question_repeated_after_a_lost_answer_counts_once(gate, client):
    for _ in range(3):
        assert await gate.limit("mira", 1, WINDOW_US, [("same", 0)]) == 0
    assert await client.zcard(limit_key("mira")) == 1


async def test_the_gates_clock_counts_and_scores_are_whole_microseconds(gate, client):
    await gate.limit("mira", 1, WINDOW_US, [("call", 0)])
    [(_, made_us)] = await client.zrange(limit_key("mira"), 0, -1, withscores=True)
    assert made_us == int(made_us) and abs(made_us / 1000 - now_ms()) < 60_000


async def test_one_who_hammers_costs_the_gate_no_more_questions_than_the_limit(gate):
    counting = Counting(gate)
    process = Limiter(counting, "buyer", 10, 10.0)
    for _ in range(20):
        await passed([process])
    assert counting.questions == 10


async def test_a_process_that_was_refused_answers_by_itself_until_the_gate_would_say_yes(gate):
    counting = Counting(gate)
    elsewhere, here = Limiter(gate, "buyer", 10, 10.0), Limiter(counting, "buyer", 10, 10.0)
    assert await passed([elsewhere]) == 10
    waits = [await here.allow("mira") for _ in range(50)]
    assert counting.questions == 1 and all(9 <= wait <= 10 for wait in waits)


async def test_the_first_presses_cost_no_question_and_are_counted_by_the_next(gate, client):
    counting = Counting(gate)
    process = Limiter(counting, "buyer", 30, 10.0)
    assert [await process.allow("mira") for _ in range(2)] == [0, 0]
    assert counting.questions == 0 and not await client.exists(limit_key("buyer:mira"))
    assert await process.allow("mira") == 0
    assert counting.questions == 1 and await client.zcard(limit_key("buyer:mira")) == 3
    other = Limiter(gate, "buyer", 30, 10.0)
    assert await passed([process, other]) == 27


async def test_local_refusals_say_how_long_by_the_oldest_call(gate, monkeypatch):
    now = 100.0
    monkeypatch.setattr(limiter, "monotonic", lambda: now)
    process = Limiter(gate, "buyer", 2, 10.0)
    assert await process.allow("mira") == 0
    now = 103.5
    assert await process.allow("mira") == 0
    now = 104.2
    assert await process.allow("mira") == math.ceil(110.0 - 104.2)


async def test_without_the_gate_each_process_counts_for_itself():
    nowhere = await Gate.open("unix:///nonexistent/gate.sock", timeout_seconds=0.2, name="nowhere")
    assert await passed([Limiter(nowhere, "address", 10, 10.0)]) == 10
    await nowhere.close()


@pytest.mark.parametrize("calls_max", [10, 300])
async def test_names_are_bounded(gate, calls_max):
    process = Limiter(gate, "buyer", calls_max, 10.0, names_max=5)
    for name in range(50):
        await process.allow(name)
    assert len(process._once) + len(process._calls) == 5


async def test_credit_is_what_look_would_pass_and_is_counted_like_it(gate):
    one, other = Limiter(gate, "buyer", 30, 10.0), Limiter(gate, "buyer", 30, 10.0)
    assert [one.passes_on_credit("mira") for _ in range(3)] == [True, True, False]
    assert [other.look("mira") for _ in range(3)] == [0, 0, limiter.ASK]
    assert await one.allow("mira") == 0  # carries what is owed along
    assert not Limiter(gate, "buyer", 29, 10.0).passes_on_credit("mira")


async def test_whom_the_gate_refused_has_no_credit(gate):
    one, other = Limiter(gate, "buyer", 30, 10.0), Limiter(gate, "buyer", 30, 10.0)
    assert await passed([one], calls=30) == 30
    assert [other.passes_on_credit("mira") for _ in range(2)] == [True, True]
    assert await other.allow("mira") > 0
    other._calls["mira"].made_at.clear()
    assert not other.passes_on_credit("mira")
