"""What a drop looks like afterwards, and what it brought in. Nothing here names a person.

`accounts` filters by shop in the query itself; the rest is asked for a drop that the caller has found by its shop.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from app.ledger.drops import DROPS_MAX, ID_MAX
from app.ledger.pool import Pool


class OrdersLike(NamedTuple):
    """Orders of a drop that came equally far and ended equally."""

    state: str
    reason: str  # "" without one
    offered: bool  # from the waitlist
    tried: bool  # a payment was submitted at least once
    paid: bool  # was paid at some time
    orders: int
    units: int


class PaidSpan(NamedTuple):
    """The first and last payment among the orders that are still paid, and their units."""

    first: datetime | None
    last: datetime | None
    units: int


class PlacesLike(NamedTuple):
    state: str
    places: int
    units: int


class ParcelsLike(NamedTuple):
    state: str
    parcels: int
    needs_attention: int


class RefundsLike(NamedTuple):
    purpose: str  # seller, late_money, drop_cancelled, ...
    done: bool
    refunds: int
    amount_minor: int


@dataclass(frozen=True, slots=True)
class Account:
    """What one drop brought in, in minor units of its currency."""

    drop_id: int
    slug: str
    title: str
    currency: str
    opens_at: datetime
    orders: int  # that were charged
    units: int
    gross_minor: int  # captured, all of it
    refunded_minor: int  # of that, confirmed by the provider
    refunding_minor: int  # asked for, not confirmed yet
    shipping_minor: int  # of the gross amount, for sending
    tax_basis_points: int  # 1900: 19 %; 0: nothing is said about tax
    tax_minor: int  # included in the net amount, as invoices and their corrections say it

    @property
    def net_minor(self) -> int:
        return self.gross_minor - self.refunded_minor


class ReportPart(Pool):
    async def report_orders(self, drop_id: int) -> list[OrdersLike]:
        return [OrdersLike(*row) for row in await self._rows("report_orders", drop_id)]

    async def report_last_unit(self, drop_id: int) -> datetime | None:
        """-> when for the first time nothing was left; None: something always was."""
        return await self._value("report_last_unit", drop_id)

    async def report_paid(self, drop_id: int) -> PaidSpan:
        return PaidSpan(*await self._row("report_paid", drop_id))

    async def report_places(self, drop_id: int) -> list[PlacesLike]:
        return [PlacesLike(*row) for row in await self._rows("report_places", drop_id)]

    async def report_parcels(self, drop_id: int) -> list[ParcelsLike]:
        return [ParcelsLike(*row) for row in await self._rows("report_parcels", drop_id)]

    async def report_refunds(self, drop_id: int) -> list[RefundsLike]:
        return [RefundsLike(*row) for row in await self._rows("report_refunds", drop_id)]

    async def accounts(self, shop_id: int, drop_id: int | None = None) -> list[Account]:
        """-> the shop's drops, the latest opening first; only one of them where `drop_id` is given: none for a foreign one."""
        if drop_id is not None and not 0 < drop_id <= ID_MAX:
            return []
        return [Account(**row) for row in await self._rows("accounts", shop_id, drop_id, DROPS_MAX)]
