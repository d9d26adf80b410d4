"""Every page and fragment draws for every phase and state, with nothing undefined, nothing inline and nothing from elsewhere."""

import re
import runpy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pytest

from app.domain.addresses import FIELDS, Address
from app.domain.drops import Door, Drop, Phase, Variant
from app.domain.orders import CONFIRMING, MoneyState, OrderState
from app.domain.papers import Papers
from app.domain.verdicts import Verdict
from app.ledger import InTheWay, KeptAddress, NumberedPaper, ShopPage, ShopPapers
from app.web.render import EVERYTHING, ROOT, Account, Card, Mine, OrderView, PaymentChoice, Renderer, Said, Scene, VariantScene
from app.web.sayings import WORDS, said
from app.web.seller.telling import MAIL_STATES

NOW = datetime(2026, 11, 30, 19, 47, 13, 412_000, tzinfo=UTC)
STATES = [*OrderState, CONFIRMING, "LOST"]
CHOICES = [
    PaymentChoice("pm_card_visa", "Visa that works"),
    PaymentChoice("pm_card_chargeDeclined", "A card that is declined"),
    PaymentChoice("pm_card_authenticationRequired", "A card that asks you to authenticate"),
]
HELD_BACK = {"few": (12, 5, 3), "some": (100, 37, 21), "many": (200, 80, 60), "shares": (5_000, 1, 1)}


def a_drop(variants: int = 1, units: int = 100, **changes) -> Drop:
    names = ["Brass", "Chrome", "Soot", "Bone"][:variants] if variants > 1 else ["Night lamp"]
    each = units // variants
    drop = Drop(
        id=4,
        shop_id=1,
        shop_name="Atelier Lindqvist",
        slug="night-lamp-4",
        title="Night lamp Nº 4",
        description="Spun by hand.\nNumbered under the foot.",
        price_minor=14_900,
        currency="EUR",
        opens_at=NOW + timedelta(minutes=12, seconds=47),
        closes_at=None,
        per_person=1,
        hold_seconds=600.0,
        payment_attempts=3,
        door=Door.OPEN,
        clock_offset_ms=0,
        picture="ab12",
        retired=False,
        variants=tuple(Variant(10 + index, name, each) for index, name in enumerate(names)),
    )
    return replace(drop, **changes)


def a_scene(drop: Drop, phase: Phase, left: int | None = None, held: int | None = None, seconds: float | None = None) -> Scene:
    """`left` and `held` are spread over the variants in order."""
    usual = {Phase.OPEN: (37, 21), Phase.ALL_HELD: (0, 21), Phase.SOLD_OUT: (0, 0), Phase.PAUSED: (37, 21), Phase.CLOSED: (12, 0)}
    share_left, share_held = usual.get(phase, (100, 0))
    left = drop.units_total * share_left // 100 if left is None else left
    held = drop.units_total * share_held // 100 if held is None else held
    if seconds is None:
        seconds = {Phase.ANNOUNCED: 767, Phase.LAST_SECONDS: 7}.get(phase, -60)
    variants = []
    for variant in drop.variants:
        here = min(left, variant.units_total)
        there = min(held, variant.units_total - here)
        left, held = left - here, held - there
        variants.append(VariantScene(variant.id, variant.name, here, there, variant.units_total))
    return Scene(phase, 1_000_001, NOW, NOW + timedelta(seconds=seconds), drop.closes_at, 18_904, tuple(variants))


def an_order(state: str = OrderState.PENDING_PAYMENT, **changes) -> OrderView:
    waits = state == OrderState.PENDING_PAYMENT
    order = OrderView(
        id="00000004-5d2a-8c11-9e07-3f6b1c2d4e5f",
        drop_slug="night-lamp-4",
        drop_title="Night lamp Nº 4",
        variant="Brass",
        quantity=1,
        state=str(state),
        payment=str(MoneyState.CAPTURED if state == OrderState.PAID else MoneyState.NONE),
        pay_by=NOW + timedelta(seconds=432) if state != CONFIRMING else None,
        hold_seconds=600.0,
        reserved_at=None if state in (CONFIRMING, "LOST") else NOW - timedelta(seconds=168),
        attempts_left=3,
        amount_minor=14_900,
        currency="EUR",
        tracking=None,
        reason=None,
        authenticate_url=None,
        title="The state in words",
        detail="What it means for you.",
        notice=None,
        can_pay=waits,
        can_cancel=waits,
        moving=state in (OrderState.PROCESSING, CONFIRMING),
    )
    return replace(order, **changes)


KEPT = KeptAddress(7, Address("Mira Lind", "Torsgatan 1", "", "113 62", "Stockholm", "", "SE"))
ADDRESS_PAGE = {
    "action": "/account/address", "back": "/account", "order": None, "kept": [], "problem": None,
    "typed": dict.fromkeys(FIELDS, ""), "countries": (("SE", "Sweden"),),
}  # fmt: skip
SAID = Papers(
    business_name="Atelier GmbH", business_address="Weg 2\n10999 Berlin", tax_id="DE1", contact="a@b.example", imprint="# Who"
)
LAW_PAGE = {
    "title": "Imprint", "page": "imprint", "text": SAID.imprint, "law": SAID.pages,
    "known": ShopPapers(1, "Atelier", 3, SAID, datetime(2026, 11, 30, tzinfo=UTC), "owner@example.org"),
}  # fmt: skip
INVOICES = (
    NumberedPaper("2026-000012", "", 15_390, 2457, "EUR", datetime(2026, 11, 30, tzinfo=UTC)),
    NumberedPaper("2026-000013", "seller:part:1", -1000, -160, "EUR", datetime(2026, 12, 1, tzinfo=UTC)),
)
COSTS = {"ships": True, "tax_basis_points": 1900, "shipping_minor": 490, "law": ("imprint", "terms", "privacy"), "papers": INVOICES}
IN_THE_WAY = InTheWay(uuid4(), OrderState.PROCESSING, "Night lamp")


def mine(**changes) -> Mine:
    return replace(Mine(signed_in=True, key="k-1", allowed=1, orders=(), said=None), **changes)


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer(development=True)


class Inspector(HTMLParser):
    """Collects what the Content-Security-Policy or the rules of the house forbid."""

    def __init__(self):
        super().__init__()
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.open_script = False
        self.labels: set[str] = set()
        self.tags: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.tags.append((tag, names))
        self.open_script = tag == "script"
        if tag == "style":
            self.faults.append("an inline stylesheet")
        if tag == "script" and not names.get("src"):
            self.faults.append("a script without src")
        for name, value in names.items():
            if name == "style" or name.startswith("on") or name.startswith("hx-on"):
                self.faults.append(f"{tag} {name}")
            if (
                names.get("rel") != "noreferrer"
                and name in ("src", "href", "action", "hx-get", "hx-post", "srcset", "data-status")
                and not re.match(r"/(?!/)|[#?]", value or "")
            ):
                self.faults.append(f"{tag} {name}={value}")
        if "id" in names:
            self.ids.append(names["id"])
        if tag == "input" and "hx-trigger" in names and "[" in names["hx-trigger"]:
            self.faults.append("an hx-trigger filter needs eval")

    def handle_data(self, data):
        if self.open_script and data.strip():
            self.faults.append("an inline script")

    def handle_endtag(self, tag):
        if tag == "script":
            self.open_script = False


def inspected(html: str) -> Inspector:
    inspector = Inspector()
    inspector.feed(html)
    assert inspector.faults == []
    assert len(inspector.ids) == len(set(inspector.ids)), inspector.ids
    return inspector


def root(html: str, hook: str) -> dict:
    return next(attributes for tag, attributes in inspected(html).tags if hook in attributes)


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("variants", [1, 4])
@pytest.mark.parametrize("viewer", ["stranger", "signed in", "holder", "refused"])
def test_the_drop_page_draws_every_phase_for_every_viewer(renderer, phase, variants, viewer):
    drop = a_drop(variants, per_person=2)
    viewers = {
        "stranger": mine(signed_in=False),
        "signed in": mine(allowed=2),
        "holder": mine(allowed=0, orders=(an_order(), an_order(OrderState.PAID, quantity=2))),
        "refused": mine(said=said(Verdict.ALL_HELD)),
    }
    page = renderer.page(
        "drop.html",
        signed_in=viewer != "stranger",
        path="/drops/night-lamp-4",
        drop=drop,
        scene=a_scene(drop, phase),
        mine=viewers[viewer],
    )
    scene = root(page, "data-phase")
    assert scene["data-phase"] == phase.value
    assert int(scene["data-left"]) == a_scene(drop, phase).left
    assert scene["data-seq"] == "1000001"
    assert scene["data-server-time"] == "2026-11-30T19:47:13.412Z"


@pytest.mark.parametrize("phase", Phase)
def test_the_scene_is_the_same_markup_on_the_page_and_over_the_socket(renderer, phase):
    drop = a_drop(4)
    scene = a_scene(drop, phase)
    fragment = renderer.fragment("scene.html", drop=drop, scene=scene)
    page = renderer.page(
        "drop.html", signed_in=False, path="/drops/night-lamp-4", drop=drop, scene=scene, mine=mine(signed_in=False)
    )
    assert "".join(fragment.split()) in "".join(page.split())


def test_the_scene_asks_for_nothing_of_the_viewer(renderer):
    drop = a_drop()
    for phase in Phase:
        assert "<form" not in renderer.fragment("scene.html", drop=drop, scene=a_scene(drop, phase))


@pytest.mark.parametrize("phase", Phase)
def test_only_an_open_door_has_a_button_that_can_be_pressed(renderer, phase):
    drop = a_drop()
    html = renderer.fragment("mine.html", drop=drop, scene=a_scene(drop, phase), mine=mine())
    button = root(html, "data-buy-button")
    assert ("disabled" in button) == (phase is not Phase.OPEN)
    home = next(names["data-in"] for tag, names in inspected(html).tags if names.get("class") == "dock")
    assert (phase.value in home.split()) == (phase not in (Phase.SOLD_OUT, Phase.CLOSED, Phase.CANCELLED))


def test_the_buy_form_works_without_javascript(renderer):
    drop = a_drop(4)
    html = renderer.fragment("mine.html", drop=drop, scene=a_scene(drop, Phase.OPEN), mine=mine())
    form = next(names for tag, names in inspected(html).tags if tag == "form")
    fields = {
        names["name"]: names for tag, names in inspected(html).tags if tag == "input" and "name" in names and "checked" not in names
    }
    assert (form["method"], form["action"]) == ("post", "/drops/night-lamp-4/buy")
    assert fields["key"]["value"] == "k-1"
    buy = html.partition("</form>")[0]
    assert buy.count('name="variant"') == 4 and html.count(" checked") == 1


def test_a_variant_that_is_gone_is_not_the_one_that_is_picked(renderer):
    drop = a_drop(4)
    scene = a_scene(drop, Phase.OPEN)
    scene = replace(
        scene, variants=(replace(scene.variants[0], left=0), *scene.variants[1:-1], replace(scene.variants[-1], left=9))
    )
    html = renderer.fragment("mine.html", drop=drop, scene=scene, mine=mine())
    picked = next(names for tag, names in inspected(html).tags if tag == "input" and "checked" in names)
    assert scene.variants[0].name != picked["value"]


@pytest.mark.parametrize("size", HELD_BACK)
def test_the_strip_has_a_band_for_every_unit_or_says_that_it_does_not(renderer, size):
    total, left, held = HELD_BACK[size]
    drop = a_drop(units=total)
    html = renderer.fragment("scene.html", drop=drop, scene=a_scene(drop, Phase.OPEN, left, held))
    free, hatched, hollow = html.count("<i></i>"), html.count('<i class="h"></i>'), html.count('<i class="s"></i>')
    assert f"{left:,} of {total:,} left, {held:,} in checkouts, {total - left - held:,} sold." in html
    if total <= 200:
        assert (free, hatched, hollow) == (left, held, total - left - held)
        assert "One band for every" not in html
    else:
        assert free == hatched == 1 and free + hatched + hollow == 200
        assert "One band for every 25 pieces." in html


@pytest.mark.parametrize("verdict", WORDS)
def test_every_refusal_has_its_words(renderer, verdict):
    words = said(verdict)
    html = renderer.fragment("said.html", drop=a_drop(), said=words)
    assert root(html, "data-verdict")["data-verdict"] == verdict.value
    assert words.title in html and "!" not in re.sub(r"<!--.*?-->", "", html)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("money", MoneyState)
@pytest.mark.parametrize("door", ["page", "fragment"])
def test_an_order_draws_in_every_state(renderer, state, money, door):
    context = {"order": an_order(state, payment=str(money)), "cards": CHOICES, "notice": None}
    if door == "page":
        html = renderer.page("order.html", signed_in=True, path="/orders/x", **context)
    else:
        html = renderer.fragment("order_status.html", **context)
    shown = root(html, "data-order-state")
    assert shown["data-order-state"] == str(state)
    assert shown["data-order-moving"] == ("yes" if context["order"].moving else "no")


@pytest.mark.parametrize("state", [OrderState.EXPIRED, OrderState.FAILED, OrderState.CANCELLED, OrderState.REFUSED, "LOST"])
def test_an_order_that_ended_says_what_happened_to_the_money(renderer, state):
    def drawn(money):
        return renderer.fragment("order_status.html", order=an_order(state, payment=str(money)), cards=CHOICES, notice=None)

    assert "You were not charged." in drawn(MoneyState.NONE)
    assert "€149.00 went back to your card." in drawn(MoneyState.REFUNDED)
    assert "on its way back" in drawn(MoneyState.CAPTURED)
    assert "You were not charged." not in drawn(MoneyState.UNKNOWN)


def test_a_hold_offers_every_card_the_pay_button_and_a_way_out(renderer):
    order = an_order(pay_by=datetime.now(UTC) + timedelta(seconds=435))
    html = renderer.fragment("order_status.html", order=order, cards=CHOICES, notice="Your card was declined.")
    tags = inspected(html).tags
    assert [names["value"] for tag, names in tags if names.get("name") == "payment_method"] == [choice.value for choice in CHOICES]
    assert {names["action"] for tag, names in tags if tag == "form"} == {f"{an_order().url}/pay", f"{an_order().url}/cancel"}
    assert re.search(r">7:1\d</b>", html) and "You were not charged and the piece is still yours. 3 attempts are left" in html
    assert "I changed my mind" in html


def test_an_order_that_must_be_authenticated_links_to_the_bank(renderer):
    order = an_order(authenticate_url="https://bank.example/3ds", can_pay=False)
    html = renderer.fragment("order_status.html", order=order, cards=CHOICES, notice=None)
    assert any(names.get("href") == "https://bank.example/3ds" for tag, names in inspected(html).tags if tag == "a")


def test_a_paid_order_is_a_keepsake_with_the_millisecond(renderer):
    html = renderer.fragment("order_status.html", order=an_order(OrderState.PAID), cards=CHOICES, notice=None)
    assert "19:44:25.412" in html and an_order().id in html and "<form" not in html


@pytest.mark.parametrize(
    ("wristband", "quantity", "shown"), [(7, 1, "7 of 100"), (8, 2, "7–8 of 100"), (101, 1, None), (None, 1, None)]
)
def test_a_keepsake_says_which_wristbands_it_is(renderer, wristband, quantity, shown):
    order = an_order(OrderState.PAID, wristband=wristband, wristbands=100, quantity=quantity)
    html = renderer.fragment("order_status.html", order=order, cards=CHOICES, notice=None)
    assert (shown in html) if shown else ("data-wristband" not in html)


def test_what_is_yours_is_green_in_the_private_fragment_only(renderer):
    drop = a_drop(per_person=2)
    own = mine(orders=(an_order(quantity=2),), allowed=0)
    html = renderer.fragment("mine.html", drop=drop, scene=a_scene(drop, Phase.OPEN), mine=own)
    assert html.count('<i class="y"></i>') == 2 and "2 wristbands, yours." in html
    assert 'class="y"' not in renderer.fragment("scene.html", drop=drop, scene=a_scene(drop, Phase.OPEN))


MAIL = {"to": "m@example.org", "kind": "code", "subject": "Digits", "text": "1 < 2", "html": "", "message_id": "1", "order": None}
MAILED = SimpleNamespace(
    created_at=datetime(2026, 11, 30, tzinfo=UTC), sent_at=datetime(2026, 11, 30, tzinfo=UTC), error="no answer"
)


@pytest.mark.parametrize("signed_in", [True, False])
@pytest.mark.parametrize(
    ("page", "context"),
    [
        ("index.html", {"wanted": EVERYTHING, "cards": []}),
        ("index.html", {"wanted": EVERYTHING, "cards": [Card(a_drop(), a_scene(a_drop(), phase)) for phase in Phase]}),
        ("index.html", {"wanted": EVERYTHING, "cards": [Card(a_drop(picture=None), a_scene(a_drop(), Phase.OPEN))]}),
        ("orders.html", {"orders": []}),
        ("orders.html", {"orders": [an_order(state) for state in STATES]}),
        ("account.html", {"orders": [an_order()], "account": Account("mira@example.org"), "addresses": [], "countries": {}}),
        ("account.html", {"orders": [], "account": Account("m@example.org"), "addresses": [KEPT], "countries": {"SE": "Sweden"}}),
        ("address.html", ADDRESS_PAGE),
        ("address.html", ADDRESS_PAGE | {"problem": {"field": "postcode", "text": "Which postal code?"}}),
        ("address.html", ADDRESS_PAGE | {"order": an_order(ships=True, can_send=True), "kept": [KEPT]}),
        *(
            (
                "confirmation.html",
                {"order": an_order(state, address=KEPT.address), "owner": owner, "country": "Sweden", "link": "/o/x"},
            )
            for state in STATES
            for owner in (True, False)
        ),
        ("confirmation.html", {"order": an_order(**COSTS), "owner": True, "country": "Sweden", "link": "/o/x"}),
        ("law.html", LAW_PAGE),
        ("law_shops.html", {"title": "Imprint", "page": "imprint", "shops": [ShopPage(1, "Atelier"), ShopPage(2, "Elsewhere")]}),
        ("farewell.html", {"holds": [], "in_the_way": [], "unsure": True}),
        ("farewell.html", {"holds": [IN_THE_WAY], "in_the_way": [], "unsure": False}),
        ("farewell.html", {"holds": [], "in_the_way": [IN_THE_WAY], "unsure": False}),
        ("sign_in.html", {"next": "/drops/x", "email": "", "problem": None}),
        ("sign_in.html", {"next": "/", "email": "mira@", "problem": "This is not an e-mail address."}),
        ("sign_in_code.html", {"next": "/", "email": "mira@example.org", "likelier": None, "problem": None}),
        (
            "sign_in_code.html",
            {"next": "/", "email": "mira@gmial.com", "likelier": "mira@gmail.com", "problem": "These digits do not fit."},
        ),
        ("error.html", {"status": 404, "title": "Nothing here.", "detail": "There is no page at this address."}),
        ("error.html", {"status": 503, "title": "One moment.", "detail": "A part of the shop is not answering."}),
        ("dev_mail.html", {"mails": [], "posts": False, "words": MAIL_STATES}),
        ("dev_mail.html", {"mails": [(MAIL, MAILED, "came back")], "posts": True, "words": MAIL_STATES}),
    ],
)
def test_every_other_page_draws(renderer, page, context, signed_in):
    html = renderer.page(page, signed_in=signed_in, path="/somewhere", **context)
    tags = inspected(html).tags
    assert [tag for tag, _ in tags].count("main") == 1
    assert [tag for tag, _ in tags].count("h1") == 1
    assert html.lstrip().startswith("<!doctype html>")


def test_what_people_wrote_is_escaped(renderer):
    hostile = "<script>alert(1)</script>"
    drop = a_drop(title=hostile, description=hostile, shop_name=hostile)
    page = renderer.page("drop.html", signed_in=False, path="/", drop=drop, scene=a_scene(drop, Phase.OPEN), mine=mine())
    assert hostile not in page
    inspected(page)


def test_every_file_a_page_names_exists(renderer):
    drop = a_drop()
    page = renderer.page("drop.html", signed_in=False, path="/", drop=drop, scene=a_scene(drop, Phase.OPEN), mine=mine())
    page += renderer.page("order.html", signed_in=True, path="/", order=an_order(), cards=CHOICES, notice=None)
    named = set(re.findall(r'"/static/([^"?]+)', page))
    named |= {
        f"js/{name}" for file in (ROOT / "static/js").glob("*.js") for name in re.findall(r'from "\./([^"]+)"', file.read_text())
    }
    named |= set(re.findall(r'url\("/static/([^"]+)"\)', (ROOT / "static/app.css").read_text()))
    assert {"app.css", "js/drop.js", "js/order.js", "js/clock.js", "fonts/instrument-sans-latin.woff2"} <= named
    assert [name for name in sorted(named) if not (ROOT / "static" / name).is_file()] == []


def test_the_joined_stylesheet_is_as_new_as_its_parts():
    styles = runpy.run_path(str(ROOT / "bin/styles"))
    assert (ROOT / "static/app.css").read_text() == styles["joined"](), "run bin/styles"
    assert (ROOT / "static/seller.css").read_text() == styles["joined_for_sellers"](), "run bin/styles"


def test_the_stylesheets_keep_the_rules_of_the_house():
    for part in (ROOT / "static/css").rglob("*.css"):
        css = re.sub(r"/\*.*?\*/", "", part.read_text(), flags=re.S)
        assert "!important" not in css, part
        assert not re.search(r"(?<![\w(\"&])#[a-zA-Z][\w-]*[^;{}]*\{", css), f"an id in {part}"
        assert not re.search(r"\b(margin|padding|border)-(left|right|top|bottom)\b", css), f"a physical property in {part}"
        assert not re.search(r"url\(\"?(https?:)?//", css), part
    for part in (ROOT / "static/css/components").glob("*.css"):
        assert part.read_text().startswith("/*\n"), f"{part} opens with its usage"


def test_no_sentence_raises_its_voice():
    for template in Path(ROOT / "templates").rglob("*.html"):
        for sentence in re.findall(r"_\('([^']*)'", template.read_text()):
            assert "!" not in sentence, template


def test_said_is_shown_where_the_form_is(renderer):
    drop = a_drop()
    html = renderer.fragment(
        "mine.html", drop=drop, scene=a_scene(drop, Phase.ALL_HELD), mine=mine(said=Said("all_held", "All held", "Wait."))
    )
    assert html.index("data-said") < html.index("All held") < html.index("data-buy-button")
