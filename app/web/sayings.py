"""A verdict in words for the shopper, and its status by the public contract."""

from app.clock import from_ms, iso
from app.domain.drops import Drop, Phase
from app.domain.verdicts import Answer, Verdict
from app.languages import N_, _, ngettext, when
from app.web.problems import Problem
from app.web.render import Said

TOO_FEW = "too_few"  # not a verdict: some are left, and fewer than were wanted
REMINDED = "reminded"  # not a verdict: what the shopper hears after asking for a reminder

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
    Verdict.ALREADY_YOURS: (N_("You have your share"), N_("Your orders in this drop reach the limit per person.")),
    Verdict.SOLD_OUT: (N_("Sold out"), N_("Every piece is paid for right now.")),
    Verdict.ALL_HELD: (
        N_("All in checkouts"),
        N_("Nothing is left right now, but some pieces are in checkouts that are not paid yet. One may come back: stay here."),
    ),
    Verdict.NOT_OPEN: (N_("Not open yet"), N_("The drop has not opened.")),
    Verdict.PAUSED: (N_("Paused"), N_("The seller has paused this drop. Stay here: it goes on by itself.")),
    Verdict.CLOSED: (N_("Closed"), N_("This drop is over.")),
    Verdict.NOT_READY: (N_("One moment"), N_("The shop is catching its breath. You were not charged. Try again in a few seconds.")),
    Verdict.TOO_FAST: (N_("Slow down"), N_("You asked too often. It does not improve your place: wait a few seconds.")),
    Verdict.KEY_CONFLICT: (
        N_("This form was used already"),
        N_("It bought something else before. Reload the page and choose again."),
    ),
}


FEWER_LEFT = N_("Fewer are left than you want")


def said_too_few(verdict: Verdict, left: int) -> Said:
    """-> a no to somebody who asked for more than `left` units, of which there are some."""
    return Said(verdict.value, _(FEWER_LEFT), ngettext("%(num)s is left: take fewer.", "%(num)s are left: take fewer.", left))


def said(verdict: Verdict, opens_at_ms: int | None = None) -> Said:
    """-> the refusal in words, in the language of the request."""
    title, detail = map(_, WORDS[verdict])
    if verdict is Verdict.NOT_OPEN and opens_at_ms is not None:
        detail = _("It opens on %(moment)s.", moment=when(from_ms(opens_at_ms)))
    return Said(verdict.value, title, detail)


# A refusal in an address outlives its moment: these are shown only while the page's phase says the same.
SAID_WHILE = {
    Verdict.SOLD_OUT: {Phase.SOLD_OUT},
    Verdict.ALL_HELD: {Phase.ALL_HELD},
    Verdict.NOT_OPEN: {Phase.ANNOUNCED, Phase.LAST_SECONDS},
    Verdict.PAUSED: {Phase.PAUSED},
    Verdict.CLOSED: {Phase.CLOSED, Phase.CANCELLED},
    Verdict.NOT_READY: {Phase.NOT_READY},
}


def said_by_name(name: str, phase: Phase) -> Said | None:
    """The `said` parameter of a drop's page -> words; None for what is neither a refusal nor REMINDED, or is no longer so."""
    if name == REMINDED:
        return Said(REMINDED, _("We will tell you"), _("A mail comes shortly before the door opens."))
    if name == TOO_FEW:
        words = Said(TOO_FEW, _(FEWER_LEFT), _("Take fewer, or wait: what comes back shows here by itself."))
        return words if phase is Phase.OPEN else None
    if name not in WORDS_BY_NAME or phase not in SAID_WHILE.get(Verdict(name), {phase}):
        return None
    return said(Verdict(name))


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
