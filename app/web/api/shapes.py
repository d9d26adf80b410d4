"""What the API takes and says. These structs are the contract: input is checked by them, answers are written with them, and the
OpenAPI document is made of them.

Times are ISO 8601 with an offset; amounts are whole minor units of the currency beside them (4900 and EUR are 49.00 euros); units
are pieces. Answers may learn further members within v1; none disappears or changes its meaning.
"""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import msgspec
from msgspec import Meta

from app.domain.drops import (
    ALT_CHARACTERS_MAX,
    ATTEMPTS_MAX,
    DESCRIPTION_CHARACTERS_MAX,
    FEES_MAX,
    HOLD_SECONDS_MAX,
    PER_PERSON_MAX,
    PICTURES_MAX,
    TITLE_CHARACTERS_MAX,
    UNITS_MAX,
    VARIANT_CHARACTERS_MAX,
    VARIANTS_MAX,
)
from app.domain.hooks import KINDS, URL_CHARACTERS_MAX
from app.domain.money import AMOUNT_MINOR_MAX, BASIS_POINTS
from app.ledger.drops import ID_MAX
from app.ledger.hooks import DELIVERY_ID_MAX
from app.ledger.shop_orders import SEARCH_CHARACTERS_MAX
from app.web.api.paging import CURSOR_CHARACTERS_MAX, PAGE_MAX, PAGE_USUAL


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer."""


class Taken(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A body or the parameters of an address. A member that is not known is refused: it may be a slip that matters."""


Moment = Annotated[datetime, Meta(tz=True)]
Id = Annotated[int, Meta(ge=1, le=ID_MAX)]
DeliveryId = Annotated[int, Meta(ge=1, le=DELIVERY_ID_MAX)]
Limit = Annotated[int, Meta(ge=1, le=PAGE_MAX, description="How many at most.")]
Cursor = Annotated[str, Meta(max_length=CURSOR_CHARACTERS_MAX, description="The `next` of the page before.")]
Next = Annotated[str | None, Meta(description="The cursor of the next page; null on the last one.")]
Minor = Annotated[int, Meta(ge=0, le=AMOUNT_MINOR_MAX, description="Minor units of the currency.")]
Door = Literal["open", "paused", "closed", "cancelled"]
State = Literal["PENDING_PAYMENT", "PROCESSING", "PAID", "EXPIRED", "FAILED", "CANCELLED", "REFUNDED", "REFUSED"]
Money = Literal["none", "authorising", "unknown", "captured", "part_refunded", "refunded"]
ParcelState = Literal["waiting", "unknown", "made", "sent", "withdrawn"]
Kind = Literal[tuple(KINDS)]
Kinds = Annotated[list[Kind], Meta(min_length=1, max_length=len(KINDS))]
Url = Annotated[str, Meta(max_length=URL_CHARACTERS_MAX)]
Short = Annotated[str, Meta(max_length=64)]
Countries = Annotated[list[Annotated[str, Meta(pattern="^[A-Z]{2}$")]], Meta(max_length=300)]


class Problem(msgspec.Struct, kw_only=True):
    """What is wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: Annotated[str, Meta(description="A sentence for people.")]
    field: Annotated[str | msgspec.UnsetType, Meta(description="Which part of the request it is about.")] = msgspec.UNSET
    problems: Annotated[dict[str, str] | msgspec.UnsetType, Meta(description="Each part that is wrong, with a sentence.")] = (
        msgspec.UNSET
    )
    scope: Annotated[str | msgspec.UnsetType, Meta(description="The scope that the key would need.")] = msgspec.UNSET


class Paged(Taken):
    cursor: Cursor | None = None
    limit: Limit = PAGE_USUAL


# ---- drops


class Variant(Said):
    id: int
    name: str
    units_total: Annotated[int, Meta(description="Released by the seller.")]
    waiting: Annotated[int, Meta(description="Places on its waiting list.")]


class Picture(Said):
    hash: Annotated[str, Meta(description="SHA-256 of its content.")]
    alt: str


class Drop(Said):
    id: int
    slug: str
    url: Annotated[str, Meta(description="Its page in the shop.")]
    title: str
    description: Annotated[str, Meta(description="Markdown.")]
    price_minor: Minor
    currency: str
    opens_at: Moment
    closes_at: Moment | None
    time_zone: str
    per_person: int
    hold_seconds: float
    offer_seconds: float
    payment_attempts: int
    waitlist: Literal["offers", "notify"]
    door: Door
    retired: Annotated[bool, Meta(description="Its books are closed.")]
    ships: bool
    shipping_countries: Annotated[list[str] | None, Meta(description="ISO 3166-1 alpha-2; null: everywhere.")]
    shipping_fees: Annotated[
        dict[str, Minor] | None,
        Meta(description="Minor units by country, * for everywhere else; a country without one is not served; null: free."),
    ]
    tax_basis_points: Annotated[int, Meta(description="Tax included in the price: 1900 is 19 %; 0: nothing is said about tax.")]
    variants: list[Variant]
    pictures: list[Picture]
    version: int
    updated_at: Moment | None


class Drops(Said):
    items: list[Drop]
    next: Next


class LiveVariant(Said):
    id: int
    name: str
    total: int
    left: Annotated[int, Meta(description="What anybody could take now, by the gate.")]
    offered: int
    held: int
    processing: int
    paid: int
    waiting: int


class Live(Said):
    """A drop at one moment. Units."""

    drop: Annotated[str, Meta(description="Its slug.")]
    at: Moment
    phase: str
    door: Door
    total: int
    left: int
    checkouts: Annotated[int, Meta(description="Offered, held or being charged.")]
    paid: int
    waiting: int
    watching: Annotated[int, Meta(description="People whose page is open.")]
    journal: Annotated[
        int | None, Meta(description="Reservations that the ledger does not have yet; null: the gate is out of reach.")
    ]
    balanced: Annotated[bool | None, Meta(description="Whether the books add up; null: still recording, or moving.")]
    variants: list[LiveVariant]


class Books(Said):
    """total = gate_left + offered + held + processing + paid + withdrawn + returning."""

    drop: str
    total: int
    gate_left: int | None
    offered: int
    held: int
    processing: int
    paid: int
    withdrawn: int
    returning: int
    refunded: int
    refused: int
    journal: int
    balanced: bool | None
    findings: list[str]


class UnitsChange(Taken):
    """More pieces of a variant, or (negative) fewer: unsold ones only, all of them or none."""

    units: Annotated[int, Meta(ge=-UNITS_MAX, le=UNITS_MAX)]
    variant: Annotated[Id | None, Meta(description="Its id; may be left out where the drop has one variant.")] = None


# ---- drafts


class DraftVariant(Taken):
    units: Annotated[int, Meta(ge=0, le=UNITS_MAX)]
    name: Annotated[str, Meta(max_length=VARIANT_CHARACTERS_MAX)] = ""


class DraftPicture(Taken):
    hash: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="Of a picture that was put up in the dashboard.")]
    alt: Annotated[str, Meta(max_length=ALT_CHARACTERS_MAX, description="What it shows, for those who do not see it.")]


class NewDraft(Taken):
    """A drop to be. Only publishing insists on what is missing."""

    title: Annotated[str, Meta(max_length=TITLE_CHARACTERS_MAX)]
    variants: Annotated[list[DraftVariant], Meta(min_length=1, max_length=VARIANTS_MAX)]
    slug: Annotated[str, Meta(max_length=64, description="Its address; empty: made of the title.")] = ""
    description: Annotated[str, Meta(max_length=DESCRIPTION_CHARACTERS_MAX, description="Markdown.")] = ""
    price_minor: Minor | None = None
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$")] = "EUR"
    opens_at: Moment | None = None
    closes_at: Moment | None = None
    time_zone: Annotated[Short | None, Meta(description="IANA name; null: the shop's.")] = None
    per_person: Annotated[int, Meta(ge=1, le=PER_PERSON_MAX)] = 1
    hold_seconds: Annotated[int, Meta(ge=1, le=HOLD_SECONDS_MAX)] = 600
    offer_seconds: Annotated[int, Meta(ge=1, le=HOLD_SECONDS_MAX)] = 600
    payment_attempts: Annotated[int, Meta(ge=1, le=ATTEMPTS_MAX)] = 3
    waitlist: Literal["offers", "notify"] = "offers"
    ships: bool = False
    shipping_countries: Annotated[Countries | None, Meta(description="ISO 3166-1 alpha-2; null: everywhere.")] = None
    shipping_fees: Annotated[
        dict[str, Minor], Meta(max_length=FEES_MAX, description="Minor units by country, * for everywhere else; empty: free.")
    ] = {}
    tax_basis_points: Annotated[int, Meta(ge=0, le=BASIS_POINTS, description="Included in the price: 1900 is 19 %; 0: none.")] = 0
    pictures: Annotated[list[DraftPicture], Meta(max_length=PICTURES_MAX)] = []


class Draft(Said):
    id: int
    version: Annotated[int, Meta(description="Publishing names the version that was read.")]
    title: str
    slug: str
    updated_at: Moment
    updated_by: str
    drop_id: Annotated[int | None, Meta(description="What it was published as.")]
    problems: Annotated[dict[str, str], Meta(description="What is in the way of publishing it, field by field.")]


class Drafts(Said):
    items: list[Draft]
    next: Next


class Publication(Taken):
    version: Annotated[int, Meta(ge=1, le=ID_MAX, description="Of the draft, as it was read.")]


# ---- orders


class OrdersWanted(Paged):
    drop: Annotated[Id | None, Meta(description="Its id.")] = None
    q: Annotated[
        str, Meta(max_length=SEARCH_CHARACTERS_MAX, description="Number, e-mail, name, tracking or payment, from its beginning.")
    ] = ""
    state: State | None = None
    payment: Money | None = None
    parcel: ParcelState | None = None
    variant: Id | None = None
    since: Annotated[Moment | None, Meta(description="Reserved then or later.")] = None
    until: Annotated[Moment | None, Meta(description="Reserved before.")] = None


class Address(Said):
    name: str
    street: str
    more: str
    postcode: str
    town: str
    region: str
    country: str


class OrderLine(Said):
    id: UUID
    number: Annotated[str, Meta(description="What people call it.")]
    drop_id: int
    drop: Annotated[str, Meta(description="The drop's slug.")]
    variant: str
    quantity: int
    state: State
    reason: str | None
    amount_minor: Minor
    currency: str
    payment: Money
    captured_minor: int
    refunded_minor: int
    email: Annotated[str, Meta(description="As the buyer wrote it.")]
    address: Address | None
    parcel: ParcelState | None
    tracking: str | None
    reserved_at: Moment
    paid_at: Moment | None
    ended_at: Moment | None


class Orders(Said):
    items: list[OrderLine]
    next: Next
    cut: Annotated[bool, Meta(description="The search meant more orders than it looks up: these are some of them.")]


class Attempt(Said):
    n: int
    state: Literal["open", "action", "captured", "declined", "abandoned"]
    reason: str | None
    submitted_at: Moment


class Refund(Said):
    purpose: str
    amount_minor: Minor
    restock: bool
    state: Literal["wanted", "done"]
    wanted_at: Moment
    done_at: Moment | None


class Mail(Said):
    id: int
    kind: str
    recipient: str
    state: Literal["waiting", "sent", "failed", "unknown", "withheld"]
    created_at: Moment
    sent_at: Moment | None


class Event(Said):
    kind: str
    by: str
    at: Moment


class Order(Said):
    """One order's whole story."""

    id: UUID
    number: str
    drop_id: int
    drop: str
    variant: str
    quantity: int
    state: State
    reason: str | None
    amount_minor: Minor
    shipping_minor: Annotated[int, Meta(description="Of the amount, for sending.")]
    tax_minor: Annotated[int, Meta(description="Included in the amount.")]
    currency: str
    payment: Money
    left_to_refund_minor: int
    email: str
    address: Address | None
    parcel: ParcelState | None
    tracking: str | None
    reserved_at: Moment
    pay_by: Moment
    paid_at: Moment | None
    ended_at: Moment | None
    attempts: list[Attempt]
    refunds: list[Refund]
    mails: list[Mail]
    events: list[Event]
    attention: Annotated[list[str], Meta(description="Why a person must look at it.")]


class NewRefund(Taken):
    """Give money back to the card it came from."""

    amount_minor: Annotated[
        Annotated[int, Meta(ge=1, le=AMOUNT_MINOR_MAX)] | None, Meta(description="A part of what is left; null: all that is left.")
    ] = None
    restock: Annotated[bool, Meta(description="With the last of the money the pieces go on sale again.")] = False


class WantedRefund(Said):
    """A refund that is on its way; the provider has not confirmed it yet."""

    order_id: UUID
    purpose: Annotated[str, Meta(description="Its name among the order's refunds.")]
    amount_minor: Minor
    currency: str
    restock: bool
    repeated: Annotated[bool, Meta(description="It was wanted before: nothing is refunded twice.")]


class Done(Said):
    done: bool


class Trouble(Said):
    kind: Literal["payment", "refund", "parcel"]
    order_id: UUID
    drop: str
    state: State
    payment: Money | None
    purpose: str | None
    parcel: ParcelState | None
    why: str
    asked_again: int
    reference: str | None
    amount_minor: Minor
    currency: str
    reserved_at: Moment


class Undelivered(Said):
    """A mail that did not arrive, or of which nobody knows."""

    id: int
    kind: str
    order_id: UUID | None
    recipient: str
    state: Literal["failed", "unknown"]
    error: str | None
    created_at: Moment


class Attention(Said):
    items: list[Trouble]
    mails: list[Undelivered]
    more: Annotated[bool, Meta(description="There is more than is shown; settle some first.")]


# ---- webhooks


class NewWebhook(Taken):
    url: Annotated[Url, Meta(description="https in production, and reachable from the internet.")]
    kinds: Kinds


class WebhookChange(Taken):
    url: Annotated[Url | None, Meta(description="null: as it is.")] = None
    kinds: Annotated[Kinds | None, Meta(description="null: as they are.")] = None


class Webhook(Said):
    id: int
    url: str
    kinds: list[Kind]
    made_at: Moment
    made_by: str
    rotated_at: Annotated[Moment | None, Meta(description="When its secret was replaced; the old one signs too for a day.")]
    waiting: Annotated[int, Meta(description="Events on their way, counted up to 1000.")]
    failed: Annotated[int, Meta(description="Events given up, counted up to 1000.")]


class WebhookSecret(Said):
    """Shown once."""

    id: int
    secret: Annotated[str, Meta(description="Signs what is sent; keep it.")]


class Webhooks(Said):
    items: list[Webhook]
    next: Next


class DeliveriesWanted(Paged):
    state: Literal["waiting", "delivered", "failed"] | None = None


class Try(Said):
    at: str
    seconds: float
    status: Annotated[int | None, Meta(description="null: there was no answer.")]
    answer: str
    error: str


class Delivery(Said):
    id: DeliveryId
    event: Annotated[str, Meta(description="The event's id, as the receiver sees it.")]
    kind: Kind
    drop_id: int
    order_id: UUID | None
    state: Literal["waiting", "delivered", "failed"]
    tries: list[Try]
    next_try_at: Annotated[Moment | None, Meta(description="While it waits.")]
    created_at: Moment
    delivered_at: Moment | None


class Deliveries(Said):
    items: list[Delivery]
    next: Next
