"""How a unit comes back (R3): the order ends and its units return in one transaction, exactly once; the gate is asked afterwards.

`released` is false from then on until the gate has confirmed, and nothing else is ever noted about a release: whoever dies in
between, the next sweep asks again. An order with any payment attempt is claimed first, and given back only by the holder of that
claim.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

import asyncpg

from app.domain.orders import AttemptState, OrderState, Refusal
from app.ledger.claims import Claimed, claimed_order
from app.ledger.events import CHARGER, SELLER, SHOPPER, SWEEPER, note
from app.ledger.places import end_offers
from app.ledger.pool import Asker, Pool


class Ended(NamedTuple):
    """An order that was given back."""

    order_id: UUID
    drop_id: int


class DueGiveBack(NamedTuple):
    order_id: UUID
    drop_id: int
    intent_id: str | None  # None: nothing was ever confirmed at the provider


class ReturnsPart(Pool):
    async def expire_unattempted(self, limit: int) -> list[Ended]:
        """End up to `limit` overdue holds that nobody tried to pay, the oldest first, a transaction a drop -> the ended ones."""
        overdue = defaultdict(list)
        for row in await self._rows("overdue_holds", limit):
            overdue[row["drop_id"]].append(row["id"])
        ended = []
        for drop_id, order_ids in overdue.items():
            async with self._transaction() as ask:
                rows = await ask.rows("expire_holds", order_ids)
                if not rows:
                    continue  # another sweeper has them
                await ask.rows("lock_stock", drop_id)
                await return_units(ask, rows, "expired", SWEEPER)
            ended += [Ended(row["id"], drop_id) for row in rows]
        return ended

    async def cancel_unattempted(self, order_id: UUID, shopper_id: int | None, reason: Refusal) -> bool:
        """End a hold that nobody tried to pay -> False: not there, not theirs, or no longer so. `shopper_id` None: the seller."""
        async with self._transaction() as ask:
            row = await ask.row("cancel_hold", order_id, shopper_id, reason.value)
            if row is None:
                return False
            await return_units(ask, [row], "cancelled", SELLER if shopper_id is None else SHOPPER)
            return True

    async def due_give_backs(self, limit: int, grace_seconds: float) -> list[DueGiveBack]:
        """-> overdue orders with payment attempts; one with a submitted payment only after its grace."""
        return [DueGiveBack(**row) for row in await self._rows("due_give_backs", limit, grace_seconds)]

    async def claim_give_back(
        self, order_id: UUID, token: UUID, *, to: OrderState, reason: Refusal, shopper_id: int | None = None, grace_seconds: float
    ) -> Claimed | None:
        """Claim an order in order to give it back -> None: not due, not theirs, or somebody else acts on it.

        `to`: EXPIRED (overdue; a submitted payment has `grace_seconds` more), CANCELLED (no submitted payment), FAILED (no attempt
        left).
        """
        async with self._transaction() as ask:
            await ask.row("lock_order", order_id)
            if not await ask.count("claim_give_back", order_id, token, to.value, reason.value, shopper_id, grace_seconds):
                return None
            claimed = await claimed_order(ask, order_id)
            by = {OrderState.CANCELLED: SELLER if shopper_id is None else SHOPPER}.get(to, SWEEPER)
            await note(ask, order_id, claimed.drop_id, "giving back", by, to=to.value, reason=reason.value)
            return claimed

    async def give_back(self, order_id: UUID, token: UUID) -> bool:
        """The intent is cancelled, or never was: end the order and return its units -> False: the claim is somebody else's."""
        async with self._transaction() as ask:
            await ask.row("lock_order", order_id)
            row = await ask.row("give_back", order_id, token)
            if row is None:
                return False
            await ask.count("close_unfinished_attempt", order_id, AttemptState.ABANDONED.value, None)
            await ask.count("no_money", order_id)
            await return_units(ask, [row], row["state"].lower(), CHARGER)
            return True

    async def unreleased(self, limit: int) -> list[Ended]:
        """-> orders given back in the ledger that the gate has not confirmed yet, oldest first."""
        return [Ended(**row) for row in await self._rows("unreleased", limit)]

    async def confirm_released(self, order_id: UUID) -> bool:
        """The gate said released, offered or absent -> False: that was known."""
        return await self._count("confirm_released", order_id) == 1


async def return_units(ask: Asker, orders: Iterable[asyncpg.Record], kind: str, by: str) -> None:
    """Put the units of orders of one drop back, in the transaction that ended them, and tell their owners.

    Rows: id, drop_id, variant_id, quantity.
    """
    orders = list(orders)
    columns = ([row[name] for row in orders] for name in ("id", "variant_id", "quantity"))
    await ask.count("return_units", orders[0]["drop_id"], *columns, kind, by)
    await end_offers(ask, [row["id"] for row in orders], kind)
