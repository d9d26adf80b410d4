"""A shop's orders as its seller looks through them: the list, one order's story, what needs a person, and what a seller may mend.

Guarantees: every question names the shop and asks for it in SQL, so a foreign order is answered as one that does not exist. A page
of the list is a few index reads whatever the number of orders: the place in the list is a key (time of the reservation, order),
never a count of rows skipped. A search looks up at most FOUND_MAX orders and says when there were more. No question holds a
connection longer than its statement, so whoever reads an export slowly holds nothing at all.
"""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.domain.addresses import Address, as_stored
from app.domain.emails import EMAIL_CHARACTERS_MAX
from app.domain.invoices import number_of
from app.errors import NotFound
from app.ledger.accounts import address_of
from app.ledger.attention import Attention, AttentionSpot
from app.ledger.events import SELLER, Event, event_from, note
from app.ledger.orders import OrderRow, order_from
from app.ledger.parcels import ParcelRow
from app.ledger.pool import Asker, Pool

PAGE_ORDERS_MAX = 2_000  # rows of one reading; an export is many readings
FOUND_MAX = 1_000  # orders that one search looks up
SEARCH_CHARACTERS_MIN = 2
SEARCH_CHARACTERS_MAX = EMAIL_CHARACTERS_MAX
ATTENTION_COUNT_MAX = 99  # what the badge counts up to
SENT_AGAIN_AN_HOUR_MAX = 5  # mails of one order
SENDABLE = ("confirmation", "parcel_sent", "money_back")  # mails that are still true later, and may be sent again
WISH_CHARACTERS_MAX = 64
BEGINNING = (None, None, None, None)  # of the list of what needs a person, where no spot is

_ID_DIGITS, _DROP_DIGITS = 32, 8  # of an order id in hexadecimal, and those that name its drop
_NUMBER_DIGITS_MIN = 4  # of an order's number within its drop
_HEXADECIMAL = re.compile(r"[0-9a-f-]+")
_WORD = re.compile(r"\w+")


class Spot(NamedTuple):
    """A place in the list of orders: the order it is beside."""

    reserved_at: datetime
    order_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFilter:
    """What a seller looks for. Nothing set: every order of the shop."""

    drop_id: int | None = None
    words: str = ""
    state: str | None = None  # OrderState
    payment: str | None = None  # MoneyState, of an order that somebody tried to pay
    parcel: str | None = None  # state of the parcel
    variant_id: int | None = None
    since: datetime | None = None  # reserved at or after
    until: datetime | None = None  # reserved before


@dataclass(frozen=True, slots=True)
class OrderLine:
    """One line of the list."""

    order_id: UUID
    drop_id: int
    variant_id: int
    shopper_id: int
    quantity: int
    state: str
    reason: str | None
    amount_minor: int
    currency: str
    reserved_at: datetime
    paid_at: datetime | None
    ended_at: datetime | None
    address: Address | None
    payment: str  # MoneyState
    captured_minor: int
    refunded_minor: int
    intent_id: str | None
    parcel: str | None
    parcel_number: str | None
    tracking: str | None
    drop_slug: str
    drop_title: str
    variant: str
    email: str
    shipping_minor: int  # of the amount
    tax_basis_points: int  # included in it
    invoice: str  # its number; "": none, for it was never paid

    @property
    def spot(self) -> Spot:
        return Spot(self.reserved_at, self.order_id)


@dataclass(frozen=True, slots=True)
class OrderPage:
    """One page, newest first."""

    lines: list[OrderLine]
    newer: bool  # there are newer ones
    older: bool
    cut: bool  # the search meant more than FOUND_MAX orders: these are some of them


class MoneySpot(NamedTuple):
    """A place in the list of money movements."""

    at: datetime
    order_id: UUID
    purpose: str


@dataclass(frozen=True, slots=True)
class MoneyLine:
    """Money that came in (positive) or went back (negative)."""

    at: datetime
    order_id: UUID
    purpose: str  # '' for an order's own payment
    kind: str  # payment, refund
    amount_minor: int
    reference: str | None  # the provider's own name for it
    currency: str
    quantity: int
    drop_slug: str
    drop_title: str
    variant: str
    shipping_minor: int  # of a payment's amount
    tax_minor: int  # included in the amount, with its sign
    invoice: str  # the number of the invoice, or of the correction; "": it has none

    @property
    def spot(self) -> MoneySpot:
        return MoneySpot(self.at, self.order_id, self.purpose)


class ShopDrop(NamedTuple):
    id: int
    slug: str
    title: str
    currency: str


@dataclass(frozen=True, slots=True)
class AttemptTold:
    n: int
    payment_method: str
    state: str
    reason: str | None
    submitted_at: datetime


@dataclass(frozen=True, slots=True)
class MoneyTold:
    state: str
    intent_id: str | None
    captured_minor: int
    refunded_minor: int
    needs_attention: str | None
    asked_again: int


@dataclass(frozen=True, slots=True)
class RefundTold:
    purpose: str
    amount_minor: int
    restock: bool
    state: str  # wanted, done
    refund_id: str | None
    wanted_at: datetime
    done_at: datetime | None
    asked_again: int
    needs_attention: str | None


@dataclass(frozen=True, slots=True)
class MailTold:
    id: int
    kind: str
    recipient: str
    state: str  # waiting, sent, failed, unknown, withheld
    tries: int
    error: str | None
    created_at: datetime
    sent_at: datetime | None


@dataclass(frozen=True, slots=True)
class PlaceTold:
    """The place of the waitlist that was offered this order's units."""

    number: int
    joined_at: datetime
    state: str


@dataclass(frozen=True, slots=True)
class Story:
    """Everything known of one order, read at one moment."""

    order: OrderRow
    money: MoneyTold | None  # None: nobody tried to pay
    attempts: list[AttemptTold]
    refunds: list[RefundTold]
    left_minor: int  # of the capture, that nobody wants back yet
    parcel: ParcelRow | None
    mails: list[MailTold]
    place: PlaceTold | None
    events: list[Event]
    attention: list[Attention]


@dataclass(frozen=True, slots=True)
class Undelivered:
    """A mail that did not arrive, or of which nobody knows."""

    id: int
    kind: str
    order_id: UUID | None
    recipient: str
    state: str
    tries: int
    error: str | None
    created_at: datetime
    sent_at: datetime | None  # then it came back
    drop_title: str


class ShopOrdersPart(Pool):
    async def shop_orders(
        self, shop_id: int, wanted: OrderFilter, limit: int, *, older_than: Spot | None = None, newer_than: Spot | None = None
    ) -> OrderPage:
        """-> up to `limit` orders beside a spot, the newest of all without one."""
        limit = min(limit, PAGE_ORDERS_MAX)
        async with self._snapshot() as ask:
            await ask.value("plan_for_these_values")
            found = await _found(ask, shop_id, wanted) if wanted.words else None
            if found == []:
                return OrderPage([], newer=False, older=False, cut=False)
            cut = found is not None and len(found) >= FOUND_MAX
            if newer_than is not None:
                values = list_values(shop_id, wanted, found, newer_than, limit + 1)
                rows = await ask.rows("shop_orders_newer", *values)
                return OrderPage(_lines(reversed(rows[:limit])), newer=len(rows) > limit, older=True, cut=cut)
            rows = await ask.rows("shop_orders_older", *list_values(shop_id, wanted, found, older_than, limit + 1))
            return OrderPage(_lines(rows[:limit]), newer=older_than is not None, older=len(rows) > limit, cut=cut)

    async def shop_orders_reserved(
        self, shop_id: int, drop_id: int | None, since: datetime | None, until: datetime | None, most: int
    ) -> int:
        """-> how many orders were reserved within a span, counted up to `most`."""
        return await self._value("shop_orders_reserved", shop_id, drop_id, since, until, most)

    async def shop_money(
        self,
        shop_id: int,
        *,
        drop_id: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: MoneySpot | None = None,
        limit: int,
    ) -> list[MoneyLine]:
        """-> up to `limit` movements of money within a span, oldest first, from a spot on."""
        async with self._snapshot() as ask:
            await ask.value("plan_for_these_values")
            place = after or MoneySpot(None, None, None)
            rows = await ask.rows("shop_money", shop_id, drop_id, since, until, *place, min(limit, PAGE_ORDERS_MAX))
            return [MoneyLine(**_numbered(row)) for row in rows]

    async def shop_drops(self, shop_id: int, limit: int) -> list[ShopDrop]:
        """-> the last to open first."""
        return [ShopDrop(**row) for row in await self._rows("shop_drops", shop_id, limit)]

    async def shop_has_order(self, shop_id: int, order_id: UUID) -> bool:
        """An order stays with its shop for ever, so what is done after a True needs no second look."""
        return await self._value("shop_has_order", order_id, shop_id)

    async def shop_order(self, shop_id: int, order_id: UUID) -> OrderRow | None:
        return order_from(await self._row("shop_order", order_id, shop_id))

    async def story(self, shop_id: int, order_id: UUID) -> Story | None:
        async with self._snapshot() as ask:
            order = order_from(await ask.row("shop_order", order_id, shop_id))
            if order is None:
                return None
            money, parcel = await ask.row("money_of", order_id), await ask.row("parcel", order_id)
            place = await ask.row("place_of", order_id)
            return Story(
                order=order,
                money=MoneyTold(**money) if money else None,
                attempts=[AttemptTold(**row) for row in await ask.rows("attempts_of", order_id)],
                refunds=[RefundTold(**row) for row in await ask.rows("refunds_told", order_id)],
                left_minor=await ask.value("left_to_refund", order_id) or 0,
                parcel=ParcelRow(**parcel) if parcel else None,
                mails=[MailTold(**row) for row in await ask.rows("mails_of", order_id)],
                place=PlaceTold(**place) if place else None,
                events=[event_from(row) for row in await ask.rows("events_of", order_id)],
                attention=[
                    _attention(row) for row in await ask.rows("shop_attention", shop_id, order_id, *BEGINNING, ATTENTION_COUNT_MAX)
                ],
            )

    # ---- what needs a person --------------------------------------------------------------------------------------------------

    async def shop_attention(self, shop_id: int, limit: int, after: AttentionSpot | None = None) -> list[Attention]:
        """-> what of this shop needs a person, the oldest order first, from a spot on."""
        rows = await self._rows("shop_attention", shop_id, None, *(after or BEGINNING), min(limit, PAGE_ORDERS_MAX))
        return [_attention(row) for row in rows]

    async def shop_undelivered(self, shop_id: int, limit: int, older_than: int | None = None) -> list[Undelivered]:
        """-> mails that did not arrive and that nobody has seen to, newest first. `older_than`: the id of one."""
        return [
            Undelivered(**row) for row in await self._rows("shop_undelivered", shop_id, older_than, min(limit, PAGE_ORDERS_MAX))
        ]

    async def shop_attention_count(self, shop_id: int, *, with_hooks: bool = False) -> int:
        """-> how much of both there is, at most ATTENTION_COUNT_MAX. `with_hooks`: and of what webhooks did not take."""
        return await self._value("shop_attention_count", shop_id, ATTENTION_COUNT_MAX, with_hooks)

    async def mail_seen(self, shop_id: int, mail_id: int) -> bool:
        """Somebody has seen to a mail that did not arrive -> False: it is not shown any more. NotFound: not a mail of this shop."""
        if await self._count("mail_seen", mail_id, shop_id):
            return True
        if not await self._value("shop_has_mail", mail_id, shop_id):
            raise NotFound("no such mail")
        return False

    # ---- what a seller may mend -----------------------------------------------------------------------------------------------

    async def send_again(self, shop_id: int, order_id: UUID, mail_id: int, wish: str) -> bool:
        """Send a mail of an order once more, to where its buyer reads mail now -> False: not this mail, or too often this hour.

        `wish`: the same wish twice is one mail.
        """
        wish = wish[:WISH_CHARACTERS_MAX]
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None or not await ask.value("shop_has_order", order_id, shop_id):
                return False
            if await ask.value("sent_again", order_id, wish):
                return True
            if not await ask.count("send_again", mail_id, order_id, shop_id, wish, list(SENDABLE), SENT_AGAIN_AN_HOUR_MAX):
                return False
            await ask.count("seen_by_sending_again", mail_id)
            await note(ask, order_id, order["drop_id"], "mail sent again", SELLER)
            return True

    async def correct_address(self, shop_id: int, order_id: UUID, address: Address, known: Address | None) -> bool:
        """Where an order goes, by its seller -> False: too late, nothing is sent, or it is not `known` any more."""
        async with self._transaction() as ask:
            await ask.row("lock_order", order_id)
            drop_id = await ask.value("correct_address", order_id, shop_id, _stored(address), known and _stored(known))
            if drop_id is None:
                return False
            await note(ask, order_id, drop_id, "address corrected", SELLER)
            return True

    async def parcel_enqueues(self, order_id: UUID) -> int:
        """-> how often this parcel's job was put on the queue, a part of the next one's key."""
        return await self._value("parcel_enqueues", order_id) or 0


def order_number(order_id: UUID) -> str:
    """-> what an order is called within its drop: '5f3a-8c2e'. The list searches by it, and by any longer beginning."""
    return f"{order_id.hex[8:12]}-{order_id.hex[12:16]}"


async def _found(ask: Asker, shop_id: int, wanted: OrderFilter) -> list[UUID]:
    """-> the orders that the words mean, at most FOUND_MAX."""
    words = " ".join(wanted.words.split())[:SEARCH_CHARACTERS_MAX]
    if len(words) < SEARCH_CHARACTERS_MIN:
        return []
    lowered, digits = words.lower(), words.lower().replace("-", "")
    number = digits if _HEXADECIMAL.fullmatch(lowered) and _NUMBER_DIGITS_MIN <= len(digits) <= _ID_DIGITS else None
    whole = number if number and len(number) > _DROP_DIGITS else None
    within = number if number and len(number) <= _ID_DIGITS - _DROP_DIGITS else None
    named = [f"{word}:*" for word in _WORD.findall(lowered)]
    rows = await ask.rows(
        "orders_found",
        shop_id,
        wanted.drop_id,
        whole and UUID(whole.ljust(_ID_DIGITS, "0")),
        whole and UUID(whole.ljust(_ID_DIGITS, "f")),
        within and within.ljust(_ID_DIGITS - _DROP_DIGITS, "0"),
        within and within.ljust(_ID_DIGITS - _DROP_DIGITS, "f"),
        _beginning(_untagged(lowered)) if " " not in words else None,
        _beginning(words),
        " & ".join(named) if named and "@" not in words else None,
        words,
        FOUND_MAX,
    )
    return [row["id"] for row in rows]


def _untagged(email: str) -> str:
    """-> as addresses are compared: without the tag of 'ada+drops@example.org'."""
    local, at, domain = email.partition("@")
    return f"{local.partition('+')[0] or local}{at}{domain}"


def _beginning(text: str) -> str:
    """-> a LIKE pattern for what begins with this text."""
    return re.sub(r"([\\%_])", r"\\\1", text) + "%"


def list_values(shop_id: int, wanted: OrderFilter, found: list[UUID] | None, spot: Spot | None, limit: int) -> tuple:
    """-> what the statements of the list are given."""
    return (
        shop_id, wanted.drop_id, found, wanted.state, wanted.payment, wanted.parcel, wanted.variant_id, wanted.since, wanted.until,
        *(spot or (None, None)), limit,
    )  # fmt: skip


def _lines(rows) -> list[OrderLine]:
    return [
        OrderLine(**_numbered(row) | {"address": address_of(row["address"]), "payment": row["payment"] or "none"}) for row in rows
    ]


def _numbered(row) -> dict:
    """-> the row with its invoice's number in one piece."""
    values = dict(row)
    year, n = values.pop("invoice_year"), values.pop("invoice_n")
    return values | {"invoice": "" if n is None else number_of(year, n)}


def _attention(row) -> Attention:
    return Attention(**{name: value for name, value in row.items() if name not in ("drop_id", "drop_title")})


def _stored(address: Address) -> str:
    return json.dumps(as_stored(address))
