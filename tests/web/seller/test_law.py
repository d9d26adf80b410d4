"""The shop's settings and what follows from them: versions, pages, links; tax and fees in a plan; invoices on the dashboard."""

import msgspec
import pytest

from app.domain.papers import PAGES, TEXT_CHARACTERS_MAX, Papers
from app.domain.plan import Plan, PlannedFee, PlannedVariant
from app.web.guard import LONG_FORM_BYTES_MAX, SELLER_BYTES_MAX
from tests.web.conftest import FORM, JSON
from tests.web.seller.conftest import Belongings, order

PAPERS = {
    "business_name": "Lampen GmbH",
    "business_address": "Weg 2\r\n\r\n 10999 Berlin ",
    "tax_id": "DE123",
    "terms": "# Terms\n<b>x</b>",
}
PLAN = Plan(
    title="Lamp", price="49.00", currency="EUR", time_zone="UTC", opens="2099-01-01T20:00", variants=(PlannedVariant("", "5"),),
    ships=True, tax="19", fees=(PlannedFee("DE", "4.90"), PlannedFee("*", "19")),
)  # fmt: skip


async def saves(client, version=0, **fields):
    return await client.post("/seller/shop", data={"version": str(version), **PAPERS, **fields}, headers=FORM)


async def test_settings_are_saved_shown_and_audited(shop, owner):
    assert "Nothing is said yet." in (await owner.get("/seller/shop")).text
    assert (await saves(owner)).headers["location"] == "/seller/shop?saved=1"
    known = await shop.ledger.papers(shop.shop_id)
    assert (known.version, known.papers.business_address, known.written_by) == (1, "Weg 2\n10999 Berlin", owner.email)
    page = (await owner.get("/seller/shop?saved=1")).text
    assert "Lampen GmbH" in page and f'href="/shops/{shop.shop_id}/terms"' in page and "One Stripe account" in page
    [entry] = await shop.ledger.audit_log(shop.shop_id)
    assert (entry.action, entry.after["tax_id"]) == ("shop settings changed", "DE123")


async def test_a_stale_form_overwrites_nothing_and_keeps_what_was_typed(shop, owner):
    await saves(owner)
    answer = await saves(owner, terms="Mine & new")
    assert answer.status_code == 409 and "Mine &amp; new" in answer.text and 'name="version" value="1"' in answer.text
    assert (await shop.ledger.papers(shop.shop_id)).papers.terms == PAPERS["terms"]
    assert (await saves(owner, 1, terms="Mine & new")).status_code == 303
    assert (await owner.post("/seller/shop", json={"version": "1", "terms": "x"}, headers=JSON)).status_code == 409


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("contact", "nobody"), ("tax_id", "1" * 61), ("terms", "x" * 15_001), ("business_address", "\n".join("123456789")),
        ("business_name", "\u200b"), ("business_name", "Lampen \u202eHbmG"),
    ],
)  # fmt: skip
async def test_a_wrong_field_is_said_beside_it_and_nothing_is_lost(shop, owner, field, typed):
    answer = await saves(owner, privacy="Kept", **{field: typed})
    assert answer.status_code == 422 and f'id="{field}-problem"' in answer.text and "Kept" in answer.text
    assert (await shop.ledger.papers(shop.shop_id)).version == 0


@pytest.mark.parametrize("letter", ["a", "ж", "語", "क", "\n", "😀"])
async def test_four_texts_of_full_length_are_saved_in_any_script_and_longer_ones_stay_on_the_page(shop, owner, letter):
    full = {page: f"{page[0]}{letter * ((TEXT_CHARACTERS_MAX - 2) // utf_16(letter))}." for page in PAGES}
    assert (await saves(owner, **full)).status_code == 303
    papers = (await shop.ledger.papers(shop.shop_id)).papers
    assert {page: getattr(papers, page) for page in PAGES} == full
    longer = {page: f"{text}{'x' * TEXT_CHARACTERS_MAX}!" if utf_16(letter) == 2 else f"{text}xx!" for page, text in full.items()}
    answer = await saves(owner, 1, **longer)
    assert answer.status_code == 422 and all(f'id="{page}-problem"' in answer.text for page in PAGES)
    assert answer.text.count("xx!</textarea>") == len(PAGES)
    assert (await shop.ledger.papers(shop.shop_id)).version == 1


def utf_16(letter: str) -> int:
    """-> what a browser counts it as."""
    return len(letter.encode("utf-16-le")) // 2


async def test_what_no_form_of_ours_sends_is_refused_in_bytes_and_a_stranger_sends_no_long_form(shop, owner):
    refused = await saves(owner, terms="x" * LONG_FORM_BYTES_MAX)
    assert refused.status_code == 413 and f"larger than {LONG_FORM_BYTES_MAX} bytes" in refused.text
    stranger = shop.browser()
    assert (await saves(stranger, terms="x" * SELLER_BYTES_MAX)).status_code == 413
    assert (await saves(owner, terms="x" * SELLER_BYTES_MAX)).status_code == 422


async def test_another_shop_s_settings_are_its_own(shop, owner, stranger):
    await saves(owner)
    assert "Lampen GmbH" not in (await stranger.get("/seller/shop")).text
    assert (await shop.ledger.papers(shop.other_shop_id)).version == 0


async def test_the_publish_summary_says_what_it_costs_and_warns_of_missing_pages(shop, owner):
    draft_id = await shop.ledger.add_draft(shop.shop_id, PLAN, owner.email)
    page = (await owner.get(f"/seller/drafts/{draft_id}/publish")).text
    assert "There is no page for: Imprint, Terms, Privacy, Refunds." in page
    assert "19%" in page and "Germany €4.90" in page and "Everywhere else €19.00" in page
    await saves(owner, privacy="P", refunds="R")
    assert "There is no page for" not in (await owner.get(f"/seller/drafts/{draft_id}/publish")).text


async def test_tax_and_fees_are_typed_in_the_reader_s_language_and_frozen_by_publishing(shop, owner):
    draft_id = await shop.ledger.add_draft(shop.shop_id, msgspec.structs.replace(PLAN, tax="", fees=()), owner.email)
    rows = {"has_fees": "1", "fee-1-country": "DE", "fee-1-amount": "4,90", "fee-2-country": "*", "fee-2-amount": "19"}
    typed = {"version": "1", "tax": "7,25", **rows}
    assert (await owner.post(f"/seller/drafts/{draft_id}?lang=de", data=typed, headers=FORM)).status_code == 303
    plan = (await shop.ledger.draft(shop.shop_id, draft_id)).plan
    assert (plan.tax, plan.fees) == ("7.25", (PlannedFee("DE", "4.90"), PlannedFee("*", "19")))
    answer = await owner.post(f"/seller/drafts/{draft_id}/publish", data={"version": "2", "sure": "yes"}, headers=FORM)
    assert answer.status_code == 303
    [drop] = await shop.ledger.seller_drops(shop.shop_id)
    assert (drop.tax_basis_points, dict(drop.shipping_fees)) == (725, {"DE": 490, "*": 1900})
    page = (await owner.get(f"/seller/drops/{drop.id}/edit")).text
    assert "7.25%" in page and "Germany €4.90" in page and 'name="tax"' not in page and 'name="fee-1-amount"' not in page
    await owner.post(f"/seller/drops/{drop.id}/edit", data={"version": "1", "title": "New", "tax": "1", **rows}, headers=FORM)
    again = await shop.ledger.seller_drop(shop.shop_id, drop.id)
    assert (again.title, again.tax_basis_points, again.shipping_fees) == ("New", 725, drop.shipping_fees)


async def test_lines_of_fees_are_added_and_removed_without_saving(shop, owner):
    draft_id = await shop.ledger.add_draft(shop.shop_id, PLAN, owner.email)
    fields = {"version": "1", "has_fees": "1", "fee-1-country": "DE", "fee-1-amount": "4.90"}
    added = (await owner.post(f"/seller/drafts/{draft_id}", data={**fields, "do": "fee-add"}, headers=FORM)).text
    assert 'name="fee-2-country"' in added and '<option value="*" selected>' in added
    removed = (await owner.post(f"/seller/drafts/{draft_id}", data={**fields, "do": "fee-remove-1"}, headers=FORM)).text
    assert 'name="fee-1-country"' not in removed
    assert (await shop.ledger.draft(shop.shop_id, draft_id)).plan == PLAN


async def test_an_order_s_page_leads_to_its_invoice_and_a_foreign_one_is_not_there(shop, owner, stranger, viewer):
    mine, theirs = Belongings(shop, shop.shop_id), Belongings(shop, shop.other_shop_id)
    order_id, other_id = await order(mine), await order(theirs)
    [paper], [other] = await shop.ledger.invoices_of(order_id), await shop.ledger.invoices_of(other_id)
    url = f"/seller/orders/{order_id}/invoices/{paper.number}.pdf"
    assert url in (await owner.get(f"/seller/orders/{order_id}")).text
    answer = await owner.get(url)
    assert answer.headers["content-type"] == "application/pdf" and answer.content.startswith(b"%PDF")
    assert (await stranger.get(url)).status_code == 404 and (await viewer.get(url)).status_code == 403
    assert (await owner.get(f"/seller/orders/{other_id}/invoices/{other.number}.pdf")).status_code == 404
    assert (await owner.get(f"/seller/orders/{order_id}/invoices/{other.number[:-1]}9.pdf")).status_code == 404


def test_a_shop_that_says_who_it_is_has_an_imprint():
    assert Papers(business_name="A").pages == ("imprint",) and Papers().pages == ()
    assert Papers(imprint="I", terms="T", privacy="P", refunds="R").pages == ("imprint", "terms", "privacy", "refunds")
