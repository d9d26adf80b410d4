"""Who may do what for a shop. Pure tables: a role is the set of its rights, and nothing else decides."""

from collections.abc import Mapping
from enum import StrEnum


class Role(StrEnum):
    OWNER = "owner"
    MANAGER = "manager"
    SUPPORT = "support"
    VIEWER = "viewer"


class Right(StrEnum):
    VIEW = "view"  # drops, the live view, reports without personal data
    PLAN = "plan"  # drafts, texts, pictures
    SELL = "sell"  # publish, pause, resume, end, add units, postpone, cancel, rehearse
    ORDERS = "orders"  # orders with personal data, mails again, parcels again, exports
    MONEY = "money"  # refunds, and deciding about money of which nobody knows
    STAFF = "staff"  # who works here, and as what
    KEYS = "keys"  # API keys and webhooks
    SHOP = "shop"  # law pages, tax, settings, the audit log


RIGHTS: Mapping[Role, frozenset[Right]] = {
    Role.VIEWER: frozenset({Right.VIEW}),
    Role.SUPPORT: frozenset({Right.VIEW, Right.ORDERS}),
    Role.MANAGER: frozenset({Right.VIEW, Right.PLAN, Right.SELL, Right.ORDERS, Right.MONEY}),
    Role.OWNER: frozenset(Right),
}

# Rights that are used only by somebody who has just shown a second factor.
SECOND_FACTOR: frozenset[Right] = frozenset({Right.MONEY, Right.STAFF, Right.KEYS, Right.SHOP})
