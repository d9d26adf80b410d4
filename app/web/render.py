"""Templates: the one Jinja environment, its helpers, and the names each template may use.

A page is drawn in the language of the request (app/languages.py).

Guarantees: everything is escaped unless a template says otherwise; a name that is not in the lists below raises in tests and
becomes the built-in error page in a running shop (never a half-drawn one). Templates hold no decisions: what may be paid or
cancelled, which word belongs to a verdict, which phase it is, all of it is decided in Python and arrives ready.

THE CONTRACT BETWEEN PYTHON AND THE TEMPLATES

Everywhere (globals; also inside imported macros)
    money(amount_minor, currency) -> '€49.00'          iso(moment) -> '2026-11-30T20:00:00.000Z' (for <time datetime> and data-*)
    when(moment) -> '30 Nov 2026, 20:00 UTC'           clock(moment) -> '20:00:00 UTC', second(moment) -> '20:00:00'
    day(moment) -> '30 Nov 2026'                       count(n) -> '18,904'; all of these in the language of the request, and times
                                                       in UTC, on the dashboard in the shop's zone
    until(seconds) -> '12:47', '1:02:47', '46 days'    in_words(text) -> a sentence that was written down, in the reader's language
    country(code) -> 'Sweden'                          percent(1900) -> '19 %'
    tax_line(amount_minor, currency, basis_points) -> 'incl. 19 % VAT: 7.82 EUR', "" without a rate
    static(name) -> '/static/app.css?v=1a2b3c4d5e6f'   picture(drop, suffix) -> its address, or the srcset of one format
    picture_by_hash(hash, suffix) -> the same of any picture, thumbnail(hash) -> its smallest width
    markdown(text) -> HTML of a seller's description, safe to show; about(text) -> its beginning in plain words
    share_picture(drop) -> address of the picture beside a shared link, public_url -> 'https://shop.example' (for that alone)
    development -> bool                                now -> datetime, UTC
    _(text, **values) and ngettext(one, many, n): every sentence goes through them (app/languages.py)
    language() -> Language: tag, name, direction       languages -> those that a reader may choose
DOM hooks: every scene carries data-phase, data-left, data-seq; every order data-order-state

Every full page (not the fragments)
    signed_in bool · path str (the page's own path, for sign-in?next=) · shop_name str

index.html            cards: list of Card(drop, scene) · wanted: Wanted      GET / (q, state)
drop.html             drop: Drop · scene: Scene · mine: Mine          include _fragments/scene.html and _fragments/mine.html
                      static/js/live.js follows /drops/{slug}/live, or polls stock; /mine is fetched again after Back only, never at
                      the opening, when everybody would ask at once: which of its parts show follows data-phase in CSS (data-in).
order.html            order: OrderView · cards: list of PaymentChoice · notice: str | None      include _fragments/order_status.html
                      static/js/order.js polls order.status_url while order.moving; with order.card_form, static/js/stripe.js puts
                      the provider's form into [data-card-form] and its token into payment_method.
address.html          action str · back str · order: OrderView | None · kept: list of KeptAddress(id, address) · typed: dict of the
                      fields of app.domain.addresses · problem: dict(field, text) | None · countries: tuple of (code, name)
                      POST action (name, street, more, postcode, town, region, country, next; or address_id of a kept one)
confirmation.html     order: OrderView · owner bool · country str · link str      printable; also what a secret link shows
law.html              title str · page str (of app.domain.papers.PAGES) · known: ShopPapers · text: Markdown · law: the shop's pages
law_shops.html        title str · page str · shops: list of ShopPage(shop_id, shop_name)
                      drops and orders carry `shop_id` and `law`: base.html's block `law` links those pages at the foot
farewell.html         holds, in_the_way: list of InTheWay(order_id, state, drop_title) · unsure bool
                      POST /account/delete (consent)
orders.html           orders: list of OrderView
sign_in.html          next str · email str · problem: str | None      POST /sign-in (email, next)
sign_in_code.html     next str · email str · likelier: str | None (an address without the slip) · problem: str | None
                      POST /sign-in/code (code), POST /sign-in (email, next)
account.html          account: Account · orders: list of OrderView · addresses: list of KeptAddress · countries: dict code -> name
                      POST /sign-out, POST /sign-out/everywhere, POST /account/address/{id}/forget
error.html            status int · title str · detail str
seller/*.html         title str · seller: Seller | None · places: list of (Place, here) · and what its room hands over
dev_mail.html         mails: list of (dict(to, kind, subject, text, html, message_id, order), StoredMessage, fate) · posts bool ·
                      words: fate -> (tone, words)

Fragments
_fragments/scene.html         drop: Drop · scene: Scene
                              PUBLIC: identical for every viewer, knows no shopper
_fragments/mine.html          drop: Drop · scene: Scene · mine: Mine
                              root id="mine"; POST /drops/{slug}/buy (variant, quantity, key)
                              POST /drops/{slug}/waitlist (variant, quantity), POST /drops/{slug}/waitlist/leave (variant)
_fragments/said.html          drop: Drop · said: Said
                              what htmx gets for a refused buy; also included by mine.html when mine.said
_fragments/order_status.html  order: OrderView · cards: list of PaymentChoice · notice: str | None
                              POST {order.url}/pay (payment_method, address_id), POST {order.url}/cancel; order.url is /orders/{id},
                              or the order's secret link for whoever came by it

Drop is app.domain.drops.Drop; the other shapes stand below. Forms are plain HTML forms first (method=post, action=...); htmx only
enhances them: `hx-post` on the same address sends HX-Request-Type: partial and gets the fragment named above.
"""

import asyncio
import functools
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from babel import Locale
from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined

from app import clock, languages
from app.clock import iso
from app.domain.addresses import Address
from app.domain.drops import Drop, Phase
from app.domain.invoices import tax_line
from app.domain.papers import PAGES
from app.domain.reasons import in_words
from app.ledger import KeptAddress
from app.pictures import FALLBACK_WIDTH, WIDTHS
from app.web.markdown import about, markdown
from app.web.share_picture import address as share_address

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "templates"
STATIC = ROOT / "static"
BETWEEN_TEMPLATES_SECONDS = 0.005
STATIC_HASH_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class VariantScene:
    """One line of the public counts; units."""

    id: int
    name: str
    left: int
    held: int  # in unpaid checkouts: they may come back
    total: int
    waiting: int = 0  # places of its list
    called: int = 0  # the highest number of its list that was ever offered units


@dataclass(frozen=True, slots=True)
class Scene:
    """What everybody sees of a drop at one moment of the gate's clock."""

    phase: Phase  # a str: 'announced', 'last_seconds', 'open', 'all_held', 'sold_out', 'paused', 'closed', 'cancelled', 'not_ready'
    seq: int  # grows with every reading; a fragment with a lower seq is older
    server_time: datetime
    opens_at: datetime
    closes_at: datetime | None
    watching: int  # sockets of this process
    variants: tuple[VariantScene, ...]

    @property
    def left(self) -> int:
        return sum(variant.left for variant in self.variants)

    @property
    def held(self) -> int:
        return sum(variant.held for variant in self.variants)

    @property
    def total(self) -> int:
        return sum(variant.total for variant in self.variants)

    @property
    def waiting(self) -> int:
        return sum(variant.waiting for variant in self.variants)

    @property
    def opens_in_seconds(self) -> int:
        """Whole seconds until the opening, by the gate's clock; 0 once it has opened."""
        return max(0, -(-int((self.opens_at - self.server_time).total_seconds() * 1000) // 1000))

    @property
    def buyable(self) -> bool:
        return self.phase == Phase.OPEN


@dataclass(frozen=True, slots=True)
class Card:
    """A drop in the list."""

    drop: Drop
    scene: Scene


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody looks for in the list; both empty: everything."""

    words: str = ""
    state: str = ""  # 'soon', 'open', 'sold_out' or ''

    def __bool__(self) -> bool:
        return bool(self.words or self.state)


EVERYTHING = Wanted()


@dataclass(frozen=True, slots=True)
class Said:
    """A refused buy, in words for the shopper."""

    verdict: str
    title: str
    detail: str


@dataclass(frozen=True, slots=True)
class OrderView:
    """An order as its owner sees it (also of one that only the gate knows yet)."""

    id: str
    drop_slug: str
    drop_title: str
    variant: str
    quantity: int
    state: str  # OrderState, or 'CONFIRMING', or 'LOST' (neither store knows it any more: nothing was charged)
    payment: str  # MoneyState
    pay_by: datetime | None
    hold_seconds: float  # of the drop: the whole ring
    reserved_at: datetime | None  # by the gate's clock, to the millisecond; None: not recorded yet
    attempts_left: int
    amount_minor: int
    currency: str
    tracking: str | None
    reason: str | None
    authenticate_url: str | None  # the provider's page where this buyer must confirm the payment
    title: str  # the state in words: 'Pay before 20:10:00 UTC'
    detail: str
    notice: str | None  # why the last attempt did not go through
    can_pay: bool
    can_cancel: bool
    moving: bool  # it will change by itself soon: poll status_url
    wristband: int | None = None  # of a paid order: its last wristband's number in the drop
    wristbands: int | None = None  # ... of so many
    offered: bool = False  # held for its owner's place on the list
    token: str = ""  # our own word for an order that is not recorded yet; polling must carry it on
    ships: bool = False  # an address is needed before paying
    address: Address | None = None  # where it goes
    kept: KeptAddress | None = None  # without one: the shopper's last, which `address_id` would take over
    can_send: bool = False  # the address can still be given or corrected
    paid_at: datetime | None = None
    shop_name: str = ""
    contact: str | None = None  # whom to ask about it
    history: tuple[Any, ...] = ()  # Moment(at, text) of app/web/history.py, oldest first
    card_form: "CardForm | None" = None  # None: the test cards in `cards`
    shop_id: int = 0
    shipping_minor: int = 0  # of the amount, for sending
    tax_basis_points: int = 0  # included in the amount; 0: nothing is said about tax
    law: tuple[str, ...] = ()  # which pages its shop has: imprint, terms, privacy, refunds
    papers: tuple[Any, ...] = ()  # NumberedPaper: its invoice and the corrections of it
    shipping_asked: bool = False  # what sending costs is not known before it is known where to
    fee_quoted: int = 0  # what sending to `kept` would add to the amount
    link: str = ""  # the path of its secret link, when that is the door its reader came by; "": the owner, signed in

    @property
    def url(self) -> str:
        """The order where its reader stands; `/pay`, `/cancel`, `/address` and `/status` are below it."""
        return self.link or f"/orders/{self.id}"

    @property
    def confirmation_url(self) -> str:
        return self.link or f"{self.url}/confirmation"

    @property
    def to_pay_minor(self) -> int:
        """What is owed, or would be once it goes to `kept`."""
        return self.amount_minor + self.fee_quoted

    @property
    def fee_shown(self) -> int:
        return self.shipping_minor + self.fee_quoted

    @property
    def goods_minor(self) -> int:
        return self.amount_minor - self.shipping_minor

    @property
    def numbered(self) -> bool:
        """Whether its wristbands have numbers: units that came back and were sold again are more than there are wristbands."""
        return self.wristband is not None and self.wristband <= self.wristbands

    @property
    def status_url(self) -> str:
        return f"{self.url}/status?t={self.token}" if self.token else f"{self.url}/status"


@dataclass(frozen=True, slots=True)
class CardForm:
    """Where cards are entered in the payment provider's own form: what its script needs to know."""

    script: str
    key: str  # publishable
    amount: int  # as the provider counts it
    currency: str  # lower case


@dataclass(frozen=True, slots=True)
class PaymentChoice:
    """A payment method of the sandbox provider: value for the form field `payment_method`, label for people."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class PlaceView:
    """A place of the viewer's that waits."""

    number: int  # what is called
    ahead: int  # how many wait before it


@dataclass(frozen=True, slots=True)
class Mine:
    """What is this viewer's own on a drop's page. Never cached, never pushed."""

    signed_in: bool
    key: str  # fresh idempotency key: goes into the form's hidden field `key`
    allowed: int  # units this shopper may still buy (the per-person limit minus live orders)
    orders: tuple[OrderView, ...]  # live orders of this shopper in this drop
    said: Said | None  # the answer to a refused plain-form buy
    must_pay_first: bool = False  # as many of their holds wait to be paid as one may have at once
    places: Mapping[int, PlaceView] = field(default_factory=dict)  # by variant id


@dataclass(frozen=True, slots=True)
class Account:
    email: str


def country(code: str) -> str:
    """'SE' -> 'Sweden', in the language of the request."""
    return Locale.parse(languages.spoken().locale).territories.get(code, code)


def picture(drop: Drop, suffix: str = "jpg") -> str:
    """-> the address of its first picture as JPEG, or for another suffix the `srcset` of its widths; "" without a picture."""
    return picture_of(drop.picture, suffix) if drop.picture else ""


def picture_of(hash: str, suffix: str = "jpg") -> str:
    """-> the same of any picture."""
    if suffix == "jpg":
        return f"/pictures/{hash}/{FALLBACK_WIDTH}.jpg"
    return ", ".join(f"/pictures/{hash}/{width}.{suffix} {width}w" for width in WIDTHS)


def thumbnail(hash: str) -> str:
    """-> the address of a picture in its smallest width."""
    return f"/pictures/{hash}/{WIDTHS[0]}.webp"


@functools.cache
def static(name: str) -> str:
    """-> the file's address with its content hash; without one when there is no such file."""
    path = STATIC / name
    if not path.is_file():
        return f"/static/{name}"
    return f"/static/{name}?v={hashlib.sha256(path.read_bytes()).hexdigest()[:STATIC_HASH_CHARACTERS]}"


def _bytecode_cache() -> FileSystemBytecodeCache | None:
    """-> where processes of this user keep templates that were compiled (jinja2 looks whose folder it is); None: nowhere."""
    with suppress(OSError, RuntimeError):
        return FileSystemBytecodeCache()
    return None


class Renderer:
    """Draws templates. `development` shows what production must not link to."""

    def __init__(self, *, development: bool, templates: Path = TEMPLATES, shop_name: str = "Doorman", public_url: str = ""):
        self.environment = Environment(
            loader=FileSystemLoader(templates),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=development,
            bytecode_cache=_bytecode_cache(),
            extensions=["jinja2.ext.i18n"],
        )
        self.environment.install_gettext_callables(languages._, languages.ngettext, newstyle=True)
        self.environment.globals.update(
            money=languages.money,
            count=languages.count,
            percent=languages.percent,
            law_pages=PAGES,
            tax_line=tax_line,
            until=languages.until,
            when=languages.when,
            day=languages.day_of,
            clock=languages.clock,
            second=languages.second,
            in_words=in_words,
            language=languages.spoken,
            languages=languages.LANGUAGES,
            iso=iso,
            country=country,
            static=static,
            picture=picture,
            picture_by_hash=picture_of,
            thumbnail=thumbnail,
            markdown=markdown,
            about=about,
            share_picture=share_address,
            public_url=public_url,
            development=development,
            shop_name=shop_name,
        )

    async def compile_ahead(self) -> None:
        """Compile every template, a little at a time: whoever first needs one, perhaps in a drop's first second, need not wait."""
        for name in self.environment.list_templates():
            self.environment.get_template(name)
            await asyncio.sleep(BETWEEN_TEMPLATES_SECONDS)

    def page(self, name: str, *, signed_in: bool, path: str, **context: Any) -> str:
        """-> a whole page; jinja2.TemplateError when it cannot be drawn."""
        return self.environment.get_template(name).render(signed_in=signed_in, path=path, now=clock.now(), **context)

    def fragment(self, name: str, **context: Any) -> str:
        """-> `_fragments/{name}`; jinja2.TemplateError when it cannot be drawn."""
        return self.environment.get_template(f"_fragments/{name}").render(now=clock.now(), **context)
