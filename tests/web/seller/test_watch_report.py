"""After the drop: the report and the accounts behind their doors."""

import csv
import io

import pytest

from tests.web.conftest import JSON


async def sold(shop, *, title: str = "Night lamp", **more):
    """A drop of two units in which three pressed: one paid, one holds, one was told that everything is in checkouts."""
    drop = await shop.opens(units=2, **more)
    first, second, third = [await shop.shopper() for _ in range(3)]
    order_id = await shop.holds(drop, first)
    await shop.holds(drop, second)
    refused = await third.post(f"/drops/{drop.slug}/buy", json={}, headers=JSON)
    assert refused.json()["verdict"] == "all_held"
    submitted = await shop.till.submit(order_id, first.shopper_id, "pm_card_visa")
    await shop.till.charge(order_id, submitted.n)
    await shop.app.inner.demand.hand_in()
    return drop


async def test_the_report_counts_who_asked_how_far_they_came_and_what_it_brought_in(shop, viewer):
    drop = await sold(shop)
    report = (await viewer.get(f"/seller/drops/{drop.id}/report", headers=JSON)).json()
    assert report["demand"]["by_verdict"] == {"reserved": 2, "all_held": 1}
    assert (report["demand"]["pressed"], report["demand"]["unmet"]) == (3, 1)
    assert sum(report["demand"]["taken"]) == 2
    assert sum(report["demand"]["nothing_left"]) == 1
    assert report["demand"]["not_counted"] == []
    steps = {name: report["funnel"][name]["orders"] for name in ("taken", "tried", "paid", "open")}
    assert steps == {"taken": 2, "tried": 1, "paid": 1, "open": 1}
    assert 0 <= report["sold_out_after_seconds"] < 300
    assert report["paid_out_after_seconds"] is None  # one is not paid
    accounts = report["accounts"]
    assert (accounts["gross_minor"], accounts["net_minor"], accounts["tax_minor"], accounts["fees_minor"]) == (
        4900,
        4900,
        None,
        None,
    )
    assert report["over"] is False


async def test_the_page_says_the_same_for_people_and_can_be_printed(shop, viewer):
    drop = await sold(shop)
    page = (await viewer.get(f"/seller/drops/{drop.id}/report")).text
    for words in (
        "Buy was pressed 3 times.",
        "One press found nothing left",
        "€49.00",
        "no rate is set",
        "still running",
        "data-print",
    ):
        assert words in page, words
    assert "example.org" not in page.replace(viewer.email, "")  # nobody who bought is named


async def test_a_drop_that_nobody_came_to_has_a_report_too(shop, viewer):
    drop = await shop.opens(units=2)
    page = await viewer.get(f"/seller/drops/{drop.id}/report")
    assert page.status_code == 200
    assert "Nobody has pressed Buy yet." in page.text
    assert (await viewer.get(f"/seller/drops/{drop.id}/report", headers=JSON)).json()["sold_out_after_seconds"] is None


async def test_what_was_not_counted_is_said(shop, viewer):
    drop = await sold(shop)
    await shop.rows(
        "INSERT INTO demand_counters (process, since, counted_until) SELECT 'dead', min(second), min(second) FROM demand"
    )
    await shop.rows("UPDATE demand SET second = second - interval '1 minute'")
    await shop.rows(
        "UPDATE demand_counters SET counted_until = counted_until - interval '1 minute', since = since - interval '1 minute'"
    )
    assert "A web process stopped without a word." in (await viewer.get(f"/seller/drops/{drop.id}/report")).text


async def test_accounts_are_summed_by_currency_and_never_across(shop, viewer, stranger):
    await sold(shop)
    await sold(shop)
    page = (await viewer.get("/seller/accounts")).text
    assert "All in EUR" in page
    assert "€98.00" in page
    assert len((await viewer.get("/seller/accounts", headers=JSON)).json()["drops"]) == 2
    assert (await stranger.get("/seller/accounts", headers=JSON)).json()["drops"] == []
    assert "Nothing sold yet." in (await stranger.get("/seller/accounts")).text


async def test_accounts_as_csv_hold_numbers_and_say_that_fees_are_unknown(shop, viewer):
    drop = await sold(shop)
    for path in (f"/seller/drops/{drop.id}/accounts.csv", "/seller/accounts.csv"):
        answer = await viewer.get(path)
        assert answer.headers["content-type"].startswith("text/csv")
        [row] = csv.DictReader(io.StringIO(answer.text))
        assert (row["drop"], row["currency"], row["gross"], row["refunds"], row["net"]) == (
            drop.slug,
            "EUR",
            "49.00",
            "0.00",
            "49.00",
        )
        assert (row["tax_included"], row["fees"]) == ("", "unknown")


@pytest.mark.parametrize("path", ["report", "accounts.csv"])
async def test_the_report_of_another_shops_drop_is_not_there(shop, stranger, path):
    drop = await shop.opens()
    assert (await stranger.get(f"/seller/drops/{drop.id}/{path}", headers=JSON)).status_code == 404
    for nobodys in (0, 2**31, 2**63, 10**30):
        assert (await stranger.get(f"/seller/drops/{nobodys}/{path}", headers=JSON)).status_code == 404
