"""States of an order and of its money, and which change may follow which.

The ledger's conditional UPDATEs are the only thing that changes a state; this table says which ones may exist, and the tests hold
the SQL to it.
"""

from enum import StrEnum


class OrderState(StrEnum):
    PENDING_PAYMENT = "PENDING_PAYMENT"  # a hold: waits for payment until its deadline
    PROCESSING = "PROCESSING"  # a worker holds a claim: it charges, or gives the unit back
    PAID = "PAID"
    EXPIRED = "EXPIRED"  # the deadline passed, the unit went back
    FAILED = "FAILED"  # attempts used up, the unit went back
    CANCELLED = "CANCELLED"  # by the shopper or the seller, the unit went back
    REFUNDED = "REFUNDED"  # paid once, money returned
    REFUSED = "REFUSED"  # the gate granted it, the ledger had no unit (or the limit or the key forbade it)


CONFIRMING = "CONFIRMING"  # not a ledger state: the gate has the receipt, the recorder has not written the order yet

UNPAID_HOLDS_MAX = 3  # of a shopper in a drop, at once (R14); lua/reserve.lua holds to it
UNPAID = frozenset({OrderState.PENDING_PAYMENT, OrderState.PROCESSING})
LIVE = frozenset({OrderState.PENDING_PAYMENT, OrderState.PROCESSING, OrderState.PAID})
GIVEN_BACK = frozenset({OrderState.EXPIRED, OrderState.FAILED, OrderState.CANCELLED})
FINAL = GIVEN_BACK | {OrderState.REFUNDED, OrderState.REFUSED}

TRANSITIONS: dict[OrderState, frozenset[OrderState]] = {
    OrderState.PENDING_PAYMENT: frozenset({OrderState.PROCESSING, OrderState.PAID}) | GIVEN_BACK,
    OrderState.PROCESSING: frozenset({OrderState.PENDING_PAYMENT, OrderState.PAID}) | GIVEN_BACK,
    OrderState.PAID: frozenset({OrderState.REFUNDED}),
    OrderState.EXPIRED: frozenset(),
    OrderState.FAILED: frozenset(),
    OrderState.CANCELLED: frozenset(),
    OrderState.REFUNDED: frozenset(),
    OrderState.REFUSED: frozenset(),
}


class MoneyState(StrEnum):
    NONE = "none"
    AUTHORISING = "authorising"
    UNKNOWN = "unknown"
    CAPTURED = "captured"
    PART_REFUNDED = "part_refunded"
    REFUNDED = "refunded"


class AttemptState(StrEnum):
    OPEN = "open"  # submitted; not claimed yet, or being charged
    ACTION = "action"  # the buyer must authenticate at the provider
    CAPTURED = "captured"
    DECLINED = "declined"
    ABANDONED = "abandoned"  # the order was given back before this attempt had an outcome


class Refusal(StrEnum):
    """Why an order is REFUSED or was given back: the `reason` of the public contract."""

    GATE_LEAKED = "gate_leaked"  # no unit left in the ledger (Redis lost writes)
    DUPLICATE_BUYER = "duplicate_buyer"  # over the limit, or a second order of one key (Redis lost writes)
    DEADLINE = "deadline"
    DECLINED = "declined"
    BY_SHOPPER = "by_shopper"
    BY_SELLER = "by_seller"
    LEFT_LIST = "left_list"  # an offer to a place that no longer waited: nobody was told of it
    AMOUNT_MISMATCH = "amount_mismatch"  # the provider captured another amount than was owed: given back and refunded
    LATE_MONEY = "late_money"  # given back, then a capture came to light: refunded
