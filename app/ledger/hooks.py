"""Webhooks in the ledger: no event is lost on its way to them, and none slows the transaction that writes it.

Whoever writes an event knows nothing of webhooks: the event carries its transaction's number, no more. Every second a worker reads
on from each webhook's cursor, in the order of those numbers, and only below the oldest transaction that may still write: nothing
can turn up later behind the cursor. The deliveries it writes and the move of the cursor are one transaction, so a death at any
moment repeats nothing and leaves nothing out.

A delivery is sent under a claim with a lease, outside of any transaction, until its receiver has taken it or the last try is over.
Whoever dies while sending leaves a claim that ends, and the event goes out again: at least once, under the same id.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from app.domain.hooks import OLD_SECRET_SECONDS, TOO_MANY_HOOKS, Attempt, kind_of, words_of
from app.errors import BadInput
from app.ledger.audit import note_audit
from app.ledger.drops import ID_MAX
from app.ledger.pool import Pool

HOOKS_MAX = 20  # of a shop
EVENTS_HANDED_OUT_MAX = 500  # in one transaction
COUNTED_MAX = 1000  # waiting and failed deliveries are counted up to here
ATTEMPTS_KEPT_MAX = 30  # tries in the log of one delivery
LEASE_SECONDS = 60.0  # a claim on a delivery; longer than one may take to send
DELIVERIES_SHOWN_MAX = 200
LOG_SECONDS = 30 * 24 * 3600  # settled deliveries are shown for so long
DELIVERY_ID_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook as its shop sees it."""

    id: int
    url: str
    kinds: tuple[str, ...]
    nonce: bytes
    nonce_before: bytes | None
    rotated_at: datetime | None
    made_at: datetime
    made_by: str
    waiting: int  # deliveries, counted up to COUNTED_MAX
    failed: int


class Told(NamedTuple):
    """What an event is about, for its receiver."""

    event_id: int
    kind: str
    at: datetime
    detail: dict[str, Any]
    order_id: UUID | None
    drop_id: int
    drop_slug: str
    variant: str | None  # of the order
    quantity: int | None
    amount_minor: int | None
    currency: str | None


@dataclass(frozen=True, slots=True)
class Parcelled:
    """A delivery that was claimed, with everything that sending it needs."""

    id: int
    tries: int  # this one counted
    url: str
    nonces: tuple[bytes, ...]  # of the secrets that sign
    told: Told


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook, as the log shows it."""

    id: int
    event_id: int
    kind: str
    order_id: UUID | None
    drop_id: int
    state: str  # waiting, delivered, failed
    tries: int
    next_try_at: datetime
    attempts: tuple[Attempt, ...]  # the newest last
    created_at: datetime
    delivered_at: datetime | None


@dataclass(frozen=True, slots=True)
class GivenUp:
    """An event that a webhook did not take, though it was tried to the last."""

    hook_id: int
    url: str
    delivery: Delivery


class HooksPart(Pool):
    # where events go

    async def add_hook(self, shop_id: int, url: str, kinds: Sequence[str], nonce: bytes, actor: str) -> int:
        """-> its id. BadInput when the shop has HOOKS_MAX of them."""
        async with self._transaction() as ask:
            await ask.value("lock_shop", shop_id)
            hook_id = await ask.value("add_hook", shop_id, url, list(kinds), nonce, actor, HOOKS_MAX)
            if hook_id is None:
                raise BadInput(TOO_MANY_HOOKS)
            await note_audit(ask, shop_id, actor, "webhook added", url, None, {"webhook": hook_id, "kinds": list(kinds)})
            return hook_id

    async def hooks(self, shop_id: int) -> list[Hook]:
        """-> the oldest first."""
        return [_hook(row) for row in await self._rows("hooks_of_shop", shop_id, None, COUNTED_MAX)]

    async def hook(self, shop_id: int, hook_id: int) -> Hook | None:
        """-> None for one that is unknown, removed, or another shop's."""
        return _hook(await self._row("hooks_of_shop", shop_id, hook_id, COUNTED_MAX)) if 0 < hook_id <= ID_MAX else None

    async def change_hook(self, shop_id: int, before: Hook, url: str, kinds: Sequence[str], actor: str) -> bool:
        """-> False: it was removed meanwhile. What is under way is sent to the new address."""
        async with self._transaction() as ask:
            if not await ask.count("change_hook", shop_id, before.id, url, list(kinds)):
                return False
            old, new = ({"url": one[0], "kinds": list(one[1])} for one in ((before.url, before.kinds), (url, kinds)))
            if old != new:
                await note_audit(ask, shop_id, actor, "webhook changed", url, old, new)
            return True

    async def rotate_hook(self, shop_id: int, hook: Hook, nonce: bytes, actor: str) -> bool:
        """A new secret; the old one signs too for OLD_SECRET_SECONDS -> False: it was removed meanwhile."""
        async with self._transaction() as ask:
            if not await ask.count("rotate_hook", shop_id, hook.id, nonce):
                return False
            await note_audit(ask, shop_id, actor, "webhook secret replaced", hook.url, None, {"webhook": hook.id})
            return True

    async def remove_hook(self, shop_id: int, hook: Hook, actor: str) -> bool:
        async with self._transaction() as ask:
            if not await ask.count("remove_hook", shop_id, hook.id):
                return False
            await note_audit(
                ask, shop_id, actor, "webhook removed", hook.url, {"webhook": hook.id, "kinds": list(hook.kinds)}, None
            )
            return True

    # handing events out

    async def hand_out_events(self) -> int:
        """Write the deliveries of every event that no webhook was handed yet -> webhooks whose cursor moved."""
        await self._count("begin_anew_elsewhere")
        moved = 0
        for row in await self._rows("hooks_behind"):
            moved += await self._hand_out(row["id"])
        return moved

    async def _hand_out(self, hook_id: int) -> bool:
        async with self._transaction() as ask:
            kinds = await ask.value("take_hook", hook_id)
            if kinds is None:  # somebody else has it, or it is gone
                return False
            return await ask.count("hand_out", hook_id, EVENTS_HANDED_OUT_MAX, words_of(kinds)) == 1

    # sending

    async def claim_deliveries(self, claim: UUID, limit: int, per_hook_max: int) -> list[Parcelled]:
        """-> due deliveries, one of each webhook, that are the caller's for LEASE_SECONDS."""
        rows = await self._rows("claim_deliveries", limit, per_hook_max, claim, LEASE_SECONDS, OLD_SECRET_SECONDS)
        return [_parcelled(row) for row in rows]

    async def delivered(self, delivery_id: int, claim: UUID, attempt: Attempt) -> bool:
        """-> False: the claim was lost."""
        return await self._count("delivered", delivery_id, claim, attempt.as_json(), ATTEMPTS_KEPT_MAX) == 1

    async def not_delivered(self, delivery_id: int, claim: UUID, attempt: Attempt, again_in_seconds: float | None) -> bool:
        """`again_in_seconds` None: that was the last try -> False: the claim was lost."""
        return await self._count("not_delivered", delivery_id, claim, attempt.as_json(), ATTEMPTS_KEPT_MAX, again_in_seconds) == 1

    # the log

    async def deliveries(
        self, shop_id: int, hook_id: int, limit: int, *, older_than: int | None = None, state: str | None = None
    ) -> list[Delivery]:
        """-> the newest first; none of a webhook that is unknown or another shop's."""
        if not 0 < hook_id <= ID_MAX:
            return []
        rows = await self._rows("deliveries_of_hook", shop_id, hook_id, older_than, state, min(limit, DELIVERIES_SHOWN_MAX))
        return [_delivery(row) for row in rows]

    async def delivery(self, shop_id: int, hook_id: int, delivery_id: int) -> Delivery | None:
        if not (0 < hook_id <= ID_MAX and 0 < delivery_id <= DELIVERY_ID_MAX):
            return None
        row = await self._row("delivery_of_hook", shop_id, hook_id, delivery_id)
        return None if row is None else _delivery(row)

    async def send_delivery_again(self, shop_id: int, hook_id: int, delivery: Delivery, actor: str) -> bool:
        async with self._transaction() as ask:
            if not await ask.count("send_delivery_again", shop_id, hook_id, delivery.id):
                return False
            subject, before = f"event {delivery.event_id}", {"state": delivery.state}
            await note_audit(ask, shop_id, actor, "webhook event sent again", subject, before, {"webhook": hook_id})
            return True

    async def given_up(self, shop_id: int, limit: int) -> list[GivenUp]:
        """-> what was given up and nobody has seen to yet, the newest first."""
        rows = [dict(row) for row in await self._rows("given_up", shop_id, min(limit, DELIVERIES_SHOWN_MAX + 1))]
        return [GivenUp(row.pop("hook_id"), row.pop("url"), _delivery(row)) for row in rows]

    async def given_up_seen(self, shop_id: int, hook: Hook, delivery: Delivery | None, actor: str) -> int:
        """Somebody has seen to an event that was given up, or without one to all of a webhook -> how many leave the list."""
        async with self._transaction() as ask:
            seen = await ask.count("given_up_seen", shop_id, hook.id, delivery and delivery.id)
            if seen:
                subject = hook.url if delivery is None else f"event {delivery.event_id}"
                await note_audit(
                    ask, shop_id, actor, "webhook event looked at", subject, None, {"webhook": hook.id, "events": seen}
                )
            return seen

    async def forget_old_deliveries(self) -> int:
        return await self._count("forget_old_deliveries", LOG_SECONDS)


def _hook(row) -> Hook | None:
    return None if row is None else Hook(**dict(row) | {"kinds": tuple(row["kinds"])})


def _parcelled(row) -> Parcelled:
    told = Told(**{name: row[name] for name in Told._fields} | {"kind": kind_of(row["kind"]), "detail": json.loads(row["detail"])})
    return Parcelled(row["id"], row["tries"], row["url"], tuple(filter(None, (row["nonce"], row["nonce_before"]))), told)


def _delivery(row) -> Delivery:
    attempts = tuple(Attempt(**attempt) for attempt in json.loads(row["attempts"]))
    return Delivery(**dict(row) | {"attempts": attempts, "kind": kind_of(row["kind"])})
