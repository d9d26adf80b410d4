"""Pictures: kept once, shown by their own shop, and gone a week after nothing shows them; never one that something does."""

import asyncio
import hashlib

import pytest

from app.domain.drops import DropPicture
from app.domain.plan import Plan, PlannedPicture
from app.errors import BadInput
from app.ledger import Picture
from app.ledger.pictures import PICTURES_A_DAY_MAX, UNUSED_SECONDS
from app.ledger.plan import Words

MIRA = "mira@example.org"


async def put_up(scene, name: str, *, shop_id: int | None = None) -> str:
    """-> the hash of a picture that a shop put up, with one rendition."""
    picture = Picture(name * 64, "image/jpeg", 1200, 1500, b"")
    await scene.ledger.put_up(shop_id or scene.shop_id, picture, [Picture(picture.hash, "image/webp", 480, 600, b"")])
    return picture.hash


def planned(*hashes: str) -> Plan:
    return Plan(title="Lamp", pictures=tuple(PlannedPicture(hash) for hash in hashes))


async def a_week_passes(scene) -> None:
    await scene.hand.execute("UPDATE pictures SET wanted_at = wanted_at - make_interval(secs => $1)", UNUSED_SECONDS + 60)


async def left(scene) -> set[str]:
    return {row["hash"] for row in await scene.hand.fetch("SELECT hash FROM pictures")}


async def test_a_picture_is_kept_once_under_its_hash(scene):
    body = b"\x89PNG picture"
    name = hashlib.sha256(body).hexdigest()
    assert await scene.ledger.put_picture(name, "image/png", 3, 4, body)
    assert not await scene.ledger.put_picture(name, "image/png", 3, 4, body)
    picture = await scene.ledger.picture(name)
    assert (picture.media_type, picture.width, picture.height, picture.bytes) == ("image/png", 3, 4, body)
    for unknown in ("0" * 64, "", "\x00", name.upper(), f"{name}\n"):
        assert await scene.ledger.picture(unknown) is None
    assert (await scene.publish(picture=name)).picture == name


async def test_a_shop_shows_its_own_pictures_only(scene):
    other = await scene.ledger.create_shop("Other", "o@example.org")
    own, foreign = await put_up(scene, "1"), await put_up(scene, "3", shop_id=other)
    worn, unknown = await put_up(scene, "2", shop_id=other), "4" * 64
    await scene.publish(picture=worn)
    assert await scene.ledger.pictures_of_shop(scene.shop_id, [own, worn, foreign, unknown]) == {own, worn}


async def test_a_shop_puts_up_so_many_pictures_a_day(scene):
    await scene.hand.execute(
        "WITH made AS (INSERT INTO pictures (hash, media_type, width, height, bytes) "
        "SELECT 'h' || n, 'image/jpeg', 1, 1, '' FROM generate_series(1, $2::integer) AS n RETURNING hash) "
        "INSERT INTO shop_pictures (shop_id, hash) SELECT $1, hash FROM made",
        scene.shop_id, PICTURES_A_DAY_MAX,
    )  # fmt: skip
    assert not await scene.ledger.may_put_up(scene.shop_id)
    await scene.hand.execute("UPDATE shop_pictures SET put_at = now() - interval '2 days'")
    assert await scene.ledger.may_put_up(scene.shop_id)


async def test_a_picture_that_nothing_shows_goes_after_a_week_with_all_that_was_made_of_it(scene):
    unused, young = await put_up(scene, "a"), await put_up(scene, "b")
    await a_week_passes(scene)
    assert await put_up(scene, "b") == young  # put up once more: it counts from now
    assert await scene.ledger.remove_unused_pictures(10) == 1
    assert await left(scene) == {young} and await scene.ledger.picture(unused) is None
    assert await scene.ledger.rendition(unused, 480, "image/webp") is None
    assert await scene.ledger.rendition(young, 480, "image/webp") is not None
    assert await scene.ledger.pictures_of_shop(scene.shop_id, [unused, young]) == {young}
    assert await scene.ledger.remove_unused_pictures(10) == 0


async def test_a_picture_that_a_draft_or_a_drop_of_any_shop_shows_stays(scene):
    in_a_draft, at_a_drop, second_at_a_drop, elsewhere = [await put_up(scene, name) for name in "abcd"]
    other = await scene.ledger.create_shop("Other", "o@example.org")
    await scene.ledger.add_draft(scene.shop_id, planned(in_a_draft), MIRA)
    await scene.ledger.add_draft(other, planned(elsewhere), MIRA)
    await scene.publish(pictures=(DropPicture(at_a_drop, ""), DropPicture(second_at_a_drop, "")))
    await a_week_passes(scene)
    assert await scene.ledger.remove_unused_pictures(10) == 0
    assert len(await left(scene)) == 4


async def test_a_picture_that_was_taken_down_has_a_week_to_come_back(scene):
    first, second, third = [await put_up(scene, name) for name in "abc"]
    drop = await scene.publish(picture=first)
    draft_id = await scene.ledger.add_draft(scene.shop_id, planned(second), MIRA)
    thrown_away = await scene.ledger.add_draft(scene.shop_id, planned(third), MIRA)
    await a_week_passes(scene)
    assert await scene.ledger.edit_drop(scene.shop_id, drop.id, 1, Words("Lamp", "", (), None), MIRA)
    assert await scene.ledger.save_draft(scene.shop_id, draft_id, 1, planned(), MIRA)
    assert await scene.ledger.delete_draft(scene.shop_id, thrown_away, 1, MIRA)
    assert await scene.ledger.remove_unused_pictures(10) == 0
    await a_week_passes(scene)
    assert await scene.ledger.remove_unused_pictures(2) == 2 and await scene.ledger.remove_unused_pictures(2) == 1


async def test_a_picture_that_somebody_is_just_planning_with_is_left_to_them(scene):
    """The draft is written and not committed: the sweep sees neither it nor a free picture, and does not wait."""
    hash = await put_up(scene, "a")
    draft_id = await scene.ledger.add_draft(scene.shop_id, planned(), MIRA)
    await a_week_passes(scene)
    async with scene.locked("LOCK TABLE audit IN SHARE MODE", waiting=1):
        saving = asyncio.create_task(scene.ledger.save_draft(scene.shop_id, draft_id, 1, planned(hash), MIRA))
        await scene.until_waiting(1)
        assert await scene.ledger.remove_unused_pictures(10) == 0
    assert await saving
    await a_week_passes(scene)
    assert await scene.ledger.remove_unused_pictures(10) == 0 and await left(scene) == {hash}


async def test_whoever_comes_while_a_picture_goes_finds_it_gone_and_publishes_nothing_without_it(scene):
    hash = await put_up(scene, "a")
    draft_id = await scene.ledger.add_draft(scene.shop_id, planned(), MIRA)
    drops = len(await scene.ledger.seller_drops(scene.shop_id))
    await a_week_passes(scene)
    async with scene.locked("SELECT FROM renditions WHERE picture = $1 FOR UPDATE", hash, waiting=3):
        sweeping = asyncio.create_task(scene.ledger.remove_unused_pictures(10))
        await scene.until_waiting(1)
        saving = asyncio.create_task(scene.ledger.save_draft(scene.shop_id, draft_id, 1, planned(hash), MIRA))
        publishing = asyncio.create_task(scene.publish(picture=hash))
    assert await sweeping == 1
    assert await saving  # what was typed is kept
    with pytest.raises(BadInput, match="not there any more"):
        await publishing
    assert await scene.ledger.pictures_of_shop(scene.shop_id, [hash]) == set() and not await left(scene)
    assert len(await scene.ledger.seller_drops(scene.shop_id)) == drops


async def test_a_picture_put_up_again_while_it_goes_is_there(scene):
    hash = await put_up(scene, "a")
    await a_week_passes(scene)
    async with scene.locked("SELECT FROM renditions WHERE picture = $1 FOR UPDATE", hash, waiting=2):
        sweeping = asyncio.create_task(scene.ledger.remove_unused_pictures(10))
        await scene.until_waiting(1)
        again = asyncio.create_task(put_up(scene, "a"))
    assert (await sweeping, await again) == (1, hash)
    assert await scene.ledger.pictures_of_shop(scene.shop_id, [hash]) == {hash}
    assert await scene.ledger.rendition(hash, 480, "image/webp") is not None
