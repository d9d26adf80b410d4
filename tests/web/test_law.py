"""What the law wants shoppers to see: tax and shipping before they pay, who sells, and an invoice that only they can read."""

import io
import re

import pypdf
import pytest

from app.domain.addresses import Address
from app.domain.invoices import Invoice
from app.domain.papers import Papers
from app.languages import GERMAN, speaking
from app.mail.letters import Letters
from app.web.invoice_pdf import drawn
from tests.web.conftest import FORM, JSON, URL

HTML = {"accept": "text/html"}
GERMANY = {"name": "Jörg Müller", "street": "Weg 1", "postcode": "10115", "town": "Berlin", "country": "DE"}
FEES = {"DE": 490, "SE": 990}
PAPER = Invoice(
    number="2026-000012", day="2026-11-30", language="en", seller_name="Lampen Müller GmbH", seller_address="Straße 2\nBerlin",
    tax_id="DE123", buyer=("Jörg Łukasz Ďuriš", "Weg 1"), buyer_country="DE", order_id="0000-1", title="Night lamp",
    variant="Brass", quantity=2, price_minor=4900, goods_minor=9800, shipping_minor=490, ships=True, amount_minor=10290,
    tax_basis_points=1900, tax_minor=1643, currency="EUR",
)  # fmt: skip


def said(invoice: Invoice, **more) -> str:
    """-> the words of the file."""
    pages = pypdf.PdfReader(io.BytesIO(drawn(invoice, **more))).pages
    return "\n".join(page.extract_text() for page in pages).replace("\xa0", " ")


def with_(**changes) -> Invoice:
    return Invoice(**{name: getattr(PAPER, name) for name in PAPER.__struct_fields__} | changes)


async def sent_drop(shop, **more):
    return await shop.opens(**{"units": 5, "ships": True, "shipping_fees": FEES, "tax_basis_points": 1900} | more)


async def test_the_page_of_a_drop_says_tax_and_shipping_and_links_what_its_shop_has(shop):
    drop = await sent_drop(shop)
    page = (await shop.browser().get(f"/drops/{drop.slug}", headers=HTML)).text
    assert "incl. 19% VAT: €7.82" in page and "Germany €4.90, Sweden €9.90" in page and "colophon__law" not in page
    await shop.ledger.write_papers(shop.shop_id, 0, Papers(terms="T", business_name="Lampen GmbH"), "owner")
    await shop.app_hears(drop)
    page = (await shop.browser().get(f"/drops/{drop.slug}", headers=HTML)).text
    assert re.findall(r'href="/shops/\d+/(\w+)"', page) == ["imprint", "terms"]


async def test_a_drop_without_tax_or_parcel_says_nothing_about_them(shop):
    drop = await shop.opens(units=5)
    assert "data-tax" not in (await shop.browser().get(f"/drops/{drop.slug}", headers=HTML)).text


async def test_the_checkout_asks_where_it_goes_before_it_offers_to_pay_and_then_shows_the_whole_amount(shop):
    await shop.ledger.write_papers(shop.shop_id, 0, Papers(terms="T", privacy="P"), "owner")
    drop, client = await sent_drop(shop), await shop.shopper()
    order_id = await shop.holds(drop, client)
    page = (await client.get(f"/orders/{order_id}", headers=HTML)).text
    assert "depends on where it goes" in page and "Order and pay" not in page
    assert (await client.post(f"/orders/{order_id}/address", data=GERMANY, headers=FORM)).status_code == 303
    page = (await client.get(f"/orders/{order_id}", headers=HTML)).text
    assert "Order and pay €53.90" in page and "incl. 19% VAT: €8.61" in page and 'name="amount" value="5390"' in page
    beside = page.split("Order and pay")[1].split("</form>")[0]
    assert re.findall(r'href="/shops/\d+/(\w+)"', beside) == ["terms", "privacy"]
    german = (await client.get(f"/orders/{order_id}?lang=de", headers=HTML)).text
    assert "Zahlungspflichtig bestellen" in german and "inkl. 19\xa0% MwSt.: 8,61\xa0€" in german


async def test_the_button_counts_the_shipping_of_the_address_that_it_would_take_over(shop):
    drop, client = await sent_drop(shop), await shop.shopper()
    await shop.ledger.keep_address(client.shopper_id, Address(**GERMANY | {"more": "", "region": ""}))
    order_id = await shop.holds(drop, client)
    page = (await client.get(f"/orders/{order_id}", headers=HTML)).text
    assert "Order and pay €53.90" in page
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    answer = await client.post(f"/orders/{order_id}/pay", data={**fields, "payment_method": "pm_card_visa"}, headers=FORM)
    assert answer.status_code == 303 and (await shop.ledger.order(order_id)).attempts == 1
    assert (await shop.ledger.order(order_id)).amount_minor == 5390


async def test_nobody_pays_another_amount_than_stood_on_the_button(shop):
    drop, client = await sent_drop(shop), await shop.shopper(**JSON)
    order_id = await shop.holds(drop, client)
    await client.post(f"/orders/{order_id}/address", json={"address": GERMANY})
    await client.post(f"/orders/{order_id}/address", json={"address": GERMANY | {"country": "SE"}})
    pay = {"payment_method": "pm_card_visa", "amount": "5390"}
    answer = await client.post(f"/orders/{order_id}/pay", json=pay)
    assert answer.status_code == 409 and (await shop.ledger.order(order_id)).attempts == 0
    assert (await client.post(f"/orders/{order_id}/pay", json=pay | {"amount": "5890"})).status_code == 202


async def test_an_order_says_shipping_and_tax_to_programs_too(shop):
    drop, client = await sent_drop(shop), await shop.shopper(**JSON)
    order_id = await shop.holds(drop, client)
    await client.post(f"/orders/{order_id}/address", json={"address": GERMANY})
    told = (await client.get(f"/orders/{order_id}")).json()
    assert (told["amount_minor"], told["shipping_minor"], told["tax_minor"]) == (5390, 490, 861)


async def test_a_country_that_is_not_served_is_not_offered_and_refused_by_name(shop):
    drop, client = await sent_drop(shop), await shop.shopper()
    order_id = await shop.holds(drop, client)
    page = (await client.get(f"/orders/{order_id}/address", headers=HTML)).text
    assert re.findall(r'<option value="([A-Z]{2})"', page) == ["DE", "SE"]
    answer = await client.post(
        f"/orders/{order_id}/address", data=GERMANY | {"country": "JP", "postcode": "100-0001", "region": "Tokyo"}, headers=FORM
    )
    assert answer.status_code == 422
    assert re.search("field__problem[^>]*>([^<]*)", answer.text)[1] == "It is not sent to Japan, only to: Germany, Sweden."


async def test_a_country_of_another_fee_is_refused_once_the_payment_began_and_says_why(shop):
    drop, client = await sent_drop(shop), await shop.shopper()
    order_id = await shop.holds(drop, client)
    await client.post(f"/orders/{order_id}/address", data=GERMANY, headers=FORM)
    await shop.pays(order_id)
    answer = await client.post(f"/orders/{order_id}/address", data=GERMANY | {"country": "SE"}, headers=FORM)
    assert answer.status_code == 422 and "costs another fee" in answer.text
    assert (await client.post(f"/orders/{order_id}/address", data=GERMANY | {"name": "New"}, headers=FORM)).status_code == 303
    assert (await shop.ledger.order(order_id)).amount_minor == 5390


async def paid(shop, client):
    order_id = await shop.holds(await sent_drop(shop), client)
    await client.post(f"/orders/{order_id}/address", data=GERMANY, headers=FORM)
    await shop.pays(order_id)
    return order_id


async def test_the_invoice_is_its_owner_s_and_the_link_s_alone(shop):
    client, other = await shop.shopper(), await shop.shopper()
    order_id = await paid(shop, client)
    page = (await client.get(f"/orders/{order_id}", headers=HTML)).text
    url = re.search(r'href="(/orders/[^"]+\.pdf)"', page)[1]
    assert "Goods" in page and "€4.90" in page and "€53.90" in page
    answer = await client.get(url)
    assert answer.headers["content-type"] == "application/pdf" and "no-store" in answer.headers["cache-control"]
    words = pypdf.PdfReader(io.BytesIO(answer.content)).pages[0].extract_text()
    assert "Jörg Müller" in words and str(order_id) in words and "€53.90" in words
    assert (await client.get(f"/orders/{order_id}/invoices/invoice.pdf")).content == answer.content
    assert (await other.get(url)).status_code == 404 and (await shop.browser().get(url, headers=JSON)).status_code == 401
    for odd in ("2026-999999.pdf", ".pdf", "invoice", "x.pdf"):
        assert (await client.get(f"/orders/{order_id}/invoices/{odd}")).status_code == 404
    link = re.search(r'href="https?://[^/]+(/o/[^"]+)"', (await client.get(f"/orders/{order_id}/confirmation", headers=HTML)).text)[
        1
    ]
    linked = await shop.browser().get(f"{link}/invoices/invoice.pdf")
    assert linked.content == answer.content and "noindex" in linked.headers["x-robots-tag"]
    assert (await shop.browser().get("/o/nonsense/invoices/invoice.pdf")).status_code == 404


async def test_an_order_that_is_not_paid_has_no_invoice_and_a_refunded_one_its_correction(shop):
    client = await shop.shopper()
    order_id = await shop.holds(await sent_drop(shop), client)
    assert (await client.get(f"/orders/{order_id}/invoices/invoice.pdf")).status_code == 404
    order_id = await paid(shop, client)
    assert await shop.ledger.want_rest(order_id, "seller:whole", restock=False) == 5390
    await shop.ledger.refund_done(order_id, "seller:whole", "re_1")
    _, correction = await shop.ledger.invoices_of(order_id)
    words = pypdf.PdfReader(io.BytesIO((await client.get(f"/orders/{order_id}/invoices/{correction.number}.pdf")).content))
    assert "It corrects invoice" in words.pages[0].extract_text() and "€53.90" in words.pages[0].extract_text()
    assert correction.number in (await client.get(f"/orders/{order_id}", headers=HTML)).text


async def test_the_confirmation_by_mail_says_the_parts_and_links_the_invoice(shop):
    client = await shop.shopper()
    order_id = await paid(shop, client)
    [mail] = [one for one in await shop.ledger.newest(20) if one.kind == "confirmation"]
    letter = Letters(URL, shop.settings.secret).write(mail)
    assert "Goods €49.00, shipping €4.90, together €53.90." in letter.text and "incl. 19% VAT: €8.61" in letter.text
    address = re.search(r"http\S+/o/\S+/invoices/invoice\.pdf", letter.text)[0].removeprefix(URL)
    assert (await shop.browser().get(address)).content.startswith(b"%PDF") and order_id
    [hold] = [one for one in await shop.ledger.newest(20) if one.kind == "hold"]
    assert "incl." not in Letters(URL, shop.settings.secret).write(hold).text


async def test_the_public_pages_show_what_was_written_and_no_markup_of_its_author_s(shop):
    papers = Papers(
        business_name="Lampen <GmbH>", business_address="Weg 2\nBerlin", tax_id="DE1", terms="# Our terms\n<script>x</script>"
    )
    await shop.ledger.write_papers(shop.shop_id, 0, papers, "owner")
    client = shop.browser(accept="text/html")
    imprint = (await client.get(f"/shops/{shop.shop_id}/imprint")).text
    assert "Lampen &lt;GmbH&gt;" in imprint and "Weg 2<br>Berlin" in imprint and "DE1" in imprint
    terms = (await client.get(f"/shops/{shop.shop_id}/terms")).text
    assert "<h2>Our terms</h2>" in terms and "&lt;script&gt;x" in terms
    for nothing in (
        f"/shops/{shop.shop_id}/privacy",
        f"/shops/{shop.shop_id}/papers",
        "/shops/999999/terms",
        "/shops/99999999999/terms",
    ):
        assert (await client.get(nothing)).status_code == 404


async def test_the_installation_s_own_address_leads_to_the_only_shop_or_lists_them(shop):
    client = shop.browser(accept="text/html")
    assert (await client.get("/terms")).status_code == 404
    await shop.ledger.write_papers(shop.shop_id, 0, Papers(terms="T", imprint="I"), "owner")
    assert (await client.get("/terms")).headers["location"] == f"/shops/{shop.shop_id}/terms"
    other = await shop.ledger.create_shop("Elsewhere", "other@example.com")
    await shop.ledger.write_papers(other, 0, Papers(terms="T"), "other")
    page = (await client.get("/terms")).text
    assert "Elsewhere" in page and f"/shops/{other}/terms" in page and f"/shops/{shop.shop_id}/terms" in page
    assert (await client.get("/imprint")).headers["location"] == f"/shops/{shop.shop_id}/imprint"
    assert (await client.get("/privacy")).status_code == 404


@pytest.mark.parametrize(
    ("currency", "amounts"),
    [
        ("EUR", ("€98.00", "€4.90", "€102.90", "€16.43")),
        ("JPY", ("¥9,800", "¥490", "¥10,290", "¥1,643")),
        ("KWD", ("9.800", "0.490", "KWD 10.290", "1.643")),
    ],
)
def test_an_invoice_says_its_amounts_as_the_currency_has_them(currency, amounts):
    words = said(with_(currency=currency))
    assert all(amount in words for amount in amounts), words
    assert "Lampen Müller GmbH" in words and "Jörg Łukasz Ďuriš" in words and "Invoice 2026-000012" in words


def test_the_same_paper_is_the_same_bytes_whoever_asks_in_whatever_language():
    with speaking(GERMAN):
        there = drawn(PAPER)
    assert drawn(PAPER) == there and "30 November 2026" in said(PAPER)
    assert "Rechnung 2026-000012" in said(with_(language="de")) and "10.290" not in said(with_(language="de"))


@pytest.mark.parametrize(
    ("name", "country"), [("山田 太郎", "JP"), ("やまだ たろう", "US"), ("王小明", "CN"), ("陳大文", "TW"), ("김철수", "KR")]
)  # fmt: skip
def test_names_in_chinese_japanese_and_korean_are_in_the_file_and_it_says_whose_fonts_they_are(name, country):
    words = said(with_(buyer=(name, "Weg 1"), buyer_country=country))
    assert name in words and "fonts of your PDF reader" in words and "(…)" not in words


def test_another_script_is_no_box_but_said_to_stand_elsewhere():
    words = said(with_(buyer=("Иван Иванов", "علي", "Weg 1")))
    assert "Иван" not in words and words.count("(…)") >= 3 and "a script that this file cannot print" in words


def test_a_sign_that_the_font_lacks_becomes_the_currency_s_code():
    assert "102.90 INR" in said(with_(currency="INR")) and "(…)" not in said(with_(currency="INR"))


def test_a_very_long_paper_goes_on_another_page_and_loses_nothing():
    words = said(with_(buyer=tuple(f"Line {n} " + "x" * 300 for n in range(30))))
    assert all(f"Line {n} " in words for n in range(30)) and "€102.90" in words


def test_who_bought_without_an_address_is_named_by_mail():
    assert "a@b.example" in said(with_(buyer=(), buyer_country=""), buyer_email="a@b.example")
