"""Tax and shipping fees of drops made by programs: the same as the dashboard's form would have typed them."""

import pytest

from tests.web.api.test_drops import DRAFT

LAW = {"ships": True, "shipping_countries": None, "shipping_fees": {"DE": 490, "*": 1900}, "tax_basis_points": 725}


async def test_a_draft_s_tax_and_fees_are_the_drop_s(shop, program):
    draft = (await program.post("/drafts", json=DRAFT | LAW)).json()
    assert draft["problems"] == {}
    told = (await program.post(f"/drafts/{draft['id']}/publish", json={"version": draft["version"]})).json()
    assert (told["tax_basis_points"], told["shipping_fees"]) == (725, {"DE": 490, "*": 1900})
    drop = await shop.ledger.seller_drop(shop.shop_id, told["id"])
    assert (drop.tax_basis_points, dict(drop.shipping_fees)) == (725, {"DE": 490, "*": 1900})


@pytest.mark.parametrize("wrong", [{"XX": 1}, {"": 1}])
async def test_a_fee_for_no_country_is_in_the_way_of_publishing(program, wrong):
    draft = (await program.post("/drafts", json=DRAFT | LAW | {"shipping_fees": wrong})).json()
    assert "fee-1-country" in draft["problems"]


@pytest.mark.parametrize("wrong", [{"tax_basis_points": 10_001}, {"shipping_fees": {"DE": -1}}])
async def test_what_no_drop_can_have_is_refused(program, wrong):
    assert (await program.post("/drafts", json=DRAFT | wrong)).status_code == 422
