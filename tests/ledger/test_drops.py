import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from app.domain.drops import UNITS_MAX, Door
from app.domain.orders import Refusal
from app.domain.plan import ANOTHER_WISH, NO_UNITS_ANY_MORE
from app.errors import BadInput, NotFound

NOW = datetime(2026, 12, 1, 20, tzinfo=UTC)


async def test_a_drop_comes_back_as_it_was_published(scene):
    drop = await scene.publish(
        ("S", 5), ("M", 0), slug="night-drop", title="Night drop", description="A *poster*.", price_minor=1200, currency="JPY",
        opens_at=NOW, closes_at=NOW + timedelta(hours=1), per_person=2, hold_seconds=1.5, payment_attempts=1, clock_offset_ms=250,
    )  # fmt: skip
    assert await scene.ledger.drop_by_slug("night-drop") == drop == await scene.ledger.drop_by_id(drop.id)
    assert [(variant.name, variant.units_total) for variant in drop.variants] == [("S", 5), ("M", 0)]
    assert (drop.shop_name, drop.price_minor, drop.currency, drop.opens_at, drop.closes_at) == (
        "A shop", 1200, "JPY", NOW, NOW + timedelta(hours=1),
    )  # fmt: skip
    assert (drop.per_person, drop.hold_seconds, drop.payment_attempts, drop.clock_offset_ms) == (2, 1.5, 1, 250)
    assert (drop.door, drop.picture, drop.retired, drop.units_total) == (Door.OPEN, None, False, 5)


async def test_a_slug_is_taken_once(scene):
    await scene.publish(slug="one")
    with pytest.raises(BadInput, match="already a drop named one") as caught:
        await scene.publish(slug="one")
    assert caught.value.field == "slug"


async def test_two_drops_of_one_slug_published_at_once_are_one(scene):
    both = await asyncio.gather(scene.publish(slug="one"), scene.publish(slug="one"), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in both) == ["BadInput", "Drop"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"slug": ""}, "slug"),
        ({"slug": "Upper"}, "slug"),
        ({"slug": "-a"}, "slug"),
        ({"slug": "a" * 65}, "slug"),
        ({"slug": "a\n"}, "slug"),
        ({"title": ""}, "title"),
        ({"title": "t" * 201}, "title"),
        ({"title": "a\x00"}, "title"),
        ({"title": "a\ud800"}, "title"),
        ({"description": "d" * 10_001}, "description"),
        ({"price_minor": -1}, "price"),
        ({"price_minor": 100_000_000}, "price"),
        ({"currency": "eur"}, "currency"),
        ({"currency": "ZZQ"}, "currency"),
        ({"per_person": 0}, "per_person"),
        ({"per_person": 1001}, "per_person"),
        ({"per_person": 1000, "price_minor": 99_999_999}, "per_person"),
        ({"hold_seconds": 0.5}, "hold"),
        ({"hold_seconds": 86_401}, "hold"),
        ({"hold_seconds": float("nan")}, "hold"),
        ({"payment_attempts": 0}, "attempts"),
        ({"payment_attempts": 11}, "attempts"),
        ({"opens_at": NOW, "closes_at": NOW}, "closes_at"),
        ({"variants": ()}, "variants"),
        ({"variants": (("S", 1), ("S", 2))}, "variants"),
        ({"variants": (("", 1),)}, "variants"),
        ({"variants": (("S", -1),)}, "quantity"),
        ({"variants": (("S", 1_000_001),)}, "quantity"),
        ({"picture": "no such hash"}, "pictures"),
        ({"shop_id": 999_999}, "shop"),
    ],
)
async def test_an_odd_drop_is_refused_and_names_its_field(scene, change, field):
    with pytest.raises(BadInput) as caught:
        await scene.publish(**change)
    assert caught.value.field == field
    assert len(await scene.ledger.drops()) == 1


async def test_drops_are_listed_with_the_latest_opening_first_until_they_retire(scene):
    first = scene.drop
    later = await scene.publish(opens_at=first.opens_at + timedelta(days=1))
    assert await scene.ledger.drops() == [later, first]
    assert await scene.ledger.drops(limit=1) == [later]
    assert await scene.ledger.retire_drop(first.id)
    assert not await scene.ledger.retire_drop(first.id)
    assert await scene.ledger.drops(live_only=True) == [later]
    assert await scene.ledger.live_drop_ids() == [later.id]
    assert [drop.retired for drop in await scene.ledger.drops()] == [False, True]


@pytest.mark.parametrize("slug", ["no-such-drop", "", "a\x00b", "../etc", "UPPER"])
async def test_an_unknown_slug_is_no_drop(scene, slug):
    assert await scene.ledger.drop_by_slug(slug) is None


@pytest.mark.parametrize("drop_id", [0, -1, 999_999, 2**31, 2**32 - 1, 2**70])
async def test_an_unknown_id_is_no_drop(scene, drop_id):
    assert await scene.ledger.drop_by_id(drop_id) is None


async def test_shops_are_found_by_name_or_age(scene):
    second = await scene.ledger.create_shop("Second", "Owner+x@Example.org")
    assert await scene.ledger.first_shop() == scene.shop_id
    assert await scene.ledger.shop_named("Second") == second
    assert await scene.ledger.shop_named("Third") is None
    sellers = await scene.hand.fetch("SELECT email, role FROM sellers WHERE shop_id = $1", second)
    assert [tuple(row) for row in sellers] == [("owner@example.org", "owner")]
    with pytest.raises(BadInput):
        await scene.ledger.create_shop("", "owner@example.org")
    with pytest.raises(BadInput):
        await scene.ledger.create_shop("Fourth", "nobody")
    assert await scene.ledger.shop_named("Fourth") is None


async def test_the_door_moves_until_the_drop_is_cancelled(scene):
    async def move(door, **times):
        moved = await scene.ledger.change_door(scene.drop.id, door, **times)
        return moved, (await scene.ledger.drop_by_id(scene.drop.id)).door

    assert await move(Door.PAUSED) == (True, Door.PAUSED)
    assert await move(Door.PAUSED) == (False, Door.PAUSED)
    assert await move(Door.OPEN, opens_at=NOW) == (True, Door.OPEN)
    assert await move(Door.OPEN, opens_at=NOW) == (False, Door.OPEN)
    assert (await scene.ledger.drop_by_id(scene.drop.id)).opens_at == NOW
    with pytest.raises(BadInput) as caught:
        await move(Door.OPEN, closes_at=NOW - timedelta(seconds=1))
    assert caught.value.field == "closes_at"
    assert await move(Door.CANCELLED) == (True, Door.CANCELLED)
    assert await move(Door.OPEN) == (False, Door.CANCELLED)
    assert not await scene.ledger.change_door(999_999, Door.OPEN)
    with pytest.raises(BadInput):
        await scene.ledger.change_door((await scene.publish()).id, Door.NOT_READY)


@pytest.mark.parametrize("by", ["the seller's word", "its closing time", "its closing time by its own clock"])
@pytest.mark.parametrize("late", [Door.OPEN, Door.PAUSED])
async def test_a_drop_that_is_over_never_opens_again_and_can_still_be_closed_and_cancelled(scene, by, late):
    now = datetime.now(UTC)
    if by == "the seller's word":
        await scene.publish()
        assert await scene.ledger.change_door(scene.drop.id, Door.CLOSED)
    elif by == "its closing time":
        await scene.publish(opens_at=now - timedelta(hours=2), closes_at=now - timedelta(seconds=1))
    else:
        await scene.publish(closes_at=now + timedelta(hours=1), clock_offset_ms=3_600_001)
    before = (await scene.ledger.drop_by_id(scene.drop.id)).door
    for times in ({}, {"closes_at": now + timedelta(days=1)}):
        assert not await scene.ledger.change_door(scene.drop.id, late, **times)
    after = await scene.ledger.drop_by_id(scene.drop.id)
    assert after.door is before and after.over(datetime.now(UTC))
    assert await scene.ledger.change_door(scene.drop.id, Door.CLOSED) is (before is not Door.CLOSED)
    assert await scene.ledger.change_door(scene.drop.id, Door.CANCELLED)
    assert not await scene.ledger.change_door(scene.drop.id, Door.CLOSED)


@pytest.mark.parametrize("late", ["resume", "units", "postpone"])
async def test_whoever_waited_for_an_end_finds_the_drop_ended(scene, late):
    """All read an open drop; the end holds its row, and the other is decided only when it is through."""
    await scene.publish(opens_at=datetime.now(UTC) + timedelta(hours=1))
    await scene.ledger.change_door(scene.drop.id, Door.PAUSED)
    drop, later = scene.drop, scene.drop.opens_at + timedelta(days=1)
    works = {
        "resume": lambda: scene.ledger.change_door(drop.id, Door.OPEN),
        "units": lambda: scene.ledger.add_units(drop.id, drop.variants[0].id, 5, uuid4()),
        "postpone": lambda: scene.ledger.postpone_drop(scene.shop_id, drop.id, 1, later, None, "ada"),
    }
    async with scene.locked("SELECT FROM drops WHERE id = $1 FOR UPDATE", drop.id, waiting=2):
        end = asyncio.create_task(scene.ledger.change_door(drop.id, Door.CLOSED))
        await scene.until_waiting(1)  # first in the line
        too_late = asyncio.create_task(works[late]())
    assert await end
    if late == "units":
        with pytest.raises(BadInput) as caught:
            await too_late
        assert (caught.value.field, str(caught.value)) == ("units", NO_UNITS_ANY_MORE)
    else:
        assert not await too_late
    after = await scene.ledger.drop_by_id(drop.id)
    assert (after.door, after.opens_at, after.units_total) == (Door.CLOSED, drop.opens_at, drop.units_total)


async def test_moves_of_the_door_are_written_to_the_audit_log_with_them(scene):
    for door in (Door.PAUSED, Door.PAUSED, Door.OPEN, Door.CLOSED, Door.OPEN, Door.CANCELLED):
        await scene.ledger.change_door(scene.drop.id, door, actor="ada")
    assert [(one.action, one.subject, one.before, one.after) for one in await scene.ledger.audit_log(scene.shop_id)] == [
        ("drop cancelled", scene.drop.slug, {"door": "closed"}, {"door": "cancelled"}),
        ("ended", scene.drop.slug, {"door": "open"}, {"door": "closed"}),
        ("resumed", scene.drop.slug, {"door": "paused"}, {"door": "open"}),
        ("paused", scene.drop.slug, {"door": "open"}, {"door": "paused"}),
    ]


async def test_a_drop_retires_only_when_nothing_can_move(scene):
    order_id = await scene.hold()
    assert not await scene.ledger.retire_drop(scene.drop.id)
    await scene.ledger.cancel_unattempted(order_id, None, Refusal.BY_SELLER)
    assert not await scene.ledger.retire_drop(scene.drop.id)
    await scene.ledger.confirm_released(order_id)
    op_id = uuid4()
    await scene.ledger.add_units(scene.drop.id, scene.drop.variants[0].id, 1, op_id)
    assert not await scene.ledger.retire_drop(scene.drop.id)
    await scene.ledger.confirm_adjustment(op_id)
    assert await scene.ledger.retire_drop(scene.drop.id)


async def total(scene):
    return (await scene.ledger.drop_by_id(scene.drop.id)).units_total


async def test_units_are_added_once_per_wish(scene):
    op_id, variant_id = uuid4(), scene.drop.variants[0].id
    for _ in range(2):
        assert await scene.ledger.add_units(scene.drop.id, variant_id, 5, op_id)
    assert await total(scene) == 15
    (adjustment,) = await scene.ledger.unconfirmed_adjustments(scene.drop.id)
    assert (adjustment.id, adjustment.units, adjustment.variant_id) == (op_id, 5, variant_id)
    assert await scene.ledger.unconfirmed_adjustments() == [adjustment]
    assert await scene.ledger.confirm_adjustment(op_id)
    assert not await scene.ledger.confirm_adjustment(op_id)
    assert not await scene.ledger.withdraw_adjustment(op_id)
    assert (await scene.ledger.unconfirmed_adjustments(scene.drop.id), await total(scene)) == ([], 15)


async def audited(scene) -> list[tuple]:
    return [(one.actor, one.action, one.before, one.after) for one in reversed(await scene.ledger.audit_log(scene.shop_id))]


async def test_one_wish_sent_twice_at_once_is_one_change_and_one_entry_of_the_audit_log(scene):
    op_id, variant = uuid4(), scene.drop.variants[0]
    async with scene.locked("SELECT FROM drops WHERE id = $1 FOR UPDATE", scene.drop.id, waiting=2):
        wishes = [
            asyncio.create_task(scene.ledger.add_units(scene.drop.id, variant.id, 5, op_id, actor="ada")) for _time in range(2)
        ]
    assert [await one for one in wishes] == [True, True] and await total(scene) == 15
    assert await audited(scene) == [], "it is written once the gate has it"
    await asyncio.gather(*(scene.ledger.confirm_adjustment(op_id) for _time in range(2)))
    assert await audited(scene) == [("ada", "units added", {"One size": 10}, {"One size": 15})]
    taken = uuid4()
    await scene.ledger.add_units(scene.drop.id, variant.id, -3, taken, actor="bo")
    await scene.ledger.confirm_adjustment(taken)
    assert (await audited(scene))[1:] == [("bo", "units taken away", {"One size": 15}, {"One size": 12})]


async def test_what_the_gate_did_not_count_is_never_in_the_audit_log(scene):
    op_id = uuid4()
    await scene.ledger.add_units(scene.drop.id, scene.drop.variants[0].id, -3, op_id, actor="ada")
    assert await scene.ledger.withdraw_adjustment(op_id) and not await scene.ledger.confirm_adjustment(op_id)
    assert await audited(scene) == []


async def test_a_wish_belongs_to_one_change_of_one_variant_of_one_drop(scene):
    op_id, first = uuid4(), await scene.publish(("S", 10), ("M", 10))
    assert await scene.ledger.add_units(first.id, first.variants[0].id, 5, op_id)
    second = await scene.publish()
    for drop, variant, units in (
        (second, second.variants[0], 5),
        (first, first.variants[1], 5),
        (first, first.variants[0], 6),
    ):
        with pytest.raises(BadInput) as caught:
            await scene.ledger.add_units(drop.id, variant.id, units, op_id)
        assert (caught.value.field, str(caught.value)) == ("op", ANOTHER_WISH)
    assert await total(scene) == 10 and (await scene.ledger.drop_by_id(first.id)).units_total == 25


async def test_the_same_wish_for_two_drops_at_once_is_done_for_one_and_refused_to_the_other(scene):
    op_id, drops = uuid4(), [await scene.publish() for _drop in range(2)]
    async with scene.locked("SELECT FROM drops WHERE id = $1 OR id = $2 FOR UPDATE", *(drop.id for drop in drops), waiting=2):
        wishes = [asyncio.create_task(scene.ledger.add_units(drop.id, drop.variants[0].id, 5, op_id)) for drop in drops]
    answers = await asyncio.gather(*wishes, return_exceptions=True)
    done, refused = sorted(zip(answers, drops, strict=True), key=lambda pair: pair[0] is not True)
    assert done[0] is True and (await scene.ledger.drop_by_id(done[1].id)).units_total == 15
    assert str(refused[0]) == ANOTHER_WISH and (await scene.ledger.drop_by_id(refused[1].id)).units_total == 10


async def test_a_wish_that_was_done_is_still_done_when_it_is_repeated_after_the_end(scene):
    op_id, variant_id = uuid4(), scene.drop.variants[0].id
    await scene.ledger.add_units(scene.drop.id, variant_id, 5, op_id)
    await scene.ledger.change_door(scene.drop.id, Door.CLOSED)
    assert await scene.ledger.add_units(scene.drop.id, variant_id, 5, op_id) and await total(scene) == 15
    for units in (1, -1):
        with pytest.raises(BadInput, match="has ended"):
            await scene.ledger.add_units(scene.drop.id, variant_id, units, uuid4())


async def test_a_variant_grows_to_what_it_could_be_published_with(scene):
    variant_id = scene.drop.variants[0].id
    assert await scene.ledger.add_units(scene.drop.id, variant_id, UNITS_MAX - 10, uuid4())
    with pytest.raises(BadInput, match="at most 1,000,000 pieces"):
        await scene.ledger.add_units(scene.drop.id, variant_id, 1, uuid4())
    assert await total(scene) == UNITS_MAX


async def test_only_unsold_units_are_taken_away_whole_or_not_at_all(scene):
    variant_id = scene.drop.variants[0].id
    for _ in range(4):
        await scene.hold()
    assert not await scene.ledger.add_units(scene.drop.id, variant_id, -7, uuid4())
    assert await scene.ledger.unconfirmed_adjustments(scene.drop.id) == []
    op_id = uuid4()
    assert await scene.ledger.add_units(scene.drop.id, variant_id, -6, op_id)
    assert await total(scene) == 4
    assert await scene.ledger.withdraw_adjustment(op_id)
    assert not await scene.ledger.withdraw_adjustment(op_id)
    assert await total(scene) == 10


async def test_units_go_to_a_variant_of_the_drop(scene):
    elsewhere = (await scene.publish()).variants[0].id
    await scene.publish()
    for variant_id in (elsewhere, 999_999):
        with pytest.raises(NotFound):
            await scene.ledger.add_units(scene.drop.id, variant_id, 1, uuid4())
    for units in (0, 1_000_001, -1_000_001):
        with pytest.raises(BadInput):
            await scene.ledger.add_units(scene.drop.id, scene.drop.variants[0].id, units, uuid4())
