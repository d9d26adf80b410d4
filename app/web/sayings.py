"""A verdict in words for the shopper, and its status by the public contract."""

from app.clock import from_ms, iso
from app.domain.drops import Drop
from app.domain.verdicts import Answer, Verdict
from app.web.problems import Problem
from app.web.render import Said, when

STATUS = {
    Verdict.RESERVED: 201,
    Verdict.ALREADY_YOURS: 200,
    Verdict.SOLD_OUT: 409,
    Verdict.ALL_HELD: 409,
    Verdict.NOT_OPEN: 409,
    Verdict.PAUSED: 409,
    Verdict.CLOSED: 409,
    Verdict.NOT_READY: 503,
    Verdict.TOO_FAST: 429,
    Verdict.KEY_CONFLICT: 422,
}

WORDS = {
    Verdict.ALREADY_YOURS: ("You have your share", "Your orders in this drop reach the limit per person."),
    Verdict.SOLD_OUT: ("Sold out", "Every piece is paid for right now."),
    Verdict.ALL_HELD: (
        "All in checkouts",
        "Nothing is left right now, but some pieces are in checkouts that are not paid yet. One may come back: stay here.",
    ),
    Verdict.NOT_OPEN: ("Not open yet", "The drop has not opened."),
    Verdict.PAUSED: ("Paused", "The seller has paused this drop. Stay here: it goes on by itself."),
    Verdict.CLOSED: ("Closed", "This drop is over."),
    Verdict.NOT_READY: ("One moment", "The shop is catching its breath. You were not charged. Try again in a few seconds."),
    Verdict.TOO_FAST: ("Slow down", "You asked too often. It does not improve your place: wait a few seconds."),
    Verdict.KEY_CONFLICT: ("This form was used already", "It bought something else before. Reload the page and choose again."),
}


def said(verdict: Verdict, opens_at_ms: int | None = None) -> Said:
    """-> the refusal in words."""
    title, detail = WORDS[verdict]
    if verdict is Verdict.NOT_OPEN and opens_at_ms is not None:
        detail = f"It opens on {when(from_ms(opens_at_ms))}."
    return Said(verdict.value, title, detail)


def said_by_name(name: str) -> Said | None:
    """The `said` parameter of a drop's page -> words; None for anything that is not a refusal."""
    return said(Verdict(name)) if name in WORDS_BY_NAME else None


WORDS_BY_NAME = frozenset(verdict.value for verdict in WORDS)


def refusal_problem(drop: Drop, answer: Answer) -> Problem:
    """-> the problem document of a refusal, `verdict` being its extension member."""
    words = said(answer.verdict, answer.opens_at_ms)
    more: dict[str, object] = {"verdict": answer.verdict.value, "drop": drop.slug}
    if answer.opens_at_ms is not None:
        more["opens_at"] = iso(from_ms(answer.opens_at_ms))
    return Problem(
        STATUS[answer.verdict],
        words.detail,
        title=words.title,
        field="key" if answer.verdict is Verdict.KEY_CONFLICT else None,
        retry_after_seconds=answer.retry_after_seconds,
        more=more,
    )
