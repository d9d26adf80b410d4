"""Drafts, the words of published drops, openings that move: from the version that was seen, once, for one's own shop."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import msgspec
import pytest

from app.domain.drops import Door, DropPicture
from app.domain.plan import PLAN_BYTES_MAX, Plan, PlannedVariant
from app.errors import BadInput
from app.ledger import NewDrop
from app.ledger.plan import DRAFTS_MAX, POSTPONE_SECONDS_MIN, Words

PLAN = Plan(title='Night "lamp"', description="a\r\nb", variants=(PlannedVariant("S", "5"),))
MIRA, NILS = "mira@example.org", "nils@example.org"
WORDS = Words("Day lamp", "*new*", (), ("DE", "SE"))


def new(scene, **changes) -> NewDrop:
    opens_at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    return NewDrop(
        **dict(shop_id=scene.shop_id, slug=f"d-{uuid4().hex[:10]}", title="Night lamp", price_minor=4900, currency="EUR",
               opens_at=opens_at, variants=(("S", 5),)) | changes
    )  # fmt: skip


async def audited(scene) -> list[tuple[str, str, dict, dict]]:
    return [
        (entry.actor, entry.action, dict(entry.before), dict(entry.after)) for entry in await scene.ledger.audit_log(scene.shop_id)
    ]


async def hung(scene, *names: str) -> list[str]:
    """-> hashes of pictures that stand in the ledger."""
    hashes = [name * 64 for name in names]
    for hash in hashes:
        await scene.ledger.put_picture(hash, "image/jpeg", 1, 1, b"")
    return hashes


async def test_a_draft_keeps_what_was_typed(scene):
    draft_id = await scene.ledger.add_draft(scene.shop_id, PLAN, MIRA)
    draft = await scene.ledger.draft(scene.shop_id, draft_id)
    assert (draft.plan, draft.version, draft.created_by, draft.drop_id) == (PLAN, 1, MIRA, None)
    assert await scene.ledger.drafts(scene.shop_id) == [draft]


async def test_a_draft_is_saved_from_the_version_that_was_seen_or_not_at_all(scene):
    draft_id = await scene.ledger.add_draft(scene.shop_id, PLAN, MIRA)
    assert await scene.ledger.save_draft(scene.shop_id, draft_id, 1, Plan(title="one"), NILS)
    assert not await scene.ledger.save_draft(scene.shop_id, draft_id, 1, Plan(title="two"), MIRA)
    draft = await scene.ledger.draft(scene.shop_id, draft_id)
    assert (draft.plan.title, draft.version, draft.updated_by) == ("one", 2, NILS)
    [(actor, action, before, after)] = await audited(scene)
    assert (actor, action, before["title"], after["title"]) == (NILS, "draft saved", PLAN.title, "one")
    assert "price" not in after  # what stayed is no change


async def test_two_who_save_at_once_are_one_who_saved(scene):
    draft_id = await scene.ledger.add_draft(scene.shop_id, PLAN, MIRA)
    saved = await asyncio.gather(*(scene.ledger.save_draft(scene.shop_id, draft_id, 1, Plan(title=name), name) for name in "abc"))
    assert sorted(saved) == [False, False, True]


async def test_another_shops_draft_is_none(scene):
    other = await scene.ledger.create_shop("Other", "o@example.org")
    draft_id = await scene.ledger.add_draft(other, PLAN, MIRA)
    assert await scene.ledger.draft(scene.shop_id, draft_id) is None and await scene.ledger.drafts(scene.shop_id) == []
    assert not await scene.ledger.save_draft(scene.shop_id, draft_id, 1, PLAN, MIRA)
    assert not await scene.ledger.delete_draft(scene.shop_id, draft_id, 1, MIRA)
    assert await scene.ledger.publish_draft(new(scene), draft_id, 1, MIRA) is None
    assert (await scene.ledger.draft(other, draft_id)).version == 1


@pytest.mark.parametrize("draft_id", [0, -1, 2**31, 10**20])
async def test_an_id_no_draft_can_have_is_none(scene, draft_id):
    assert await scene.ledger.draft(scene.shop_id, draft_id) is None


async def test_drafts_are_bounded(scene):
    await scene.hand.execute(
        "INSERT INTO drafts (shop_id, plan, created_by, updated_by) SELECT $1, '{}', '', '' FROM generate_series(1, $2::integer)",
        scene.shop_id, DRAFTS_MAX,
    )  # fmt: skip
    with pytest.raises(BadInput, match="too many drafts"):
        await scene.ledger.add_draft(scene.shop_id, PLAN, MIRA)


@pytest.mark.parametrize("character", ["x", '"', "\U0001f4a1"], ids=["a letter", "a quote, which JSON writes as two", "a lamp"])
async def test_a_plan_as_large_as_may_be_is_kept_and_a_larger_one_refused(scene, character):
    room = PLAN_BYTES_MAX - len(msgspec.json.encode(Plan()))
    each = len(msgspec.json.encode(character)) - 2
    largest = Plan(description=character * (room // each))
    draft_id = await scene.ledger.add_draft(scene.shop_id, largest, MIRA)
    assert (await scene.ledger.draft(scene.shop_id, draft_id)).plan == largest
    with pytest.raises(BadInput, match="more than a draft can hold"):
        await scene.ledger.save_draft(scene.shop_id, draft_id, 1, Plan(description=largest.description + character * 5), MIRA)
    with pytest.raises(BadInput, match="more than a draft can hold"):
        await scene.ledger.add_draft(scene.shop_id, Plan(description=character * PLAN_BYTES_MAX), MIRA)
    assert (await scene.ledger.draft(scene.shop_id, draft_id)).version == 1


async def test_a_draft_is_deleted_from_the_version_that_was_seen(scene):
    draft_id = await scene.ledger.add_draft(scene.shop_id, PLAN, MIRA)
    assert not await scene.ledger.delete_draft(scene.shop_id, draft_id, 2, MIRA)
    assert await scene.ledger.delete_draft(scene.shop_id, draft_id, 1, MIRA)
    assert not await scene.ledger.delete_draft(scene.shop_id, draft_id, 1, MIRA)
    assert await audited(scene) == [(MIRA, "draft deleted", {"title": PLAN.title}, {})]


async def test_a_draft_becomes_one_drop_however_often_it_is_published(scene):
    draft_id = await scene.ledger.add_draft(scene.shop_id, PLAN, MIRA)
    made = await asyncio.gather(*(scene.ledger.publish_draft(new(scene), draft_id, 1, MIRA) for _ in range(3)))
    [drop] = [drop for drop in made if drop is not None]
    assert (await scene.ledger.draft(scene.shop_id, draft_id)).drop_id == drop.id
    assert await scene.ledger.drafts(scene.shop_id) == []
    [(actor, action, before, after)] = await audited(scene)
    assert (actor, action, before, after["units"], after["price_minor"]) == (MIRA, "drop published", {}, {"S": 5}, 4900)


async def test_a_changed_draft_is_not_published_as_it_was(scene):
    draft_id = await scene.ledger.add_draft(scene.shop_id, PLAN, MIRA)
    await scene.ledger.save_draft(scene.shop_id, draft_id, 1, PLAN, NILS)
    assert await scene.ledger.publish_draft(new(scene), draft_id, 1, MIRA) is None


async def test_a_slug_that_is_taken_leaves_the_draft_as_it_was(scene):
    draft_id = await scene.ledger.add_draft(scene.shop_id, PLAN, MIRA)
    with pytest.raises(BadInput) as caught:
        await scene.ledger.publish_draft(new(scene, slug=scene.drop.slug), draft_id, 1, MIRA)
    assert caught.value.field == "slug"
    assert (await scene.ledger.draft(scene.shop_id, draft_id)).drop_id is None and await audited(scene) == []


async def test_a_drop_comes_back_with_its_pictures_its_zone_and_its_countries(scene):
    one, two = await hung(scene, "1", "2")
    pictures = (DropPicture(two, "from the side"), DropPicture(one, "from above"))
    drop = await scene.publish(pictures=pictures, time_zone="Asia/Tokyo", ships=True, shipping_countries=("SE", "DE"))
    assert (drop.pictures, drop.picture) == (pictures, two)
    assert (drop.time_zone, drop.shipping_countries, drop.version, drop.updated_by) == ("Asia/Tokyo", ("SE", "DE"), 1, None)
    bare = await scene.publish(picture=one)
    assert bare.pictures == (DropPicture(one, ""),) and bare.shipping_countries is None


async def test_words_of_a_drop_change_from_the_version_that_was_seen(scene):
    [one] = await hung(scene, "1")
    drop = await scene.publish(picture=one, title="Night lamp")
    assert await scene.ledger.edit_drop(scene.shop_id, drop.id, 1, WORDS, MIRA)
    assert not await scene.ledger.edit_drop(scene.shop_id, drop.id, 1, Words("Stale", "", (), None), NILS)
    after = await scene.ledger.drop_by_id(drop.id)
    assert (after.title, after.description, after.shipping_countries, after.pictures, after.picture) == (
        "Day lamp", "*new*", ("DE", "SE"), (), None,
    )  # fmt: skip
    assert (after.version, after.updated_by) == (2, MIRA)
    assert (after.price_minor, after.opens_at, after.variants) == (drop.price_minor, drop.opens_at, drop.variants)
    [(actor, action, old, new_)] = await audited(scene)
    assert (actor, action, old["title"], new_["title"]) == (MIRA, "drop edited", "Night lamp", "Day lamp")


async def test_pictures_change_their_order(scene):
    one, two = await hung(scene, "1", "2")
    drop = await scene.publish(pictures=(DropPicture(one, "a"), DropPicture(two, "b")))
    assert await scene.ledger.edit_drop(
        scene.shop_id, drop.id, 1, Words("A drop", "", (DropPicture(two, "b"), DropPicture(one, "c")), None), MIRA
    )
    after = await scene.ledger.drop_by_id(drop.id)
    assert (after.pictures, after.picture) == ((DropPicture(two, "b"), DropPicture(one, "c")), two)
    with pytest.raises(BadInput, match="not there any more"):
        await scene.ledger.edit_drop(scene.shop_id, drop.id, 2, Words("A drop", "", (DropPicture("f" * 64, "x"),), None), MIRA)
    assert (await scene.ledger.drop_by_id(drop.id)).pictures == after.pictures


async def test_another_shops_drop_is_neither_edited_nor_postponed(scene):
    other = await scene.ledger.create_shop("Other", "o@example.org")
    drop = await scene.publish(opens_at=datetime.now(UTC) + timedelta(hours=1))
    assert not await scene.ledger.edit_drop(other, drop.id, 1, WORDS, NILS)
    assert await scene.ledger.postpone_drop(other, drop.id, 1, drop.opens_at + timedelta(days=1), None, NILS) is None
    assert await scene.ledger.unsold_units(other, drop.id) == {}
    assert await scene.ledger.drop_by_id(drop.id) == drop


async def test_a_later_opening_is_told_to_everybody_concerned_once(scene):
    drop = await scene.publish(opens_at=datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1))
    reminded, waiting, both, nobody = [(await scene.shopper()) for _ in range(4)]
    for shopper in (reminded, both):
        await scene.ledger.remind(drop.id, shopper)
    for shopper in (waiting, both):
        await scene.joins(shopper)
    await scene.hand.execute("UPDATE reminders SET told_at = now()")
    later, closes = drop.opens_at + timedelta(days=1), drop.opens_at + timedelta(days=2)
    assert await scene.ledger.told_of_opening(drop.id) == 3
    assert await scene.ledger.postpone_drop(scene.shop_id, drop.id, 1, later, closes, MIRA) == 3
    assert [(await scene.told(shopper)).count("opening_moved") for shopper in (reminded, waiting, both, nobody)] == [1, 1, 1, 0]
    after = await scene.ledger.drop_by_id(drop.id)
    assert (after.opens_at, after.closes_at, after.version, after.updated_by) == (later, closes, 2, MIRA)
    assert await scene.ledger.reminded(drop.id, reminded)  # and again before the new opening
    [(_, action, before, now)] = await audited(scene)
    assert (action, before["opens_at"][:16], now["opens_at"][:16]) == ("drop postponed", str(drop.opens_at)[:16], str(later)[:16])


async def test_a_deleted_account_hears_nothing(scene):
    drop = await scene.publish(opens_at=datetime.now(UTC) + timedelta(hours=1))
    shopper = await scene.shopper()
    await scene.ledger.remind(drop.id, shopper)
    await scene.hand.execute("UPDATE shoppers SET deleted_at = now()")
    assert await scene.ledger.postpone_drop(scene.shop_id, drop.id, 1, drop.opens_at + timedelta(days=1), None, MIRA) == 0


@pytest.mark.parametrize(
    ("opens_in", "moved_by", "door", "version"),
    [
        (3600, -600, Door.OPEN, 1),  # brought forward
        (3600, 0, Door.OPEN, 1),
        (POSTPONE_SECONDS_MIN - 5, 3600, Door.OPEN, 1),  # too near
        (-10, 3600, Door.OPEN, 1),  # it has opened
        (3600, 3600, Door.CANCELLED, 1),
        (3600, 3600, Door.CLOSED, 1),
        (3600, 3600, Door.OPEN, 2),  # a stale form
    ],
)
async def test_an_opening_moves_only_later_while_it_is_some_way_off(scene, opens_in, moved_by, door, version):
    drop = await scene.publish(opens_at=datetime.now(UTC) + timedelta(seconds=opens_in))
    await scene.ledger.change_door(drop.id, door)
    moved = drop.opens_at + timedelta(seconds=moved_by)
    assert await scene.ledger.postpone_drop(scene.shop_id, drop.id, version, moved, None, MIRA) is None
    assert (await scene.ledger.drop_by_id(drop.id)).opens_at == drop.opens_at


async def test_unsold_units_are_what_no_order_counts_on(scene):
    drop = await scene.publish(("S", 5), ("M", 2))
    await scene.hold()
    assert await scene.ledger.unsold_units(scene.shop_id, drop.id) == {drop.variants[0].id: 4, drop.variants[1].id: 2}
