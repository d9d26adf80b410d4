"""The seller's verbs on a drop, two at once: the ledger decides, and the gate ends where the ledger does."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from app import clock
from app.domain.drops import Door
from app.domain.plan import HAS_ENDED, SOLD_MEANWHILE
from app.errors import BadInput, GateUnreachable
from app.purchase.drops import add_units, change_door
from app.purchase.planning import postpone


class SlowWord:
    """A gate whose first word about a door is on its way until it is let go."""

    def __init__(self, gate):
        self._gate, self.said, self.go_on = gate, asyncio.Event(), asyncio.Event()

    def __getattr__(self, name):
        return getattr(self._gate, name)

    async def set_door(self, *arguments):
        if not self.said.is_set():
            self.said.set()
            await self.go_on.wait()
        return await self._gate.set_door(*arguments)


async def slowly(shop, late, then):
    """`late` has changed the ledger and its word to the gate is on its way; meanwhile `then` is done whole."""
    shop.gate, gate = SlowWord(shop.gate), shop.gate
    first = asyncio.create_task(late)
    await shop.gate.said.wait()
    await then()
    shop.gate.go_on.set()
    await first
    shop.gate = gate


async def actions(shop) -> list[tuple[str, str]]:
    return [(one.actor, one.action) for one in reversed(await shop.ledger.audit_log(shop.shop_id))]


@pytest.mark.parametrize("end", [Door.CLOSED, Door.CANCELLED])
async def test_a_resume_whose_word_comes_after_the_end_does_not_open_the_gate_for_a_moment(shop, end):
    drop, told = await shop.opens(units=2), []
    await change_door(shop, drop.slug, Door.PAUSED)
    set_door = shop.gate.set_door

    async def noted(*arguments):
        await set_door(*arguments)
        told.append((await shop.gate.peek(drop.id)).door)

    shop.gate.set_door = noted
    await slowly(shop, change_door(shop, drop.slug, Door.OPEN), lambda: change_door(shop, drop.slug, end))
    assert (await shop.ledger.drop_by_id(drop.id)).door is end
    assert set(told) == {"closed"}
    assert (await shop.buys(drop, await shop.shopper())).verdict == "closed"


async def test_a_pause_whose_word_comes_after_the_resume_leaves_the_gate_open(shop):
    drop = await shop.opens(units=2)
    await slowly(shop, change_door(shop, drop.slug, Door.PAUSED), lambda: change_door(shop, drop.slug, Door.OPEN))
    assert (await shop.ledger.drop_by_id(drop.id)).door is Door.OPEN
    assert (await shop.gate.peek(drop.id)).door == "open"


async def test_a_postponement_whose_word_comes_after_the_end_leaves_the_gate_closed(shop):
    drop = await shop.opens(units=2)
    opens_at = clock.now() + timedelta(hours=1)
    await change_door(shop, drop.slug, Door.OPEN, opens_at=opens_at)
    late = postpone(shop, shop.shop_id, drop.id, 1, opens_at + timedelta(hours=1), None, "ada")
    await slowly(shop, late, lambda: change_door(shop, drop.slug, Door.CLOSED))
    assert (await shop.gate.peek(drop.id)).door == "closed"


async def test_whoever_resumes_what_has_ended_is_told_so_and_nothing_is_written_of_it(shop):
    drop = await shop.opens(units=2)
    for _time in range(2):
        await change_door(shop, drop.slug, Door.CLOSED, actor="ada")
    for late in (Door.OPEN, Door.PAUSED):
        with pytest.raises(BadInput) as caught:
            await change_door(shop, drop.slug, late, actor="bo")
        assert (str(caught.value), caught.value.field) == (HAS_ENDED, "door")
    assert await actions(shop) == [("ada", "ended")]


async def test_a_drop_whose_time_is_over_is_neither_paused_nor_resumed(shop):
    drop = await shop.opens(units=2, closes_at=clock.now() - timedelta(seconds=1))
    for late in (Door.OPEN, Door.PAUSED):
        with pytest.raises(BadInput, match="has ended"):
            await change_door(shop, drop.slug, late)
    assert (await change_door(shop, drop.slug, Door.CLOSED)).door is Door.CLOSED


async def test_units_that_the_gate_could_not_count_yet_are_audited_by_whoever_brings_them_there(shop, monkeypatch):
    drop, op_id = await shop.opens(units=2), uuid4()

    async def gone(*_arguments):
        raise GateUnreachable("gone")

    with monkeypatch.context() as away:
        away.setattr(shop.gate, "adjust", gone)
        assert (await add_units(shop, drop.slug, None, 3, op_id, actor="ada")).units_total == 5
        assert await actions(shop) == []
    await shop.sweeps()
    assert await actions(shop) == [("ada", "units added")]
    await add_units(shop, drop.slug, None, 3, op_id, actor="ada")
    assert await actions(shop) == [("ada", "units added")] and (await shop.gate.peek(drop.id)).left.popitem()[1] == 5


async def test_units_that_the_gate_has_sold_meanwhile_are_not_taken_away_by_anybodys_door(shop):
    drop = await shop.opens(units=2)
    await shop.buys(drop, await shop.shopper())  # the recorder has not written it yet
    with pytest.raises(BadInput) as caught:
        await add_units(shop, drop.slug, None, -2, actor="ada")
    assert (str(caught.value), caught.value.field) == (SOLD_MEANWHILE, "units")
    assert await actions(shop) == [] and (await shop.ledger.drop_by_id(drop.id)).units_total == 2
