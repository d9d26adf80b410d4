"""The development mailbox: every mail the shop wrote, newest first. In production it does not exist, whatever the address."""

from typing import Any

from litestar import Response, get

from app.ledger import StoredMessage
from app.mail.letters import Letter
from app.web.doors import TheseDoors, ThisCall, document

MAILS_MAX = 200


@get("/dev/mail")
async def show_mail(call: ThisCall, doors: TheseDoors) -> Response:
    mails = [as_shown(message, doors.letters.write(message)) for message in await doors.ledger.newest(MAILS_MAX)]
    return document(mails) if call.wants_json else doors.page(call, "dev_mail.html", mails=mails)


def as_shown(message: StoredMessage, letter: Letter) -> dict[str, Any]:
    return {
        "to": message.recipient,
        "kind": message.kind,
        "subject": letter.subject,
        "text": letter.text,
        "html": letter.html,
        "message_id": message.message_id,
        "order": None if message.order_id is None else str(message.order_id),
    }
