"""Notices of the provider (webhooks): each counts as handled only after its effect is committed, and then never has another.

A death between the two lets the same notice have its effect again, which is harmless: every effect is conditional.
"""

from uuid import UUID

from app.ledger.events import PROVIDER, note
from app.ledger.pool import Pool

KIND_CHARACTERS_MAX = 100


class NoticesPart(Pool):
    async def order_of_intent(self, intent_id: str) -> UUID | None:
        """-> the order whose payment this intent is."""
        return await self._value("order_of_intent", intent_id)

    async def notice_known(self, notice_id: str) -> bool:
        return await self._value("notice_known", notice_id) is not None

    async def notice_handled(self, notice_id: str, kind: str, order_id: UUID | None, effect: str, *, ignored: bool = False) -> bool:
        """Its effect is committed -> False: that was known. `ignored`: it changed nothing, and the order's history says so."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id) if order_id else None
            if not await ask.count("notice_handled", notice_id, kind[:KIND_CHARACTERS_MAX], order_id, effect):
                return False
            if ignored and order is not None:
                await note(ask, order_id, order["drop_id"], "notice ignored", PROVIDER, notice=kind[:KIND_CHARACTERS_MAX])
            return True

    async def money_reported_back(self, order_id: UUID, total_minor: int) -> bool:
        """The provider says that it gave `total_minor` back in all -> whether that is more than was wanted: shown to a person."""
        why = f"the provider has given back {total_minor} minor units in all, more than was asked of it"
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None or not await ask.count("money_reported_back", order_id, total_minor, why):
                return False
            await note(ask, order_id, order["drop_id"], "refunded elsewhere", PROVIDER, amount_minor=total_minor)
            return True

    async def money_disputed(self, order_id: UUID, why: str) -> bool:
        """The provider says something about this payment that only a person can deal with."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None or not await ask.count("money_needs_attention", order_id, why):
                return False
            await note(ask, order_id, order["drop_id"], "payment questioned", PROVIDER, why=why)
            return True
