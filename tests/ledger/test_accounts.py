"""Addresses of parcels, reminders, and accounts that are deleted."""

import json

import pytest

from app.domain.addresses import Address
from app.domain.orders import OrderState, Refusal
from app.ledger import InTheWay
from app.ledger.accounts import ADDRESSES_MAX

HERE = Address("Mira Lind", "Torsgatan 1", "", "113 62", "Stockholm", "", "SE")
THERE = Address("Mira Lind", "Invalidenstr. 1", "c/o Weber", "10115", "Berlin", "", "DE")


async def ordered(scene, **changes):
    """A fresh hold in a drop that ships -> (order, its owner)."""
    await scene.publish(ships=True, **changes)
    shopper = await scene.shopper()
    return await scene.hold(shopper), shopper


async def test_an_order_keeps_where_it_goes_and_the_shopper_keeps_the_address(scene):
    order, shopper = await ordered(scene)
    assert (await scene.order(order)).ships and (await scene.order(order)).address is None
    assert await scene.ledger.send_to(order, shopper, HERE)
    assert (await scene.order(order)).address == HERE
    [kept] = await scene.ledger.addresses_of(shopper)
    assert kept.address == HERE
    assert await scene.ledger.forget_address(shopper, kept.id)
    assert (await scene.order(order)).address == HERE  # the order's own copy
    assert "address given" in await scene.kinds(order)
    events = [event.detail for event in await scene.ledger.events_of(order)]
    assert "Torsgatan" not in json.dumps(events)  # history cannot be forgotten, so nothing personal is in it


async def test_nobody_elses_order_can_be_sent_anywhere(scene):
    order, _ = await ordered(scene)
    assert not await scene.ledger.send_to(order, await scene.shopper(), HERE)
    assert (await scene.order(order)).address is None


async def test_a_drop_that_ships_nothing_takes_no_address(scene):
    shopper = await scene.shopper()
    order = await scene.hold(shopper)
    assert not (await scene.order(order)).ships
    assert not await scene.ledger.send_to(order, shopper, HERE)


async def test_an_address_can_be_corrected_until_the_warehouse_knows_of_it(scene):
    order, shopper = await ordered(scene)
    _, token = await scene.charging(order)
    assert not await scene.ledger.send_to(order, shopper, HERE)  # a payment is under way
    assert await scene.capture(order, token) == "paid"
    assert await scene.ledger.send_to(order, shopper, HERE)
    assert await scene.ledger.send_to(order, shopper, THERE)
    assert (await scene.order(order)).address == THERE
    await scene.hand.execute("UPDATE parcels SET creates = 1 WHERE order_id = $1", order)
    assert not await scene.ledger.send_to(order, shopper, HERE)


async def test_an_address_is_kept_once_the_last_used_first_and_only_a_few(scene):
    shopper = await scene.shopper()
    for number in range(ADDRESSES_MAX + 3):
        await scene.ledger.keep_address(shopper, Address("Mira", f"Street {number}", "", "10115", "Berlin", "", "DE"))
    kept = await scene.ledger.addresses_of(shopper)
    assert len(kept) == ADDRESSES_MAX and kept[0].address.street == f"Street {ADDRESSES_MAX + 2}"
    await scene.ledger.keep_address(shopper, kept[-1].address)
    again = await scene.ledger.addresses_of(shopper)
    assert len(again) == ADDRESSES_MAX and again[0] == kept[-1]


async def test_only_the_owner_forgets_an_address(scene):
    owner = await scene.shopper()
    await scene.ledger.keep_address(owner, HERE)
    [kept] = await scene.ledger.addresses_of(owner)
    assert not await scene.ledger.forget_address(await scene.shopper(), kept.id)
    assert await scene.ledger.addresses_of(owner) == [kept]


async def test_an_order_names_whom_to_ask(scene):
    order, _ = await ordered(scene)
    assert ((await scene.order(order)).shop_name, (await scene.order(order)).contact) == ("A shop", "owner@example.org")
    await scene.hand.execute("UPDATE shops SET contact = 'help@example.org'")
    assert (await scene.order(order)).contact == "help@example.org"


async def test_a_deleted_account_leaves_no_trace_of_the_person(scene, ledger):
    shopper = await ledger.shopper_for("mira@example.org", "Mira+drops@example.org")
    order, _ = await ordered(scene)
    unpaid = await scene.hold(shopper, key="unpaid")
    await ledger.send_to(unpaid, shopper, HERE)
    assert await ledger.cancel_unattempted(unpaid, shopper, Refusal.BY_SHOPPER)
    place = await scene.joins(shopper)
    await scene.hand.execute(
        "INSERT INTO messages (kind, subject_id, recipient, subject, body_text, body_html, state) "
        "VALUES ('x', 'sent', 'Mira+drops@example.org', 's', 'Dear Mira', 'h', 'sent'), "
        "('x', 'w', 'mira@example.org', 's', 't', 'h', 'waiting')"
    )
    epoch = await ledger.forget_shopper(shopper)
    assert epoch == 1 and (await ledger.signed_out_epochs())[shopper] == 1
    tables = await scene.hand.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'sellers'")
    for table in tables:
        for row in await scene.hand.fetch(f"SELECT t::text FROM {table['tablename']} AS t"):  # noqa: S608
            assert not any(word in row["t"].lower() for word in ("mira", "torsgatan")), table["tablename"]
    assert await scene.place_state(place) == "left"
    assert await scene.state(unpaid) is OrderState.CANCELLED and await scene.state(order) is OrderState.PENDING_PAYMENT
    gone = await scene.hand.fetch("SELECT state FROM messages WHERE recipient LIKE '%deleted.invalid'")
    assert gone and not any(row["state"] == "waiting" for row in gone)
    assert await ledger.forget_shopper(shopper) is None
    assert await ledger.shopper_for("mira@example.org", "mira@example.org") != shopper
    await scene.books()


async def test_a_paid_order_keeps_where_it_went(scene, ledger):
    order, shopper = await ordered(scene, variants=(("one", 1),))
    await ledger.send_to(order, shopper, HERE)
    await scene.charging(order)
    row = await scene.hand.fetchrow("SELECT claim FROM orders WHERE id = $1", order)
    assert await scene.capture(order, row["claim"]) == "paid"
    assert isinstance(await ledger.forget_shopper(shopper), int)  # everything in the drop is sold: its limit protects nothing more
    assert (await scene.order(order)).address == HERE


@pytest.mark.parametrize("when", ["held", "charging", "paid"])
async def test_an_account_stays_while_an_order_moves_or_its_drop_still_sells(scene, ledger, when):
    order, shopper = await ordered(scene)
    if when != "held":
        _, token = await scene.charging(order)
        if when == "paid":
            await scene.capture(order, token)
    before = await ledger.shopper(shopper)
    [in_the_way] = await ledger.forget_shopper(shopper)
    assert isinstance(in_the_way, InTheWay) and in_the_way.order_id == order
    assert await ledger.orders_in_the_way(shopper) == [in_the_way]
    assert await ledger.shopper(shopper) == before


async def test_a_reminder_is_asked_for_once_and_only_before_the_opening(scene, ledger):
    shopper = await scene.shopper()
    assert not await ledger.remind(scene.drop.id, shopper)  # it has opened
    await scene.hand.execute("UPDATE drops SET opens_at = now() + interval '1 hour'")
    assert await ledger.remind(scene.drop.id, shopper)
    assert not await ledger.remind(scene.drop.id, shopper)
    assert await ledger.reminded(scene.drop.id, shopper)
    assert not await ledger.reminded(scene.drop.id, await scene.shopper())
