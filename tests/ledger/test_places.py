"""The waitlist in the ledger: order, one place a person, offers that are orders, and the words that go with each change."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

import pytest

from app.domain.drops import Door
from app.domain.orders import OrderState, Refusal
from app.errors import BadInput
from app.ledger import Wish


async def test_places_are_numbered_in_the_order_of_joining_and_say_how_many_are_ahead(scene):
    await scene.publish(("S", 0), ("M", 0))
    ada, bob, eve = await scene.ledger.mint_shoppers(3)
    first, second, other = await scene.joins(ada), await scene.joins(bob), await scene.joins(eve, variant=1)
    assert [(place.number, place.ahead) for place in (first, second, other)] == [(1, 0), (2, 1), (1, 0)]
    assert await scene.ledger.places_of(scene.drop.id, bob) == [second]
    assert await scene.told(ada) == ["waitlist_joined"]


async def test_joining_again_is_the_same_place(scene):
    ada = await scene.shopper()
    wish = Wish(ada, scene.drop.variants[0].id, 1)
    first, again = await scene.ledger.join_list(scene.drop.id, [wish, wish])
    (later,) = await scene.ledger.join_list(scene.drop.id, [Wish(ada, scene.drop.variants[0].id, 5)])
    assert [joined.fresh for joined in (first, again, later)] == [True, False, False]
    assert first.place == again.place == later.place
    assert await scene.told(ada) == ["waitlist_joined"]


async def test_a_person_has_one_place_per_variant_also_when_two_processes_ask_at_once(scene):
    await scene.publish(("S", 0), ("M", 0))
    ada = await scene.shopper()
    wishes = [Wish(ada, variant.id, 1) for variant in scene.drop.variants]
    both = await asyncio.gather(*(scene.ledger.join_list(scene.drop.id, wishes) for _ in range(4)))
    assert sum(joined.fresh for answers in both for joined in answers) == 2
    assert len(await scene.ledger.places_of(scene.drop.id, ada)) == 2


async def test_how_many_are_ahead_never_rises(scene):
    """Joins of many processes at once: whoever has a place sees nobody come in before."""
    shoppers = await scene.ledger.mint_shoppers(60)
    seen: dict[int, list[int]] = {shopper: [] for shopper in shoppers}
    variant = scene.drop.variants[0].id

    async def process(batch):
        for chunk in (batch[:5], batch[5:]):
            await scene.ledger.join_list(scene.drop.id, [Wish(shopper, variant, 1) for shopper in chunk])

    async def onlooker():
        for _ in range(40):
            for shopper in random.sample(shoppers, 5):
                seen[shopper] += [place.ahead for place in await scene.ledger.places_of(scene.drop.id, shopper)]

    await asyncio.gather(*(process(shoppers[n : n + 10]) for n in range(0, 60, 10)), onlooker(), onlooker())
    assert all(list(reversed(aheads)) == sorted(aheads) for aheads in seen.values())
    last = [place.ahead for shopper in shoppers for place in await scene.ledger.places_of(scene.drop.id, shopper)]
    assert sorted(last) == list(range(60))


async def test_who_holds_their_share_may_not_wait_for_more(scene):
    ada = await scene.shopper()
    await scene.hold(ada)
    (refused,) = await scene.ledger.join_list(scene.drop.id, [Wish(ada, scene.drop.variants[0].id, 1)])
    assert (refused.place, refused.why) == (None, "already_yours")


@pytest.mark.parametrize("over", ["closed", "cancelled", "past its end"])
async def test_a_drop_that_is_over_takes_nobody(scene, over):
    if over == "past its end":
        now = datetime.now(UTC)
        await scene.publish(opens_at=now - timedelta(hours=2), closes_at=now - timedelta(seconds=1))
    else:
        await scene.ledger.change_door(scene.drop.id, Door(over))
    (refused,) = await scene.ledger.join_list(scene.drop.id, [Wish(await scene.shopper(), scene.drop.variants[0].id, 1)])
    assert (refused.place, refused.why) == (None, "closed")


async def test_leaving_moves_everybody_behind_up_and_the_number_is_never_given_out_again(scene):
    ada, bob, eve = await scene.ledger.mint_shoppers(3)
    first, _ = await scene.joins(ada), await scene.joins(bob)
    assert await scene.ledger.leave_list(scene.drop.id, first.variant_id, ada)
    assert not await scene.ledger.leave_list(scene.drop.id, first.variant_id, ada)
    (now,) = await scene.ledger.places_of(scene.drop.id, bob)
    assert (now.number, now.ahead) == (2, 0)
    assert (await scene.joins(eve)).number == 3
    assert (await scene.joins(ada)).ahead == 2


async def test_an_offer_is_an_order_of_its_place_and_the_books_say_offered(scene):
    ada = await scene.shopper()
    place = await scene.joins(ada)
    order = await scene.offered(place)
    (now,) = await scene.ledger.places_of(scene.drop.id, ada)
    assert (now.state, now.order_id) == ("offered", order)
    assert (await scene.order(order)).offered
    books = await scene.books()
    assert (books.sold, books.offered, books.held) == (1, 1, 0)
    assert await scene.told(ada) == ["waitlist_joined", "your_turn"]


async def test_an_offer_to_who_has_left_takes_no_unit_and_its_release_is_wanted(scene):
    ada = await scene.shopper()
    place = await scene.joins(ada)
    await scene.ledger.leave_list(scene.drop.id, place.variant_id, ada)
    order = await scene.offered(place)
    row = await scene.order(order)
    assert (row.state, row.reason, row.released) == (OrderState.CANCELLED, Refusal.LEFT_LIST, False)
    assert [ended.order_id for ended in await scene.ledger.unreleased(10)] == [order]
    books = await scene.books()
    assert (books.sold, books.offered, books.returning) == (0, 0, 1)
    assert await scene.told(ada) == ["waitlist_joined"]


async def test_a_place_is_offered_units_once_whoever_records_it(scene):
    place = await scene.joins(await scene.shopper())
    entries = [scene.entry(place.shopper_id, place_id=place.place_id) for _ in range(2)]
    first, second = await scene.ledger.record(scene.drop.id, entries)
    assert (first.state, second.state, second.reason) == (OrderState.PENDING_PAYMENT, OrderState.REFUSED, Refusal.DUPLICATE_BUYER)
    (late,) = await scene.ledger.record(scene.drop.id, [scene.entry(place.shopper_id, place_id=place.place_id)])
    assert late.state is OrderState.REFUSED
    assert (await scene.books()).offered == 1


async def test_a_refused_offer_leaves_the_place_waiting(scene):
    await scene.publish(("One size", 1))
    await scene.hold()
    place = await scene.joins(await scene.shopper())
    order = await scene.offered(place)
    assert (await scene.order(order)).state is OrderState.REFUSED
    assert await scene.place_state(place) == "waiting"


async def test_a_paid_offer_is_a_taken_place(scene):
    place = await scene.joins(await scene.shopper())
    order, token = await scene.charging(await scene.offered(place))
    assert await scene.capture(order, token) == "paid"
    assert await scene.place_state(place) == "taken"
    assert (await scene.books()).paid == 1
    assert await scene.told(place.shopper_id) == ["waitlist_joined", "your_turn", "confirmation"]


async def test_an_offer_that_lapses_ends_its_place_and_its_owner_is_told_and_may_join_again(scene):
    ada = await scene.shopper()
    place = await scene.joins(ada)
    await scene.overdue(await scene.offered(place))
    await scene.ledger.expire_unattempted(10)
    assert await scene.place_state(place) == "lapsed"
    assert await scene.told(ada) == ["waitlist_joined", "your_turn", "offer_lapsed"]
    assert (await scene.joins(ada)).number == 2


async def test_heirs_come_in_order_without_those_who_may_have_nothing_or_want_too_much(scene):
    await scene.publish(("One size", 3), per_person=2)
    over, big, small, later = await scene.ledger.mint_shoppers(4)
    order = await scene.hold()
    for shopper, quantity in ((over, 1), (big, 2), (small, 1), (later, 1)):
        await scene.joins(shopper, quantity=quantity)
    await scene.hold(over, quantity=2)
    await scene.overdue(order)
    await scene.ledger.expire_unattempted(10)
    heirs = await scene.ledger.heirs_of_order(order, 0, 10)
    assert [heir.buyer for heir in heirs] == [small, later]
    assert [heir.buyer for heir in await scene.ledger.heirs_of_order(order, heirs[0].place_id, 1)] == [later]
    assert await scene.ledger.heirs_of_variant(scene.drop.variants[0].id, 0, 10) == heirs


async def test_the_end_closes_the_list_with_a_word_to_everyone(scene):
    shoppers = await scene.ledger.mint_shoppers(5)
    places = [await scene.joins(shopper) for shopper in shoppers]
    assert await scene.ledger.close_lists(10) == []
    await scene.hand.execute("UPDATE drops SET opens_at = now() - interval '2 h', closes_at = now() - interval '1 s'")
    assert await scene.ledger.close_lists(3) == [scene.drop.id] * 3
    assert await scene.ledger.close_lists(10) == [scene.drop.id] * 2
    assert {await scene.place_state(place) for place in places} == {"closed"}
    assert {tuple(await scene.told(shopper)) for shopper in shoppers} == {("waitlist_joined", "waitlist_closed")}


async def test_a_cancelled_drop_tells_buyers_and_those_who_wait(scene):
    ada, bob = await scene.ledger.mint_shoppers(2)
    await scene.hold(ada)
    await scene.joins(bob)
    await scene.ledger.change_door(scene.drop.id, Door.CANCELLED)
    await scene.ledger.close_lists(10)
    assert await scene.told(ada) == ["hold", "drop_cancelled"]
    assert await scene.told(bob) == ["waitlist_joined", "drop_cancelled"]


async def test_notify_tells_everybody_who_waits_once(scene):
    await scene.publish(("One size", 1), waitlist="notify")
    shoppers = await scene.ledger.mint_shoppers(3)
    order = await scene.hold()
    for shopper in shoppers:
        await scene.joins(shopper)
    assert await scene.ledger.heirs_of_order(order, 0, 10) == []
    assert await scene.ledger.lists_with_stock() == []
    await scene.overdue(order)
    await scene.ledger.expire_unattempted(10)
    (found,) = await scene.ledger.lists_with_stock()
    assert found == (scene.drop.id, scene.drop.variants[0].id, "notify")
    assert await scene.ledger.notify_list(found.variant_id, 10) == 3
    assert await scene.ledger.notify_list(found.variant_id, 10) == 0
    assert {tuple(await scene.told(shopper)) for shopper in shoppers} == {("waitlist_joined", "units_back")}


async def test_the_catalogue_knows_how_many_wait_and_who_was_called(scene):
    await scene.publish(("S", 1), ("M", 1))
    first, _ = await scene.joins(await scene.shopper()), await scene.joins(await scene.shopper())
    await scene.offered(first)
    drop = await scene.ledger.drop_by_slug(scene.drop.slug)
    assert [(variant.waiting, variant.called) for variant in drop.variants] == [(1, 1), (0, 0)]


async def test_a_drop_with_a_list_that_does_not_exist_is_refused(scene):
    with pytest.raises(BadInput) as caught:
        await scene.publish(waitlist="lottery")
    assert caught.value.field == "waitlist"
