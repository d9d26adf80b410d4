"""What happened in a drop, in plain words for its seller: one sentence per kind of event, equal ones within seconds told as one.

A kind without a sentence is shown as the ledger calls it: nothing that happened is left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from app.domain.drops import Variant
from app.languages import N_, _, count, money
from app.ledger import Happening, order_number
from app.web.seller.telling import reason_said

TOLD_MAX = 40  # lines of a feed
TOGETHER_SECONDS = 10  # equal events within so long are one line

# kind -> (tone, sentence). Tones are what colours mean: go, wait, yours (paid), plain; `trouble` also has a sign of its own.
SENTENCES: dict[str, tuple[str, str]] = {
    "published": ("go", N_("Published")),
    "door open": ("go", N_("The door is open for buying")),
    "door paused": ("wait", N_("Paused: nobody gets a piece")),
    "door closed": ("plain", N_("Ended")),
    "door cancelled": ("trouble", N_("Cancelled: everybody gets their money back")),
    "postponed": ("wait", N_("Postponed: it opens later")),
    "words changed": ("plain", N_("Texts or pictures changed")),
    "retired": ("plain", N_("Books closed")),
    "units added": ("go", N_("Pieces added")),
    "units taken away": ("plain", N_("Pieces taken away")),
    "units not added": ("trouble", N_("Pieces could not be taken away: sold meanwhile")),
    "held": ("wait", N_("Somebody has a piece in their checkout")),
    "offered": ("wait", N_("A piece is held for the next on the list")),
    "offer not wanted": ("plain", N_("An offer was for somebody who had left the list")),
    "refused": ("trouble", N_("Refused: there was no piece left in the ledger")),
    "address given": ("plain", N_("An address was given")),
    "address corrected": ("plain", N_("An address was corrected")),
    "mail sent again": ("plain", N_("A mail was sent again")),
    "payment submitted": ("plain", N_("A payment was submitted")),
    "charging": ("plain", N_("Being charged")),
    "taken over": ("trouble", N_("A charge was taken over from a worker that died")),
    "authentication asked": ("wait", N_("The bank asks the buyer to confirm")),
    "declined": ("plain", N_("Declined")),
    "outcome unknown": ("trouble", N_("The provider gave no answer: it is asked again")),
    "asked again": ("plain", N_("The provider is asked once more")),
    "nothing was charged": ("plain", N_("The provider says that nothing was charged")),
    "paid": ("yours", N_("Paid")),
    "expired": ("plain", N_("Not paid in time: the piece goes back")),
    "failed": ("plain", N_("Out of attempts: the piece goes back")),
    "cancelled": ("plain", N_("Given back by the buyer")),
    "giving back": ("plain", N_("Being given back")),
    "late money": ("trouble", N_("Paid too late: the money goes back")),
    "wrong amount": ("trouble", N_("Another amount than was owed: the money goes back")),
    "foreign money": ("trouble", N_("Money of an unknown payment: it goes back")),
    "refund wanted": ("plain", N_("A refund was asked for")),
    "refund not confirmed": ("trouble", N_("The provider has not confirmed a refund")),
    "refunded": ("plain", N_("Refunded")),
    "refunded elsewhere": ("plain", N_("Refunded at the provider")),
    "units returned": ("go", N_("Refunded pieces are on sale again")),
    "units withdrawn": ("plain", N_("Refunded pieces stay off sale")),
    "payment questioned": ("trouble", N_("The provider questions a payment")),
    "notice ignored": ("plain", N_("A notice of the provider changed nothing")),
    "looked at": ("plain", N_("Looked at")),
    "parcel asked for": ("plain", N_("The warehouse is asked for a parcel")),
    "parcel made": ("plain", N_("The warehouse has packed it")),
    "parcel sent": ("plain", N_("On its way")),
    "parcel waits": ("trouble", N_("A parcel waits for a person")),
    "parcel resubmitted": ("plain", N_("A parcel was submitted again")),
    "parcel withdrawn": ("plain", N_("A parcel was withdrawn")),
    "refunded and shipped": ("trouble", N_("Refunded, and already on its way")),
}

# What follows tells it, or nothing does: an order's own page has these.
QUIET = frozenset({"charging", "parcel asked for", "giving back", "payment submitted", "address given", "notice ignored"})


@dataclass(slots=True)
class Told:
    """One line of the feed: `times` equal events, the newest at `at`."""

    kind: str
    tone: str
    sentence: str
    detail: str  # "" without one
    at: datetime
    times: int
    order_id: UUID | None  # None where it is about the drop, or about several orders

    @property
    def order(self) -> str:
        """The order's number within its drop, by which the list of orders finds it."""
        return "" if self.order_id is None else order_number(self.order_id)


def tell(happenings: Iterable[Happening], variants: Iterable[Variant], currency: str) -> list[Told]:
    """Events, newest first -> lines, newest first, at most TOLD_MAX, in the reader's language."""
    names = {variant.id: variant.name for variant in variants}
    lines: list[Told] = []
    for happening in happenings:
        if happening.kind in QUIET:
            continue
        kind = kind_of(happening)
        detail = detail_of(happening, names, currency)
        line = next((line for line in reversed(lines) if together(line, kind, detail, happening)), None)
        if line is not None:
            line.times += 1
            line.order_id = None
            continue
        if len(lines) == TOLD_MAX:
            break
        tone, sentence = SENTENCES.get(kind, ("plain", happening.kind))
        lines.append(Told(kind, tone, _(sentence), detail, happening.at, 1, happening.order_id))
    return lines


def together(line: Told, kind: str, detail: str, happening: Happening) -> bool:
    """Whether an older event is told in this line. What happened to the drop itself always stands alone."""
    same = line.kind == kind and line.detail == detail and happening.order_id is not None
    return same and line.at - happening.at <= timedelta(seconds=TOGETHER_SECONDS)


def kind_of(happening: Happening) -> str:
    if happening.kind == "units added" and happening.detail.get("units", 0) < 0:
        return "units taken away"
    return happening.kind


def detail_of(happening: Happening, names: dict[int, str], currency: str) -> str:
    """-> what the sentence leaves open: how much, how many, of what."""
    detail = happening.detail
    if happening.order_id is None and "units" in detail:
        variant = names.get(detail.get("variant"), "") if len(names) > 1 else ""
        return f"{count(abs(detail['units']))} {variant}".strip()
    if happening.kind in ("paid", "refunded", "refund wanted", "refunded elsewhere", "late money") and "amount_minor" in detail:
        return money(detail["amount_minor"], currency)
    if happening.kind == "declined":
        return reason_said(str(detail.get("reason") or ""))
    return ""
