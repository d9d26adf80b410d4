"""Notices of the provider (webhooks), read by the official SDK: raw body, signature, age.

Guarantees: what is returned was signed with a secret of ours at most AGE_SECONDS_MAX ago. A notice is news, not truth, except where
it tells of a capture: that is the provider's own signed word. Everything else is asked for before anything follows from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import stripe

from app.domain.ids import parse_order_id
from app.errors import BadInput, BrokenInvariant
from app.payments.protocol import Outcome
from app.payments.stripe_provider import from_stripe, outcome_of

AGE_SECONDS_MAX = 300
CHARACTERS_MAX = 255
QUESTIONED = frozenset({"charge.dispute.created", "refund.failed", "charge.dispute.funds_withdrawn"})


class BadNotice(BadInput):
    """Not to be believed: no notice at all, or not proven to come from the provider."""


class NotSigned(BadNotice):
    """Not signed with a secret of ours, or too long ago."""


@dataclass(frozen=True, slots=True)
class Notice:
    id: str
    kind: str  # Stripe's type: 'payment_intent.succeeded', ...
    order_id: UUID | None  # named by the metadata, if it names one
    intent_id: str | None
    outcome: Outcome | None  # of a payment intent
    refunded_minor: int | None  # of 'charge.refunded': all that went back so far

    @property
    def questions_payment(self) -> bool:
        return self.kind in QUESTIONED


def read_notice(body: bytes, signature: str, secrets: Sequence[str]) -> Notice:
    """`secrets`: one, or two while they are rotated; any may have signed it. BadNotice: do not believe it."""
    if not signature.isascii():
        raise NotSigned("the signature is none")
    try:
        event = _signed_event(body, signature, secrets)
        subject = event.data.object
        notice_id, kind = event.id, event.type
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise BadNotice("the body is no notice") from error
    if not all(isinstance(text, str) and 0 < len(text) <= CHARACTERS_MAX and text.isprintable() for text in (notice_id, kind)):
        raise BadNotice("the notice has no name")
    try:
        if subject.object == "payment_intent":
            return Notice(notice_id, kind, _order_of(subject), subject.id, outcome_of(subject), None)
        intent_id = getattr(subject, "payment_intent", None)
        refunded = subject.amount_refunded if kind == "charge.refunded" else None
        minor = None if refunded is None else from_stripe(refunded, subject.currency.upper())
        return Notice(notice_id, kind, _order_of(subject), intent_id if isinstance(intent_id, str) else None, None, minor)
    except (AttributeError, TypeError, BadInput, BrokenInvariant):
        return Notice(notice_id, kind, None, None, None, None)  # signed, and of a kind we do not know


def _signed_event(body: bytes, signature: str, secrets: Sequence[str]) -> stripe.Event:
    for secret in secrets:
        try:
            return stripe.Webhook.construct_event(body, signature, secret, AGE_SECONDS_MAX)
        except stripe.SignatureVerificationError:
            continue
    raise NotSigned("not signed with a secret of ours, or too old")


def _order_of(subject) -> UUID | None:
    named = getattr(getattr(subject, "metadata", None), "order", None)
    try:
        return parse_order_id(named) if isinstance(named, str) else None
    except BadInput:
        return None
