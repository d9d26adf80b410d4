"""What an API key may do. Pure: a key holds scopes, each route needs one, and none implies another."""

from collections.abc import Sequence
from enum import StrEnum

from app.errors import BadInput
from app.languages import N_

KEY_NAME_CHARACTERS_MAX = 80
TOO_MANY_KEYS = N_("This shop has as many keys as it can. Revoke one that is not needed any more.")
NO_SCOPE = N_("Choose at least one thing that the key may do.")
NO_NAME = N_("Give the key a name of at most 80 characters: who or what uses it?")


class Scope(StrEnum):
    READ = "read"  # drops, live counts, books, reports, accounts, without personal data
    DROPS = "drops"  # drafts, pictures, words; publish, pause, resume, close, cancel, postpone, change units, rehearse
    ORDERS = "orders"  # orders with personal data, money as it moved, attention, holds, addresses, mails and parcels again
    MONEY = "money"  # refunds, and deciding about money of which nobody knows
    WEBHOOKS = "webhooks"  # where events are sent, and sending them again


def checked_key(name: str, scopes: Sequence[str]) -> tuple[str, tuple[Scope, ...]]:
    """-> a new key's name and scopes, in the order above; BadInput names the field that is wrong."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= KEY_NAME_CHARACTERS_MAX:
        raise BadInput(NO_NAME, field="name")
    if not scopes or not set(scopes) <= set(Scope):
        raise BadInput(NO_SCOPE, field="scopes")
    return name, tuple(scope for scope in Scope if scope in scopes)
