"""The image of a drop: everything the gate must be equal to (PROTOCOL section 5), read in one snapshot."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app.domain.drops import Door
from app.errors import NotFound
from app.ledger.pool import Pool


@dataclass(frozen=True, slots=True)
class LiveOrder:
    """An order that holds units: PENDING_PAYMENT, PROCESSING or PAID."""

    order_id: UUID
    buyer: int
    variant_id: int
    quantity: int
    pay_by: datetime
    paid: bool


@dataclass(frozen=True, slots=True)
class RecordedKey:
    """The key of an order that was granted, whatever became of it: its replay answers the same for ever."""

    buyer: int
    key: str
    order_id: UUID
    digest: str
    pay_by: datetime
    variant_id: int
    quantity: int


@dataclass(frozen=True, slots=True)
class LedgerImage:
    drop_id: int
    door: Door
    opens_at: datetime
    closes_at: datetime | None
    per_person: int
    hold_seconds: float
    clock_offset_ms: int
    totals: dict[int, int]  # variant id -> units the gate may hand out or has handed out
    live_orders: tuple[LiveOrder, ...]
    keys: tuple[RecordedKey, ...]
    adjustments: tuple[UUID, ...]  # those that `totals` contains
    releasing: int  # orders given back here that the gate has not confirmed yet


@dataclass(frozen=True, slots=True)
class Counts:
    """Units per variant id."""

    door: Door
    left: dict[int, int]
    held: dict[int, int]  # in unpaid live orders


class ImagePart(Pool):
    async def image(self, drop_id: int) -> LedgerImage:
        """-> the drop at one moment. NotFound: there is no such drop."""
        async with self._snapshot() as ask:
            terms = await ask.row("image_terms", drop_id)
            if terms is None:
                raise NotFound(f"there is no drop {drop_id}")
            totals = await ask.rows("image_totals", drop_id)
            orders = await ask.rows("image_orders", drop_id)
            adjustments = await ask.rows("image_adjustments", drop_id)
            releasing = await ask.value("image_releasing", drop_id)
        return LedgerImage(
            **dict(terms) | {"door": Door(terms["door"])},
            totals={row["variant_id"]: row["units"] for row in totals},
            live_orders=tuple(
                LiveOrder(row["order_id"], row["buyer"], row["variant_id"], row["quantity"], row["pay_by"], row["paid"])
                for row in orders
                if row["live"]
            ),
            keys=tuple(
                RecordedKey(
                    row["buyer"], row["key"], row["order_id"], row["digest"], row["pay_by"], row["variant_id"], row["quantity"]
                )
                for row in orders
            ),
            adjustments=tuple(row["id"] for row in adjustments),
            releasing=releasing,
        )

    async def counts(self, drop_id: int) -> Counts:
        """-> what a gate that is equal to the ledger shows. NotFound: there is no such drop."""
        rows = await self._rows("counts", drop_id)
        if not rows:
            raise NotFound(f"there is no drop {drop_id}")
        return Counts(
            Door(rows[0]["door"]),
            {row["variant_id"]: row["left_units"] for row in rows},
            {row["variant_id"]: row["held"] for row in rows},
        )
