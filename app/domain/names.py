"""What a name may be made of: titles, variants, shops. Pure.

Guarantees: a name that is let in can be seen, and stands in a sentence without turning what comes after it. Letters of every
script, digits, signs and emoji are let in, joiners between them too; what people do not see is left where it is and counts for
nothing when two names are compared.
"""

import unicodedata

from app.languages import N_

# Characters that other categories hold and that nobody sees: fillers, the blank of Braille.
BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
# They turn the direction of all that follows, beyond the name itself. The marks U+200E, U+200F, U+061C turn only their neighbours.
TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
SEEN = frozenset("LNPS")  # categories of Unicode, by their first letter

NOT_SEEN = N_("Nothing of this can be seen. It needs letters, digits or signs.")
TURNING = N_("There is an invisible character in this that turns the direction of writing. Take it out.")
CONTROL = N_("There is a line break or another control character in this. Take it out.")


def refuse_name(name: str) -> str:
    """-> what is wrong with a name that is not empty; "": nothing."""
    if not TURNS.isdisjoint(name):
        return TURNING
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name):
        return CONTROL
    if not any(unicodedata.category(character)[0] in SEEN and character not in BLANKS for character in name):
        return NOT_SEEN
    return ""


def as_seen(name: str) -> str:
    """-> the name without what nobody sees: two names that look alike are one."""
    shown = (one for one in unicodedata.normalize("NFC", name) if unicodedata.category(one) != "Cf" and one not in BLANKS)
    return " ".join("".join(shown).split())
