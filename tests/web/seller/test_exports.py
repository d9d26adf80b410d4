"""Files for the books: text stays text (A17), numbers stay numbers, every order once, and another shop's never."""

import csv
import io
from contextlib import ExitStack
from datetime import datetime
from decimal import Decimal

import pytest

from app.domain.addresses import Address
from app.web.seller import exports
from app.web.seller.cells import safe
from app.web.seller.handing import FILES_AT_ONCE_MAX, FILES_OF_SHOP_MAX, RETRY_SECONDS

ORDERS, MONEY = "/seller/exports/orders.csv", "/seller/exports/money.csv"
HOSTILE = (
    '=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1", " =1+1", "＝1+1", 'Doe, "Jo"\nJr',
    "Zoë 👩‍🚀 مرحبا",
)  # fmt: skip


def read(answer):
    """-> the lines of a file, each by its columns."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    text = answer.content.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert {len(row) for row in rows} == {len(rows[0])}
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


@pytest.fixture
async def paid(shop):
    """Paid orders of a drop, one for each hostile name."""
    drop = await shop.opens(units=len(HOSTILE), ships=True)
    orders = []
    for name in HOSTILE:
        order_id = await shop.holds(drop, await shop.shopper())
        await shop.pays(order_id)
        address = Address(name, name, "", "1010", name, "", "AT")
        await shop.ledger.send_to(order_id, (await shop.ledger.order(order_id)).shopper_id, address)
        orders.append(order_id)
    return orders


async def test_whatever_a_buyer_typed_opens_as_text(owner, paid):
    """A17."""
    lines = read(await owner.get(ORDERS))
    assert [line["order"] for line in lines] == [str(order_id) for order_id in paid]
    for line, name in zip(lines, HOSTILE, strict=True):
        for column in ("name", "street", "town"):
            cell = line[column]
            assert cell.lstrip(" ")[0] not in "=+-@\t\r\n＝＋－＠", cell
            assert cell.removeprefix("'") == name
        assert "'" not in "".join(line[column] for column in ("amount", "captured", "refunded", "quantity", "currency"))
    assert [line["name"] for line in lines[-2:]] == list(HOSTILE[-2:])


@pytest.mark.parametrize("mark", [";", ",", "|", "; ", ';"', ",\u00a0"])
@pytest.mark.parametrize("begin", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1+1"])
def test_a_line_that_is_parted_at_another_mark_has_no_formula_either(mark, begin):
    """A German Excel parts at semicolons whatever the file says, and then no quotes protect what stands behind one."""
    assert safe(f"Main St{mark}{begin}{mark}x") == f"Main St{mark}'{begin}{mark}x"
    assert safe("Main St 4, Top 12; c/o Doe-Roe") == "Main St 4, Top 12; c/o Doe-Roe"


async def test_a_drop_or_variant_named_as_a_formula_is_text_too(shop, owner):
    drop = await shop.opens(units=1)
    await shop.rows("UPDATE drops SET title = '=1+1'")
    await shop.rows("UPDATE variants SET name = '@x'")
    await shop.pays(await shop.holds(drop, await shop.shopper()))
    for file in (ORDERS, MONEY):
        [line] = read(await owner.get(file))
        assert (line["drop_title"], line["variant"]) == ("'=1+1", "'@x")


async def test_amounts_are_decimal_numbers_of_their_currency_and_times_have_an_offset(shop, owner):
    await shop.rows("UPDATE shops SET time_zone = 'Europe/Vienna'")
    for price_minor, currency in ((80, "JPY"), (1250, "KWD"), (1999, "EUR")):
        drop = await shop.opens(units=1)
        await shop.rows("UPDATE drops SET price_minor = $1, currency = $2 WHERE id = $3", price_minor, currency, drop.id)
        order_id = await shop.holds(drop, await shop.shopper())
        await shop.pays(order_id)
        await shop.ledger.want_rest(order_id, "seller:whole", restock=False)
        await shop.till.refund(order_id, "seller:whole")
    orders, money = read(await owner.get(ORDERS)), read(await owner.get(MONEY))
    assert [(line["amount"], line["refunded"], line["currency"]) for line in orders] == [
        ("80", "80", "JPY"), ("1.250", "1.250", "KWD"), ("19.99", "19.99", "EUR"),
    ]  # fmt: skip
    assert [(line["kind"], line["amount"]) for line in money] == [
        ("payment", "80"), ("refund", "-80"), ("payment", "1.250"), ("refund", "-1.250"), ("payment", "19.99"),
        ("refund", "-19.99"),
    ]  # fmt: skip
    assert sum(Decimal(line["amount"]) for line in money) == 0
    for line in [*orders, *money]:
        at = datetime.fromisoformat(line.get("at") or line["reserved_at"])
        assert at.utcoffset() == at.astimezone(exports.Teller("Europe/Vienna").zone).utcoffset() and at.utcoffset()


async def test_a_file_for_excel_opens_by_a_double_click_in_its_language(owner, paid):
    assert (await owner.get(ORDERS)).content.startswith(b"order,")
    assert (await owner.get(f"{ORDERS}?excel=yes")).content.startswith(b"\xef\xbb\xbforder,drop,")
    german = (await owner.get(f"{ORDERS}?excel=yes&lang=de")).content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(german, newline=""), delimiter=";", strict=True))
    assert [row["amount"] for row in rows] == ["49,00"] * len(paid)
    assert rows[0]["name"].startswith("'=HYPERLINK")
    assert (await owner.get(ORDERS)).headers["content-disposition"].startswith('attachment; filename="orders-')


async def test_a_file_holds_what_the_list_shows_and_nothing_of_another_shop(shop, owner, stranger, paid):
    drop = await shop.opens(units=1)
    held = await shop.holds(drop, await shop.shopper())
    for query, orders in {
        "state=PENDING_PAYMENT": [held],
        f"drop={drop.id}": [held],
        f"q={paid[3]}": [paid[3]],
        "to=2020-01-01": [],
        "payment=captured": paid,
    }.items():
        assert [line["order"] for line in read(await owner.get(f"{ORDERS}?{query}"))] == list(map(str, orders)), query
    assert len(read(await owner.get(MONEY))) == len(paid)
    assert read(await owner.get(f"{MONEY}?drop={drop.id}")) == []
    for file in (ORDERS, MONEY, f"{ORDERS}?drop={drop.id}", f"{MONEY}?drop={drop.id}", f"{ORDERS}?q={held}"):
        assert read(await stranger.get(file)) == [], file


async def test_a_viewer_takes_no_file_and_who_took_one_is_written_down(shop, support, viewer, paid):
    assert (await viewer.get(ORDERS)).status_code == 403
    email = (await shop.ledger.order(paid[0])).email
    assert len(read(await support.get(ORDERS, params={"q": email}))) == 1
    [entry] = await shop.rows("SELECT actor, action, after::text FROM audit")
    assert (entry["actor"], entry["action"]) == (support.email, "orders exported")
    assert email not in entry["after"] and '"searched": true' in entry["after"] and '"file": "csv"' in entry["after"]


async def test_a_file_is_written_in_pieces_without_gap_or_repeat(owner, paid, monkeypatch):
    whole, money = (await owner.get(ORDERS)).content, (await owner.get(MONEY)).content
    monkeypatch.setattr(exports, "ROWS_AT_ONCE", 2)
    assert (await owner.get(ORDERS)).content == whole
    assert (await owner.get(MONEY)).content == money


async def test_a_wrong_day_and_a_search_for_too_much_are_errors_not_files(shop, owner, paid, monkeypatch):
    assert (await owner.get(f"{ORDERS}?from=x")).status_code == 422
    await shop.rows("UPDATE shoppers SET email = 'many' || email")
    monkeypatch.setattr("app.ledger.shop_orders.FOUND_MAX", len(paid) + 1)
    assert len(read(await owner.get(f"{ORDERS}?q=many"))) == len(paid)
    monkeypatch.setattr("app.ledger.shop_orders.FOUND_MAX", len(paid))
    answer = await owner.get(f"{ORDERS}?q=many")
    assert answer.status_code == 422 and "too many orders" in answer.text


async def test_a_shop_takes_a_few_files_at_once_and_keeps_no_other_from_its_own(shop, owner, stranger, paid):
    seats = exports.handing.seats
    with ExitStack() as taken:
        for _ in range(FILES_OF_SHOP_MAX):
            taken.enter_context(seats.seat(shop.shop_id))
        for file in (ORDERS, MONEY, "/seller/exports/orders.xlsx", "/seller/accounts.xlsx"):
            refused = await owner.get(file)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, str(RETRY_SECONDS))
            assert "Your shop is taking several files already." in refused.text
        assert (await stranger.get(ORDERS)).status_code == 200
        for other in range(FILES_AT_ONCE_MAX - FILES_OF_SHOP_MAX):
            taken.enter_context(seats.seat(-other))
        assert "Other files are being written." in (await stranger.get(ORDERS)).text
    assert (await owner.get(ORDERS)).status_code == 200
    assert not seats.taken and not seats.seated
