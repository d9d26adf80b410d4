"""The OpenAPI document and the page that shows it: everything there is, and nothing from elsewhere."""

import html
import re

import jsonschema_rs

from app.web.api.document import document_of
from app.web.api.operation import PREFIX, Operation
from app.web.api.router import OPERATIONS
from app.web.seller.access import is_options
from tests.web.seller.test_matrix import handlers_of

DOCS = f"{PREFIX}/docs"


def routes_of(shop) -> list[tuple[str, str]]:
    """-> (method, path as it is written in the document) of every route below PREFIX but the document and its page."""
    found = []
    for route in shop.app.inner.inner.routes:
        if route.path.startswith(PREFIX):
            for handler in handlers_of(route):
                if isinstance(handler.opt.get("operation"), Operation) and not is_options(handler):
                    path = re.sub(r"\{(\w+):\w+\}", r"{\1}", handler.opt["operation"].path)
                    found += [(method, path) for method in handler.http_methods]
    return found


async def test_every_route_stands_in_the_document_and_nothing_else(shop):
    document = (await shop.browser().get(f"{PREFIX}/openapi.json")).json()
    told = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert told == set(routes_of(shop)) and len(told) == len(OPERATIONS) > 20
    assert document["openapi"] == "3.1.0" and document["servers"] == [{"url": f"{shop.settings.public_url}{PREFIX}"}]


def test_every_operation_has_a_name_a_sentence_and_a_scope_of_its_own():
    document = document_of(OPERATIONS, "https://shop.example")
    told = [one for methods in document["paths"].values() for one in methods.values()]
    assert len({one["operationId"] for one in told}) == len(told)
    assert all(one["summary"] and len(one["description"]) > 20 and one["x-scope"] for one in told)


def test_every_schema_is_one():
    for schema in document_of(OPERATIONS, "https://shop.example")["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


async def test_the_page_shows_every_operation_with_a_line_for_the_shell(shop):
    page = (await shop.browser().get(DOCS)).text
    for one in OPERATIONS:
        assert f'id="{one.name}"' in page
    assert page.count("curl ") == len(OPERATIONS)
    shown = html.unescape(page)
    assert '-d \'{"url": "https://example.com/doorman", "kinds": ["' in shown and "Idempotency-Key: $(uuidgen)" in shown


async def test_the_page_says_how_a_file_is_sent_and_what_one_is_answered(shop):
    shown = html.unescape((await shop.browser().get(f"{DOCS}?q=pictures")).text)
    assert "--data-binary @lamp.jpg" in shown and "image/jpeg, image/png, image/webp, image/avif" in shown
    document = (await shop.browser().get(f"{PREFIX}/openapi.json")).json()
    answer = document["paths"]["/orders/{order_id}/invoices/{name}"]["get"]["responses"]["200"]
    assert answer["content"] == {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}


async def test_what_changes_something_takes_a_key_and_only_a_post_must_have_one(shop):
    document = (await shop.browser().get(f"{PREFIX}/openapi.json")).json()
    for methods in document["paths"].values():
        for method, one in methods.items():
            needed = [known["required"] for known in one["parameters"] if known["name"] == "Idempotency-Key"]
            assert needed == {"get": [], "post": [True]}.get(method, [False]), one["operationId"]


async def test_the_page_loads_nothing_from_elsewhere(shop):
    answer = await shop.browser().get(DOCS)
    loaded = re.findall(r'<(?:link|script|img|iframe)[^>]+(?:href|src)="([^"]+)"', answer.text)
    assert loaded and all(address.startswith("/static/") for address in loaded)
    assert "<script>" not in answer.text and "style=" not in answer.text


async def test_the_page_can_be_searched_without_scripts(shop):
    page = (await shop.browser().get(f"{DOCS}?q=refund+money")).text
    assert 'id="refund_order"' in page and 'id="list_webhooks"' not in page
    nothing = (await shop.browser().get(f"{DOCS}?q=%3Cb%3Ezebra")).text
    assert "Nothing here has these words" in nothing and "<b>zebra" not in nothing


async def test_it_is_there_in_production(production_shop):
    browser = production_shop.browser()
    for path in (DOCS, f"{PREFIX}/openapi.json"):
        assert (await browser.get(f"https://shop.example{path}")).status_code == 200
