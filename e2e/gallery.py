"""Every page in every phase and state, drawn by the shop's own templates with made-up people and drops.

A running house serves the files and the security policy; the pages themselves come from here, so that a refused order or a broken
shop needs no misfortune to be looked at.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from playwright.async_api import Browser, BrowserContext, Page, Route

from app.domain.drops import Drop, DropPicture, Phase
from app.domain.orders import CONFIRMING, MoneyState, OrderState
from app.domain.papers import PAGES
from app.domain.verdicts import Verdict
from app.languages import ENGLISH, GERMAN, MIRRORED, Language, speaking
from app.ledger import ShopPage
from app.web.orders_view import CHOICES, WORDS
from app.web.problems import FAULT, HEADINGS, NO_ANSWER, NOT_HERE
from app.web.render import EVERYTHING, ROOT, Account, Card, OrderView, PlaceView, Renderer, Wanted
from app.web.sayings import said
from e2e.people import DESKTOP, PHONE
from tests.house import House
from tests.web.test_templates import ADDRESS_PAGE, IN_THE_WAY, INVOICES, KEPT, LAW_PAGE, a_drop, a_scene, an_order, mine

# Letters and pictures that are in sight are there; a row's later pictures come when it is scrolled.
DRAWN = """async () => {
  await document.fonts.ready;
  const here = [...document.images].filter((one) => !one.closest("li + .gallery__one"));
  const inSight = here.filter((one) => one.getBoundingClientRect().top < innerHeight);
  await Promise.all(inSight.map((one) => one.decode()));
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
}"""
PICTURES = ROOT / "static" / "img" / "demo"
LOOKS = {
    f"{device}-{scheme}": {"viewport": viewport, "color_scheme": scheme}
    for device, viewport in (("phone", PHONE), ("desktop", DESKTOP))
    for scheme in ("light", "dark")
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """One page of the gallery."""

    name: str
    html: str


def sheets() -> list[Sheet]:
    renderer = Renderer(development=False, shop_name="Doorman")
    return [*drops(renderer), *orders(renderer), *others(renderer)]


def drops(renderer: Renderer) -> list[Sheet]:
    drop = a_drop(4, slug="gallery-lamp", picture="lamp")

    def sheet(name: str, phase: Phase, own=None, language: Language = ENGLISH, drop: Drop = drop) -> Sheet:
        own = own or mine()
        with speaking(language):
            page = renderer.page(
                "drop.html", signed_in=own.signed_in, path="/drops/gallery-lamp", drop=drop, scene=a_scene(drop, phase), mine=own
            )
        return Sheet(f"drop-{name}", page)

    hold = order(OrderState.PENDING_PAYMENT)
    words = "# By hand\n**Spun** in one piece.\n\n- numbered\n- [how it is made](https://example.org)"
    views = (DropPicture("lamp", "A lamp"), DropPicture("moka", "A moka pot"), DropPicture("carafe", "A carafe"))
    several = replace(drop, pictures=views, description=words, ships=True, shipping_countries=("DE", "SE"))
    return [
        *(sheet(phase.value.replace("_", "-"), phase) for phase in Phase),
        sheet("announced-signed-out", Phase.ANNOUNCED, mine(signed_in=False)),
        sheet("yours", Phase.OPEN, mine(allowed=0, orders=(hold,))),
        sheet("pay-first", Phase.OPEN, mine(allowed=2, orders=(hold, hold, hold), must_pay_first=True)),
        sheet("on-the-list", Phase.ALL_HELD, mine(places={drop.variants[0].id: PlaceView(12, 3)})),
        sheet("refused", Phase.ALL_HELD, mine(said=said(Verdict.ALL_HELD))),
        sheet("several-pictures", Phase.ANNOUNCED, drop=several),
        sheet("german", Phase.OPEN, language=GERMAN),
        sheet("mirrored", Phase.OPEN, language=MIRRORED),
    ]


def order(state: str, **changes) -> OrderView:
    title, detail = WORDS[state]
    pay_by = datetime.now(UTC) + timedelta(seconds=432)
    return an_order(state, **{"title": title, "detail": detail, "pay_by": pay_by, "drop_slug": "gallery-lamp"} | changes)


def orders(renderer: Renderer) -> list[Sheet]:
    shown = {
        "hold": order(OrderState.PENDING_PAYMENT),
        "hold-by-link": order(OrderState.PENDING_PAYMENT, link="/o/x"),
        "declined": order(OrderState.PENDING_PAYMENT, attempts_left=2, notice="The card has insufficient funds."),
        "hold-to-send": order(OrderState.PENDING_PAYMENT, ships=True, can_send=True),
        "hold-sent-to": order(OrderState.PENDING_PAYMENT, ships=True, can_send=True, address=KEPT.address),
        "bank": order(OrderState.PENDING_PAYMENT, can_pay=False, authenticate_url="/bank"),
        "paying": order(OrderState.PROCESSING),
        "paid": order(OrderState.PAID, wristband=63, wristbands=100),
        "expired": order(OrderState.EXPIRED),
        "late": order(OrderState.EXPIRED, payment=str(MoneyState.REFUNDED)),
        "failed": order(OrderState.FAILED),
        "cancelled": order(OrderState.CANCELLED),
        "refunded": order(OrderState.REFUNDED, payment=str(MoneyState.REFUNDED)),
        "refused": order(OrderState.REFUSED),
        "confirming": order(CONFIRMING, pay_by=None),
        "lost": order("LOST"),
    }
    return [
        Sheet(
            f"order-{name}",
            renderer.page("order.html", signed_in=not view.link, path="/orders/x", order=view, cards=CHOICES, notice=view.notice),
        )
        for name, view in shown.items()
    ]


def others(renderer: Renderer) -> list[Sheet]:
    named = zip(("lamp", "moka", "carafe", "lamp", "moka", "carafe"), Phase, strict=False)
    titles = {"lamp": "Night lamp Nº 4", "moka": "Moka pot, eight sides", "carafe": "Carafe, smoked"}
    cards = [
        Card(drop, a_scene(drop, phase))
        for picture, phase in named
        for drop in (a_drop(slug=f"g-{phase.value.replace('_', '-')}", picture=picture, title=titles[picture]),)
    ]
    mixed = [order(state, id=f"{n:08x}-5d2a-8c11-9e07-3f6b1c2d4e5f") for n, state in enumerate(OrderState)]
    mine_of = {"account": Account("mira@example.org"), "countries": {"SE": "Sweden"}}
    shipped = order(OrderState.PENDING_PAYMENT, ships=True, can_send=True)
    confirmed = order(OrderState.PAID, address=KEPT.address)
    costs = {"ships": True, "tax_basis_points": 1900, "shop_id": 1, "law": tuple(PAGES)}
    to_pay = order(OrderState.PENDING_PAYMENT, **costs, address=KEPT.address, shipping_minor=490, amount_minor=15_390, can_pay=True)
    asked = order(OrderState.PENDING_PAYMENT, **costs, can_send=True, can_pay=True, shipping_asked=True)
    paid = order(OrderState.PAID, **costs, address=KEPT.address, shipping_minor=490, amount_minor=15_390, papers=INVOICES)
    checkout = {"cards": CHOICES, "notice": None}
    pages = {
        "list": ("index.html", {"cards": cards, "wanted": EVERYTHING}),
        "list-empty": ("index.html", {"cards": [], "wanted": EVERYTHING}),
        "list-searched": ("index.html", {"cards": [], "wanted": Wanted("teapot", "open")}),
        "sign-in": ("sign_in.html", {"next": "/", "email": "", "problem": None}),
        "sign-in-wrong": ("sign_in.html", {"next": "/", "email": "mira@", "problem": "this is not an e-mail address"}),
        "sign-in-code": ("sign_in_code.html", {"next": "/", "email": "mira@example.org", "likelier": None, "problem": None}),
        "sign-in-code-slip": (
            "sign_in_code.html",
            {"next": "/", "email": "mira@gmial.com", "likelier": "mira@gmail.com", "problem": None},
        ),
        "orders": ("orders.html", {"orders": mixed}),
        "orders-empty": ("orders.html", {"orders": []}),
        "account": ("account.html", mine_of | {"orders": mixed[:2], "addresses": [KEPT]}),
        "account-empty": ("account.html", mine_of | {"orders": [], "addresses": []}),
        "address": ("address.html", ADDRESS_PAGE),
        "address-wrong": ("address.html", ADDRESS_PAGE | {"problem": {"field": "postcode", "text": "Which postal code?"}}),
        "address-kept": ("address.html", ADDRESS_PAGE | {"order": shipped, "kept": [KEPT]}),
        "confirmation": ("confirmation.html", {"order": confirmed, "owner": True, "country": "Sweden", "link": "/o/x"}),
        "confirmation-by-link": ("confirmation.html", {"order": confirmed, "owner": False, "country": "Sweden", "link": "/o/x"}),
        "checkout-with-shipping-and-tax": ("order.html", checkout | {"order": to_pay}),
        "checkout-shipping-not-known": ("order.html", checkout | {"order": asked}),
        "order-with-invoice": ("order.html", checkout | {"order": paid}),
        "confirmation-with-invoice": ("confirmation.html", {"order": paid, "owner": True, "country": "Sweden", "link": "/o/x"}),
        "imprint": ("law.html", LAW_PAGE),
        "imprints": (
            "law_shops.html",
            {"title": "Imprint", "page": "imprint", "shops": [ShopPage(1, "Atelier"), ShopPage(2, "B")]},
        ),
        "farewell": ("farewell.html", {"holds": [IN_THE_WAY], "in_the_way": [], "unsure": True}),
        "farewell-not-yet": ("farewell.html", {"holds": [], "in_the_way": [IN_THE_WAY], "unsure": False}),
        "fault-404": ("error.html", {"status": 404, "title": HEADINGS[404], "detail": NOT_HERE}),
        "fault-429": ("error.html", {"status": 429, "title": HEADINGS[429], "detail": said(Verdict.TOO_FAST).detail}),
        "fault-500": ("error.html", {"status": 500, "title": HEADINGS[500], "detail": FAULT}),
        "fault-503": ("error.html", {"status": 503, "title": HEADINGS[503], "detail": NO_ANSWER}),
    }
    return [
        Sheet(name, renderer.page(page, signed_in=not name.startswith("sign"), path="/gallery", **context))
        for name, (page, context) in pages.items()
    ]


class Visitor:
    """One browser with one look (`LOOKS`), who walks through the gallery. `complaints`: what its console said."""

    def __init__(self, house: House, context: BrowserContext, page: Page, policy: str):
        self.house, self.context, self.page, self.policy = house, context, page, policy
        self.foreign: list[str] = []  # requests to anywhere but the house
        self.complaints: list[str] = []
        page.on("request", lambda request: request.url.startswith(house.url) or self.foreign.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self._heard(message.text))

    @classmethod
    async def comes(cls, house: House, browser: Browser, look: str) -> "Visitor":
        context = await browser.new_context(base_url=house.url, reduced_motion="reduce", **LOOKS[look])
        policy = (await context.request.get("/")).headers["content-security-policy"]
        visitor = cls(house, context, await context.new_page(), policy)
        await context.route("**/pictures/**", visitor._show_picture)
        await context.route_web_socket("**/live*", lambda socket: None)  # a door that says nothing more
        return visitor

    async def _show_picture(self, route: Route) -> None:
        name = route.request.url.split("/pictures/")[1].split("/")[0]
        await route.fulfill(path=PICTURES / f"{name}.webp", content_type="image/webp")

    def _heard(self, text: str) -> None:
        if "status of 4" not in text:
            self.complaints.append(text)

    async def looks_at(self, sheet: Sheet) -> None:
        headers = {"content-security-policy": self.policy, "content-type": "text/html; charset=utf-8"}
        address = f"{self.house.url}/gallery/{sheet.name}"
        await self.page.route(address, lambda route: route.fulfill(body=sheet.html, headers=headers))
        await self.page.goto(address, wait_until="load")
        await self.page.evaluate(DRAWN)

    async def leaves(self) -> None:
        await self.context.close()
