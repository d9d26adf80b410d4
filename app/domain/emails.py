"""E-mail addresses: what counts as one, and the form by which two are the same person's.

An address is compared normalised (letters lowered, a `+tag` dropped) and written to as its owner wrote it.
"""

import re

from app.errors import BadInput

EMAIL_CHARACTERS_MAX = 254  # RFC 5321
LOCAL_CHARACTERS_MAX = 64

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


def normalise(text: str) -> str:
    """'Ada+drops@Example.org ' -> 'ada@example.org'. BadInput for what is no address."""
    local, _, domain = written(text).lower().rpartition("@")
    untagged = local.partition("+")[0]
    return f"{untagged or local}@{domain}"
