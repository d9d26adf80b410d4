"""What the API takes and says. These structs are the contract: input is checked by them, answers are written with them, and the
OpenAPI document is made of them.

Times are ISO 8601 with an offset; amounts are whole minor units of the currency beside them (4900 and EUR are 49.00 euros); units
are pieces. Answers may learn further members within v1; none disappears or changes its meaning.
"""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from app.domain.addresses import LINE_CHARACTERS_MAX
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
from app.rehearsal.plan import CROWD_DEFAULT, CROWD_MAX
from app.web.api.paging import CURSOR_CHARACTERS_MAX, PAGE_MAX, PAGE_USUAL
from app.web.seller.rehearsals import LENGTHS, SECONDS


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
# A pattern's `$` also matches before a line break at the very end (Python's `re`): each has a greatest length beside it.
Countries = Annotated[list[Annotated[str, Meta(pattern="^[A-Z]{2}$", max_length=2)]], Meta(max_length=300)]


Version = Annotated[int, Meta(ge=1, le=ID_MAX, description="The one that was read; of an older one nothing is changed.")]


class Address(Said):
    name: str
    street: str
    more: str
    postcode: str
    town: str
    region: str
    country: str


class Problem(msgspec.Struct, kw_only=True):
    """What is wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: Annotated[str, Meta(description="A sentence for people.")]
    field: Annotated[str | UnsetType, Meta(description="Which part of the request it is about.")] = UNSET
    problems: Annotated[dict[str, str] | UnsetType, Meta(description="Each part that is wrong, with a sentence.")] = UNSET
    scope: Annotated[str | UnsetType, Meta(description="The scope that the key would need.")] = UNSET
    version: Annotated[int | UnsetType, Meta(description="The version that stands there now.")] = UNSET
    address: Annotated[Address | None | UnsetType, Meta(description="The address that stands there now.")] = UNSET
    drop_id: Annotated[int | UnsetType, Meta(description="The drop that the draft was published as.")] = UNSET
    allowed: Annotated[list[str] | UnsetType, Meta(description="The methods that are used here.")] = UNSET


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


class Postponement(Taken):
    """A later opening. Whoever asked to be reminded, waits on the list or has an order gets a mail."""

    version: Version
    opens_at: Annotated[Moment, Meta(description="Later than what was promised.")]
    closes_at: Annotated[
        Moment | None | UnsetType, Meta(description="null: never by itself; left out: as long after the opening as before.")
    ] = UNSET


class Postponed(Said):
    drop: Drop
    told: Annotated[int, Meta(description="How many people get a mail.")]


class Cancelling(Said):
    """How far the cancellation of a drop is. Orders."""

    door: Door
    orders: int
    open: Annotated[int, Meta(description="Holds and charges that have not ended yet.")]
    to_refund: Annotated[int, Meta(description="Still paid.")]
    refunded: int
    needs_attention: int
    done: Annotated[bool, Meta(description="Nothing is open, and nothing is left to give back.")]


# ---- drafts


class DraftVariant(Taken):
    units: Annotated[int, Meta(ge=0, le=UNITS_MAX)]
    name: Annotated[str, Meta(max_length=VARIANT_CHARACTERS_MAX)] = ""


class DraftPicture(Taken):
    hash: Annotated[
        str, Meta(pattern="^[0-9a-f]{64}$", max_length=64, description="Of a picture that was put up, in the dashboard or here.")
    ]
    alt: Annotated[str, Meta(max_length=ALT_CHARACTERS_MAX, description="What it shows, for those who do not see it.")]


Title = Annotated[str, Meta(max_length=TITLE_CHARACTERS_MAX)]
Slug = Annotated[str, Meta(max_length=64, description="Its address; empty: made of the title.")]
Description = Annotated[str, Meta(max_length=DESCRIPTION_CHARACTERS_MAX, description="Markdown.")]
Currency = Annotated[str, Meta(pattern="^[A-Z]{3}$", max_length=3)]
PerPerson = Annotated[int, Meta(ge=1, le=PER_PERSON_MAX)]
HoldSeconds = Annotated[int, Meta(ge=1, le=HOLD_SECONDS_MAX)]
Attempts = Annotated[int, Meta(ge=1, le=ATTEMPTS_MAX)]
ListKind = Literal["offers", "notify"]
Fees = Annotated[
    dict[str, Minor], Meta(max_length=FEES_MAX, description="Minor units by country, * for everywhere else; empty: free.")
]
TaxPoints = Annotated[int, Meta(ge=0, le=BASIS_POINTS, description="Included in the price: 1900 is 19 %; 0: none.")]
ABOUT_COUNTRIES = Meta(description="ISO 3166-1 alpha-2; null: everywhere.")
ABOUT_ZONE = Meta(description="IANA name; null: the shop's.")
DraftVariants = Annotated[list[DraftVariant], Meta(min_length=1, max_length=VARIANTS_MAX)]
DraftPictures = Annotated[list[DraftPicture], Meta(max_length=PICTURES_MAX)]


class NewDraft(Taken):
    """A drop to be. Only publishing insists on what is missing."""

    title: Title
    variants: DraftVariants
    slug: Slug = ""
    description: Description = ""
    price_minor: Minor | None = None
    currency: Currency = "EUR"
    opens_at: Moment | None = None
    closes_at: Moment | None = None
    time_zone: Annotated[Short | None, ABOUT_ZONE] = None
    per_person: PerPerson = 1
    hold_seconds: HoldSeconds = 600
    offer_seconds: HoldSeconds = 600
    payment_attempts: Attempts = 3
    waitlist: ListKind = "offers"
    ships: bool = False
    shipping_countries: Annotated[Countries | None, ABOUT_COUNTRIES] = None
    shipping_fees: Fees = {}
    tax_basis_points: TaxPoints = 0
    pictures: DraftPictures = []


class DraftChange(Taken):
    """What is to be said differently; what is left out stays as it was typed, right or wrong."""

    version: Version
    title: Title | UnsetType = UNSET
    variants: DraftVariants | UnsetType = UNSET
    slug: Slug | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    price_minor: Minor | None | UnsetType = UNSET
    currency: Currency | UnsetType = UNSET
    opens_at: Moment | None | UnsetType = UNSET
    closes_at: Moment | None | UnsetType = UNSET
    time_zone: Annotated[Short | None | UnsetType, ABOUT_ZONE] = UNSET
    per_person: PerPerson | UnsetType = UNSET
    hold_seconds: HoldSeconds | UnsetType = UNSET
    offer_seconds: HoldSeconds | UnsetType = UNSET
    payment_attempts: Attempts | UnsetType = UNSET
    waitlist: ListKind | UnsetType = UNSET
    ships: bool | UnsetType = UNSET
    shipping_countries: Annotated[Countries | None | UnsetType, ABOUT_COUNTRIES] = UNSET
    shipping_fees: Fees | UnsetType = UNSET
    tax_basis_points: TaxPoints | UnsetType = UNSET
    pictures: DraftPictures | UnsetType = UNSET


class DropChange(Taken):
    """What may be said differently about a published drop; what is left out stays."""

    version: Version
    title: Title | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    shipping_countries: Annotated[Countries | None | UnsetType, ABOUT_COUNTRIES] = UNSET
    pictures: DraftPictures | UnsetType = UNSET


class DraftLine(Said):
    """A draft in a list."""

    id: int
    version: Annotated[int, Meta(description="Whoever changes, deletes or publishes it names the version that was read.")]
    title: str
    slug: str
    updated_at: Moment
    updated_by: str
    drop_id: Annotated[int | None, Meta(description="What it was published as.")]
    problems: Annotated[dict[str, str], Meta(description="What is in the way of publishing it, field by field.")]


class PlannedVariant(Said):
    name: str
    units: int | None


class Draft(DraftLine):
    """A whole draft. null is nothing yet, or something that was typed in the dashboard and is none: `problems` says which."""

    description: str
    price_minor: int | None
    currency: str
    opens_at: Moment | None
    closes_at: Moment | None
    time_zone: str
    per_person: int | None
    hold_seconds: int | None
    offer_seconds: int | None
    payment_attempts: int | None
    waitlist: ListKind | None
    ships: bool
    shipping_countries: Annotated[list[str] | None, ABOUT_COUNTRIES]
    shipping_fees: Annotated[dict[str, int | None], Meta(description="Minor units by country, * for everywhere else; empty: free.")]
    tax_basis_points: Annotated[int | None, Meta(description="Included in the price: 1900 is 19 %; 0: none.")]
    variants: list[PlannedVariant]
    pictures: list[Picture]


class Drafts(Said):
    items: list[DraftLine]
    next: Next


class SeenDraft(Taken):
    version: Version


class PutUpPicture(Said):
    """A picture that drops and drafts may name by its hash."""

    hash: Annotated[str, Meta(description="SHA-256 of its content, as it was made anew.")]
    width: Annotated[int, Meta(description="Pixels.")]
    height: int
    url: Annotated[str, Meta(description="Where it is seen.")]


class Publication(Taken):
    version: Version


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


class OrderLine(Said):
    id: UUID
    number: Annotated[str, Meta(description="What people call it.")]
    drop_id: int
    drop: Annotated[str, Meta(description="The drop's slug.")]
    drop_title: str
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
    shipping_minor: Annotated[int, Meta(description="Of the amount, for sending.")]
    tax_basis_points: int
    tax_minor: Annotated[int, Meta(description="Included in the amount.")]
    parcel_number: str | None
    payment_reference: Annotated[str | None, Meta(description="The payment provider's own name for it.")]
    invoice: Annotated[str | None, Meta(description="Its number; null: it was never paid.")]


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


class Paper(Said):
    """An invoice, or the correction of one."""

    number: str
    correction: bool
    amount_minor: Annotated[int, Meta(description="Negative in a correction.")]
    tax_minor: int
    currency: str
    made_at: Moment


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
    invoices: Annotated[list[Paper], Meta(description="The invoice, and a correction for each refund.")]


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


class EndedOrder(Said):
    """An order that was ended by the shop; its pieces are on sale again, or offered to whoever is next on the list."""

    id: UUID
    number: str
    state: State
    reason: str | None
    payment: Money
    ended_at: Moment | None


AddressLine = Annotated[str, Meta(max_length=LINE_CHARACTERS_MAX)]


class WrittenAddress(Taken):
    name: AddressLine
    street: AddressLine
    town: AddressLine
    country: Annotated[AddressLine, Meta(description="ISO 3166-1 alpha-2.")]
    postcode: AddressLine = ""
    more: AddressLine = ""
    region: AddressLine = ""


class AddressCorrection(Taken):
    address: WrittenAddress
    known: Annotated[
        WrittenAddress | None,
        Meta(description="The address as it was read, or null; if another one stands there, nothing is changed."),
    ]


class Done(Said):
    done: Annotated[bool, Meta(description="false: it was done before, or there was nothing to do any more.")]


# ---- attention


class AttentionWanted(Taken):
    cursor: Cursor | None = None
    limit: Annotated[int, Meta(ge=1, le=PAGE_MAX, description="How many of each kind at most.")] = PAGE_MAX


Deed = Literal["ask_order_again", "give_back_order", "refund_order", "look_at_order", "resubmit_parcel", "resend_mail", "see_mail"]


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
    may: Annotated[list[Deed], Meta(description="The operations that may settle it.")]


class Undelivered(Said):
    """A mail that did not arrive, or of which nobody knows."""

    id: int
    kind: str
    order_id: UUID | None
    recipient: str
    state: Literal["failed", "unknown"]
    error: str | None
    created_at: Moment
    may: Annotated[list[Deed], Meta(description="The operations that may settle it.")]


class Attention(Said):
    """A page of both lists: what has to do with money and parcels, the oldest order first; and mails, the newest first."""

    items: list[Trouble]
    mails: list[Undelivered]
    more: Annotated[bool, Meta(description="There is another page.")]
    next: Next


# ---- what drops brought in


class Account(Said):
    """What one drop brought in."""

    drop_id: int
    drop: Annotated[str, Meta(description="Its slug.")]
    title: str
    opens_at: Moment
    currency: str
    orders: Annotated[int, Meta(description="That were charged.")]
    units: int
    gross_minor: int
    refunded_minor: Annotated[int, Meta(description="Confirmed by the provider.")]
    refunding_minor: Annotated[int, Meta(description="Asked for, not confirmed yet.")]
    net_minor: int
    shipping_minor: Annotated[int, Meta(description="Of the gross amount, for sending.")]
    tax_basis_points: int
    tax_minor: Annotated[int | None, Meta(description="Included in the net amount; null: nothing is said about tax.")]


class Total(Said):
    """All drops of one currency."""

    currency: str
    orders: int
    gross_minor: int
    refunded_minor: int
    net_minor: int
    shipping_minor: int
    tax_minor: int


class Accounts(Said):
    items: list[Account]
    totals: Annotated[list[Total], Meta(description="One per currency.")]
    next: Next


class MovesWanted(Paged):
    drop: Annotated[Id | None, Meta(description="Its id.")] = None
    since: Annotated[Moment | None, Meta(description="Moved then or later.")] = None
    until: Annotated[Moment | None, Meta(description="Moved before.")] = None


class Move(Said):
    """Money that came in, or went back."""

    at: Moment
    kind: Literal["payment", "refund"]
    order_id: UUID
    drop: Annotated[str, Meta(description="Its slug.")]
    drop_title: str
    variant: str
    quantity: int
    amount_minor: Annotated[int, Meta(description="Negative for a refund.")]
    currency: str
    purpose: Annotated[str, Meta(description="Of a refund, or of money that no order wanted; empty for an order's own payment.")]
    reference: Annotated[str | None, Meta(description="The payment provider's own name for it.")]
    shipping_minor: int
    tax_minor: Annotated[int, Meta(description="Included in the amount, with its sign.")]
    invoice: Annotated[str | None, Meta(description="The number of the invoice or the correction; null: it has none.")]


class Moves(Said):
    items: list[Move]
    next: Next


# ---- after the drop


class Tally(Said):
    orders: int
    units: int


class Peak(Said):
    at: Moment
    pressed: int


class Gap(Said):
    """Presses that nobody counted."""

    after: Moment
    died: bool
    forgotten: int


class Demand(Said):
    """Presses of Buy. The three series have a bucket every `bucket_seconds` from `since` on."""

    pressed: int
    by_verdict: dict[str, int]
    unmet: Annotated[int, Meta(description="Presses for which nothing was left.")]
    peak_per_second: Peak | None
    since: Moment | None
    bucket_seconds: int
    taken: list[int]
    nothing_left: list[int]
    other: list[int]
    not_counted: list[Gap]


class Funnel(Said):
    """Asked, taken, tried to pay, paid; and whoever fell out on the way, by where."""

    pressed: int
    taken: Tally
    offered: Annotated[Tally, Meta(description="Of those taken, from the waiting list.")]
    tried: Annotated[Tally, Meta(description="A payment was submitted.")]
    paid: Tally
    open: Tally
    expired_untried: Tally
    expired_tried: Tally
    declined: Tally
    by_shopper: Tally
    by_seller: Tally
    other: Annotated[Tally, Meta(description="The money was late or wrong: it went back.")]
    refunded: Tally
    refused: Annotated[Tally, Meta(description="Granted by the gate, and never in anybody's hands.")]
    unwanted: Annotated[Tally, Meta(description="Offers to people who had left the list.")]


class ReportedPlaces(Said):
    places: int
    units: int


class ReportedRefunds(Said):
    purpose: str
    confirmed: bool
    refunds: int
    amount_minor: int


class Report(Said):
    """A drop afterwards, or as it is by now. Nothing in it names a person."""

    drop: Annotated[str, Meta(description="Its slug.")]
    at: Moment
    over: bool
    opens_at: Moment
    total: int
    demand: Demand
    funnel: Funnel
    sold_out_after_seconds: Annotated[float | None, Meta(description="From the opening until nothing was left for the first time.")]
    paid_out_after_seconds: Annotated[float | None, Meta(description="From the opening until every piece was paid.")]
    waitlist: dict[str, ReportedPlaces]
    parcels: dict[str, int]
    refunds: list[ReportedRefunds]
    accounts: Account


# ---- rehearsals


class NewRehearsal(Taken):
    """How the drop is to be played, in a shop of its own. It uses the machine to the full for a few minutes."""

    crowd: Annotated[int, Meta(ge=1, le=CROWD_MAX, description="Made-up shoppers.")] = CROWD_DEFAULT
    seconds: Annotated[int, Meta(ge=SECONDS.start, lt=SECONDS.stop, description="How long the drop is open.")] = LENGTHS[1]
    faults: Annotated[Literal["none", "usual", "all"], Meta(description="What is broken meanwhile.")] = "none"
    browsers: Annotated[bool, Meta(description="With real browsers too, if they are installed.")] = False


class RehearsalLine(Said):
    """A rehearsal, as far as it is."""

    id: str
    begun_at: Moment
    phase: str
    running: bool
    verdict: Annotated[Literal["go", "no-go", "stopped", "failed"] | None, Meta(description="null: not yet.")]
    why: Annotated[str | None, Meta(description="Why it could not be run.")]
    crowd: int
    answers: Annotated[int, Meta(description="Answers that the crowd has heard.")]
    fault: Annotated[str | None, Meta(description="What is being broken just now.")]


class Rehearsal(RehearsalLine):
    """With its report, once there is one: a document that also stands in the dashboard, in words."""

    report: dict[str, Any] | None


class Rehearsals(Said):
    items: list[RehearsalLine]
    next: Next


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
