"""What of the shop needs a person, and the mails among it: paged, each with the operations that may settle it."""

from typing import Annotated
from uuid import UUID

from msgspec import Meta

from app.domain.scopes import Scope
from app.errors import NotFound
from app.ledger import Attention, AttentionSpot, Undelivered
from app.ledger.shop_orders import SENDABLE
from app.purchase.refunding import lawful_actions
from app.web.api import shapes
from app.web.api.operation import Ask, operation
from app.web.api.paging import PURPOSE, cursor_of, page_of, place_in
from app.web.seller.attention import MAIL_ID_MAX

DEEDS = {  # words of the command line -> our operations
    "ask again": "ask_order_again",
    "give back": "give_back_order",
    "refund": "refund_order",
    "looked at": "look_at_order",
    "resubmit": "resubmit_parcel",
}
Kind = Annotated[str, Meta(pattern="^[a-z]{1,20}$")]
MailId = Annotated[int, Meta(ge=1, le=MAIL_ID_MAX)]
Place = tuple[tuple[shapes.Moment, UUID, Kind, PURPOSE] | None, MailId | None]  # in both lists; None: that one has ended


@operation(
    "GET",
    "/attention",
    scope=Scope.ORDERS,
    title="What needs a person",
    query=shapes.AttentionWanted,
    answer=shapes.Attention,
)
async def get_attention(ask: Ask) -> shapes.Attention:
    """Payments, refunds and parcels that nobody can decide about, and mails that did not arrive, each with the operations that may
    settle it. A page has up to `limit` of both; what is settled leaves the list and moves no page."""
    ledger, shop_id, limit = ask.doors.office.ledger, ask.key.shop_id, ask.query.limit
    place = place_in(ask.query.cursor, Place)
    spot, mail_id = place or (None, None)
    found, mails = [], []
    if place is None or spot is not None:
        found = await ledger.shop_attention(shop_id, limit + 1, after=spot and AttentionSpot(*spot))
    if place is None or mail_id is not None:
        mails = await ledger.shop_undelivered(shop_id, limit + 1, older_than=mail_id)
    (found, more_found), (mails, more_mails) = page_of(found, limit), page_of(mails, limit)
    following = None
    if more_found or more_mails:
        following = cursor_of(found[-1].spot if more_found else None, mails[-1].id if more_mails else None)
    return shapes.Attention(
        items=[trouble_told(one) for one in found],
        mails=[undelivered_told(one) for one in mails],
        more=following is not None,
        next=following,
    )


@operation("POST", "/mails/{mail_id:int}/seen", scope=Scope.ORDERS, title="Mark a mail as looked at", answer=shapes.Done)
async def see_mail(ask: Ask) -> shapes.Done:
    """A mail that did not arrive leaves the list of what needs a person. Seen twice is seen once."""
    ledger, key, mail_id = ask.doors.office.ledger, ask.key, ask.path["mail_id"]
    if not 0 < mail_id <= MAIL_ID_MAX:
        raise NotFound("no such mail")
    done = await ledger.mail_seen(key.shop_id, mail_id)
    if done:
        await ledger.audit(key.shop_id, key.actor, "mail looked at", f"mail {mail_id}", None, None)
    return shapes.Done(done=done)


# ---- what they share


def trouble_told(one: Attention) -> shapes.Trouble:
    return shapes.Trouble(
        kind=one.kind,
        order_id=one.order_id,
        drop=one.drop_slug,
        state=one.state,
        payment=one.payment,
        purpose=one.purpose,
        parcel=one.parcel,
        why=one.why,
        asked_again=one.asked_again,
        reference=one.reference,
        amount_minor=one.amount_minor,
        currency=one.currency,
        reserved_at=one.reserved_at,
        may=[DEEDS[action] for action in lawful_actions(one.kind, one.state)],
    )


def undelivered_told(one: Undelivered) -> shapes.Undelivered:
    return shapes.Undelivered(
        id=one.id,
        kind=one.kind,
        order_id=one.order_id,
        recipient=one.recipient,
        state=one.state,
        error=one.error,
        created_at=one.created_at,
        may=["resend_mail", "see_mail"] if one.order_id and one.kind in SENDABLE else ["see_mail"],
    )


OPERATIONS = [get_attention, see_mail]
