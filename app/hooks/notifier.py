"""The loop that tells webhooks what happened.

Guarantees: every event that a webhook asked for is sent until its receiver says 2xx, under one id and with one body, ever more
slowly and at most TRIES_MAX times; then it is marked as failed and stays shown. At least once, never "exactly": whoever dies after
sending and before noting it sends again, and a receiver knows the id. Any number of workers may run this. A receiver that hangs
holds up its own events only: at most PER_HOOK_MAX of a webhook are under way.

The ledger gone: nothing is sent, and the loop goes on when it is back.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid4

import msgspec
import structlog

from app.clock import iso, monotonic, now
from app.domain.hooks import Attempt, event_name, secret_of, signature
from app.errors import LedgerUnreachable
from app.hooks.sender import NotSent, Sender

LOOK_SECONDS = 1.0  # between two looks at what is due
SENDING_MAX = 32  # under way in one process
PER_HOOK_MAX = 4  # of one webhook, in all processes together
STOP_SECONDS = 3.0  # what is under way may end; what does not is sent again when its claim has ended
FORGET_EVERY_SECONDS = 600.0
RETRY_SECONDS = (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200, 43_200)  # after each try; together about forty hours
TRIES_MAX = len(RETRY_SECONDS) + 1
DETAILS_TOLD = ("by", "reason", "units", "variant", "amount_minor", "number", "tracking", "opens_at")  # the rest is ours alone

log = structlog.get_logger("hooks")


class Told(Protocol):
    """What an event is about."""

    event_id: int
    kind: str
    at: datetime
    detail: dict[str, Any]
    order_id: UUID | None
    drop_id: int
    drop_slug: str
    variant: str | None
    quantity: int | None
    amount_minor: int | None
    currency: str | None


class Due(Protocol):
    """An event that is to be sent to one webhook now."""

    id: int
    tries: int  # this one counted
    url: str
    nonces: tuple[bytes, ...]
    told: Told


class Outbox(Protocol):
    async def hand_out_events(self) -> int: ...
    async def claim_deliveries(self, claim: UUID, limit: int, per_hook_max: int) -> Sequence[Due]: ...
    async def delivered(self, delivery_id: int, claim: UUID, attempt: Attempt) -> bool: ...
    async def not_delivered(self, delivery_id: int, claim: UUID, attempt: Attempt, again_in_seconds: float | None) -> bool: ...
    async def forget_old_deliveries(self) -> int: ...
    async def forget_old_answers(self) -> int: ...


class Notifier:
    """`key`: what the installation's webhook secrets are made with (app/domain/hooks.py)."""

    def __init__(self, outbox: Outbox, sender: Sender, key: bytes):
        self.outbox, self.sender, self.key = outbox, sender, key
        self._sending: set[asyncio.Task] = set()
        self._forget_at = float("-inf")

    async def run(self) -> None:
        """For ever (cancel to stop)."""
        try:
            while True:
                try:
                    began = await self.step()
                except LedgerUnreachable as error:
                    log.warning("no webhook is told: the ledger does not answer", error=str(error))
                    began = 0
                if began and self._sending:  # there may be more
                    await asyncio.wait(self._sending, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                else:
                    await asyncio.sleep(LOOK_SECONDS)
        finally:
            await self._stop()

    async def step(self) -> int:
        """Hand out what happened and begin to send what is due -> how many were begun. LedgerUnreachable."""
        while await self.outbox.hand_out_events():
            pass
        if monotonic() >= self._forget_at:
            self._forget_at = monotonic() + FORGET_EVERY_SECONDS
            await self.outbox.forget_old_deliveries()
            await self.outbox.forget_old_answers()
        began = 0
        while len(self._sending) < SENDING_MAX:
            claim = uuid4()
            claimed = await self.outbox.claim_deliveries(claim, SENDING_MAX - len(self._sending), PER_HOOK_MAX)
            if not claimed:
                break
            began += len(claimed)
            for due in claimed:
                task = asyncio.create_task(self._tell(due, claim))
                self._sending.add(task)
                task.add_done_callback(self._sending.discard)
        return began

    async def all_told(self) -> None:
        """Wait until nothing is under way."""
        while self._sending:
            await asyncio.wait(self._sending)

    async def _tell(self, due: Due, claim: UUID) -> None:
        """Send once and note what came of it."""
        body = body_of(due.told, self.key)
        started, at = monotonic(), now()
        status, text, error = None, "", ""
        try:
            status, text = await self.sender.post(due.url, self._headers(due, int(at.timestamp()), body), body)
        except NotSent as failure:
            error = str(failure)
        except Exception as failure:  # an address that no library likes must not be tried for ever either
            log.exception("a webhook could not be told", delivery=due.id)
            error = type(failure).__name__
        attempt = Attempt(iso(at), round(monotonic() - started, 3), status, text, error)
        try:
            if status is not None and 200 <= status < 300:
                await self.outbox.delivered(due.id, claim, attempt)
            else:
                again = RETRY_SECONDS[due.tries - 1] if due.tries < TRIES_MAX else None
                await self.outbox.not_delivered(due.id, claim, attempt, again)
        except LedgerUnreachable:
            log.warning("what became of a webhook's event could not be noted: it is sent again", delivery=due.id)

    def _headers(self, due: Due, at_seconds: int, body: bytes) -> dict[str, str]:
        secrets = [secret_of(self.key, nonce) for nonce in due.nonces]
        return {
            "content-type": "application/json",
            "user-agent": "Doorman-Webhook/1",
            "doorman-event": due.told.kind,
            "doorman-event-id": event_name(self.key, due.told.event_id),
            "doorman-signature": signature(secrets, at_seconds, body),
        }

    async def _stop(self) -> None:
        sending = set(self._sending)
        if sending:
            await asyncio.wait(sending, timeout=STOP_SECONDS)
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)


def body_of(told: Told, key: bytes) -> bytes:
    """-> what is sent, the same at every try: made of nothing that ever changes."""
    event: dict[str, Any] = {
        "id": event_name(key, told.event_id),
        "kind": told.kind,
        "at": iso(told.at),
        "drop": {"id": told.drop_id, "slug": told.drop_slug},
        "detail": {name: value for name, value in told.detail.items() if name in DETAILS_TOLD},
    }
    if told.order_id is not None:
        event["order"] = {
            "id": str(told.order_id),
            "variant": told.variant,
            "quantity": told.quantity,
            "amount_minor": told.amount_minor,
            "currency": told.currency,
        }
    return msgspec.json.encode(event)
