"""The outbox: a message is written in the transaction of the change it reports and delivered by a worker later.

At most one message per (kind, subject). Most are no more than that, a kind and what it is about: the mail is written when it is
sent, by app/mail/letters.py, from what the ledger says then. A worker that dies before it hands a mail over leaves the message due
again after `CLAIM_SECONDS`; one that dies while it does leaves a doubt, and so does a mail server that takes a mail and says
nothing. A message in doubt is sent once more under the same Message-ID, and a second doubt ends it: never lost unseen, never sent
three times.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from app.ledger.pool import Asker, Pool

CLAIM_SECONDS = 60.0
TRIES_MAX = 10
DOUBTS_MAX = 2
BACKOFF_SECONDS = 5.0  # after the first failure; doubles
BACKOFF_SECONDS_MAX = 900.0
ERROR_CHARACTERS_MAX = 500
WARN_SECONDS_MAX = 180.0  # a hold's owner is warned this long before its end,
WARN_SHARE = 0.25  # or when this share of its time is left, whichever is later;
WARNED_HOLD_SECONDS_MIN = 60.0  # a shorter hold ends before its warning would arrive
MESSAGE_ID = re.compile(r"<([0-9]{1,18})\.[0-9]{1,20}@doorman>")  # as the view `letters` makes it


@dataclass(frozen=True, slots=True)
class Message:
    """A mail that is written already. `subject_id`: what it is about (the order's id, the sign-in code's id): one message per kind
    and subject."""

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
    place_id: int | None
    recipient: str
    language: str
    subject: str | None  # None, as the bodies: written when it is sent
    body_text: str | None
    body_html: str | None
    message_id: str  # the mail's Message-ID, the same at every try
    state: str  # waiting, sent, failed (also: sent and came back, then sent_at is set), unknown, withheld
    tries: int
    doubts: int
    error: str | None
    created_at: datetime
    sent_at: datetime | None
    facts: Mapping[
        str, object
    ]  # what its mail says: the columns of the view `letters` that are not above, and the message's own data


class CameBack(NamedTuple):
    """A mail that was sent and did not arrive."""

    recipient: str
    kind: str


async def put(ask: Asker, message: Message) -> bool:
    """Write a message in the caller's transaction -> False: there is one of this kind for this subject already."""
    return await ask.count(
        "put_message", message.kind, message.subject_id, message.order_id, message.recipient, message.subject, message.body_text,
        message.body_html,
    ) == 1  # fmt: skip


async def tell(ask: Asker, order_ids: Iterable[UUID], kind: str | None, *, offer: str | None = None, **data: object) -> None:
    """Tell the owners of these orders in the caller's transaction. `offer`: the kind for those that a place of the list holds."""
    if kind or offer:
        await ask.count("tell_buyers", list(order_ids), kind, offer or kind, json.dumps(data))


class MessagesPart(Pool):
    async def put(self, message: Message) -> bool:
        """Write a message on its own -> False: there is one of this kind for this subject already."""
        async with self._asking() as ask:
            return await put(ask, message)

    async def newest(self, limit: int) -> list[StoredMessage]:
        """-> the `limit` newest that may leave the house and as many of those that may not, newest first."""
        return [stored_from(row) for row in await self._rows("newest", limit)]

    async def undelivered(self, limit: int) -> list[StoredMessage]:
        """-> mails that were refused, given up, or sent twice without an answer, newest first: for the seller."""
        return [stored_from(row) for row in await self._rows("undelivered", limit)]

    async def write_in(self, shopper_id: int, language: str) -> bool:
        """Mails to this shopper are written in this language (a tag such as 'de') from now on -> False: they were before."""
        return await self._count("write_in", shopper_id, language) == 1

    async def warn_holds(self, limit: int) -> int:
        """Tell those whose hold ends soon, each once -> how many."""
        return await self._count("warn_holds", WARN_SECONDS_MAX, WARN_SHARE, WARNED_HOLD_SECONDS_MIN, limit)

    async def claim_due(self, limit: int) -> list[StoredMessage]:
        """-> up to `limit` messages that this worker alone delivers within CLAIM_SECONDS, each then reported as sent or failed."""
        async with self._transaction() as ask:
            claimed = await ask.rows("claim_due", limit, CLAIM_SECONDS, DOUBTS_MAX)
            due = [row["id"] for row in claimed if row["state"] == "waiting"]
            return [stored_from(row) for row in await ask.rows("letters_of", due)] if due else []

    async def sending(self, id: int, tries: int) -> bool:
        """The mail is handed over now -> False: another worker has taken the message since, leave it alone."""
        return await self._count("sending", id, tries, CLAIM_SECONDS) == 1

    async def sent(self, id: int) -> bool:
        return await self._count("sent", id) == 1

    async def came_back(self, message_id: str, recipients: Iterable[str], reason: str) -> CameBack | None:
        """A mail of ours that its server took did not arrive after all: it is shown with those that were refused -> which it was.
        None: no mail of that Message-ID was sent to any of these addresses (lower case), or that it came back is known."""
        at = MESSAGE_ID.fullmatch(message_id)
        if at is None:
            return None
        error = f"came back: {reason}".replace("\x00", "")[:ERROR_CHARACTERS_MAX]
        row = await self._row("came_back", int(at[1]), message_id, list(recipients), error)
        return None if row is None else CameBack(**row)

    async def failed(self, id: int, error: str, *, doubtful: bool = False, final: bool = False) -> bool:
        """Due again later, longer each time; after TRIES_MAX tries its state is `failed`. `doubtful`: nobody knows whether the mail
        server took it. `final`: it refused it for good."""
        clean = error.replace("\x00", "")[:ERROR_CHARACTERS_MAX]
        return await self._count(
            "failed", id, clean, TRIES_MAX, BACKOFF_SECONDS, BACKOFF_SECONDS_MAX, doubtful, DOUBTS_MAX, final
        ) == 1  # fmt: skip


OWN = {field.name for field in fields(StoredMessage)} - {"facts"}


def stored_from(row) -> StoredMessage:
    facts = {name: value for name, value in row.items() if name not in OWN and name != "data"}
    return StoredMessage(**{name: row[name] for name in OWN}, facts=facts | json.loads(row["data"]))
