"""Shipping fees in the amount that is owed, numbered papers without a gap, and what a shop says about itself, in versions."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import asyncpg
import pytest

from app.domain.addresses import Address
from app.domain.money import included_tax
from app.domain.orders import OrderState, Refusal
from app.domain.papers import Papers
from app.errors import BadInput
from app.ledger import NotPayable
from app.ledger.refunds import WHOLE

GERMANY = Address("Jörg Müller", "Straße 1", "", "10115", "Berlin", "", "DE")
SWEDEN = replace(GERMANY, country="SE")
JAPAN = replace(GERMANY, country="JP")
FEES = {"DE": 490, "SE": 990, "FR": 490}


async def sends(scene, **more):
    return await scene.publish(**{"ships": True, "shipping_fees": FEES, "tax_basis_points": 1900} | more)


async def goes_to(scene, order_id, address, *, keep=False) -> bool:
    return await scene.ledger.send_to(order_id, (await scene.order(order_id)).shopper_id, address, keep=keep)


async def owed(scene, order_id) -> tuple[int, int]:
    order = await scene.order(order_id)
    return order.amount_minor, order.shipping_minor


async def paid_to(scene, address=GERMANY):
    order_id = await scene.hold()
    assert await goes_to(scene, order_id, address)
    _, token = await scene.charging(order_id)
    assert await scene.capture(order_id, token) == "paid"
    return order_id


async def returned(scene, order_id, purpose, amount_minor) -> None:
    assert await scene.ledger.want_refund(order_id, purpose, amount_minor)
    assert await scene.ledger.refund_done(order_id, purpose, f"re_{purpose}")


async def test_the_fee_of_the_country_is_added_when_the_address_is_given_and_follows_it(scene):
    await sends(scene)
    order_id = await scene.hold()
    assert await owed(scene, order_id) == (4900, 0)
    for address, fee in ((GERMANY, 490), (SWEDEN, 990), (GERMANY, 490), (GERMANY, 490)):
        assert await goes_to(scene, order_id, address)
        assert await owed(scene, order_id) == (4900 + fee, fee)


async def test_the_fee_comes_once_however_many_pieces_there_are(scene):
    await sends(scene, per_person=3)
    order_id = await scene.hold(quantity=3)
    assert await goes_to(scene, order_id, SWEDEN)
    assert await owed(scene, order_id) == (3 * 4900 + 990, 990)


async def test_a_country_without_a_fee_is_not_served_unless_there_is_one_for_everywhere_else(scene):
    drop = await sends(scene)
    order_id = await scene.hold()
    assert not await goes_to(scene, order_id, JAPAN) and await owed(scene, order_id) == (4900, 0)
    assert drop.shipping_to("JP") is None
    drop = await sends(scene, shipping_fees={"DE": 0, "*": 1990})
    order_id = await scene.hold()
    assert await goes_to(scene, order_id, JAPAN) and await owed(scene, order_id) == (6890, 1990)
    assert await goes_to(scene, order_id, GERMANY) and await owed(scene, order_id) == (4900, 0)
    assert (drop.shipping_to("JP"), drop.shipping_to("DE")) == (1990, 0)


async def test_nobody_pays_before_it_is_known_where_it_goes(scene):
    await sends(scene)
    order_id = await scene.hold()
    shopper_id = (await scene.order(order_id)).shopper_id
    assert await scene.ledger.submit_attempt(order_id, shopper_id, "pm") == NotPayable(OrderState.PENDING_PAYMENT, "address")
    assert await goes_to(scene, order_id, GERMANY)
    await scene.submit(order_id)


async def test_once_a_payment_was_tried_the_amount_stands_and_only_a_country_of_the_same_fee_will_do(scene):
    await sends(scene)
    order_id = await scene.hold()
    assert await goes_to(scene, order_id, GERMANY)
    assert await scene.decline(order_id) == "again"
    assert not await goes_to(scene, order_id, SWEDEN)
    assert await goes_to(scene, order_id, replace(GERMANY, country="FR"))
    assert await owed(scene, order_id) == (5390, 490) and (await scene.order(order_id)).address.country == "FR"


async def test_an_address_and_a_payment_at_the_same_moment_agree_about_the_amount(scene):
    await sends(scene)
    for _ in range(8):
        order_id = await scene.hold()
        assert await goes_to(scene, order_id, GERMANY)
        shopper_id = (await scene.order(order_id)).shopper_id
        moved, submitted = await asyncio.gather(
            scene.ledger.send_to(order_id, shopper_id, SWEDEN, keep=False), scene.ledger.submit_attempt(order_id, shopper_id, "pm")
        )
        assert submitted.n == 1
        assert await owed(scene, order_id) == ((5890, 990) if moved else (5390, 490))


async def test_the_seller_may_send_it_elsewhere_after_payment_for_the_fee_that_was_paid(scene):
    await sends(scene)
    order_id = await scene.hold()
    ledger = scene.ledger
    assert not await ledger.correct_address(scene.shop_id, order_id, JAPAN, None)
    assert await ledger.correct_address(scene.shop_id, order_id, GERMANY, None)
    assert await owed(scene, order_id) == (5390, 490)
    _, token = await scene.charging(order_id)
    assert await scene.capture(order_id, token) == "paid"
    assert await ledger.correct_address(scene.shop_id, order_id, SWEDEN, GERMANY)
    assert await owed(scene, order_id) == (5390, 490)
    await scene.books()


async def test_a_capture_of_the_price_without_the_shipping_is_not_what_was_owed(scene):
    await sends(scene)
    order_id = await scene.hold()
    assert await goes_to(scene, order_id, GERMANY)
    _, token = await scene.charging(order_id)
    assert await scene.capture(order_id, token, amount_minor=4900) == "mismatch"
    assert await scene.ledger.invoices_of(order_id) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"shipping_fees": {"XX": 1}},
        {"shipping_fees": {"DE": -1}},
        {"shipping_fees": {"DE": 99_999_999}},
        {"ships": False},
        {"tax_basis_points": 10_001},
        {"tax_basis_points": -1},
    ],
)
async def test_a_drop_with_fees_or_a_tax_that_cannot_be_is_refused(scene, wrong):
    with pytest.raises(BadInput):
        await sends(scene, **wrong)


async def test_a_paid_order_has_one_invoice_that_says_everything(scene):
    papers = Papers(business_name="Lampen GmbH", business_address="Weg 2\n10999 Berlin", tax_id="DE123")
    assert await scene.ledger.write_papers(scene.shop_id, 0, papers, "owner")
    await sends(scene)
    order_id = await paid_to(scene)
    [paper] = await scene.ledger.invoices_of(order_id)
    year = datetime.now(UTC).year
    assert (paper.number, paper.amount_minor, paper.tax_minor, paper.corrects) == (f"{year}-000001", 5390, 861, False)
    invoice = await scene.ledger.invoice(order_id, paper.number)
    assert invoice == await scene.ledger.invoice(order_id)
    assert (invoice.seller_name, invoice.seller_address, invoice.tax_id) == ("Lampen GmbH", "Weg 2\n10999 Berlin", "DE123")
    assert (invoice.buyer[0], invoice.buyer_country, invoice.order_id) == ("Jörg Müller", "DE", str(order_id))
    assert (invoice.price_minor, invoice.goods_minor, invoice.shipping_minor, invoice.amount_minor) == (4900, 4900, 490, 5390)
    assert await scene.capture(order_id, None) == "already"
    assert len(await scene.ledger.invoices_of(order_id)) == 1


async def test_a_later_change_of_the_shop_or_the_address_changes_no_paper(scene):
    await sends(scene)
    order_id = await paid_to(scene)
    before = await scene.ledger.invoice(order_id)
    assert await scene.ledger.write_papers(scene.shop_id, 0, Papers(business_name="Others"), "owner")
    assert await goes_to(scene, order_id, replace(GERMANY, name="Somebody Else"))
    assert await scene.ledger.invoice(order_id) == before
    for change in ("UPDATE invoices SET amount_minor = 1", "DELETE FROM invoices", "UPDATE shop_papers SET terms = 'x'"):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await scene.hand.execute(change)


async def test_each_refund_is_a_correction_and_together_they_return_exactly_the_tax(scene):
    await sends(scene)
    order_id = await paid_to(scene)
    for n, part in enumerate((1, 7, 333, 1999)):
        await returned(scene, order_id, f"seller:part:{n}", part)
    assert await scene.ledger.want_rest(order_id, WHOLE, restock=False) == 5390 - 2340
    assert await scene.ledger.refund_done(order_id, WHOLE, "re_whole")
    assert not await scene.ledger.refund_done(order_id, WHOLE, "re_whole")
    invoice, *corrections = await scene.ledger.invoices_of(order_id)
    assert [paper.amount_minor for paper in corrections] == [-1, -7, -333, -1999, -3050]
    assert sum(paper.tax_minor for paper in corrections) == -invoice.tax_minor
    assert [paper.number[-1] for paper in (invoice, *corrections)] == list("123456")
    said = await scene.ledger.invoice(order_id, corrections[-1].number)
    assert (said.corrects, said.amount_minor, said.buyer) == (invoice.number, -3050, (await scene.ledger.invoice(order_id)).buyer)
    assert await scene.state(order_id) is OrderState.REFUNDED


async def test_money_that_no_order_wanted_has_no_paper(scene):
    order_id = await scene.hold()
    await scene.ledger.cancel_unattempted(order_id, (await scene.order(order_id)).shopper_id, Refusal.BY_SHOPPER)
    assert await scene.ledger.settle_paid(order_id, token=None, intent_id="pi_late", amount_minor=4900, currency="eur") == "late"
    assert await scene.ledger.refund_done(order_id, "late_money", "re_late")
    assert await scene.ledger.invoices_of(order_id) == []


async def test_numbers_have_no_gap_when_everybody_is_paid_at_once_and_some_transactions_fail(scene):
    charged = [await scene.charging() for _ in range(9)]
    await scene.hand.execute(
        "CREATE FUNCTION fail_some() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.order_id = ANY($1) "
        "THEN RAISE EXCEPTION 'cut off'; END IF; RETURN NEW; END $$".replace(
            "$1", f"ARRAY['{charged[2][0]}', '{charged[5][0]}']::uuid[]"
        )
    )
    await scene.hand.execute("CREATE TRIGGER fail_some BEFORE INSERT ON invoices FOR EACH ROW EXECUTE FUNCTION fail_some()")
    ends = await asyncio.gather(*(scene.capture_now(*one) for one in charged), return_exceptions=True)
    assert [one for one in ends if one == "paid"] == ["paid"] * 7
    await scene.hand.execute("DROP TRIGGER fail_some ON invoices")
    for order_id, token in charged:
        await scene.capture_now(order_id, token)
    rows = await scene.hand.fetch("SELECT n FROM invoices WHERE shop_id = $1 ORDER BY n", scene.shop_id)
    assert [row["n"] for row in rows] == list(range(1, 10))


async def test_each_shop_and_each_year_counts_from_one_by_the_shops_own_calendar(scene):
    await scene.paid()
    other = await scene.ledger.create_shop("Elsewhere", "other@example.com")
    await scene.publish(shop_id=other)
    order_id = await scene.paid()
    [paper] = await scene.ledger.invoices_of(order_id)
    assert paper.number.endswith("-000001")
    for time_zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # never the same day
        shop_id = await scene.ledger.create_shop(time_zone, "far@example.com")
        await scene.hand.execute("UPDATE shops SET time_zone = $2 WHERE id = $1", shop_id, time_zone)
        await scene.hand.execute("INSERT INTO invoice_numbers SELECT $1, extract(year FROM now()) - 2, 41", shop_id)
        await scene.publish(shop_id=shop_id)
        days = {f"{datetime.now(ZoneInfo(time_zone)):%Y-%m-%d}"}
        invoice = await scene.ledger.invoice(await scene.paid())
        days.add(f"{datetime.now(ZoneInfo(time_zone)):%Y-%m-%d}")
        assert invoice.day in days and invoice.number == f"{invoice.day[:4]}-000001"


async def test_a_paper_of_another_order_is_not_there(scene):
    mine, theirs = await scene.paid(), await scene.paid()
    number = (await scene.ledger.invoices_of(theirs))[0].number
    assert await scene.ledger.invoice(mine, number) is None
    for odd in ("2026-1", "x", "9999-999999999", "2026-000001;"):
        assert await scene.ledger.invoice(mine, odd) is None


async def test_the_accounts_and_the_files_say_shipping_and_tax_as_the_papers_do(scene):
    await sends(scene)
    first, second = await paid_to(scene), await paid_to(scene, SWEDEN)
    await returned(scene, second, "seller:part:1", 1000)
    [account] = await scene.ledger.accounts(scene.shop_id, scene.drop.id)
    papers = [*await scene.ledger.invoices_of(first), *await scene.ledger.invoices_of(second)]
    assert (account.gross_minor, account.shipping_minor, account.tax_basis_points) == (5390 + 5890, 490 + 990, 1900)
    assert account.tax_minor == sum(paper.tax_minor for paper in papers)
    moved = await scene.ledger.shop_money(scene.shop_id, drop_id=scene.drop.id, limit=10)
    assert [(line.invoice, line.amount_minor, line.tax_minor) for line in moved] == [
        (paper.number, paper.amount_minor, paper.tax_minor) for paper in papers
    ]
    assert [line.shipping_minor for line in moved] == [490, 990, 0]


async def test_what_a_shop_says_has_versions_and_a_stale_form_overwrites_nothing(scene):
    ledger, shop_id = scene.ledger, scene.shop_id
    assert (await ledger.papers(shop_id)).version == 0 and await ledger.papers(2**31) is None
    assert await ledger.write_papers(shop_id, 0, Papers(terms="One", contact="help@example.org"), "ada")
    assert not await ledger.write_papers(shop_id, 0, Papers(terms="Lost"), "bob")
    assert await ledger.write_papers(shop_id, 1, Papers(terms="Two"), "bob")
    assert await ledger.write_papers(shop_id, 2, Papers(terms="Two"), "bob")
    known = await ledger.papers(shop_id)
    assert (known.version, known.papers.terms, known.written_by) == (2, "Two", "bob")
    newest, first = await ledger.audit_log(shop_id)
    assert (newest.action, newest.actor, dict(newest.before)) == (
        "shop settings changed", "bob", {"contact": "help@example.org", "terms": "One"},
    )  # fmt: skip
    assert dict(first.after) == {"contact": "help@example.org", "terms": "One"}


async def test_a_drop_knows_which_pages_its_shop_has(scene):
    assert scene.drop.law == ()
    await scene.ledger.write_papers(scene.shop_id, 0, Papers(business_name="A", privacy="P"), "ada")
    assert (await scene.ledger.drop_by_id(scene.drop.id)).law == ("imprint", "privacy")
    assert [shop.shop_id for shop in await scene.ledger.shops_with_page("privacy")] == [scene.shop_id]
    assert await scene.ledger.shops_with_page("terms") == []


async def test_tax_that_nobody_set_is_nothing(scene):
    order_id = await scene.paid()
    assert (await scene.ledger.invoice(order_id)).tax_minor == included_tax(4900, 0) == 0
