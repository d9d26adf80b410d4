"""The provider's notices: proven by their signature over the raw body, not by where they come from.

2xx: known, not ours, or its effect is committed. 400: not signed with our secret, or older than five minutes. 5xx: our ledger did
not answer, so the provider sends it again. Nothing depends on them: they only make the shop faster.
"""

from litestar import Request, Response, post
from litestar.exceptions import ClientException

from app.errors import NotFound
from app.payments.notices import BadNotice, read_notice
from app.web.doors import TheseDoors, ThisCall, document


@post("/webhooks/stripe", status_code=200)
async def stripe_notice(request: Request, call: ThisCall, doors: TheseDoors) -> Response:
    secret = doors.settings.stripe_webhook_secret
    if not secret:
        raise NotFound("no notices are expected")
    try:
        notice = read_notice(call.body, request.headers.get("stripe-signature", ""), secret)
    except BadNotice as error:
        raise ClientException(str(error)) from error
    return document({"effect": await doors.till.hear(notice)})
