"""What Doorman asks of a payment provider, and the answers it can get.

A missing answer is never guessed: `ProviderSilent` means the outcome is unknown (R6). The caller retrieves the intent before
anything else, and repeats a call with the same arguments: it carries the same idempotency key and so never happens twice (R5).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from uuid import UUID


class OutcomeKind(StrEnum):
    CAPTURED = "captured"  # the money is ours; final
    DECLINED = "declined"  # nothing is captured, nothing under way; `reason`: why the latest attempt failed, None: there was none
    ACTION = "action"  # the buyer must authenticate at `action_url`
    CANCELLED = "cancelled"  # no attempt on this intent can succeed any more; final
    PENDING = "pending"  # an attempt is under way and the provider does not know its end itself


@dataclass(frozen=True, slots=True)
class Outcome:
    """State of one intent. `amount_minor` and `currency` (ISO 4217): what was captured, or asked for while nothing is.

    `reason`: the provider's decline code.
    """

    kind: OutcomeKind
    intent_id: str
    amount_minor: int
    currency: str
    reason: str | None = None
    action_url: str | None = None


class Provider(Protocol):
    """Every call raises ProviderSilent without an answer in time, on a 5xx, a rate limit, or while the same key is in flight;
    ProviderRefused for a request that no repeat will mend. A call takes `timeout_seconds` of the provider at most."""

    async def create_intent(self, order_id: UUID, amount_minor: int, currency: str) -> str:
        """-> id of the order's one intent. Key `order:intent`."""

    async def confirm(self, order_id: UUID, n: int, intent_id: str, payment_method: str, return_url: str) -> Outcome:
        """Attempt n (1, 2, ...) to take the money. Key `order:n`: a repeat answers what the first call answered, or would have."""

    async def retrieve(self, intent_id: str) -> Outcome:
        """The intent as it is now. DECLINED tells of the latest attempt that the provider knows, which may be an earlier one than
        the caller's: only confirming again with the same key tells about that one."""

    async def cancel(self, order_id: UUID, intent_id: str) -> Outcome:
        """CANCELLED, or CAPTURED when a payment was faster; anything else means that it could not be cancelled now."""

    async def refund(self, order_id: UUID, purpose: str, intent_id: str, amount_minor: int) -> str:
        """-> refund id. Key `order:purpose`: one purpose is refunded once."""

    async def find(self, order_id: UUID) -> list[Outcome]:
        """Every intent of this order. The index behind it may lag: absence proves nothing."""
