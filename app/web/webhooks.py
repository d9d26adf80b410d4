"""The provider's notices: proven by their signature over the raw body, not by where they come from.

2xx: known, not ours, or its effect is committed. 400: not signed with our secret, or older than five minutes. 5xx: our ledger did
not answer, so the provider sends it again. Nothing depends on them: they only make the shop faster.
"""

import structlog
from litestar import Request, Response, post

from app.errors import NotFound
from app.languages import N_
from app.payments.notices import BadNotice, NotSigned, read_notice
from app.web.doors import TheseDoors, ThisCall, document
from app.web.problems import Problem, Refused

NO_NOTICE = N_("This is no notice of the payment provider.")
NOT_SIGNED = N_("This notice is not signed with a secret of this shop, or it is more than five minutes old.")

log = structlog.get_logger("webhooks")


@post("/webhooks/stripe", status_code=200)
async def stripe_notice(request: Request, call: ThisCall, doors: TheseDoors) -> Response:
    secrets = doors.settings.webhook_secrets
    if not secrets:
        raise NotFound("no notices are expected")
    try:
        notice = read_notice(call.body, request.headers.get("stripe-signature", ""), secrets)
    except BadNotice as error:
        log.warning("notice not believed", why=str(error))  # a secret that was not rotated on both sides shows here
        raise Refused(Problem(400, NOT_SIGNED if isinstance(error, NotSigned) else NO_NOTICE)) from error
    return document({"effect": await doors.till.hear(notice)})
