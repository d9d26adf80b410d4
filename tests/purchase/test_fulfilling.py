"""Parcels are never made blind, never twice, and never silently not at all (R8, A10)."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest

from app import clock
from app.errors import BadInput, NotFound, WarehouseAway, WarehouseRefused, WarehouseSilent
from app.purchase.refunding import refund_order
from tests.doubles import Died, ListQueue
from tests.purchase.conftest import PARCEL_DEAD_SECONDS

LIST_FAILS = (WarehouseSilent("no answer"), WarehouseAway("refused connection"), WarehouseRefused("401"))


async def parcel(shop, order):
    return await shop.ledger.parcel(order)


async def ships(shop, order) -> str:
    await shop.time_passes()
    return await shop.packer().ship(order)


async def test_a_paid_order_is_made_once_however_many_jobs_ask(shop):
    order = await shop.pays(await shop.opens())
    assert await ships(shop, order) == "made"
    assert await ships(shop, order) == "packing"
    assert shop.warehouse.numbers(order) == [(await parcel(shop, order)).number]
    shop.warehouse.sends = True
    assert await ships(shop, order) == "sent"
    assert await ships(shop, order) == "lost"
    assert (await shop.ledger.order(order)).tracking == "SBX4711"
    assert await shop.mails("parcel_sent") == [(await shop.ledger.order(order)).email]


async def test_the_parcel_goes_where_the_order_says(shop):
    order = await shop.pays(await shop.opens())
    address = {
        "name": "a name",
        "street": "a street",
        "more": "a more",
        "postcode": "a postcode",
        "town": "a town",
        "region": "a region",
        "country": "DE",
    }
    await shop.sql("UPDATE orders SET address = $2::jsonb WHERE id = $1", order, json.dumps(address))
    assert await ships(shop, order) == "made"
    asked = shop.warehouse.parcels[-1]["asked"]
    assert asked.address == address
    assert (asked.quantity, asked.contact) == (1, (await shop.ledger.order(order)).email)


async def test_nothing_is_made_before_payment_or_for_what_is_not_there(shop):
    order = await shop.holds(await shop.opens(), await shop.shopper())
    assert await shop.packer().ship(order) == "lost"
    assert await shop.packer().ship(uuid4()) == "lost"
    assert shop.warehouse.calls == {}


@pytest.mark.parametrize("error", LIST_FAILS, ids=lambda error: type(error).__name__)
async def test_when_the_listing_fails_nothing_is_submitted_and_the_job_waits(shop, error):
    order = await shop.pays(await shop.opens())
    for _ in range(5):
        shop.warehouse.faults[("find", "before")] = error
        assert await ships(shop, order) == "waits"
    assert shop.warehouse.calls["create"] == 0
    assert await ships(shop, order) == "made"


async def test_a_listing_that_fails_for_long_is_shown_and_asked_ever_more_slowly(shop):
    order = await shop.pays(await shop.opens())
    for _ in range(8):
        shop.warehouse.faults[("find", "before")] = WarehouseSilent("no answer")
        await ships(shop, order)
    [shown] = await shop.ledger.attention(10)
    assert (shown.kind, shown.parcel, shown.asked_again) == ("parcel", "waiting", 8)
    [pause] = await shop.sql("SELECT extract(epoch FROM ask_at - now()) AS seconds FROM parcels")
    assert pause["seconds"] > 600
    assert await ships(shop, order) == "made" and await shop.ledger.attention(10) == []


@pytest.mark.parametrize("fault", [WarehouseSilent("timed out"), Died()], ids=["reply-lost", "killed"])
async def test_five_retries_after_a_create_that_landed_attach_to_it(shop, fault):
    order = await shop.pays(await shop.opens())
    await shop.time_passes()
    shop.warehouse.faults[("create", "after")] = fault
    shop.warehouse.lists = False
    try:
        await shop.packer().ship(order)
    except Died:
        pass
    for _ in range(5):
        assert await ships(shop, order) == "unknown", "it lags: nothing is listed, and nothing is made again"
    assert [found.kind for found in await shop.ledger.attention(10)] == ["parcel"]
    shop.warehouse.lists = True
    assert await ships(shop, order) == "made"
    assert len(shop.warehouse.numbers(order)) == 1 and shop.warehouse.calls["create"] == 1
    assert await shop.ledger.attention(10) == []


async def test_none_is_not_believed_within_the_settle_window(shop):
    shop.settle_seconds = 600.0
    order = await shop.pays(await shop.opens())
    await shop.sql("UPDATE parcels SET ask_at = now()")
    assert await shop.packer().ship(order) == "settling"
    assert shop.warehouse.calls == {"find": 1}
    await shop.sql("UPDATE orders SET paid_at = now() - interval '1 hour'")
    await shop.sql("UPDATE parcels SET ask_at = now()")
    shop.warehouse.faults[("create", "before")] = WarehouseSilent("timed out")
    assert await shop.packer().ship(order) == "unknown"
    await shop.sql("UPDATE parcels SET ask_at = now()")
    assert await shop.packer().ship(order) == "settling", "what was just asked for may not be listed yet"
    with pytest.raises(BadInput):
        await shop.sql("UPDATE parcels SET claim = gen_random_uuid(), claimed_at = now()")
        await shop.packer().resubmit(order)
    await shop.sql("UPDATE parcels SET claim = NULL, claimed_at = NULL")
    assert await shop.packer().resubmit(order) == "settling", "nor does the seller's word outrun the window"
    assert await ships(shop, order) == "made"
    assert shop.warehouse.calls["create"] == 2


async def test_a_number_or_reference_of_an_older_order_is_not_ours(shop):
    order = await shop.pays(await shop.opens())
    shop.warehouse.has(order, created_at=clock.now() - timedelta(days=400))
    assert await ships(shop, order) == "made"
    assert (await parcel(shop, order)).number == "4712"


async def test_one_that_is_there_already_is_attached_to_not_made(shop):
    order = await shop.pays(await shop.opens())
    number = shop.warehouse.has(order)
    assert await ships(shop, order) == "made"
    assert (await parcel(shop, order)).number == number and shop.warehouse.calls["create"] == 0


async def test_several_are_refused_and_shown(shop):
    order = await shop.pays(await shop.opens())
    for _ in range(2):
        shop.warehouse.has(order)
    assert await ships(shop, order) == "several"
    [shown] = await shop.ledger.attention(10)
    assert "4711" in shown.why and "4712" in shown.why
    assert (await parcel(shop, order)).number is None and shop.warehouse.calls["create"] == 0
    del shop.warehouse.parcels[0]  # the seller cancels one of them there
    assert await ships(shop, order) == "made" and await shop.ledger.attention(10) == []


async def test_a_warehouse_that_cannot_be_reached_was_not_asked(shop):
    order = await shop.pays(await shop.opens())
    await shop.time_passes()
    shop.warehouse.faults[("create", "before")] = WarehouseAway("connection refused")
    assert await shop.packer().ship(order) == "waits"
    assert (await parcel(shop, order)).creates == 0
    assert await ships(shop, order) == "made"


async def test_a_parcel_the_warehouse_refuses_is_shown_at_once(shop):
    order = await shop.pays(await shop.opens())
    await shop.time_passes()
    shop.warehouse.faults[("create", "before")] = WarehouseRefused("400 no such item")
    assert await shop.packer().ship(order) == "refused"
    assert "no such item" in (await shop.ledger.attention(10))[0].why
    assert await shop.packer().resubmit(order, actor="command line") == "made"
    [entry] = await shop.ledger.audit_log(shop.shop_id)
    assert (entry.actor, entry.action, entry.subject) == ("command line", "parcel submitted again", f"order {order}")
    assert (entry.before, entry.after) == ({"parcel": "waiting"}, {"parcel": "made"})


async def test_a_dead_holder_is_replaced_when_its_lease_is_over_and_not_before(shop):
    order = await shop.pays(await shop.opens())
    await shop.sql("UPDATE parcels SET ask_at = now()")
    assert await shop.ledger.claim_parcel(order, uuid4(), claim_dead_seconds=PARCEL_DEAD_SECONDS, settle_seconds=0)
    assert await shop.packer().ship(order) == "lost"
    assert await shop.ledger.due_parcels(10, 0, PARCEL_DEAD_SECONDS) == []
    await shop.sql("UPDATE parcels SET claimed_at = now() - make_interval(secs => $1)", PARCEL_DEAD_SECONDS + 1)
    assert await shop.packer().ship(order) == "made"


async def test_a_late_holder_of_a_lost_claim_makes_nothing(shop):
    order = await shop.pays(await shop.opens())
    await shop.sql("UPDATE parcels SET ask_at = now()")
    late = uuid4()
    assert await shop.ledger.claim_parcel(order, late, claim_dead_seconds=PARCEL_DEAD_SECONDS, settle_seconds=0)
    assert await ships(shop, order) == "made"
    assert not await shop.ledger.parcel_creating(order, late)
    assert not await shop.ledger.parcel_made(order, late, "9")


async def test_a_refund_of_everything_before_the_parcel_withdraws_it(shop):
    order = await shop.pays(await shop.opens())
    await refund_order(shop.ledger, order, restock=True)
    assert await ships(shop, order) == "lost"
    assert (await parcel(shop, order)).state == "withdrawn" and shop.warehouse.calls == {}
    with pytest.raises(BadInput, match="withdrawn"):
        await shop.packer().resubmit(order)


async def test_a_refund_between_the_look_and_the_making_stops_it(shop):
    order = await shop.pays(await shop.opens())
    await shop.time_passes()
    find = shop.warehouse.find

    async def finds_and_is_refunded(*arguments):
        found = await find(*arguments)
        await refund_order(shop.ledger, order)
        return found

    shop.warehouse.find = finds_and_is_refunded
    assert await shop.packer().ship(order) == "lost"
    assert shop.warehouse.numbers(order) == []


async def test_refunded_and_shipped_is_flagged(shop):
    order = await shop.pays(await shop.opens())
    assert await ships(shop, order) == "made"
    await refund_order(shop.ledger, order)
    [shown] = await shop.ledger.attention(10)
    assert shown.kind == "parcel" and "refunded" in shown.why
    assert "refunded and shipped" in await shop.events(order)
    assert await shop.ledger.looked_at(order) and await shop.ledger.attention(10) == []


async def test_a_refund_of_a_part_does_not_stop_the_parcel(shop):
    order = await shop.pays(await shop.opens())
    await refund_order(shop.ledger, order, amount_minor=100)
    assert await ships(shop, order) == "made"
    assert await shop.ledger.attention(10) == []


async def test_the_sweeper_puts_a_due_parcel_on_the_queue_and_makes_it_itself_when_there_is_none(shop):
    order = await shop.pays(await shop.opens())
    await shop.time_passes()
    jobs = ListQueue()
    for _ in range(2):
        await shop.sweeper(jobs).sweep()
    assert [job for job in jobs.jobs if job[0] == "ship"] == [("ship", order, 0)]
    await shop.sweeps()
    assert shop.warehouse.numbers(order) == [], "it is on a queue"
    await shop.time_passes()
    await shop.sweeps()
    assert len(shop.warehouse.numbers(order)) == 1


async def test_a_parcel_nobody_has_cannot_be_resubmitted(shop):
    with pytest.raises(NotFound):
        await shop.packer().resubmit(uuid4())
