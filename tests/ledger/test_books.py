import pytest


async def test_the_books_of_every_kind_of_order_add_up(scene):
    await scene.publish(("S", 20), ("M", 20), per_person=5)
    await scene.hold(quantity=2)
    await scene.charging(await scene.hold(variant=1, quantity=3))
    await scene.paid()
    await scene.overdue(await scene.hold(quantity=4))
    await scene.ledger.expire_unattempted(10)
    buyer = await scene.shopper()
    await scene.ledger.record(scene.drop.id, [scene.entry(buyer, quantity=5), scene.entry(buyer)])
    books = await scene.books()
    assert (books.total, books.sold, books.movements_sum) == (40, 11, 11)
    assert (books.held, books.processing, books.paid, books.withdrawn, books.offered) == (7, 3, 1, 0, 0)
    assert (books.returning, books.refused, books.refunded, books.rejects, books.over_limit) == (4, 1, 0, 0, ())
    assert [(variant.held, variant.processing, variant.paid) for variant in books.variants] == [(7, 0, 1), (0, 3, 0)]
    assert (books.slug, books.retired) == (scene.drop.slug, False)


@pytest.mark.parametrize(
    ("spoil", "finding"),
    [
        ("UPDATE stock SET sold = sold + 1", r"sold 2, movements sum to 1"),
        ("UPDATE stock SET sold = sold + 1", r"sold 2, live orders and withdrawn units are 1"),
        ("UPDATE movements SET units = 2", r"sold 1, movements sum to 2"),
        ("UPDATE orders SET quantity = 2", r"1 shoppers hold more than 1"),
        ("UPDATE payments SET captured_minor = 0", r"1 paid orders without their capture"),
        ("UPDATE orders SET state = 'REFUNDED'", r"1 ended orders whose money was kept"),
    ],
)
async def test_what_does_not_add_up_is_found(scene, spoil, finding):
    await scene.paid()
    assert (await scene.books()).findings == []
    await scene.hand.execute(spoil)
    assert any(finding in found for found in (await scene.ledger.books(scene.drop.id)).findings)
