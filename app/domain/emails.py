"""E-mail addresses: what counts as one, and the form by which two are the same person's.

An address is compared normalised (letters lowered, a `+tag` dropped) and written to as its owner wrote it. One whose domain looks
like a slip of the finger has a likelier spelling, which is offered and never put in its place.
"""

import re

from app.errors import BadInput

EMAIL_CHARACTERS_MAX = 254  # RFC 5321
LOCAL_CHARACTERS_MAX = 64

# Where most people have their mail, the most likely first: what a slip is corrected to.
COMMON_DOMAINS = (
    "gmail.com", "outlook.com", "hotmail.com", "yahoo.com", "icloud.com", "googlemail.com", "live.com", "aol.com", "gmx.de",
    "web.de", "gmx.net", "t-online.de", "freenet.de", "posteo.de", "mailbox.org", "outlook.de", "hotmail.de", "yahoo.de",
    "protonmail.com", "proton.me", "fastmail.com", "yahoo.co.uk", "hotmail.co.uk", "btinternet.com", "yahoo.fr", "hotmail.fr",
    "orange.fr", "laposte.net", "wanadoo.fr", "free.fr", "libero.it", "hotmail.it", "yahoo.it", "hotmail.es", "yahoo.es",
    "comcast.net", "verizon.net", "bluewin.ch",
)  # fmt: skip
# As real as those they look like.
REAL_DOMAINS = frozenset((
    "mail.com", "email.com", "ymail.com", "rocketmail.com", "gmx.com", "gmx.at", "gmx.ch", "gmx.eu", "gmx.org", "gmx.fr", "gmx.us",
    "me.com", "mac.com", "msn.com", "live.de", "live.fr", "live.it", "live.nl", "live.co.uk", "aol.de", "outlook.fr", "outlook.it",
    "outlook.es", "outlook.at", "yahoo.ca", "yahoo.in", "yahoo.at", "hotmail.ch", "hotmail.at", "hotmail.nl", "proton.ch", "pm.me",
    "mail.de", "mail.ru", "fastmail.fm", "hey.com", "free.de", "weg.de",
))  # fmt: skip
ONE_DOMAIN = {"gmail": "gmail.com", "icloud": "icloud.com", "googlemail": "googlemail.com"}  # there is no gmail.de
SLIPS_MAX = 2  # letters too many, missing, wrong or swapped; in a short domain one
SHORT_CHARACTERS_MAX = 8

_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def written(text: str) -> str:
    """-> the address as it was written, without the space around it; BadInput for what cannot be mailed to."""
    address = text.strip()
    local, _, domain = address.rpartition("@")
    labels = domain.lower().split(".")
    if (
        len(address) > EMAIL_CHARACTERS_MAX
        or len(local) > LOCAL_CHARACTERS_MAX
        or not _LOCAL.fullmatch(local)
        or len(labels) < 2
        or not all(_LABEL.fullmatch(label) for label in labels)
    ):
        raise BadInput("this is not an e-mail address", field="email")
    return address


def likelier(address: str) -> str | None:
    """'ada@gmial.com' -> 'ada@gmail.com'; None: nothing about this address looks like a slip."""
    local, _, domain = address.rpartition("@")
    domain = domain.lower()
    if domain in COMMON_DOMAINS or domain in REAL_DOMAINS:
        return None
    meant = ONE_DOMAIN.get(domain.partition(".")[0])
    if meant is None:
        meant = min(COMMON_DOMAINS, key=lambda common: _slips(domain, common))  # of equals the more likely
        if _slips(domain, meant) > (1 if len(meant) <= SHORT_CHARACTERS_MAX else SLIPS_MAX):
            return None
    return f"{local}@{meant}"


def _slips(typed: str, meant: str) -> int:
    """How many letters are too many, missing, wrong, or swapped with their neighbour; more than SLIPS_MAX counts as one more."""
    if abs(len(typed) - len(meant)) > SLIPS_MAX:
        return SLIPS_MAX + 1
    before, last = [], list(range(len(meant) + 1))
    for i, letter in enumerate(typed, 1):
        row = [i]
        for j, other in enumerate(meant, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == meant[j - 2] and typed[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return min(last[-1], SLIPS_MAX + 1)


def normalise(text: str) -> str:
    """'Ada+drops@Example.org ' -> 'ada@example.org'. BadInput for what is no address."""
    local, _, domain = written(text).lower().rpartition("@")
    untagged = local.partition("+")[0]
    return f"{untagged or local}@{domain}"
