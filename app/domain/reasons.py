"""What the shop writes down in English about itself, and says in the language of whoever reads: why a payment, a refund or a parcel
needs a person, what the books find wrong, why something was not sent.

Rows keep the English sentence: logs, the command line and programs read it as it is. `in_words` knows every form of such a
sentence, finds the values in it and says it anew, so rows of earlier days are said in the reader's language too. What is not known
(the words of a provider or of a mail server) stays as it is. tests/domain/test_reasons.py reads the code and fails for a sentence
that is written somewhere and is not here.
"""

import functools
import re
from contextlib import suppress

from app.errors import BadInput
from app.languages import N_, _, money, number

DEPTH_MAX = 4  # sentences within sentences
CHARACTERS_MAX = 2000  # what is longer is nobody's sentence
REASONS = (
    # payments and refunds
    N_("outcome unknown: %(why)s"),
    N_("refund not confirmed: %(why)s"),
    N_("no answer"),
    N_("the payment provider gave no answer within %(seconds)s s"),
    N_("the payment provider gave no clear answer: %(answer)s"),
    N_("no connection"),
    N_("the payment provider refused (%(code)s): %(why)s"),
    N_("the payment provider could not refund: %(state)s"),
    N_("the payment provider cannot charge %(amount)s minor units of %(currency)s: it counts fewer decimals"),
    N_("the provider is still working on this payment"),
    N_("cancel was answered %(state)s"),
    N_("the payment is %(state)s"),
    N_("the provider says: %(notice)s"),
    N_("the provider has given back %(amount)s minor units in all, more than was asked of it"),
    N_("given back by the seller while its outcome was unknown: a charge that comes to light goes back"),
    N_("intent %(intent)s, which is not this order's, captured %(amount)s"),
    N_("captured %(amount)s, owed %(owed)s"),
    # parcels
    N_("the warehouse has %(parcels)s parcels for this order (%(numbers)s): cancel all but one there"),
    N_("the warehouse was asked to make it, gave no answer and lists none: look there, then resubmit"),
    N_("the warehouse has not sent it yet"),
    N_("the warehouse does not list it any more"),
    N_("the warehouse's list is none"),
    N_("the warehouse could not be reached: %(error)s"),
    N_("the warehouse gave no answer: %(error)s"),
    N_("the warehouse refused: %(answer)s"),
    N_("the warehouse gave no clear answer: %(answer)s"),
    N_("the warehouse's answer is not JSON"),
    N_("the warehouse's answer is no object"),
    N_("the warehouse named no number"),
    N_("the warehouse did not say when it made an order"),
    N_("refunded in full although the warehouse has its parcel, or may have it"),
    # the books
    N_("variant %(variant)s: sold %(sold)s, movements sum to %(sum)s"),
    N_("variant %(variant)s: sold %(sold)s, live orders and withdrawn units are %(accounted)s"),
    N_("variant %(variant)s: sold %(sold)s of %(total)s"),
    N_("%(number)s shoppers hold more than %(limit)s"),
    N_("%(number)s journal entries could not be recorded"),
    N_("%(number)s paid orders without their capture"),
    N_("%(number)s ended orders whose money was kept"),
    N_("the gate is out of reach"),
    N_("the gate is empty: not ready until it is rebuilt"),
    N_("total %(total)s but %(left)s left at the gate and %(accounted)s accounted for"),
    N_("the gate is moving: read again"),
    # mails and webhooks
    N_("the mail server is out of reach: %(why)s"),
    N_("no answer: %(why)s"),
    N_("cannot be written: %(why)s"),
    N_("no answer within %(seconds)s seconds"),
    N_("no connection in time"),
    N_("the address leads into a private network; nothing was sent"),
    N_("nothing is sent to a socket of this machine"),
)
_NUMBER = r"-?\d+(?:\.\d+)?"
_NUMBERS = ("seconds", "parcels", "sold", "sum", "accounted", "total", "number", "limit", "left")
_SUM = re.compile(r"(\d{1,15}) ([A-Z]{3})")


def in_words(text: str) -> str:
    """-> the sentence in the language that is spoken; the text itself where it is none of ours."""
    return _said(text, 0)


def known(text: str) -> bool:
    """Whether this is a sentence of ours."""
    return _found(text) is not None


def _said(text: str, depth: int) -> str:
    found = _found(text) if depth < DEPTH_MAX else None
    if found is None:
        return text
    message, values = found
    return _(message, **{name: _value(name, value, depth + 1) for name, value in values.items()})


def _value(name: str, value: str, depth: int) -> str:
    if name in _NUMBERS:
        return number(float(value)) if "." in value else number(int(value))
    if amount := _SUM.fullmatch(value):
        with suppress(BadInput):  # no currency after all
            return money(int(amount[1]), amount[2])
    return _said(value, depth)


@functools.lru_cache(1024)
def _found(text: str) -> tuple[str, dict[str, str]] | None:
    """-> the sentence this text is an instance of, and the values in it."""
    if len(text) > CHARACTERS_MAX:
        return None
    for message, pattern in _patterns():
        found = pattern.fullmatch(text)
        if found:
            return message, found.groupdict()
    return None


@functools.cache
def _patterns() -> list[tuple[str, re.Pattern]]:
    """-> the sentences as they are found, those with the most words of their own first."""
    ordered = sorted(REASONS, key=lambda message: -len(re.sub(r"%\(\w+\)s", "", message)))
    return [(message, re.compile(_pattern(message), re.DOTALL)) for message in ordered]


def _pattern(message: str) -> str:
    pieces = re.split(r"%\((\w+)\)s", message)
    return "".join(
        re.escape(piece) if place % 2 == 0 else f"(?P<{piece}>{_NUMBER if piece in _NUMBERS else '.+?'})"
        for place, piece in enumerate(pieces)
    )
