"""Everything of the shop that needs a person: payments, refunds and parcels nobody can decide about, mails that did not arrive, and
events that a webhook did not take.

Each says what is known and offers its lawful actions (app/purchase/refunding.py), which live with the order (orders.py), and those
about events with the webhook (webhooks.py): events are listed and counted for those alone who may act on them. Nothing leaves the
list by itself but what is known by now.
"""

from collections.abc import Sequence
from uuid import uuid4

from litestar import Response, get, post
from litestar.params import FromPath

from app.domain.roles import Right
from app.errors import NotFound
from app.languages import _
from app.ledger import GivenUp, order_number
from app.ledger.shop_orders import ATTENTION_COUNT_MAX, SENDABLE
from app.web.doors import HTML, PRIVATE, TheseDoors, ThisCall, redirect
from app.web.seller.access import PREFIX, ThisSeller
from app.web.seller.telling import Teller
from app.web.seller.webhooks import KIND_WORDS

SHOWN_MAX = 200
EVENTS_SHOWN_MAX = 100  # that webhooks did not take
MAIL_ID_MAX = 2**63 - 1


@get("/attention", right=Right.ORDERS)
async def show_attention(call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    tell = Teller(seller.time_zone, posts=bool(doors.settings.smtp_url))
    found = await doors.office.ledger.shop_attention(seller.shop_id, SHOWN_MAX + 1)
    mails = await doors.office.ledger.shop_undelivered(seller.shop_id, SHOWN_MAX + 1)
    events = await doors.office.ledger.given_up(seller.shop_id, EVENTS_SHOWN_MAX + 1) if seller.may(Right.KEYS) else []
    return doors.seller_page(
        call,
        seller,
        "seller/attention.html",
        title=_("Attention"),
        troubles=[tell.trouble(one) for one in found[:SHOWN_MAX]],
        mails=mails[:SHOWN_MAX],
        hooks=by_webhook(events[:EVENTS_SHOWN_MAX]),
        kind_words=KIND_WORDS,
        more=len(found) > SHOWN_MAX or len(mails) > SHOWN_MAX or len(events) > EVENTS_SHOWN_MAX,
        may_decide=seller.may(Right.MONEY),
        sendable=SENDABLE,
        wish=uuid4().hex,
        number=order_number,
        tell=tell,
    )


@get("/attention/count", right=Right.ORDERS)
async def count_attention(doors: TheseDoors, seller: ThisSeller) -> Response:
    """The number beside the place's name, on every page; empty for none."""
    found = await doors.office.ledger.shop_attention_count(seller.shop_id, with_hooks=seller.may(Right.KEYS))
    text = "" if not found else f"{found}+" if found == ATTENTION_COUNT_MAX else str(found)
    return Response(text.encode(), media_type=HTML, headers={**PRIVATE, "cache-control": "no-store"})


@post("/mails/{mail_id:int}/seen", status_code=200, right=Right.ORDERS)
async def see_mail(mail_id: FromPath[int], call: ThisCall, doors: TheseDoors, seller: ThisSeller) -> Response:
    """A mail that did not arrive leaves the list. Seen twice is seen once."""
    if not 0 < mail_id <= MAIL_ID_MAX:
        raise NotFound("no such mail")
    if await doors.office.ledger.mail_seen(seller.shop_id, mail_id):
        await doors.office.ledger.audit(seller.shop_id, seller.actor, "mail looked at", f"mail {mail_id}", None, None)
    return redirect(call, f"{PREFIX}/attention")


def by_webhook(events: Sequence[GivenUp]) -> list[tuple[int, str, list[GivenUp]]]:
    """-> (its id, its address, what it did not take) of each webhook, in the order of its newest."""
    found: dict[int, list[GivenUp]] = {}
    for event in events:
        found.setdefault(event.hook_id, []).append(event)
    return [(hook_id, those[0].url, those) for hook_id, those in found.items()]


ROUTES = [show_attention, count_attention, see_mail]
