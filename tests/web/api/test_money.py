"""Accounts and money as it moved, by API: the numbers of the dashboard's page and of its files."""

import pytest

from app.domain.scopes import Scope
from tests.web.conftest import JSON

from .conftest import program_of
from .test_orders import paid


async def gives_back(shop, program, order_id, amount_minor: int) -> None:
    """A part goes back, and the provider confirms it."""
    purpose = (await program.post(f"/orders/{order_id}/refund", json={"amount_minor": amount_minor})).json()["purpose"]
    await shop.till.refund(order_id, purpose)


async def test_the_accounts_are_those_of_the_dashboard_summed_by_currency(shop, program, owner):
    one, two = [await shop.opens(units=2, tax_basis_points=points) for points in (1900, 0)]
    order_id = await paid(shop, one)
    await paid(shop, two)
    await gives_back(shop, program, order_id, 900)
    told = (await program.get("/accounts")).json()
    shown = (await owner.get("/seller/accounts", headers=JSON)).json()["drops"]
    names = ("drop", "currency", "orders", "units", "gross_minor", "refunded_minor", "net_minor", "tax_minor", "shipping_minor")
    assert [[line[name] for name in names] for line in told["items"]] == [[line[name] for name in names] for line in shown]
    assert {(line["drop_id"], line["net_minor"], line["tax_minor"]) for line in told["items"]} == {
        (one.id, 4000, 639),
        (two.id, 4900, None),
    }
    [total] = told["totals"]
    assert (total["currency"], total["gross_minor"], total["refunded_minor"], total["net_minor"]) == ("EUR", 9800, 900, 8900)


async def test_money_is_listed_as_it_moved_page_by_page(shop, program):
    drop = await shop.opens(units=3)
    orders = [await paid(shop, drop) for _ in range(3)]
    await gives_back(shop, program, orders[0], 100)
    await gives_back(shop, program, orders[0], 200)
    whole = (await program.get("/money")).json()
    assert [(one["kind"], one["amount_minor"]) for one in whole["items"]] == [("payment", 4900)] * 3 + [
        ("refund", -100),
        ("refund", -200),
    ]
    assert [one["order_id"] for one in whole["items"]] == [*map(str, orders), str(orders[0]), str(orders[0])]
    assert all(one["invoice"] for one in whole["items"]) and whole["next"] is None
    seen, cursor = [], {}
    while True:
        page = (await program.get("/money", params={"limit": 2} | cursor)).json()
        seen += page["items"]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert seen == whole["items"]
    since = whole["items"][3]["at"]
    assert (await program.get("/money", params={"since": since, "drop": drop.id})).json()["items"] == whole["items"][3:]
    assert (await program.get("/money", params={"drop": drop.id + 1})).json()["items"] == []


async def test_another_shops_money_is_in_no_list(shop, program):
    await paid(shop)
    stranger = await program_of(shop, *Scope, shop_id=shop.other_shop_id)
    assert (await stranger.get("/accounts")).json() == {"items": [], "totals": [], "next": None}
    assert (await stranger.get("/money")).json() == {"items": [], "next": None}


@pytest.mark.parametrize("query", [{"since": "0001-01-01T00:00:00Z"}, {"until": "now"}, {"drop": 0}, {"cursor": "W10"}])
async def test_a_span_that_makes_no_sense_is_refused(program, query):
    refused = await program.get("/money", params=query)
    assert (refused.status_code, refused.json()["field"]) == (422, next(iter(query)))
