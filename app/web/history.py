"""What happened to an order, for the person whose order it is: their part of its history, in plain words.

The ledger's history (app/ledger/events.py) names workers, retries, notices and what a seller did about a doubt; a shopper reads
what concerns them. What is not in the table is not shown. The seller reads all of it (app/web/seller/telling.py).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from app.languages import N_, _, money
from app.ledger import Event
from app.web.orders_view import declined_words

# kind of event -> the sentence. The values that a sentence may name are those of `_values`.
TOLD: Mapping[str, str] = {
    "held": N_("You got through; it was held for you"),
    "offered": N_("It was your turn on the list; it was held for you"),
    "refused": N_("It could not be kept for you"),
    "address given": N_("You said where it goes"),
    "address corrected": N_("The shop corrected where it goes"),
    "payment submitted": N_("You sent a payment"),
    "authentication asked": N_("Your bank asked you to confirm it"),
    "declined": N_("Not charged: %(reason)s"),
    "outcome unknown": N_("No answer from the payment provider yet; it was asked again"),
    "paid": N_("Paid: %(amount)s"),
    "nothing was charged": N_("The payment provider confirmed that nothing was charged"),
    "expired": N_("The time to pay ran out"),
    "failed": N_("No payment went through"),
    "late money": N_("%(amount)s arrived too late and goes back to you"),
    "wrong amount": N_("%(amount)s was charged, which is not the price, and goes back to you"),
    "foreign money": N_("%(amount)s arrived a second time and goes back to you"),
    "refund wanted": N_("A refund of %(amount)s was started"),
    "refunded": N_("Refunded: %(amount)s"),
    "parcel made": N_("Parcel %(number)s is being packed"),
    "parcel sent": N_("Parcel on its way: %(tracking)s"),
}
ENDED_BY: Mapping[str, str] = {"shopper": N_("You gave it back"), "seller": N_("The shop cancelled it")}
ENDED = N_("It was given back")
ONCE = frozenset({"outcome unknown"})  # asked and asked again: told the first time


class Moment(NamedTuple):
    """One line of a shopper's history."""

    at: datetime
    text: str  # in the reader's language


def own_history(events: Sequence[Event], currency: str, reserved_at: datetime | None = None) -> tuple[Moment, ...]:
    """-> what its owner may read of an order's history, oldest first.

    `currency` and `reserved_at` (by the gate's clock) are the order's.
    """
    moments = []
    told_once = set()
    for event in events:
        sentence = _sentence_of(event, events)
        if sentence is None or event.kind in told_once:
            continue
        told_once |= {event.kind} & ONCE
        at = reserved_at if reserved_at and event.kind == "held" else event.at  # got through then; written down a moment later
        moments.append(Moment(at, _(sentence, **_values(event, currency))))
    return tuple(moments)


def _sentence_of(event: Event, events: Sequence[Event]) -> str | None:
    if event.kind == "cancelled":  # by a worker, where the payment provider had to be asked first: in the name of who wanted it
        wanted_by = [one.detail["by"] for one in events if one.kind == "giving back"]
        return ENDED_BY.get(wanted_by[-1] if wanted_by else event.detail["by"], ENDED)
    return TOLD.get(event.kind)


def _values(event: Event, currency: str) -> dict[str, str]:
    detail = event.detail
    values = {name: str(detail[name]) for name in ("number", "tracking") if name in detail}
    if "amount_minor" in detail:
        values["amount"] = money(detail["amount_minor"], detail.get("currency", currency))
    if event.kind == "declined":
        values["reason"] = declined_words(detail.get("reason"))
    return values
