"""Parcels: what a paid order becomes (R8). One row an order, written when it is paid; the warehouse makes it at most once.

Guarantees: who acts on a parcel holds a claim with a lease in this table, and loses it when the lease is over, whoever they are.
`creates` is counted, and the order seen to be PAID and kept, in a transaction of its own BEFORE the warehouse is asked, so a death
at any later moment leaves a row that says "it may exist": from then on it is only looked for, until the seller's word. A refund of
everything and a parcel exclude each other under the order's lock: whoever comes first stops the other, or the parcel is flagged.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.ledger.events import FULFILLER, SELLER, note
from app.ledger.messages import tell
from app.ledger.pool import Asker, Pool

ASK_AGAIN_SECONDS = 5.0  # the first pause between two looks; doubles
ASK_AGAIN_SECONDS_MAX = 900.0
LOOKS_MAX = 8  # looks in a row that brought nothing before a person is asked to look
TEXT_CHARACTERS_MAX = 300
NUMBERS_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True)
class ClaimedParcel:
    """What the holder of the claim on a parcel needs to know."""

    order_id: UUID
    drop_id: int
    state: str  # waiting, unknown, made
    creates: int  # 0: the warehouse may be asked to make it
    number: str | None  # made: the warehouse's own
    paid_at: datetime
    quantity: int
    drop_title: str
    variant: str
    email: str
    address: dict | None  # where it goes, None: it was not asked for
    settled: bool  # a listing shows what there is by now


@dataclass(frozen=True, slots=True)
class ParcelRow:
    order_id: UUID
    state: str
    creates: int
    number: str | None
    tracking: str | None
    asked_again: int
    needs_attention: str | None
    claimed: bool


class DueParcel(NamedTuple):
    order_id: UUID
    enqueues: int


class ParcelsPart(Pool):
    async def parcel(self, order_id: UUID) -> ParcelRow | None:
        row = await self._row("parcel", order_id)
        return ParcelRow(**row) if row else None

    async def due_parcels(self, limit: int, queue_retry_seconds: float, claim_dead_seconds: float) -> list[DueParcel]:
        """-> parcels to look for, to make or to follow, that nobody alive acts on."""
        return [DueParcel(**row) for row in await self._rows("due_parcels", limit, queue_retry_seconds, claim_dead_seconds)]

    async def mark_parcel_enqueued(self, order_id: UUID) -> bool:
        return await self._count("mark_parcel_enqueued", order_id) == 1

    async def claim_parcel(
        self, order_id: UUID, token: UUID, *, claim_dead_seconds: float, settle_seconds: float, now: bool = False
    ) -> ClaimedParcel | None:
        """Win the right to act -> None: somebody alive has it, it is not due (`now`: it is), or the order is not PAID and kept."""
        async with self._transaction() as ask:
            await ask.row("lock_order", order_id)
            if not await ask.count("claim_parcel", order_id, token, claim_dead_seconds, now):
                return None
            row = dict(await ask.row("claimed_parcel", order_id, settle_seconds))
            return ClaimedParcel(**row | {"address": row["address"] and json.loads(row["address"])})

    async def parcel_creating(self, order_id: UUID, token: UUID) -> bool:
        """Note that the warehouse is about to be asked -> False: do not ask (claim lost, refunded, or asked before)."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if not await ask.count("parcel_creating", order_id, token):
                return False
            await note(ask, order_id, order["drop_id"], "parcel asked for", FULFILLER)
            return True

    async def parcel_made(self, order_id: UUID, token: UUID, number: str) -> bool:
        """The warehouse has it under `number` -> False: the claim is somebody else's, who will find the same."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if not await ask.count("parcel_made", order_id, token, number[:TEXT_CHARACTERS_MAX], ASK_AGAIN_SECONDS):
                return False
            await note(ask, order_id, order["drop_id"], "parcel made", FULFILLER, number=number[:TEXT_CHARACTERS_MAX])
            if await ask.value("nothing_kept", order_id):
                await hold_parcel_back(ask, order)
            return True

    async def parcel_sent(self, order_id: UUID, token: UUID, tracking: str) -> bool:
        """It is on its way: the buyer is told -> False: the claim is somebody else's."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if not await ask.count("parcel_sent", order_id, token, tracking[:TEXT_CHARACTERS_MAX]):
                return False
            await note(ask, order_id, order["drop_id"], "parcel sent", FULFILLER, tracking=tracking[:TEXT_CHARACTERS_MAX])
            await tell(ask, [order_id], "parcel_sent", tracking=tracking[:TEXT_CHARACTERS_MAX])
            return True

    async def parcel_waits(
        self, order_id: UUID, token: UUID, why: str, *, show: bool = False, asked: bool = True, quiet: bool = False
    ) -> bool:
        """The claim ends without a result; the next look comes later than the last -> False: the claim is somebody else's.

        `show`: a person is asked to look at once; `quiet`: nobody is. `asked` False: the warehouse was certainly not asked to make
        it, or said no.
        """
        why = why.replace("\x00", "")[:TEXT_CHARACTERS_MAX]
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if not asked:
                await ask.count("parcel_not_asked", order_id, token)
            row = await ask.row(
                "parcel_waits", order_id, token, ASK_AGAIN_SECONDS, ASK_AGAIN_SECONDS_MAX, 2**30 if quiet else LOOKS_MAX, why, show
            )
            if row is None:
                return False
            if not quiet and (row["asked_again"] == 1 or show):
                await note(ask, order_id, order["drop_id"], "parcel waits", FULFILLER, why=why)
            return True

    async def parcel_settling(self, order_id: UUID, token: UUID, seconds: float) -> bool:
        """The claim ends: it is too early to believe that the warehouse has none."""
        return await self._count("parcel_settling", order_id, token, seconds) == 1

    async def parcel_again_now(self, order_id: UUID) -> bool:
        """A person wants this parcel looked for at once -> False: there is nothing to look for."""
        return await self._count("parcel_again_now", order_id) == 1

    async def parcel_may_be_made_again(self, order_id: UUID, claim_dead_seconds: float) -> bool:
        """The seller's word: should the warehouse list none, it may be asked once more.

        False: made, withdrawn, or somebody acts on it just now.
        """
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None or not await ask.count("parcel_may_be_made_again", order_id, claim_dead_seconds):
                return False
            await note(ask, order_id, order["drop_id"], "parcel resubmitted", SELLER)
            return True


async def hold_parcel_back(ask: Asker, order) -> None:
    """All the money is wanted back, in the caller's transaction: no parcel, or a flag where there may be one already."""
    if await ask.count("withdraw_parcel", order["id"]):
        await note(ask, order["id"], order["drop_id"], "parcel withdrawn", SELLER)
        return
    why = "refunded in full although the warehouse has its parcel, or may have it"
    if await ask.count("flag_parcel", order["id"], why):
        await note(ask, order["id"], order["drop_id"], "refunded and shipped", SELLER)
