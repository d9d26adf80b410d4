"""The development mailbox: every mail the shop wrote, newest first; its page also says what became of each. In production it does
not exist, whatever the address.
"""

from typing import Any

from litestar import Response, get

from app.ledger import StoredMessage
from app.mail.letters import Letter
from app.web.doors import TheseDoors, ThisCall, document
from app.web.seller.telling import MAIL_STATES, became

MAILS_MAX = 200


@get("/dev/mail")
async def show_mail(call: ThisCall, doors: TheseDoors) -> Response:
    messages = await doors.ledger.newest(MAILS_MAX)
    mails = [as_shown(message, doors.letters.write(message)) for message in messages]
    if call.wants_json:
        return document(mails)
    posts = bool(doors.settings.smtp_url)
    fates = [became(message.state, message.tries, message.sent_at, posts=posts) for message in messages]
    shown = list(zip(mails, messages, fates, strict=True))
    return doors.page(call, "dev_mail.html", mails=shown, posts=posts, words=MAIL_STATES)


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
