"""A page speaks its reader's language: asked by the browser, chosen by a link and kept by a cookie; sockets follow their page."""

import re

import httpx
import pytest

from app.domain.drops import Phase
from app.domain.orders import CONFIRMING, MoneyState, OrderState
from app.domain.verdicts import Verdict
from app.languages import ENGLISH, GERMAN, MIRRORED, speaking
from app.live.hub import JSON
from app.web.render import EVERYTHING, Account, Card, Renderer
from app.web.sayings import said
from app.web.scenes import html_in
from tests.web.conftest import FORM, PARTIAL
from tests.web.test_templates import ADDRESS_PAGE, COSTS, IN_THE_WAY, KEPT, STATES, a_drop, a_scene, an_order, mine

PAGE = {"accept": "text/html"}
IN_GERMAN = {**PAGE, "accept-language": "de-AT,de;q=0.9,en;q=0.5"}


def tongue(answer: httpx.Response) -> str:
    return re.search(r'<html lang="([^"]+)" dir="([a-z]+)"', answer.text)[1]


async def test_the_browser_s_language_is_spoken_and_the_answer_says_that_it_depends_on_it(shop):
    await shop.opens()
    browser = shop.browser()
    german = await browser.get("/", headers=IN_GERMAN)
    assert tongue(german) == "de" and "Anmelden" in german.text
    assert "Accept-Language" in german.headers["vary"]
    assert tongue(await browser.get("/", headers=PAGE)) == "en"


async def test_a_chosen_language_stays_until_another_is_chosen(shop):
    browser = shop.browser()
    answer = await browser.get("/?lang=de", headers=PAGE)
    assert tongue(answer) == "de"
    assert re.match(r"language=de; .*Max-Age=31536000.*SameSite=lax", answer.headers["set-cookie"], re.I)
    assert tongue(await browser.get("/", headers=PAGE)) == "de"
    assert tongue(await browser.get("/?lang=en", headers=IN_GERMAN)) == "en"
    assert tongue(await browser.get("/", headers=IN_GERMAN)) == "en"


@pytest.mark.parametrize("tag", ["xx", "", "de'", "DE", "ar-XB\r\n"])
async def test_a_language_that_there_is_not_changes_nothing(shop, tag):
    answer = await shop.browser().get("/", params={"lang": tag}, headers=PAGE)
    assert answer.status_code in (200, 400) and "set-cookie" not in answer.headers
    stale = await shop.browser("language=xx").get("/", headers=IN_GERMAN)
    assert tongue(stale) == "de"


async def test_a_fragment_that_names_its_page_s_language_sets_no_cookie(shop):
    drop = await shop.opens()
    answer = await shop.browser().get(f"/drops/{drop.slug}?lang=de", headers=PARTIAL)
    assert "Offen" in answer.text and "set-cookie" not in answer.headers


async def test_an_error_and_a_refusal_speak_it_too(shop):
    answer = await shop.browser().get("/drops/none", headers=IN_GERMAN)
    assert answer.status_code == 404 and "Hier ist nichts" in answer.text
    drop = await shop.opens(opens_in_seconds=90)
    shopper = await shop.shopper()
    for headers, words in ((IN_GERMAN, "Noch nicht offen"), (PAGE, "Not open yet"), (IN_GERMAN, "Noch nicht offen")):
        refusal = await shopper.post(f"/drops/{drop.slug}/buy", content="quantity=1", headers={**FORM, **PARTIAL, **headers})
        assert refusal.status_code == 409 and words in refusal.text
    document = await shopper.post(f"/drops/{drop.slug}/buy", json={}, headers={**IN_GERMAN, "accept": "application/json"})
    assert document.json()["verdict"] == "not_open" and document.json()["title"] == "Noch nicht offen"


async def test_the_sign_in_mail_speaks_the_language_of_the_page_that_asked(shop):
    await shop.browser().post("/sign-in", content="email=mira%40example.org&next=/", headers={**FORM, **IN_GERMAN})
    [mail] = await shop.ledger.newest(1)
    assert "ist dein Anmeldecode" in mail.subject and "Er gilt einmal, 10 Minuten lang" in mail.body_text


async def test_a_production_shop_has_no_mirrored_language(production_shop):
    browser = production_shop.browser()
    answer = await browser.get("https://shop.example/?lang=ar-XB", headers={**PAGE, "host": "shop.example"})
    assert tongue(answer) == "en" and "set-cookie" not in answer.headers


async def test_a_scene_is_drawn_for_sockets_in_each_language(shop):
    drop = await shop.opens()
    scenes = shop.app.inner.scenes
    await shop.app.inner.catalogue.find(drop.slug)
    peek = await scenes.read(drop.id)
    with speaking(GERMAN):  # whoever drew last must not decide for the others
        english = scenes.draw(drop.id, peek, 3, 1, html_in(ENGLISH))
    german = scenes.draw(drop.id, peek, 3, 1, html_in(GERMAN))
    assert ">Open</p>" in english and ">Offen</p>" in german
    assert scenes.draw(drop.id, peek, 3, 1, JSON).startswith('{"phase":"open"')


# ---- nothing stands on a page that does not come from the catalog

DATA = set("night lamp atelier lindqvist brass chrome soot bone spun by hand numbered under the foot mira example org".split())
DATA |= set("doorman english deutsch utc nov lind torsgatan stockholm sweden se".split())


def loose_words(html: str) -> set[str]:
    """-> words that people read (or hear) and that stand outside the brackets of the mirrored catalog."""
    html = re.sub(r"<(script|style|template)\b.*?</\1>", "", html, flags=re.S)
    heard = re.findall(r'(?:aria-label|alt|placeholder|data-words-\w+)="([^"]*)"', html)
    text = " ".join([re.sub(r"<[^>]+>", " ", html), *heard])
    while "⟦" in text:
        shorter = re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
        if shorter == text:
            break
        text = shorter
    return {word.lower() for word in re.findall(r"[A-Za-zÄÖÜäöüß]{2,}", re.sub(r"&\w+;", " ", text))} - DATA


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer(development=True)


def test_a_sentence_that_bypasses_the_catalog_is_seen(renderer):
    assert loose_words("<p>⟦Sold 4\u200f⟧ bare words <i>⟦fine⟧</i></p>") == {"bare", "words"}


@pytest.mark.parametrize("phase", Phase)
def test_every_word_of_a_drop_s_page_comes_from_the_catalog(renderer, phase):
    drop = a_drop(4, per_person=2, closes_at=a_drop().opens_at)
    with speaking(MIRRORED):
        for own in (mine(signed_in=False), mine(), mine(said=said(Verdict.ALL_HELD))):
            html = renderer.page("drop.html", signed_in=own.signed_in, path="/", drop=drop, scene=a_scene(drop, phase), mine=own)
            assert loose_words(html) == set()
            assert '<html lang="ar-XB" dir="rtl">' in html


@pytest.mark.parametrize("state", STATES)
def test_every_word_of_an_order_s_page_comes_from_the_catalog(renderer, state):
    with speaking(MIRRORED):
        for money in MoneyState:
            order = an_order(state, payment=str(money), title="", detail="", id="4", quantity=2, **COSTS)
            html = renderer.page("order.html", signed_in=True, path="/", order=order, cards=(), notice=None)
            assert loose_words(html) == set(), state
        waiting = an_order(authenticate_url="/bank", can_pay=False, title="", detail="", id="4")
        assert loose_words(renderer.fragment("order_status.html", order=waiting, cards=(), notice=None)) == set()


def test_every_word_of_the_other_pages_comes_from_the_catalog(renderer):
    pages = {
        "index.html": {"cards": [Card(a_drop(), a_scene(a_drop(), phase)) for phase in Phase], "wanted": EVERYTHING},
        "orders.html": {"orders": [an_order(state, id="4") for state in (*OrderState, CONFIRMING, "LOST")]},
        "account.html": {"orders": [], "account": Account("mira@example.org"), "addresses": [KEPT], "countries": {"SE": "Sweden"}},
        "address.html": ADDRESS_PAGE | {"order": an_order(ships=True, can_send=True), "kept": [KEPT]},
        "confirmation.html": {
            "order": an_order(address=KEPT.address, id="4", title=""),
            "owner": True,
            "country": "Sweden",
            "link": "/o/x",
        },
        "farewell.html": {"holds": [IN_THE_WAY], "in_the_way": [], "unsure": True},
        "sign_in.html": {"next": "/", "email": "", "problem": None},
        "sign_in_code.html": {"next": "/", "email": "mira@example.org", "likelier": "mira@gmail.com", "problem": None},
    }
    with speaking(MIRRORED):
        for page, context in pages.items():
            assert loose_words(renderer.page(page, signed_in=True, path="/", **context)) == set(), page


@pytest.mark.parametrize(
    ("minor", "currency", "english", "german"),
    [(80, "JPY", "¥80", "80\u00a0¥"), (1250, "KWD", "KWD\u00a01.250", "1,250\u00a0KWD"), (1999, "EUR", "€19.99", "19,99\u00a0€")],
)
def test_prices_on_pages_have_the_decimals_of_their_currency(renderer, minor, currency, english, german):
    drop = a_drop(price_minor=minor, currency=currency)
    order = an_order(amount_minor=minor, currency=currency)
    for language, shown in ((ENGLISH, english), (GERMAN, german)):
        with speaking(language):
            own = mine()
            page = renderer.page("drop.html", signed_in=True, path="/", drop=drop, scene=a_scene(drop, Phase.OPEN), mine=own)
            page += renderer.fragment("order_status.html", order=order, cards=(), notice=None)
        assert page.count(shown) >= 3, language


def test_german_pages_have_no_english_left(renderer):
    drop = a_drop(2)
    with speaking(GERMAN):
        html = renderer.page("drop.html", signed_in=True, path="/", drop=drop, scene=a_scene(drop, Phase.OPEN), mine=mine())
    assert "Eins nehmen · 149,00\u00a0€" in html and "18.904" in html
    assert not {"take", "left", "here", "choose"} & loose_words(html)
