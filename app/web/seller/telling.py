"""Orders in the seller's words: states, money, parcels, mails, and the whole history of one order as sentences.

Times are the shop's: drawn in its time zone, which is named. A kind of event that nobody has words for is shown by its own name, so
nothing that happened is ever left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from app.domain.reasons import in_words
from app.domain.schedule import zone_named
from app.languages import N_, _, day, in_zone, money, when
from app.ledger import Attention, Event, Story, Undelivered, order_number
from app.ledger.refunds import DROP_CANCELLED, LATE_MONEY, PART, WHOLE
from app.ledger.shop_orders import MailTold
from app.purchase.refunding import lawful_actions

GO, WAIT, YOURS, PLAIN, TROUBLE = "go", "wait", "yours", "plain", "trouble"  # what the colours mean; trouble has a sign of its own

STATES: Mapping[str, tuple[str, str]] = {
    "PENDING_PAYMENT": (WAIT, N_("In checkout")),
    "PROCESSING": (WAIT, N_("Payment under way")),
    "PAID": (YOURS, N_("Paid")),
    "EXPIRED": (PLAIN, N_("Time ran out")),
    "FAILED": (PLAIN, N_("Payment failed")),
    "CANCELLED": (PLAIN, N_("Given back")),
    "REFUNDED": (PLAIN, N_("Refunded")),
    "REFUSED": (TROUBLE, N_("Not granted")),
}
PAYMENTS: Mapping[str, tuple[str, str]] = {
    "none": (PLAIN, N_("Nothing charged")),
    "authorising": (WAIT, N_("Being charged")),
    "unknown": (TROUBLE, N_("Unknown")),
    "captured": (YOURS, N_("Received")),
    "part_refunded": (PLAIN, N_("Partly given back")),
    "refunded": (PLAIN, N_("All given back")),
}
PARCELS: Mapping[str, tuple[str, str]] = {
    "waiting": (WAIT, N_("To be packed")),
    "unknown": (TROUBLE, N_("Unknown at the warehouse")),
    "made": (WAIT, N_("At the warehouse")),
    "sent": (YOURS, N_("On its way")),
    "withdrawn": (PLAIN, N_("Withdrawn")),
}
ATTEMPTS: Mapping[str, tuple[str, str]] = {
    "open": (WAIT, N_("Under way")),
    "action": (WAIT, N_("Waits for the buyer at their bank")),
    "captured": (YOURS, N_("Went through")),
    "declined": (PLAIN, N_("Declined")),
    "abandoned": (PLAIN, N_("Given up")),
}
MAILS: Mapping[str, str] = {
    "hold": N_("It is held for you"),
    "your_turn": N_("It is your turn"),
    "expires_soon": N_("The hold ends soon"),
    "declined": N_("The card was declined"),
    "confirmation": N_("Confirmation"),
    "expired": N_("The hold ended"),
    "failed": N_("The payment failed"),
    "units_back": N_("Pieces are back"),
    "refused": N_("It did not work out"),
    "money_back": N_("Money back"),
    "parcel_sent": N_("The parcel is on its way"),
    "drop_cancelled": N_("The drop is cancelled"),
    "offer_lapsed": N_("The turn has passed"),
    "opens_soon": N_("It opens soon"),
    "opening_moved": N_("The opening has moved"),
    "waitlist_joined": N_("On the waiting list"),
    "waitlist_closed": N_("The waiting list closed"),
}
MAIL_STATES: Mapping[str, tuple[str, str]] = {
    "waiting": (WAIT, N_("Waits to be sent")),
    "kept here": (PLAIN, N_("Here only: no mail server is set")),
    "tried again": (WAIT, N_("Not taken so far; it is tried again")),
    "sent": (YOURS, N_("Handed to the mail server")),
    "came back": (TROUBLE, N_("Came back after it was sent")),
    "failed": (TROUBLE, N_("Refused or given up")),
    "unknown": (TROUBLE, N_("Nobody knows whether it arrived")),
    "withheld": (PLAIN, N_("Kept back: the buyer is synthetic or gone")),
}
REASONS: Mapping[str, str] = {
    "gate_leaked": N_("no piece was left"),
    "duplicate_buyer": N_("the limit per person was reached"),
    "deadline": N_("the time to pay ran out"),
    "declined": N_("no payment attempt went through"),
    "by_shopper": N_("by the buyer"),
    "by_seller": N_("by the seller"),
    "left_list": N_("they had left the waiting list"),
    "amount_mismatch": N_("another amount was charged than was owed"),
    "late_money": N_("the money came too late"),
}
DECLINES: Mapping[str, str] = {  # the provider's codes; others are shown as they are
    "insufficient_funds": N_("insufficient funds"),
    "expired_card": N_("the card has expired"),
    "incorrect_cvc": N_("wrong security code"),
    "incorrect_number": N_("wrong card number"),
    "invalid_payment_method": N_("the card must be entered anew"),
    "card_declined": N_("no reason was given"),
    "generic_decline": N_("no reason was given"),
    "do_not_honor": N_("the bank said no"),
    "fraudulent": N_("the bank suspects fraud"),
    "lost_card": N_("the card is reported lost"),
    "stolen_card": N_("the card is reported stolen"),
    "processing_error": N_("an error at the bank"),
    "card_velocity_exceeded": N_("the card’s limit was reached"),
    "withdrawal_count_limit_exceeded": N_("the card’s limit was reached"),
    "card_not_supported": N_("the card does not allow this"),
    "currency_not_supported": N_("the card does not pay in this currency"),
    "authentication_required": N_("the bank wants to be asked"),
    "authentication_unavailable": N_("the bank could not ask"),
    "payment_intent_authentication_failure": N_("not confirmed at the bank"),
}
PURPOSES: Mapping[str, str] = {
    LATE_MONEY: N_("it came too late, or was not what was owed"),
    DROP_CANCELLED: N_("the drop is cancelled"),
    WHOLE: N_("by the seller, everything"),
    PART: N_("by the seller, a part"),
    "foreign:": N_("of a payment that is not this order's"),
}
WHO: Mapping[str, str] = {
    "recorder": N_("the shop"),
    "sweeper": N_("the shop"),
    "charge worker": N_("the shop"),
    "fulfilment worker": N_("the shop"),
    "provider": N_("the payment provider"),
    "shopper": N_("the buyer"),
    "seller": N_("the seller"),
}

# kind of event -> (tone, sentence). The values that a sentence may name are those of `_values`.
HISTORY: Mapping[str, tuple[str, str]] = {
    "held": (WAIT, N_("Through the door: %(units)s held until paid")),
    "offered": (WAIT, N_("Number %(place)s of the waiting list: %(units)s offered")),
    "offer not wanted": (PLAIN, N_("Offered to somebody who had left the waiting list")),
    "refused": (TROUBLE, N_("Not granted: %(reason)s")),
    "address given": (PLAIN, N_("An address was given")),
    "address corrected": (PLAIN, N_("The address was corrected")),
    "payment submitted": (PLAIN, N_("Payment attempt %(attempt)s submitted")),
    "charging": (PLAIN, N_("Attempt %(attempt)s sent to the payment provider")),
    "taken over": (TROUBLE, N_("The worker that charged it fell silent; another looked the payment up")),
    "authentication asked": (WAIT, N_("The bank asks the buyer to confirm attempt %(attempt)s")),
    "declined": (PLAIN, N_("Attempt %(attempt)s declined: %(reason)s")),
    "outcome unknown": (TROUBLE, N_("Asked the provider %(asked)s times without an answer that settles it: %(why)s")),
    "asked again": (PLAIN, N_("The provider is asked again at once")),
    "nothing was charged": (PLAIN, N_("Nothing was charged, and nothing can be any more")),
    "paid": (YOURS, N_("Paid: %(amount)s received")),
    "giving back": (PLAIN, N_("Being given back: %(reason)s")),
    "expired": (PLAIN, N_("Not paid in time: %(units)s went back")),
    "failed": (PLAIN, N_("No payment went through: %(units)s went back")),
    "cancelled": (PLAIN, N_("Given back: %(units)s on sale again")),
    "late money": (TROUBLE, N_("%(amount)s came in after the order had ended: it goes back")),
    "wrong amount": (TROUBLE, N_("%(amount)s was charged, which is not what was owed: it goes back")),
    "foreign money": (TROUBLE, N_("%(amount)s came in under a payment that is not this order’s: it goes back")),
    "refund wanted": (PLAIN, N_("Refund of %(amount)s asked for: %(purpose)s")),
    "refund not confirmed": (TROUBLE, N_("Asked %(asked)s times, the provider has not confirmed the refund: %(why)s")),
    "refunded": (PLAIN, N_("Refunded: %(amount)s went back")),
    "refunded elsewhere": (TROUBLE, N_("The provider says it gave back %(amount)s in all, more than was asked of it")),
    "units returned": (GO, N_("Refunded pieces on sale again: %(units)s")),
    "units withdrawn": (PLAIN, N_("Refunded pieces stay off sale: %(units)s")),
    "payment questioned": (TROUBLE, N_("The provider questions the payment: %(why)s")),
    "notice ignored": (PLAIN, N_("A notice of the provider changed nothing: %(notice)s")),
    "looked at": (PLAIN, N_("Marked as looked at")),
    "mail sent again": (PLAIN, N_("A mail was sent once more")),
    "parcel asked for": (PLAIN, N_("The warehouse is asked for the parcel")),
    "parcel made": (PLAIN, N_("The warehouse has it as %(number)s")),
    "parcel sent": (YOURS, N_("On its way: %(tracking)s")),
    "parcel waits": (TROUBLE, N_("The parcel waits: %(why)s")),
    "parcel resubmitted": (PLAIN, N_("The parcel is submitted again, after a look at the warehouse’s list")),
    "parcel withdrawn": (PLAIN, N_("There will be no parcel")),
    "refunded and shipped": (TROUBLE, N_("Refunded although the warehouse has the parcel, or may have it")),
}
ATTENTION: Mapping[str, str] = {
    "payment": N_("Payment of %(amount)s"),
    "refund": N_("Refund of %(amount)s"),
    "parcel": N_("Parcel"),
}


@dataclass(frozen=True, slots=True)
class Act:
    """One thing the seller may do."""

    words: str
    url: str
    money: bool  # needs the right to decide about money
    way: str  # page: the address is a form's; hold: asks before harm; once: harmless


# what lawful_actions says -> (words, last part of the address, whether it needs Right.MONEY, way)
ACTS: Mapping[str, tuple[str, str, bool, str]] = {
    "ask again": (N_("Ask again now"), "ask-again", False, "once"),
    "give back": (N_("Give the pieces back unasked"), "give-back", True, "hold"),
    "refund": (N_("Refund"), "refund", True, "page"),
    "looked at": (N_("I have seen to it"), "looked-at", True, "once"),
    "resubmit": (N_("Submit the parcel again"), "parcel", False, "hold"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One event of a history."""

    kind: str
    tone: str
    sentence: str
    who: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that needs a person, with what is known and what may be done."""

    order_id: str
    number: str
    kind: str
    title: str
    drop: str  # its slug
    why: str
    known: Sequence[tuple[str, str]]  # names and values
    reserved_at: datetime
    acts: Sequence[Act]


class Teller:
    """Says things in the reader's language and the shop's time zone. `posts`: there is a mail server."""

    def __init__(self, time_zone: str, *, posts: bool = True):
        self.zone = zone_named(time_zone) or UTC
        self.posts = posts

    def moment(self, at: datetime) -> str:
        """-> '30 Nov 2026, 21:00 CET'."""
        with in_zone(self.zone):
            return when(at)

    def exact(self, at: datetime) -> str:
        """-> '30 Nov 2026, 21:00:00.412 CET'."""
        local = at.astimezone(self.zone)
        return f"{day(local)}, {local:%H:%M:%S}.{local.microsecond // 1000:03} {local:%Z}"

    def stamp(self, at: datetime) -> str:
        """-> '2026-11-30T21:00:00.412+01:00', for files."""
        return at.astimezone(self.zone).isoformat(timespec="milliseconds")

    def state(self, word: str) -> tuple[str, str]:
        return self._said(STATES, word)

    def payment(self, word: str) -> tuple[str, str]:
        return self._said(PAYMENTS, word)

    def parcel(self, word: str) -> tuple[str, str]:
        return self._said(PARCELS, word)

    def attempt(self, word: str) -> tuple[str, str]:
        return self._said(ATTEMPTS, word)

    def mail_state(self, mail: MailTold | Undelivered) -> tuple[str, str]:
        return self._said(MAIL_STATES, became(mail.state, mail.tries, mail.sent_at, posts=self.posts))

    def mail(self, kind: str) -> str:
        return _(MAILS[kind]) if kind in MAILS else plain(kind)

    def reason(self, word: str | None) -> str:
        return "" if not word else reason_said(word)

    def purpose(self, purpose: str) -> str:
        found = next((words for beginning, words in PURPOSES.items() if purpose.startswith(beginning)), None)
        return _(found) if found else plain(purpose)

    def choices(self, words: Mapping[str, tuple[str, str]]) -> list[tuple[str, str]]:
        """-> (word, what it is called) of a table above, for a list to choose from."""
        return [(word, _(text)) for word, (_tone, text) in words.items()]

    def history(self, story: Story) -> list[Line]:
        return [self.line(event, story) for event in story.events]

    def line(self, event: Event, story: Story) -> Line:
        kind = "offered" if event.kind == "held" and story.order.offered else event.kind
        tone, sentence = HISTORY.get(kind, (PLAIN, ""))
        said = _(sentence, **self._values(event, story)) if sentence else plain(event.kind)
        who = event.detail.get("by", "")
        return Line(event.kind, tone, said, _(WHO[who]) if who in WHO else plain(who), event.at)

    def trouble(self, found: Attention) -> Trouble:
        amount = money(found.amount_minor, found.currency)
        known = [
            (_("Order"), self.state(found.state)[1]),
            (_("Money"), self.payment(found.payment)[1] if found.payment else ""),
            (_("Parcel"), self.parcel(found.parcel)[1] if found.parcel else ""),
            (_("What for"), self.purpose(found.purpose) if found.purpose else ""),
            (_("Asked without an answer"), str(found.asked_again) if found.asked_again else ""),
            (_("Reference outside"), found.reference or ""),
        ]
        return Trouble(
            order_id=str(found.order_id),
            number=order_number(found.order_id),
            kind=found.kind,
            title=_(ATTENTION[found.kind], amount=amount),
            drop=found.drop_slug,
            why=in_words(found.why),
            known=[(name, value) for name, value in known if value],
            reserved_at=found.reserved_at,
            acts=[self.act(word, str(found.order_id)) for word in lawful_actions(found.kind, found.state)],
        )

    def act(self, word: str, order_id: str) -> Act:
        words, last, needs_money, way = ACTS[word]
        return Act(_(words), f"/seller/orders/{order_id}/{last}", needs_money, way)

    def _values(self, event: Event, story: Story) -> dict[str, str]:
        detail = event.detail
        currency = str(detail.get("currency", story.order.currency)).upper()
        return {
            "units": str(detail.get("units", story.order.quantity)),
            "place": str(story.place.number) if story.place else "",
            "reason": self.reason(detail.get("reason")) or _("no reason was given"),
            "attempt": str(detail.get("attempt", "")),
            "amount": money(detail.get("amount_minor", story.order.amount_minor), currency),
            "purpose": self.purpose(detail.get("purpose", "")),
            "why": in_words(str(detail.get("why", ""))),
            **{name: str(detail.get(name, "")) for name in ("asked", "notice", "number", "tracking")},
        }

    def _said(self, words: Mapping[str, tuple[str, str]], word: str) -> tuple[str, str]:
        tone, text = words.get(word, (PLAIN, ""))
        return tone, _(text) if text else plain(word)


def reason_said(word: str) -> str:
    """-> why something ended or was declined, in the reader's language; a code that nobody has words for as it is."""
    known = REASONS.get(word) or DECLINES.get(word)
    return _(known) if known else plain(word)


def became(state: str, tries: int, sent_at: datetime | None, *, posts: bool) -> str:
    """-> what became of a mail, a word of MAIL_STATES. `posts`: there is a mail server, so that what waits will be sent."""
    if state == "waiting":
        return "kept here" if not posts else "tried again" if tries else "waiting"
    return "came back" if state == "failed" and sent_at is not None else state


def plain(word: str) -> str:
    """'insufficient_funds' -> 'insufficient funds'."""
    return word.replace("_", " ")
