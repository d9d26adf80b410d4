"""Delivery of the outbox over SMTP.

Messages are rows, written in the transaction of the change they report; a worker claims those that are due, writes their mails and
sends them. Before a mail is handed over the row says so; whoever dies then, or gets no answer, leaves a doubt, and a message in
doubt goes out once more under the same Message-ID and never a third time. What the mail server refuses for good is not sent again
and is shown to the seller; what it cannot take now comes again later, ever more slowly. Without an SMTP server everything stays in
the outbox, where the development mailbox shows it.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, parseaddr
from typing import Protocol
from urllib.parse import unquote, urlsplit

import aiosmtplib
import structlog
from jinja2 import TemplateError

from app.clock import monotonic
from app.mail.letters import Letter, Letters, Unwritten

BATCH_MESSAGES_MAX = 50
BATCH_SECONDS_MAX = 30.0  # half of what a claim lasts: what is not sent by then is left to the next claim
SMTP_SECONDS_MAX = 20.0  # one step of the conversation
MAIL_SECONDS_MAX = 25.0  # one mail
POLICY = SMTP.clone(cte_type="7bit")  # passes through every mail server as it is
PERMANENT = 500  # SMTP codes from here on: it never will

log = structlog.get_logger("mail")


class Waiting(Unwritten, Protocol):
    """A message that is due."""

    id: int
    recipient: str
    message_id: str
    tries: int


class Outbox(Protocol):
    async def claim_due(self, limit: int) -> Sequence[Waiting]: ...
    async def sending(self, id: int, tries: int) -> bool: ...
    async def sent(self, id: int) -> bool: ...
    async def failed(self, id: int, error: str, *, doubtful: bool = False, final: bool = False) -> bool: ...


class _NotTaken(Exception):
    """The mail did not go out. `doubtful`: or it did, and nobody said so; `final`: it was refused for good."""

    def __init__(self, why: str, *, doubtful: bool = False, final: bool = False):
        super().__init__(why)
        self.doubtful, self.final = doubtful, final


def compose(message: Waiting, letter: Letter, sender: str) -> EmailMessage:
    """-> a message of plain text and HTML. Header injection is impossible: `EmailMessage` refuses line breaks (ValueError)."""
    mail = EmailMessage(policy=POLICY)
    name, address = parseaddr(sender)
    mail["From"] = Address(name, addr_spec=address)
    mail["To"] = Address(addr_spec=message.recipient)
    mail["Subject"] = letter.subject
    mail["Message-ID"] = message.message_id
    mail["Date"] = formatdate(usegmt=True)
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(letter.text)
    mail.add_alternative(letter.html, subtype="html")
    return mail


async def deliver_waiting(outbox: Outbox, letters: Letters, smtp_url: str, sender: str) -> int:
    """Send what is due -> number of messages sent."""
    if not smtp_url:
        return 0
    count, give_up_at = 0, monotonic() + BATCH_SECONDS_MAX
    postman = Postman(smtp_url)
    try:
        for message in await outbox.claim_due(BATCH_MESSAGES_MAX):
            if monotonic() > give_up_at:
                break
            try:
                mail = compose(message, letters.write(message), sender)
            except (ValueError, TemplateError, KeyError) as error:
                log.error("mail cannot be written", message=message.id, kind=message.kind, error=repr(error))
                await outbox.failed(message.id, f"cannot be written: {error}", final=True)
                continue
            try:
                await postman.ready()
                if not await outbox.sending(message.id, message.tries):
                    continue  # another worker has it
                await postman.takes(mail)
            except _NotTaken as error:
                log.warning("mail not sent", message=message.id, kind=message.kind, doubtful=error.doubtful, final=error.final)
                await outbox.failed(message.id, str(error), doubtful=error.doubtful, final=error.final)
                continue
            await outbox.sent(message.id)
            count += 1
    finally:
        await postman.leaves()
    return count


class Postman:
    """One connection to the mail server, made anew after any trouble."""

    def __init__(self, smtp_url: str):
        self._server = urlsplit(smtp_url)
        self._smtp: aiosmtplib.SMTP | None = None

    async def ready(self) -> None:
        """Connected and let in. _NotTaken: nothing was sent."""
        if self._smtp is not None and self._smtp.is_connected:
            return
        server = self._server
        smtp = aiosmtplib.SMTP(
            hostname=server.hostname,
            port=server.port,
            username=unquote(server.username) if server.username else None,
            password=unquote(server.password) if server.password else None,
            use_tls=server.scheme == "smtps",
            timeout=SMTP_SECONDS_MAX,
        )
        try:
            async with asyncio.timeout(MAIL_SECONDS_MAX):
                await smtp.connect()
        except (aiosmtplib.SMTPException, OSError) as error:
            raise _NotTaken(f"the mail server is out of reach: {_words(error)}") from error
        self._smtp = smtp

    async def takes(self, mail: EmailMessage) -> None:
        """Hand one mail over. _NotTaken says whether it may have been taken all the same."""
        smtp, addressed = self._smtp, False
        try:
            async with asyncio.timeout(MAIL_SECONDS_MAX):
                await smtp.mail(mail["From"].addresses[0].addr_spec)
                await smtp.rcpt(mail["To"].addresses[0].addr_spec)
                addressed = True
                await smtp.data(mail.as_bytes())
        except aiosmtplib.SMTPResponseException as error:  # an answer, so there is no doubt (a 421 hangs up: nothing was taken)
            await self.leaves()
            final = error.code >= PERMANENT and not isinstance(error, aiosmtplib.SMTPSenderRefused)
            raise _NotTaken(_words(error), final=final) from error
        except (aiosmtplib.SMTPException, OSError) as error:  # TimeoutError too
            await self.leaves()
            raise _NotTaken(f"no answer: {_words(error)}", doubtful=addressed) from error

    async def leaves(self) -> None:
        smtp, self._smtp = self._smtp, None
        if smtp is not None:
            with contextlib.suppress(aiosmtplib.SMTPException, OSError):
                await asyncio.wait_for(smtp.quit(), 1.0)
            smtp.close()


def _words(error: Exception) -> str:
    if isinstance(error, aiosmtplib.SMTPResponseException):
        return f"{error.code} {error.message}"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
