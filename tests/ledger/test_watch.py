from datetime import UTC, datetime, timedelta


async def test_units_of_every_variant_and_who_waits_for_it(scene):
    await scene.publish(("Black", 5), ("White", 3))
    await scene.hold()
    await scene.charging()
    await scene.paid()
    place = await scene.joins(await scene.shopper())
    await scene.joins(await scene.shopper(), variant=1)
    await scene.offered(place)
    black, white = await scene.ledger.watch_variants(scene.drop.id)
    assert (black.name, black.total, black.held, black.processing, black.paid, black.offered, black.waiting) == (
        "Black",
        5,
        1,
        1,
        1,
        1,
        0,
    )
    assert (white.name, white.total, white.sold, white.paid, white.waiting) == ("White", 3, 0, 0, 1)


async def test_units_refunded_for_good_are_not_paid_any_more(scene):
    order_id = await scene.paid()
    await scene.hand.execute("UPDATE stock SET withdrawn = 1")  # as a refund without restock leaves it
    await scene.hand.execute("UPDATE orders SET state = 'REFUNDED', ended_at = now() WHERE id = $1", order_id)
    [variant] = await scene.ledger.watch_variants(scene.drop.id)
    assert (variant.sold, variant.withdrawn, variant.paid) == (1, 1, 0)


async def test_sales_are_counted_by_the_second_of_the_payment(scene):
    orders = [await scene.paid() for _ in range(3)]
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    for order_id, second in zip(orders, (0.2, 0.9, 4.5), strict=True):
        await scene.hand.execute("UPDATE orders SET paid_at = $2 WHERE id = $1", order_id, noon + timedelta(seconds=second))
    assert await scene.ledger.watch_sales(scene.drop.id, noon) == [(noon, 2), (noon + timedelta(seconds=4), 1)]
    assert await scene.ledger.watch_sales(scene.drop.id, noon + timedelta(seconds=5)) == []


async def test_the_newest_happenings_come_first_and_name_no_person(scene):
    order_id = await scene.hold()
    [held, published] = await scene.ledger.watch_events(scene.drop.id, 10)
    assert (held.kind, held.order_id, held.detail["units"]) == ("held", order_id, 1)
    assert (published.kind, published.order_id) == ("published", None)
    assert [one.kind for one in await scene.ledger.watch_events(scene.drop.id, 1)] == ["held"]


async def test_how_charges_ended_and_how_long_the_provider_took(scene):
    declined = await scene.hold()
    await scene.decline(declined)
    await scene.paid()
    newest, older = await scene.ledger.watch_charges(scene.drop.id)
    assert (newest.kind, older.kind) == ("paid", "declined")
    assert 0 <= newest.seconds < 60
    assert 0 <= older.seconds < 60


async def test_money_is_what_was_captured_and_what_went_back(scene):
    await scene.paid()
    order_id = await scene.paid()
    await scene.hand.execute("UPDATE payments SET refunded_minor = 900, needs_attention = 'look' WHERE order_id = $1", order_id)
    assert await scene.ledger.watch_money(scene.drop.id) == (9800, 900, 0, 1)
    await scene.publish()
    assert await scene.ledger.watch_money(scene.drop.id) == (0, 0, 0, 0)
