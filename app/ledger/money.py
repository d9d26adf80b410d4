"""Payments of an order (PROTOCOL section 4): submit, claim, and every way a charge can end.

One order has one payment with one intent at the provider, and at most one unfinished attempt. Only the holder of the claim settles;
a capture alone may also come from a poll or from the provider, without a token. Whoever loses a claim changes nothing. A capture
for an order that is gone becomes a wanted refund in the same transaction (R7).
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID, uuid4

from app.domain.orders import FINAL, AttemptState, OrderState, Refusal
from app.errors import BadInput, BrokenInvariant, NotFound
from app.ledger.claims import Claimed, claimed_order
from app.ledger.events import CHARGER, PROVIDER, SELLER, SHOPPER, SWEEPER, note
from app.ledger.invoices import number_invoice
from app.ledger.messages import tell
from app.ledger.pool import Asker, Pool
from app.ledger.refunds import LATE_MONEY, add_refund
from app.ledger.returns import return_units

PAYMENT_METHOD_CHARACTERS_MAX = 255
UNKNOWN_ASKS_MAX = 5  # questions about one payment without an answer before a person is asked to look
ASK_AGAIN_SECONDS = 15.0  # the first pause after that; doubles
ASK_AGAIN_SECONDS_MAX = 300.0
REASON_CHARACTERS_MAX = 200

Why = Literal["in_progress", "overdue", "used_up", "state", "address"]


@dataclass(frozen=True, slots=True)
class Submitted:
    """A payment attempt is open."""

    n: int
    enqueues: int  # part of the job's key


@dataclass(frozen=True, slots=True)
class NotPayable:
    """Nothing was submitted."""

    state: OrderState
    why: Why  # in_progress: an attempt is unfinished · overdue · used_up: no attempt left · state: not a hold ·
    # address: what it costs depends on where it goes, and nobody said so


class DueCharge(NamedTuple):
    order_id: UUID
    n: int
    enqueues: int


class MoneyPart(Pool):
    # ---- the shopper ----------------------------------------------------------------------------------------------------------

    async def submit_attempt(self, order_id: UUID, shopper_id: int, payment_method: str) -> Submitted | NotPayable:
        """Open a payment attempt. NotFound: not there, or not theirs. BadInput: the payment method is no name."""
        if not 1 <= len(payment_method) <= PAYMENT_METHOD_CHARACTERS_MAX or not payment_method.isprintable():
            raise BadInput("choose how to pay", field="payment_method")
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None or order["shopper_id"] != shopper_id:
                raise NotFound("no such order")
            n = await ask.value("submit_attempt", order_id)
            if n is None:
                return NotPayable(OrderState(order["state"]), await _why_not(ask, order))
            await ask.count("add_attempt", order_id, n, payment_method)
            await ask.count("money_authorising", order_id)
            await note(ask, order_id, order["drop_id"], "payment submitted", SHOPPER, attempt=n)
            return Submitted(n, enqueues=0)

    # ---- claims ---------------------------------------------------------------------------------------------------------------

    async def claim_charge(self, order_id: UUID, n: int, token: UUID) -> Claimed | None:
        """Win the right to charge attempt `n` -> None: somebody else has it, or it is over."""
        async with self._transaction() as ask:
            await ask.row("lock_order", order_id)
            if not await ask.count("claim_charge", order_id, n, token):
                return None
            claimed = await claimed_order(ask, order_id)
            await note(ask, order_id, claimed.drop_id, "charging", CHARGER, attempt=n)
            return claimed

    async def take_over(self, order_id: UUID, token: UUID, claim_dead_seconds: float) -> Claimed | None:
        """Win a claim older than `claim_dead_seconds` -> None: it is alive, or there is none."""
        async with self._transaction() as ask:
            await ask.row("lock_order", order_id)
            if not await ask.count("take_over", order_id, token, claim_dead_seconds):
                return None
            claimed = await claimed_order(ask, order_id)
            await note(ask, order_id, claimed.drop_id, "taken over", SWEEPER, attempt=claimed.n, leaving=claimed.leaving)
            return claimed

    async def store_intent(self, order_id: UUID, token: UUID, intent_id: str) -> bool:
        """Keep the intent's id before the first confirm -> False: the claim is lost, or there is another intent."""
        async with self._transaction() as ask:
            await ask.row("lock_order", order_id)
            return await ask.count("store_intent", order_id, token, intent_id) == 1

    # ---- outcomes -------------------------------------------------------------------------------------------------------------

    async def settle_paid(
        self, order_id: UUID, *, token: UUID | None, intent_id: str, amount_minor: int, currency: str
    ) -> Literal["paid", "already", "late", "mismatch", "lost"]:
        """The provider captured `amount_minor` of `currency` under `intent_id`. `token` None: a poll or the provider says so.

        already: it was PAID before · late: the order is gone, the money goes back · mismatch: not what was owed, or another intent
        than the order's: never PAID, the money goes back, a person is asked to look · lost: the claim is somebody else's, who will
        learn it.
        """
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None:
                return "lost"
            owner = await ask.value("order_of_intent", intent_id)
            if owner is not None and owner != order_id:
                raise BrokenInvariant(f"intent {intent_id} belongs to order {owner}, not to {order_id}")
            payment = await ask.row("payment", order_id)
            if payment and payment["intent_id"] not in (None, intent_id):
                return await _foreign(ask, order, intent_id, amount_minor, currency)
            state, by = OrderState(order["state"]), PROVIDER if token is None else CHARGER
            if state in (OrderState.PAID, OrderState.REFUNDED):
                return "already"
            if state in FINAL:
                return await _late(ask, order, intent_id, amount_minor, currency, by)
            if (amount_minor, currency.upper()) != (order["amount_minor"], order["currency"]):
                return await _mismatch(ask, order, token, intent_id, amount_minor, currency, by)
            if not await ask.count("paid", order_id, token):
                return "lost"
            await ask.count("close_unfinished_attempt", order_id, AttemptState.CAPTURED.value, None)
            await ask.count("money_captured", order_id, intent_id, amount_minor, None)
            await ask.count("want_parcel", order_id)
            await ask.count("place_taken", order_id)
            await note(ask, order_id, order["drop_id"], "paid", by, amount_minor=amount_minor)
            await tell(ask, [order_id], "confirmation")
            await number_invoice(ask, order_id)
            return "paid"

    async def settle_declined(
        self, order_id: UUID, token: UUID, n: int | None, reason: str | None
    ) -> Literal["again", "used_up", "lost"]:
        """The provider declined attempt `n`. again: the hold goes on · used_up: no attempt or no time is left; the order stays
        PROCESSING under the same claim, whose holder goes on to give back · lost: the claim is somebody else's."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if await ask.count("declined_again", order_id, token):
                verdict = "again"
            elif await ask.count("declined_used_up", order_id, token):
                verdict = "used_up"
            else:
                return "lost"
            reason = reason and reason.replace("\x00", "")[:REASON_CHARACTERS_MAX]
            await ask.count("close_attempt", order_id, AttemptState.DECLINED.value, reason, n)
            await ask.count("no_money", order_id)
            await note(ask, order_id, order["drop_id"], "declined", CHARGER, attempt=n, reason=reason)
            if verdict == "again":
                await tell(ask, [order_id], "declined", decline_reason=reason)
            return verdict

    async def settle_action(self, order_id: UUID, token: UUID, n: int, url: str | None) -> bool:
        """The shopper must authenticate at `url`: the claim ends, the deadline stands -> False: the claim is somebody else's."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if not await ask.count("authentication_asked", order_id, token, n):
                return False
            await ask.count("await_authentication", order_id, n, url)
            await note(ask, order_id, order["drop_id"], "authentication asked", CHARGER, attempt=n)
            return True

    async def authentication_failed(self, order_id: UUID, reason: str | None, *, n: int | None = None) -> bool:
        """A poll says that the shopper did not pass (attempt `n`, or whichever waits for them) -> whether an attempt ended by this.

        With no attempt left the order stands PROCESSING, leaving to FAILED, under a dead claim: the next sweep gives the unit back.
        """
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            reason = reason and reason.replace("\x00", "")[:REASON_CHARACTERS_MAX]
            if not await ask.count("authentication_failed", order_id, n, reason):
                return False
            await ask.count("out_of_attempts", order_id)
            await ask.count("no_money", order_id)
            await note(ask, order_id, order["drop_id"], "declined", PROVIDER, attempt=n, reason=reason)
            return True

    async def mark_unknown(self, order_id: UUID, token: UUID, why: str = "no answer") -> bool:
        """No answer that settles anything: the order stays PROCESSING, its money is unknown -> False: the claim is somebody else's.

        After UNKNOWN_ASKS_MAX questions a person is asked to look, told `why`, and the next questions come ever more slowly.
        """
        why = why.replace("\x00", "")[:REASON_CHARACTERS_MAX]
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            asked = await ask.value("money_unknown", order_id, token, UNKNOWN_ASKS_MAX, f"outcome unknown: {why}")
            if asked is None:
                return False
            if asked >= UNKNOWN_ASKS_MAX:
                await ask.count("rest_claim", order_id, token, rest_seconds(asked - UNKNOWN_ASKS_MAX))
            await note(ask, order_id, order["drop_id"], "outcome unknown", CHARGER, asked=asked, why=why)
            return True

    # ---- unknown outcomes, and the seller's word ------------------------------------------------------------------------------

    async def ask_again_now(self, order_id: UUID) -> bool:
        """A person wants to know: the claim counts as dead at once -> False: the outcome is not unknown."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None:
                return False
            if not await ask.count("ask_again_now", order_id) and not await ask.count("look_for_money_now", order_id):
                return False
            await note(ask, order_id, order["drop_id"], "asked again", SELLER)
            return True

    async def give_back_unasked(self, order_id: UUID) -> bool:
        """The seller's word: end an order and return its units although nobody knows whether it was charged.

        False: it is not shown as needing attention for an unknown outcome. The money is looked for from then on (R7); a worker that
        asks the provider just now loses its claim.
        """
        token = uuid4()
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None or not await ask.count("claim_on_the_sellers_word", order_id, token):
                return False
            row = await ask.row("give_back", order_id, token)
            await ask.count("close_unfinished_attempt", order_id, AttemptState.ABANDONED.value, None)
            await return_units(ask, [row], row["state"].lower(), SELLER)
            why = "given back by the seller while its outcome was unknown: a charge that comes to light goes back"
            await ask.count("look_for_money", order_id, why)
            return True

    async def lost_money(self, limit: int) -> list[UUID]:
        """-> orders that are gone while their money is unknown, due to be looked for."""
        return [row["id"] for row in await self._rows("lost_money", limit)]

    async def money_still_unknown(self, order_id: UUID) -> bool:
        return await self._count("money_still_unknown", order_id, ASK_AGAIN_SECONDS, ASK_AGAIN_SECONDS_MAX) == 1

    async def no_money_after_all(self, order_id: UUID) -> bool:
        """The intent of an order that is gone is cancelled: nothing was charged, nothing can be -> False: that was known."""
        async with self._transaction() as ask:
            order = await ask.row("lock_order", order_id)
            if order is None or OrderState(order["state"]) not in FINAL or not await ask.count("no_money", order_id):
                return False
            await note(ask, order_id, order["drop_id"], "nothing was charged", PROVIDER)
            return True

    # ---- due work -------------------------------------------------------------------------------------------------------------

    async def due_charges(self, limit: int, queue_retry_seconds: float) -> list[DueCharge]:
        """-> submitted payments that no worker has claimed and no queue holds (or holds for longer than `queue_retry_seconds`)."""
        return [DueCharge(**row) for row in await self._rows("due_charges", limit, queue_retry_seconds)]

    async def mark_enqueued(self, order_id: UUID, n: int) -> bool:
        return await self._count("mark_enqueued", order_id, n) == 1

    async def dead_claims(self, limit: int, claim_dead_seconds: float) -> list[UUID]:
        """-> orders whose claim is older than `claim_dead_seconds`, oldest first."""
        return [row["id"] for row in await self._rows("dead_claims", limit, claim_dead_seconds)]

    async def authentications(self, limit: int) -> list[UUID]:
        """-> orders that wait for their shopper at the provider, oldest first."""
        return [row["id"] for row in await self._rows("authentications", limit)]


def rest_seconds(times: int) -> float:
    """-> how long the claim on an outcome that stays unknown rests, after `times` rests before."""
    return min(ASK_AGAIN_SECONDS * 2 ** min(times, 20), ASK_AGAIN_SECONDS_MAX)


async def _why_not(ask: Asker, order) -> Why:
    if order["state"] == OrderState.PROCESSING:
        return "in_progress"
    if order["state"] != OrderState.PENDING_PAYMENT:
        return "state"
    if await ask.row("unfinished_attempt", order["id"]):
        return "in_progress"
    if order["attempts"] >= order["attempts_max"]:
        return "used_up"
    return "address" if await ask.value("address_missing", order["id"]) else "overdue"


async def _late(ask: Asker, order, intent_id: str, amount_minor: int, currency: str, by: str):
    """Money for an order that is gone: note the capture and want it back, once."""
    mismatched = order["reason"] == Refusal.AMOUNT_MISMATCH
    if await add_refund(ask, order, LATE_MONEY, intent_id, amount_minor):
        await ask.count("money_captured", order["id"], intent_id, amount_minor, _attention(order, amount_minor, currency))
        await ask.count("late_money_reason", order["id"])
        await note(ask, order["id"], order["drop_id"], "late money", by, amount_minor=amount_minor, purpose=LATE_MONEY)
    return "mismatch" if mismatched else "late"


async def _mismatch(ask: Asker, order, token: UUID | None, intent_id: str, amount_minor: int, currency: str, by: str):
    """Not what was owed. The intent is spent, so no other charge can land: the unit goes back and the money too."""
    ended = await ask.row("mismatched", order["id"], token, Refusal.AMOUNT_MISMATCH.value)
    if ended is None:
        return "lost"
    await ask.count("close_unfinished_attempt", order["id"], AttemptState.ABANDONED.value, None)
    await ask.count("money_captured", order["id"], intent_id, amount_minor, _attention(order, amount_minor, currency))
    await return_units(ask, [ended], "failed", by)
    await add_refund(ask, order, LATE_MONEY, intent_id, amount_minor)
    await note(ask, order["id"], order["drop_id"], "wrong amount", by, amount_minor=amount_minor, currency=currency)
    return "mismatch"


async def _foreign(ask: Asker, order, intent_id: str, amount_minor: int, currency: str):
    """A capture of an intent that names this order but is not its own: it goes back; the order's own payment is left alone."""
    if await add_refund(ask, order, f"foreign:{intent_id}", intent_id, amount_minor):
        why = f"intent {intent_id}, which is not this order's, captured {amount_minor} {currency.upper()}"
        await ask.count("money_needs_attention", order["id"], why)
        await note(ask, order["id"], order["drop_id"], "foreign money", PROVIDER, amount_minor=amount_minor, intent=intent_id)
    return "mismatch"


def _attention(order, amount_minor: int, currency: str) -> str | None:
    if (amount_minor, currency.upper()) == (order["amount_minor"], order["currency"]):
        return None
    return f"captured {amount_minor} {currency.upper()}, owed {order['amount_minor']} {order['currency']}"
