import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from app.domain.addresses import Address, as_stored
from app.domain.orders import Refusal
from app.errors import NotFound
from app.ledger import OrderFilter, order_number
from app.ledger.shop_orders import FOUND_MAX, SENT_AGAIN_AN_HOUR_MAX
from ledger.crowded import crowd
from ledger.scene import Scene

HOME = Address("Zoë Östlund-Ångström", "Street 1", "", "1010", "Wien", "", "AT")


@pytest.fixture
async def other(scene, ledger):
    """Another shop on the same installation, with a drop of its own."""
    there = Scene(ledger, scene.hand, scene.dsn, await ledger.create_shop("Another shop", "owner@example.net"))
    await there.publish()
    return there


async def orders(scene, page=50, *, shop=None, older_than=None, newer_than=None, **wanted):
    """-> (order ids of the page, the page)."""
    shop_id = scene.shop_id if shop is None else shop.shop_id
    found = await scene.ledger.shop_orders(shop_id, OrderFilter(**wanted), page, older_than=older_than, newer_than=newer_than)
    return [line.order_id for line in found.lines], found


async def addressed(scene, order_id, address=HOME):
    await scene.hand.execute("UPDATE drops SET ships = true WHERE id = $1", scene.drop.id)
    order = await scene.order(order_id)
    assert await scene.ledger.send_to(order_id, order.shopper_id, address)


# ---- the list


async def test_the_list_is_newest_first_and_pages_both_ways_without_gap_or_repeat(scene):
    made = [await scene.hold() for _ in range(7)]
    newest_first = made[::-1]
    ids, first = await orders(scene, 3)
    assert (ids, first.newer, first.older) == (newest_first[:3], False, True)
    ids, second = await orders(scene, 3, older_than=first.lines[-1].spot)
    assert (ids, second.newer, second.older) == (newest_first[3:6], True, True)
    ids, last = await orders(scene, 3, older_than=second.lines[-1].spot)
    assert (ids, last.newer, last.older) == (newest_first[6:], True, False)
    ids, back = await orders(scene, 3, newer_than=last.lines[0].spot)
    assert (ids, back.newer, back.older) == (newest_first[3:6], True, True)
    ids, start = await orders(scene, 3, newer_than=back.lines[0].spot)
    assert (ids, start.newer, start.older) == (newest_first[:3], False, True)


async def test_orders_of_one_instant_are_told_apart_by_their_id(scene):
    made = [await scene.hold() for _ in range(4)]
    await scene.hand.execute("UPDATE orders SET reserved_at = '2026-11-30 20:00Z'")
    first, page = await orders(scene, 2)
    second, _ = await orders(scene, 2, older_than=page.lines[-1].spot)
    assert [*first, *second] == sorted(made, reverse=True)


async def test_a_new_order_moves_no_page_that_was_turned(scene):
    made = [await scene.hold() for _ in range(4)]
    _, first = await orders(scene, 2)
    await scene.hold()
    ids, _ = await orders(scene, 2, older_than=first.lines[-1].spot)
    assert ids == made[1::-1]


async def test_the_orders_of_several_drops_are_one_list(scene):
    here, old = await scene.hold(), scene.drop
    await scene.publish()
    there = await scene.hold()
    assert (await orders(scene))[0] == [there, here]
    assert (await orders(scene, drop_id=old.id))[0] == [here]


async def test_every_filter_keeps_what_it_names(scene):
    await scene.publish(("S", 5), ("M", 5))
    held, paid, expired = await scene.hold(), await scene.paid(), await scene.hold(variant=1)
    await scene.overdue(expired)
    await scene.ledger.expire_unattempted(10)
    assert (await orders(scene, state="PENDING_PAYMENT"))[0] == [held]
    assert (await orders(scene, state="EXPIRED"))[0] == [expired]
    assert (await orders(scene, payment="captured"))[0] == [paid]
    assert (await orders(scene, parcel="waiting"))[0] == [paid]
    assert (await orders(scene, variant_id=scene.drop.variants[1].id))[0] == [expired]
    at = (await scene.order(paid)).reserved_at
    assert (await orders(scene, since=at, until=at + timedelta(microseconds=1)))[0] == [paid]
    assert (await orders(scene, state="PAID", payment="refunded"))[0] == []


# ---- the search


async def test_an_order_is_found_by_everything_that_is_known_of_it(scene):
    order_id, _ = await scene.paid(), [await scene.hold() for _ in range(2)]
    await addressed(scene, order_id)
    await scene.hand.execute("UPDATE parcels SET state = 'sent', number = '47110815', tracking = 'JJD0099', creates = 1")
    order = await scene.order(order_id)
    for words in (
        str(order_id),
        str(order_id).upper(),
        order_id.hex,
        order_id.hex[:20],
        order_number(order_id),
        order.email,
        order.email.upper(),
        order.email[:9],
        order.email.replace("@", "+tag@"),
        "östlund",
        "ÖSTL",
        "zoë ångström",
        "JJD0099",
        "JJD00",
        "471108",
        order.intent_id,
        f"  {order_number(order_id)}  ",
    ):
        assert order_id in (await orders(scene, words=words))[0], words
    for words in (
        "nobody@example.org",
        "stlund",
        "pi_",
        "%",
        "_",
        "ff" * 16,
        "x" * 5000,
        "'; DROP TABLE orders --",
        "&|!:*()",
        "\\",
    ):
        assert (await orders(scene, words=words))[0] == [], words


async def test_a_search_and_a_filter_hold_together(scene):
    paid, held = await scene.paid(), await scene.hold()
    for order_id in (paid, held):
        await addressed(scene, order_id)
    assert set((await orders(scene, words="zoë"))[0]) == {paid, held}
    assert (await orders(scene, words="zoë", state="PAID"))[0] == [paid]
    assert (await orders(scene, words="zoë", drop_id=scene.drop.id + 1))[0] == []


async def test_a_search_that_means_too_much_says_so(scene):
    await scene.publish(("One size", FOUND_MAX + 10))
    await crowd(scene.hand, scene.drop.id, scene.drop.variants[0].id, orders=FOUND_MAX + 1)
    ids, page = await orders(scene, words="ada")
    assert page.cut and len(ids) == 50
    assert not (await orders(scene, words="nr77"))[1].cut


# ---- another shop


async def test_what_is_another_shops_does_not_exist(scene, other):
    order_id = await scene.paid()
    await addressed(scene, order_id)
    order = await scene.order(order_id)
    theirs = await other.paid()
    assert (await orders(scene, shop=other))[0] == [theirs]
    assert (await orders(scene, shop=other, drop_id=scene.drop.id))[0] == []
    for words in (str(order_id), order_number(order_id), order.email, "östlund", order.intent_id):
        assert order_id not in (await orders(scene, shop=other, words=words))[0], words
    assert await scene.ledger.story(other.shop_id, order_id) is None
    assert await scene.ledger.shop_order(other.shop_id, order_id) is None
    assert not await scene.ledger.shop_has_order(other.shop_id, order_id)
    assert await scene.ledger.shop_has_order(scene.shop_id, order_id)
    assert {line.order_id for line in await scene.ledger.shop_money(other.shop_id, limit=10)} == {theirs}
    assert await scene.ledger.shop_money(other.shop_id, drop_id=scene.drop.id, limit=10) == []


async def test_another_shop_mends_nothing(scene, other):
    order_id = await scene.paid()
    await addressed(scene, order_id)
    await scene.hand.execute("UPDATE messages SET state = 'failed'")
    [mail] = [mail for mail in (await scene.ledger.story(scene.shop_id, order_id)).mails if mail.kind == "confirmation"]
    assert not await scene.ledger.send_again(other.shop_id, order_id, mail.id, "wish")
    with pytest.raises(NotFound):
        await scene.ledger.mail_seen(other.shop_id, mail.id)
    assert not await scene.ledger.correct_address(other.shop_id, order_id, replace(HOME, town="Graz"), HOME)
    assert (await scene.order(order_id)).address == HOME
    assert await scene.ledger.shop_undelivered(other.shop_id, 10) == []
    assert await scene.ledger.shop_attention(other.shop_id, 10) == []
    assert await scene.ledger.shop_attention_count(other.shop_id) == 0


# ---- one order's story


async def test_a_story_holds_everything_known_of_an_order(scene):
    order_id = await scene.hold()
    await scene.decline(order_id)
    _, token = await scene.charging(order_id)
    assert await scene.capture(order_id, token) == "paid"
    await addressed(scene, order_id)
    assert await scene.ledger.want_refund(order_id, "seller:part:1", 1900)
    assert await scene.ledger.refund_done(order_id, "seller:part:1", "re_1")
    story = await scene.ledger.story(scene.shop_id, order_id)
    assert [(one.n, one.state) for one in story.attempts] == [(1, "declined"), (2, "captured")]
    assert (story.money.state, story.money.captured_minor, story.money.refunded_minor, story.left_minor) == (
        "part_refunded", 4900, 1900, 3000,
    )  # fmt: skip
    assert [(one.amount_minor, one.state, one.refund_id) for one in story.refunds] == [(1900, "done", "re_1")]
    assert (story.parcel.state, story.order.address, story.place) == ("waiting", HOME, None)
    assert [mail.kind for mail in story.mails] == ["hold", "declined", "confirmation", "money_back"]
    assert [event.kind for event in story.events][:2] == ["held", "payment submitted"]
    assert story.attention == []


async def test_the_story_of_an_offer_names_its_place(scene):
    place = await scene.joins(await scene.shopper())
    order_id = await scene.offered(place)
    story = await scene.ledger.story(scene.shop_id, order_id)
    assert (story.place.number, story.place.state) == (1, "offered")


# ---- what needs a person


async def test_what_needs_a_person_is_listed_and_counted_for_its_shop(scene, other):
    charged, kept, parcel = await scene.paid(), await scene.paid(), await scene.paid()
    await scene.hand.execute("UPDATE payments SET needs_attention = 'disputed' WHERE order_id = $1", charged)
    assert await scene.ledger.want_refund(kept, "seller:part:1", 100)
    await scene.hand.execute("UPDATE refunds SET needs_attention = 'no answer'")
    await scene.hand.execute("UPDATE parcels SET needs_attention = 'two of them' WHERE order_id = $1", parcel)
    found = await scene.ledger.shop_attention(scene.shop_id, 10)
    assert [(one.kind, one.order_id, one.why) for one in found] == [
        ("payment", charged, "disputed"), ("refund", kept, "no answer"), ("parcel", parcel, "two of them"),
    ]  # fmt: skip
    assert await scene.ledger.shop_attention_count(scene.shop_id) == 3
    assert await scene.ledger.shop_attention_count(other.shop_id) == 0
    assert [one.kind for one in (await scene.ledger.story(scene.shop_id, parcel)).attention] == ["parcel"]


async def test_what_needs_a_person_is_read_in_pieces_without_gap_or_repeat(scene):
    paid = await scene.paid()
    for number in range(3):
        assert await scene.ledger.want_refund(paid, f"seller:part:{number}", 100)
    await scene.hand.execute("UPDATE refunds SET needs_attention = 'no answer'")
    await scene.paid()
    await scene.hand.execute("UPDATE payments SET needs_attention = 'disputed'")
    whole = await scene.ledger.shop_attention(scene.shop_id, 100)
    assert [one.kind for one in whole] == ["payment", "refund", "refund", "refund", "payment"]
    pieces, after = [], None
    while found := await scene.ledger.shop_attention(scene.shop_id, 2, after=after):
        pieces, after = [*pieces, *found], found[-1].spot
    assert pieces == whole
    await scene.hand.execute("UPDATE messages SET state = 'failed'")
    mails = await scene.ledger.shop_undelivered(scene.shop_id, 100)
    assert len(mails) > 3 and await scene.ledger.shop_undelivered(scene.shop_id, 2, older_than=mails[1].id) == mails[2:4]


async def test_a_mail_that_did_not_arrive_is_shown_until_somebody_saw_to_it(scene):
    order_id = await scene.hold()
    await scene.hand.execute("UPDATE messages SET state = 'failed', error = 'no such mailbox' WHERE order_id = $1", order_id)
    [mail] = await scene.ledger.shop_undelivered(scene.shop_id, 10)
    assert (mail.kind, mail.order_id, mail.error) == ("hold", order_id, "no such mailbox")
    assert await scene.ledger.shop_attention_count(scene.shop_id) == 1
    assert await scene.ledger.mail_seen(scene.shop_id, mail.id)
    assert not await scene.ledger.mail_seen(scene.shop_id, mail.id)
    assert await scene.ledger.shop_undelivered(scene.shop_id, 10) == []
    assert await scene.ledger.shop_attention_count(scene.shop_id) == 0


async def test_a_mail_about_a_place_of_the_list_is_its_shops(scene, other):
    await scene.joins(await scene.shopper())
    await scene.hand.execute("UPDATE messages SET state = 'unknown' WHERE place_id IS NOT NULL")
    [mail] = await scene.ledger.shop_undelivered(scene.shop_id, 10)
    assert (mail.kind, mail.order_id) == ("waitlist_joined", None)
    assert await scene.ledger.shop_undelivered(other.shop_id, 10) == []


# ---- what a seller may mend


async def confirmation(scene, order_id):
    return next(mail for mail in (await scene.ledger.story(scene.shop_id, order_id)).mails if mail.kind == "confirmation")


async def test_a_mail_is_sent_again_once_per_wish_and_to_where_its_buyer_reads_now(scene):
    order_id = await scene.paid()
    mail = await confirmation(scene, order_id)
    buyer = (await scene.order(order_id)).shopper_id
    await scene.hand.execute("UPDATE shoppers SET email_written = 'Moved@example.org', synthetic = false WHERE id = $1", buyer)
    await scene.hand.execute("UPDATE messages SET state = 'failed' WHERE id = $1", mail.id)
    done = await asyncio.gather(*(scene.ledger.send_again(scene.shop_id, order_id, mail.id, "w1") for _ in range(3)))
    assert done == [True, True, True]
    mails = [one for one in (await scene.ledger.story(scene.shop_id, order_id)).mails if one.kind == "confirmation"]
    assert [(one.recipient, one.state) for one in mails[1:]] == [("Moved@example.org", "waiting")]
    assert await scene.ledger.shop_undelivered(scene.shop_id, 10) == []
    assert (await scene.kinds(order_id)).count("mail sent again") == 1


async def test_a_mail_goes_out_again_a_few_times_an_hour_and_no_more(scene):
    order_id = await scene.paid()
    mail = await confirmation(scene, order_id)
    sent = [await scene.ledger.send_again(scene.shop_id, order_id, mail.id, f"w{n}") for n in range(SENT_AGAIN_AN_HOUR_MAX + 1)]
    assert sent == [True] * SENT_AGAIN_AN_HOUR_MAX + [False]
    await scene.hand.execute("UPDATE messages SET created_at = created_at - interval '2 hours'")
    assert await scene.ledger.send_again(scene.shop_id, order_id, mail.id, "later")


async def test_a_mail_that_is_not_true_any_more_is_not_sent_again(scene):
    order_id = await scene.paid()
    story = await scene.ledger.story(scene.shop_id, order_id)
    hold = next(mail for mail in story.mails if mail.kind == "hold")
    assert not await scene.ledger.send_again(scene.shop_id, order_id, hold.id, "w")
    assert not await scene.ledger.send_again(scene.shop_id, await scene.hold(), (await confirmation(scene, order_id)).id, "w")
    mail = await confirmation(scene, order_id)
    assert await scene.ledger.want_rest(order_id, "seller:whole", restock=False)
    assert await scene.ledger.refund_done(order_id, "seller:whole", "re_1")
    assert not await scene.ledger.send_again(scene.shop_id, order_id, mail.id, "w")


async def test_an_address_is_corrected_until_the_warehouse_may_know_it(scene):
    order_id, better = await scene.paid(), replace(HOME, street="Street 2")
    await addressed(scene, order_id)
    assert await scene.ledger.correct_address(scene.shop_id, order_id, better, HOME)
    assert (await scene.order(order_id)).address == better
    assert "address corrected" in await scene.kinds(order_id)
    await scene.hand.execute("UPDATE parcels SET state = 'unknown', creates = 1 WHERE order_id = $1", order_id)
    assert not await scene.ledger.correct_address(scene.shop_id, order_id, HOME, better)
    assert (await scene.order(order_id)).address == better


async def test_an_address_that_changed_meanwhile_is_not_overwritten(scene):
    order_id, own = await scene.paid(), replace(HOME, street="The buyer's own correction 3")
    await addressed(scene, order_id)
    await addressed(scene, order_id, own)
    assert not await scene.ledger.correct_address(scene.shop_id, order_id, replace(HOME, street="Street 2"), HOME)
    assert (await scene.order(order_id)).address == own
    assert as_stored(own)["street"] not in str(await scene.ledger.events_of(order_id))  # history holds nothing personal


# ---- money


async def test_money_is_listed_in_the_order_in_which_it_moved(scene):
    paid = await scene.paid()
    assert await scene.ledger.want_refund(paid, "seller:part:1", 1900)
    assert await scene.ledger.refund_done(paid, "seller:part:1", "re_1")
    late = await scene.overdue(await scene.hold())
    await scene.ledger.expire_unattempted(10)
    assert await scene.capture(late, None) == "late"
    assert await scene.ledger.refund_done(late, "late_money", "re_2")
    lines = await scene.ledger.shop_money(scene.shop_id, limit=10)
    assert [(line.order_id, line.kind, line.amount_minor) for line in lines] == [
        (paid, "payment", 4900), (paid, "refund", -1900), (late, "payment", 4900), (late, "refund", -4900),
    ]  # fmt: skip
    assert [line.reference for line in lines[1::2]] == ["re_1", "re_2"]


async def test_money_is_read_in_pieces_without_gap_or_repeat(scene):
    await scene.publish(("One size", 40))
    await crowd(scene.hand, scene.drop.id, scene.drop.variants[0].id, orders=40)
    whole = await scene.ledger.shop_money(scene.shop_id, limit=100)
    assert len(whole) == 40  # 32 paid, 4 of them refunded, 4 expired
    pieces, after = [], None
    while found := await scene.ledger.shop_money(scene.shop_id, after=after, limit=3):
        pieces, after = [*pieces, *found], found[-1].spot
    assert pieces == whole
    span = await scene.ledger.shop_money(scene.shop_id, since=whole[10].at, until=whole[20].at, limit=100)
    assert span == [line for line in whole if whole[10].at <= line.at < whole[20].at]


async def test_cancelling_by_the_seller_leaves_its_reason(scene):
    order_id = await scene.hold()
    assert await scene.ledger.cancel_unattempted(order_id, None, Refusal.BY_SELLER)
    story = await scene.ledger.story(scene.shop_id, order_id)
    assert (story.order.reason, story.events[-1].detail["by"]) == ("by_seller", "seller")


async def test_an_unknown_order_has_no_story(scene):
    assert await scene.ledger.story(scene.shop_id, uuid4()) is None
