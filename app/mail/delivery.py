"""Delivery of the outbox over SMTP.

Messages are rows, written in the transaction of the change they report; a worker claims those that are due and sends them. A crash
between the send and the note repeats a message at most once, under the same Message-ID. Without an SMTP server everything stays in
the outbox, where the development mailbox shows it.
"""

from collections.abc import Sequence
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate, parseaddr
from typing import Protocol
from urllib.parse import unquote, urlsplit

import aiosmtplib
import structlog

BATCH_MESSAGES_MAX = 50
SMTP_SECONDS_MAX = 20.0

log = structlog.get_logger("mail")


class Waiting(Protocol):
    """A message that is due."""

    id: int
    recipient: str
    subject: str
    body_text: str
    body_html: str
    message_id: str


class Outbox(Protocol):
    async def claim_due(self, limit: int) -> Sequence[Waiting]: ...
    async def sent(self, message_id: int) -> None: ...
    async def failed(self, message_id: int, error: str) -> None: ...


def compose(message: Waiting, sender: str) -> EmailMessage:
    """-> a message of plain text and HTML. Header injection is impossible: `EmailMessage` refuses line breaks (ValueError)."""
    mail = EmailMessage()
    name, address = parseaddr(sender)
    mail["From"] = Address(name, addr_spec=address)
    mail["To"] = Address(addr_spec=message.recipient)
    mail["Subject"] = message.subject
    mail["Message-ID"] = message.message_id
    mail["Date"] = formatdate(usegmt=True)
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.body_text)
    mail.add_alternative(message.body_html, subtype="html")
    return mail


async def deliver_waiting(outbox: Outbox, smtp_url: str, sender: str) -> int:
    """Send what is due -> number of messages sent. A refused message is noted and tried again later by the outbox's own rule."""
    if not smtp_url:
        return 0
    server = urlsplit(smtp_url)
    count = 0
    for message in await outbox.claim_due(BATCH_MESSAGES_MAX):
        try:
            await aiosmtplib.send(
                compose(message, sender),
                hostname=server.hostname,
                port=server.port,
                username=unquote(server.username) if server.username else None,
                password=unquote(server.password) if server.password else None,
                use_tls=server.scheme == "smtps",
                timeout=SMTP_SECONDS_MAX,
            )
        except (aiosmtplib.SMTPException, OSError, ValueError) as error:
            log.warning("mail not sent", message=message.id, error=type(error).__name__)
            await outbox.failed(message.id, f"{type(error).__name__}: {error}")
            continue
        await outbox.sent(message.id)
        count += 1
    return count
