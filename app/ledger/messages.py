"""The outbox: a message is written in the transaction of the change it reports and delivered by a worker later.

At most one message per (kind, subject). A worker that dies while it delivers leaves the message due again after `CLAIM_SECONDS`: a
mail may arrive twice, with the same Message-ID, and is never lost.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from app.ledger.pool import Asker, Pool

CLAIM_SECONDS = 60.0
TRIES_MAX = 10
BACKOFF_SECONDS = 5.0  # after the first failure; doubles
BACKOFF_SECONDS_MAX = 900.0
ERROR_CHARACTERS_MAX = 500


@dataclass(frozen=True, slots=True)
class Message:
    """A mail to send. `subject_id`: what it is about (the order's id, the sign-in code's id): one message per kind and subject."""

    kind: str
    subject_id: str
    order_id: UUID | None
    recipient: str
    subject: str
    body_text: str
    body_html: str


@dataclass(frozen=True, slots=True)
class StoredMessage:
    id: int
    kind: str
    subject_id: str
    order_id: UUID | None
    recipient: str
    subject: str
    body_text: str
    body_html: str
    message_id: str  # the mail's Message-ID, the same at every try
    state: str  # waiting, sent, failed
    tries: int
    error: str | None
    created_at: datetime
    sent_at: datetime | None


async def put(ask: Asker, message: Message) -> bool:
    """Write a message in the caller's transaction -> False: there is one of this kind for this subject already."""
    return await ask.count(
        "put_message", message.kind, message.subject_id, message.order_id, message.recipient, message.subject, message.body_text,
        message.body_html, f"<{uuid4()}@doorman>",
    ) == 1  # fmt: skip


class MessagesPart(Pool):
    async def put(self, message: Message) -> bool:
        """Write a message on its own -> False: there is one of this kind for this subject already."""
        async with self._asking() as ask:
            return await put(ask, message)

    async def newest(self, limit: int) -> list[StoredMessage]:
        return [StoredMessage(**row) for row in await self._rows("newest", limit)]

    async def claim_due(self, limit: int) -> list[StoredMessage]:
        """-> up to `limit` messages that this worker alone delivers within CLAIM_SECONDS, each then reported as sent or failed."""
        rows = await self._rows("claim_due", limit, CLAIM_SECONDS)
        return sorted((StoredMessage(**row) for row in rows), key=lambda message: message.id)

    async def sent(self, id: int) -> bool:
        return await self._count("sent", id) == 1

    async def failed(self, id: int, error: str) -> bool:
        """Due again later, longer each time; after TRIES_MAX tries its state is `failed`."""
        clean = error.replace("\x00", "")[:ERROR_CHARACTERS_MAX]
        return await self._count("failed", id, clean, TRIES_MAX, BACKOFF_SECONDS, BACKOFF_SECONDS_MAX) == 1
