"""Reading orders: what an order's page, a shopper's list and a worker's look-up show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.addresses import Address
from app.domain.orders import AttemptState, MoneyState, OrderState
from app.ledger.accounts import address_of
from app.ledger.drops import fees_from
from app.ledger.events import Event, event_from
from app.ledger.pool import Pool


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An order with its drop, its variant and its money, at one moment."""

    order_id: UUID
    drop_id: int
    drop_slug: str
    drop_title: str
    drop_picture: str | None
    variant_id: int
    variant: str
    quantity: int
    shopper_id: int
    email: str  # as the shopper wrote it
    state: OrderState
    reason: str | None
    amount_minor: int
    currency: str
    reserved_at: datetime
    pay_by: datetime
    attempts: int
    attempts_left: int
    leaving: OrderState | None  # PROCESSING and on its way to this state: the unit is being given back
    released: bool | None  # given back: has the gate confirmed?
    paid_at: datetime | None
    ended_at: datetime | None
    payment: MoneyState
    intent_id: str | None
    needs_attention: str | None
    attempt_n: int | None  # the unfinished attempt, if there is one
    attempt_state: AttemptState | None  # open: submitted; action: the shopper must authenticate at action_url
    action_url: str | None
    decline_reason: str | None  # of the last declined attempt
    parcel: str | None  # state of the parcel (app/ledger/parcels.py), None: there is none
    tracking: str | None  # of the parcel, once it is on its way
    offered: bool  # its units were held for a place of the waitlist, not taken at the door
    ships: bool  # an address is asked for before paying
    address: Address | None  # where it goes, as it was when given
    shop_name: str
    contact: str | None  # whom to ask about it: the shop's mail address
    shipping_minor: int  # of the amount, for sending
    tax_basis_points: int  # tax included in the amount: 1900 is 19 %
    shipping_fees: Mapping[str, int] | None  # of the drop: country or EVERYWHERE_ELSE -> minor units; None: free
    shop_id: int
    law: Sequence[str]  # which pages the shop has: imprint, terms, privacy, refunds
    shipping_countries: Sequence[str] | None = None  # where the drop is sent to, as ISO 3166-1 codes; None: everywhere
    wristband: int | None = None  # of a paid order, asked by its owner: units of the drop paid for up to and with it
    wristbands: int | None = None  # ... of so many units


class OrdersPart(Pool):
    async def order_for(self, order_id: UUID, shopper_id: int) -> OrderRow | None:
        """-> the order if it is this shopper's."""
        return order_from(await self._row("order_for", order_id, shopper_id))

    async def order(self, order_id: UUID) -> OrderRow | None:
        """-> the order, whoever's it is: for workers and sellers."""
        return order_from(await self._row("order_by_id", order_id))

    async def orders_of(self, shopper_id: int, limit: int) -> list[OrderRow]:
        """-> the shopper's orders, newest first."""
        return [order_from(row) for row in await self._rows("orders_of", shopper_id, limit)]

    async def events_of(self, order_id: UUID) -> list[Event]:
        """-> what happened to the order, oldest first."""
        return [event_from(row) for row in await self._rows("events_of", order_id)]


def order_from(row) -> OrderRow | None:
    if row is None:
        return None
    words = {
        "state": OrderState(row["state"]),
        "leaving": row["leaving"] and OrderState(row["leaving"]),
        "payment": MoneyState(row["payment"]),
        "attempt_state": row["attempt_state"] and AttemptState(row["attempt_state"]),
        "address": address_of(row["address"]),
        "shipping_fees": fees_from(row["shipping_fees"]),
    }
    return OrderRow(**(dict(row) | words))
