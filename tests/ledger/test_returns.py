import asyncio
from uuid import uuid4

import asyncpg
import pytest

from app.domain.orders import OrderState, Refusal
from ledger.scene import GRACE_SECONDS

PENDING, PROCESSING, EXPIRED = OrderState.PENDING_PAYMENT, OrderState.PROCESSING, OrderState.EXPIRED
LOCK_STOCK = "SELECT FROM stock WHERE drop_id = $1 FOR UPDATE"
LOCK_ORDER = "SELECT FROM orders WHERE id = $1 FOR UPDATE"


async def claim(scene, order_id, *, to=EXPIRED, reason=Refusal.DEADLINE, shopper_id=None, grace_seconds=GRACE_SECONDS):
    return await scene.ledger.claim_give_back(
        order_id, uuid4(), to=to, reason=reason, shopper_id=shopper_id, grace_seconds=grace_seconds
    )


async def test_overdue_holds_expire_in_bulk_over_drops_and_variants(scene):
    first = scene.drop
    here = [await scene.overdue(await scene.hold()) for _ in range(2)]
    await scene.publish(("S", 5), ("M", 5), per_person=3)
    there = [await scene.overdue(await scene.hold(variant=variant, quantity=2 + variant)) for variant in (0, 1, 0)]
    fresh = await scene.hold()
    ended = await scene.ledger.expire_unattempted(100)
    assert sorted(ended) == sorted([(order, first.id) for order in here] + [(order, scene.drop.id) for order in there])
    assert {await scene.state(order_id) for order_id in here + there} == {EXPIRED}
    assert await scene.state(fresh) is PENDING
    books = await scene.books()
    assert (books.sold, books.returning) == (1, 7)
    assert await scene.kinds(here[0]) == ["held", "expired"]
    assert await scene.ledger.expire_unattempted(100) == []


async def test_a_bulk_is_bounded_and_starts_with_the_longest_overdue(scene):
    orders = [await scene.overdue(await scene.hold(), seconds) for seconds in (1, 30, 20)]
    assert {order_id for order_id, _ in await scene.ledger.expire_unattempted(2)} == {orders[1], orders[2]}
    assert await scene.ledger.expire_unattempted(2) == [(orders[0], scene.drop.id)]


async def test_two_sweepers_expire_a_hold_once(scene):
    orders = {await scene.overdue(await scene.hold()) for _ in range(5)}
    async with scene.locked(LOCK_STOCK, scene.drop.id, waiting=1):
        both = [asyncio.create_task(scene.ledger.expire_unattempted(100)) for _ in range(2)]
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)  # the other one has them: it goes on at once
        assert [task.result() for task in done] == [[]]
    ended = [end for sweep in await asyncio.gather(*both) for end in sweep]
    assert {order_id for order_id, _ in ended} == orders and len(ended) == 5
    assert (await scene.books()).sold == 0


async def test_a_hold_that_changed_after_the_sweeper_looked_is_not_expired(scene):
    paid_for, moved = [await scene.overdue(await scene.hold()) for _ in range(2)]
    listed = [row["id"] for row in await scene.ledger._rows("overdue_holds", 10)]
    await scene.hand.execute("UPDATE orders SET attempts = 1 WHERE id = $1", paid_for)
    await scene.hand.execute("UPDATE orders SET deadline = now() + interval '1 h' WHERE id = $1", moved)
    assert sorted(listed) == sorted([paid_for, moved])
    assert await scene.ledger._rows("expire_holds", listed) == []


async def test_expiry_and_recording_of_one_drop_do_not_block_each_other_for_ever(scene):
    for _ in range(3):
        await scene.overdue(await scene.hold())
    buyers = await scene.ledger.mint_shoppers(9)
    async with scene.locked(LOCK_STOCK, scene.drop.id, waiting=2):
        sweep = asyncio.create_task(scene.ledger.expire_unattempted(10))
        batch = asyncio.create_task(scene.ledger.record(scene.drop.id, [scene.entry(buyer) for buyer in buyers]))
    ended, recorded = await asyncio.gather(sweep, batch)
    held = [order for order in recorded if order.state is PENDING]
    assert len(ended) == 3 and len(held) in (7, 9)
    assert (await scene.books()).sold == len(held)


async def test_a_shopper_cancels_their_own_untouched_hold_only(scene):
    order_id = await scene.hold()
    owner, stranger = (await scene.order(order_id)).shopper_id, await scene.shopper()
    assert not await scene.ledger.cancel_unattempted(order_id, stranger, Refusal.BY_SHOPPER)
    assert await scene.ledger.cancel_unattempted(order_id, owner, Refusal.BY_SHOPPER)
    assert not await scene.ledger.cancel_unattempted(order_id, owner, Refusal.BY_SHOPPER)
    order = await scene.order(order_id)
    assert (order.state, order.reason, order.released) == (OrderState.CANCELLED, "by_shopper", False)
    attempted = await scene.hold()
    await scene.decline(attempted)
    assert not await scene.ledger.cancel_unattempted(attempted, None, Refusal.BY_SELLER)


@pytest.mark.parametrize(
    ("situation", "seconds_overdue", "due"),
    [("submitted", 1, False), ("submitted", GRACE_SECONDS + 1, True), ("action", -10, False), ("action", 1, True),
     ("declined", -10, False), ("declined", 1, True)],
)  # fmt: skip
async def test_only_a_submitted_payment_has_a_grace(scene, situation, seconds_overdue, due):
    order_id = await scene.hold()
    await {"submitted": scene.submit, "action": scene.ask_authentication, "declined": scene.decline}[situation](order_id)
    await scene.overdue(order_id, seconds_overdue)
    listed = await scene.ledger.due_give_backs(10, GRACE_SECONDS)
    assert [(row.order_id, row.drop_id) for row in listed] == ([(order_id, scene.drop.id)] if due else [])
    assert (await claim(scene, order_id) is not None) is due


async def test_an_order_without_an_intent_says_so(scene):
    order_id = await scene.hold()
    await scene.submit(order_id)
    await scene.overdue(order_id, GRACE_SECONDS + 1)
    assert [row.intent_id for row in await scene.ledger.due_give_backs(10, GRACE_SECONDS)] == [None]


async def test_a_submitted_payment_cannot_be_cancelled_and_an_authentication_can(scene):
    order_id = await scene.hold()
    await scene.submit(order_id)
    assert await claim(scene, order_id, to=OrderState.CANCELLED) is None
    order_id = await scene.hold()
    await scene.ask_authentication(order_id)
    assert await claim(scene, order_id, to=OrderState.CANCELLED, shopper_id=await scene.shopper()) is None
    claimed = await claim(scene, order_id, to=OrderState.CANCELLED, shopper_id=(await scene.order(order_id)).shopper_id)
    assert (claimed.leaving, claimed.n) == (OrderState.CANCELLED, 1)


async def test_a_live_charge_is_never_given_back_by_a_sweeper(scene):
    order_id, _ = await scene.charging()
    await scene.overdue(order_id, 10 * GRACE_SECONDS)
    assert await scene.ledger.due_give_backs(10, 0) == []
    assert await claim(scene, order_id) is None


async def test_giving_back_returns_the_units_once_and_abandons_the_attempt(scene):
    order_id, token = await scene.charging(await scene.hold())
    await scene.overdue(order_id)
    assert await scene.ledger.give_back(order_id, token)
    assert not await scene.ledger.give_back(order_id, token)
    order = await scene.order(order_id)
    assert (order.state, order.reason, order.attempt_n, order.payment) == (EXPIRED, "deadline", None, "none")
    assert await scene.hand.fetchval("SELECT state FROM attempts WHERE order_id = $1", order_id) == "abandoned"
    books = await scene.books()
    assert (books.sold, books.returning) == (0, 1)


async def test_an_order_in_time_whose_intent_is_gone_has_failed(scene):
    order_id, token = await scene.charging()
    assert await scene.ledger.give_back(order_id, token)
    order = await scene.order(order_id)
    assert (order.state, order.reason) == (OrderState.FAILED, "declined")


async def test_the_schema_itself_refuses_a_second_return(scene):
    order_id = await scene.overdue(await scene.hold())
    await scene.ledger.expire_unattempted(10)
    with pytest.raises(asyncpg.UniqueViolationError, match="movements_pkey"):
        await scene.hand.execute(
            "INSERT INTO movements SELECT order_id, kind, drop_id, variant_id, units FROM movements WHERE units < 0"
        )
    assert await scene.state(order_id) is EXPIRED


async def test_a_release_is_due_until_it_is_confirmed(scene):
    order_id = await scene.overdue(await scene.hold())
    assert not await scene.ledger.confirm_released(order_id)
    await scene.ledger.expire_unattempted(10)
    assert await scene.ledger.unreleased(10) == [(order_id, scene.drop.id)]
    assert await scene.ledger.confirm_released(order_id)
    assert not await scene.ledger.confirm_released(order_id)
    assert await scene.ledger.unreleased(10) == []
    assert (await scene.books()).returning == 0


async def test_two_claims_to_give_back_are_won_once(scene):
    order_id = await scene.hold()
    await scene.decline(order_id)
    await scene.overdue(order_id)
    async with scene.locked(LOCK_ORDER, order_id, waiting=2):
        both = [asyncio.create_task(claim(scene, order_id)) for _ in range(2)]
    assert [claimed is None for claimed in await asyncio.gather(*both)].count(False) == 1


async def test_a_charge_and_a_give_back_that_want_the_same_order_are_won_once(scene):
    order_id = await scene.hold()
    await scene.submit(order_id)
    await scene.overdue(order_id, GRACE_SECONDS + 1)
    async with scene.locked(LOCK_ORDER, order_id, waiting=2):
        both = [
            asyncio.create_task(scene.ledger.claim_charge(order_id, 1, uuid4())),
            asyncio.create_task(claim(scene, order_id)),
        ]
    assert [claimed is None for claimed in await asyncio.gather(*both)].count(False) == 1
    assert await scene.state(order_id) is PROCESSING
