"""What Doorman asks of a warehouse, and the answers it can get.

Warehouses are assumed to know no idempotency keys: whoever asks twice gets two parcels. So the caller looks before it asks, asks at
most once, and never takes a missing answer for a no.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Asked:
    """A parcel to make. `reference`: the order, which the warehouse lists it under."""

    reference: UUID
    item: str
    quantity: int
    contact: str  # whom to write to about it
    address: dict | None = None  # where it goes, in the fields of app/domain/addresses.py; None: it was not asked for


@dataclass(frozen=True, slots=True)
class Found:
    """An order of the warehouse's."""

    number: str  # the warehouse's own; may have been an older order's before
    created_at: datetime
    tracking: str | None  # once it is on its way


class Warehouse(Protocol):
    """Every call raises WarehouseSilent without a clear answer in time (it may have landed), WarehouseAway when it certainly did
    not arrive, WarehouseRefused when the warehouse said no. A call takes `timeout_seconds` of the warehouse at most."""

    async def find(self, reference: UUID, since: datetime) -> list[Found]:
        """-> what the warehouse lists under this reference, made at `since` or later. It may lag: absence proves nothing yet."""

    async def create(self, parcel: Asked) -> Found:
        """Make it. Never repeat this: a repeat is a second parcel."""
