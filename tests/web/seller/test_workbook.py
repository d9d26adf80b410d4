"""Workbooks: numbers that are numbers, dates that are dates, text that is never anything else, and nothing left behind."""

import asyncio
import os
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from app import workbook_child
from app.errors import BadInput, LedgerUnreachable
from app.web.problems import Refused
from app.web.seller import exports, workbook
from app.web.seller.cells import Amount, date_in
from app.web.seller.workbook import Workbooks
from tests.web.seller.books import Book
from tests.web.seller.test_exports import HOSTILE, paid  # noqa: F401 -- a fixture

ORDERS, MONEY = "/seller/exports/orders.xlsx", "/seller/exports/money.xlsx"
VIENNA = ZoneInfo("Europe/Vienna")
MARKUP = (
    "<r><t>bold</t></r>",
    '<r></is></c><c r="Z9"><f>HYPERLINK("http://x")</f><v>0</v></c><c t="inlineStr"><is></r>',
    "https://x.example/",
    "_x0041_",
    "a\ufffe\uffffb",
    "]]>&amp;",
)


async def pieces_of(*pieces):
    for piece in pieces:
        yield piece


async def written(*pieces, columns=("a", "b", "c"), zone=VIENNA) -> Book:
    file = await Workbooks().write(1, "sheet", columns, pieces_of(*pieces), zone)
    with file:
        return Book(file.read())


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """-> where workbooks in the making stand on disk."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


async def test_whatever_was_typed_is_text_and_nothing_of_it_is_calculated_followed_or_read_as_markup():
    typed = [*HOSTILE, *MARKUP]
    book = await written([[text] for text in typed], columns=("typed",))
    assert not book.calculates
    shown = [line["typed"] for line in book.lines]
    kept = {"\r=1+1": "_x000D_=1+1", "_x0041_": "_x005F_x0041_", "a\ufffe\uffffb": "a\ufffd\ufffdb"}  # as the format writes them
    assert shown == [kept.get(text, text) for text in typed]


async def test_an_amount_is_a_number_in_its_currency_and_a_time_a_date():
    at = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
    book = await written([[Amount(1999, "EUR"), Amount(80, "JPY"), at], [Amount(-1250, "KWD"), Decimal("7.25"), None]], [[3]])
    first, second, third = book.lines
    assert (first["a"], first["b"]) == ((19.99, '#,##0.00 "EUR"'), (80, '#,##0 "JPY"'))
    assert (second["a"], second["b"]) == ((-1.25, '#,##0.000 "KWD"'), (7.25, ""))
    assert (
        abs(first["c"].date - datetime(2026, 11, 30, 21, 0)).total_seconds() < 0.001 and first["c"].shown == "yyyy-mm-dd hh:mm:ss"
    )
    assert "c" not in second and third["a"].value == 3


def test_a_time_that_the_clock_shows_twice_or_the_format_counts_wrongly_is_text_with_its_offset():
    earlier, later = datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
    assert [date_in(at, VIENNA) for at in (earlier, later)] == ["2026-10-25T02:30:00.000+02:00", "2026-10-25T02:30:00.000+01:00"]
    assert date_in(datetime(1899, 12, 31, tzinfo=UTC), VIENNA) == "1899-12-31T01:00:00.000+01:00"
    assert date_in(datetime(2026, 10, 25, 2, 30, tzinfo=UTC), VIENNA).local == datetime(2026, 10, 25, 3, 30)
    assert date_in(datetime(2026, 3, 29, 1, 0, tzinfo=UTC), VIENNA).local == datetime(2026, 3, 29, 3, 0)  # behind the gap of spring
    assert date_in(earlier, UTC).local == datetime(2026, 10, 25, 0, 30)


async def test_the_orders_are_a_workbook_that_says_what_the_csv_says(shop, owner, paid):  # noqa: F811
    await shop.rows("UPDATE shops SET time_zone = 'Europe/Vienna'")
    await shop.forgets_sellers()
    answer = await owner.get(ORDERS)
    assert answer.headers["content-type"] == workbook.MEDIA_TYPE and answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"].endswith('.xlsx"') and int(answer.headers["content-length"]) == len(answer.content)
    book = Book(answer.content)
    assert not book.calculates and book.sheet.find(".//*[@state='frozen'][@ySplit='1']") is not None
    assert [line["order"] for line in book.lines] == [str(order_id) for order_id in paid]
    assert [line["name"].replace("_x000D_", "\r") for line in book.lines] == list(HOSTILE)
    assert {line["amount"] for line in book.lines} == {(49.0, '#,##0.00 "EUR"')}
    order = await shop.ledger.order(paid[0])
    told = book.lines[0]["reserved_at (Europe/Vienna)"].date
    assert abs((order.reserved_at.astimezone(VIENNA).replace(tzinfo=None) - told).total_seconds()) < 0.01
    money = Book((await owner.get(MONEY)).content)
    assert [line["amount"].value for line in money.lines] == [49.0] * len(paid) and "at (Europe/Vienna)" in money.lines[0]
    actions = [(row["action"], row["after"]) for row in await shop.rows("SELECT action, after::text FROM audit ORDER BY id")]
    assert [action for action, _after in actions] == ["orders exported", "money exported"]
    assert all('"file": "xlsx"' in after for _action, after in actions)


async def test_a_workbook_holds_what_the_list_shows_and_nothing_of_another_shop(owner, stranger, viewer, paid):  # noqa: F811
    assert [line["order"] for line in Book((await owner.get(f"{ORDERS}?q={paid[3]}")).content).lines] == [str(paid[3])]
    for file in (ORDERS, MONEY):
        assert len(Book((await stranger.get(file)).content).rows) == 1
        assert (await viewer.get(file)).status_code == 403
    assert (await owner.get(f"{ORDERS}?from=x")).status_code == 422


async def test_more_rows_than_a_sheet_has_are_refused_with_a_sentence(shop, owner, paid, monkeypatch, folders):  # noqa: F811
    monkeypatch.setattr(workbook, "ROWS_MAX", len(paid) - 1)
    monkeypatch.setattr(exports, "ROWS_MAX", len(paid) - 1)
    begun = []
    monkeypatch.setattr("tempfile.mkdtemp", lambda **named: begun.append(named))
    for file in (f"{ORDERS}", f"{ORDERS}?from=2020-01-01"):  # known before it is begun
        refused = await owner.get(file)
        assert refused.status_code == 422 and f"A workbook ends at {len(paid) - 1} rows" in refused.text and not begun
    monkeypatch.undo()
    monkeypatch.setattr(workbook, "ROWS_MAX", len(paid) - 1)
    for file in (f"{ORDERS}?state=PAID", MONEY):  # counted on the way
        refused = await owner.get(file)
        assert refused.status_code == 422 and "or take it as CSV" in refused.text
    assert not exports.handing.seats.taken and not await shop.rows("SELECT 1 FROM audit")


async def test_a_cell_that_no_sheet_holds_is_refused_and_not_shortened(folders):
    assert (await written([["x" * 32_767]])).lines[0]["a"] == "x" * 32_767
    with pytest.raises(BadInput):
        await written([["x" * 32_768]])
    assert not list(folders.iterdir())


async def test_whatever_breaks_on_the_way_leaves_nothing_behind(folders, monkeypatch):
    async def lost():
        yield [["a"]]
        raise LedgerUnreachable("gone")

    books = Workbooks()
    with pytest.raises(LedgerUnreachable):
        await books.write(1, "sheet", ("a",), lost(), UTC)
    monkeypatch.setattr(workbook, "BUILD_SECONDS_MAX", 0.3)
    with pytest.raises(BadInput, match="took too long"):
        await books.write(1, "sheet", ("a",), never(), UTC)
    assert not list(folders.iterdir()) and not books.seats.taken
    monkeypatch.undo()
    monkeypatch.setattr("tempfile.tempdir", str(folders / "nowhere"))
    with pytest.raises(Refused, match="could not be written"):
        await books.write(1, "sheet", ("a",), pieces_of([["a"]]), UTC)


async def never():
    await asyncio.Event().wait()
    yield []


async def test_a_child_that_dies_is_a_sentence(folders):
    async def rows_of_a_dying_child():
        yield [["a"]]
        [child] = children()
        os.kill(child, 9)
        for _ in range(100):
            yield [["b" * 1000] * 100] * 10

    with pytest.raises(Refused, match="could not be written"):
        await Workbooks().write(1, "sheet", ("a",), rows_of_a_dying_child(), UTC)
    assert not list(folders.iterdir())


def children() -> list[int]:
    """-> the processes that write a workbook for this one."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent, command = int(stat.read_text().rpartition(")")[2].split()[1]), (stat.parent / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == os.getpid() and b"app.workbook_child" in command:
            found.append(int(stat.parent.name))
    return found


async def test_a_child_whose_parent_is_gone_removes_what_stood_on_disk(folders):
    folder = folders / "rows"
    folder.mkdir()
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "app.workbook_child", cwd=workbook.ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    head = workbook_child.encoder.encode(workbook_child.Head(str(folder), "sheet", ["a"]))
    out, _nothing = await child.communicate(workbook_child.LENGTH.pack(len(head)) + head)
    assert child.returncode == 1 and out == b"" and not folder.exists()


async def test_a_shop_has_one_in_the_making_and_others_wait_in_line(monkeypatch):
    books, go = Workbooks(), asyncio.Event()

    async def slow():
        await go.wait()
        yield [["a"]]

    first, second = (asyncio.create_task(books.write(shop_id, "s", ("a",), slow(), UTC)) for shop_id in (1, 2))
    while not books._turn.locked():
        await asyncio.sleep(0)
    with pytest.raises(Refused, match="taking several files"):
        await books.write(1, "s", ("a",), pieces_of(), UTC)
    third = asyncio.create_task(books.write(3, "s", ("a",), pieces_of([["c"]]), UTC))
    while not books.seats.taken[3]:
        await asyncio.sleep(0)
    monkeypatch.setattr(workbook, "WAITING_SECONDS_MAX", 0.01)
    with pytest.raises(Refused, match="Other files"):
        await books.write(4, "s", ("a",), pieces_of(), UTC)
    go.set()
    for file in await asyncio.gather(first, second, third):
        with file:
            assert len(Book(file.read()).lines) == 1
    assert not books.seats.taken
