"""The till: one order, one payment intent, never charged twice (R5), never guessed (R6), late money goes back (R7).

Every step is PROTOCOL section 4. No transaction is open during a provider call. A provider that gives no answer leaves the order
PROCESSING under its claim; after the claim counts as dead another worker takes it over and looks the intent up before anything
else. A request that the provider refuses is no decline: its outcome is as unknown as silence, and a person is asked to look. A
cancelled coroutine (a job's timeout, a stopped worker) is a crash: unknown, never a decline.
"""

from uuid import UUID, uuid4

import structlog

from app.clock import now_ms
from app.domain.links import link_key, order_link
from app.domain.orders import FINAL, AttemptState, MoneyState, OrderState, Refusal
from app.errors import GateUnreachable, NotFound, ProviderRefused, ProviderSilent
from app.gate import Gate
from app.jobs import Jobs
from app.ledger import Claimed, Ledger, NotPayable, OrderRow, Submitted
from app.live import Feed
from app.payments import Notice, Outcome, OutcomeKind, Provider
from app.purchase.restocking import restock

LATE_MONEY = "late_money"
NOT_OURS, IGNORED = "not ours", "ignored"
UNSETTLED = (ProviderSilent, ProviderRefused)  # neither tells what became of the money

log = structlog.get_logger("till")


class Till:
    """Takes payments. `submit` is for the web; everything else runs in workers. Any number may work at once."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        gate: Gate,
        feed: Feed,
        jobs: Jobs,
        provider: Provider,
        public_url: str,
        grace_seconds: float,
        claim_dead_seconds: float,
        secret: str = "",
    ):
        """`secret`: the installation's, for the secret link by which a shopper comes back from the bank's page, in whatever browser
        the bank opens it; without one they come back to the order's own page."""
        self._ledger, self._gate, self._feed, self._jobs, self._provider = ledger, gate, feed, jobs, provider
        self._public_url, self._link_key = public_url, link_key(secret) if secret else None
        self._grace, self._claim_dead = grace_seconds, claim_dead_seconds

    # ---- the shopper ---------------------------------------------------------------------------------------------------------

    async def submit(self, order_id: UUID, shopper_id: int, payment_method: str) -> Submitted | NotPayable:
        """Note the wish to pay, then ask for the charge. The row is the work: without a queue the sweeper finds it."""
        submitted = await self._ledger.submit_attempt(order_id, shopper_id, payment_method)
        if isinstance(submitted, Submitted):
            if await self._jobs.charge(order_id, submitted.n, submitted.enqueues):
                await self._ledger.mark_enqueued(order_id, submitted.n)
            await self._tell(order_id)
        return submitted

    async def cancel(self, order_id: UUID, shopper_id: int) -> OrderState:
        """The shopper gives the unit back -> the order's state afterwards. NotFound: not there, or not theirs."""
        done = await self._ledger.cancel_unattempted(order_id, shopper_id, Refusal.BY_SHOPPER)
        if done:
            await self._return_units(order_id)
        else:
            await self.give_back(order_id, OrderState.CANCELLED, Refusal.BY_SHOPPER, shopper_id=shopper_id)
        order = await self._ledger.order_for(order_id, shopper_id)
        if order is None:
            raise NotFound("no such order")
        return OrderState(order.state)

    # ---- workers -------------------------------------------------------------------------------------------------------------

    async def charge(self, order_id: UUID, n: int) -> str:
        """Claim attempt `n` and charge it -> a word for the log. `lost`: somebody else has it, or it is over; nobody is charged."""
        token = uuid4()
        claimed = await self._ledger.claim_charge(order_id, n, token)
        if claimed is None:
            return "lost"
        await self._tell(order_id)
        return await self._answered(claimed, token, self._confirm(claimed, token))

    async def take_over(self, order_id: UUID) -> str:
        """The claim's holder is dead: look the intent up before anything else."""
        token = uuid4()
        claimed = await self._ledger.take_over(order_id, token, self._claim_dead)
        if claimed is None:
            return "lost"
        return await self._answered(claimed, token, self._look_first(claimed, token))

    async def give_back(self, order_id: UUID, to: OrderState, reason: Refusal, *, shopper_id: int | None = None) -> str:
        """Claim an order that has payment attempts, cancel its intent, return the unit. `lost`: not due, or another has it."""
        token = uuid4()
        claimed = await self._ledger.claim_give_back(
            order_id, token, to=to, reason=reason, shopper_id=shopper_id, grace_seconds=self._grace
        )
        if claimed is None:
            return "lost"
        return await self._answered(claimed, token, self._leave(claimed, token))

    async def look_up(self, order_id: UUID) -> str:
        """Ask the provider how an authentication ended (the shopper came back, or the sweeper asks): a poll, without a claim."""
        order = await self._ledger.order(order_id)
        if order is None or order.intent_id is None:
            return "nothing"
        try:
            outcome = await self._provider.retrieve(order.intent_id)
        except UNSETTLED:
            return "unknown"
        if outcome.kind is OutcomeKind.CAPTURED:
            return await self._paid(order_id, order.drop_id, None, outcome)
        if outcome.kind is OutcomeKind.DECLINED:
            if await self._ledger.authentication_failed(order_id, outcome.reason, n=order.attempt_n):
                await self._tell(order_id)
                return "declined"
        return str(outcome.kind)

    async def refund(self, order_id: UUID, purpose: str) -> str:
        """Repeat the refund call under its one key until the provider confirms."""
        row = await self._ledger.refund(order_id, purpose)
        if row is None or row.state == "done":
            return "nothing"
        try:
            refund_id = await self._provider.refund(order_id, purpose, row.intent_id, row.amount_minor)
        except UNSETTLED as error:
            await self._ledger.refund_unsettled(order_id, purpose, str(error))
            log.warning("refund not confirmed", order=str(order_id), purpose=purpose, error=str(error))
            return "unknown"
        await self._ledger.refund_done(order_id, purpose, refund_id)
        await self._jobs.deliver()
        order = await self._ledger.order(order_id)
        if order.released is False:
            await restock(self._ledger, self._gate, self._feed, order_id, row.drop_id)
        await self._tell(order_id)
        return "refunded"

    async def hear(self, notice: Notice) -> str:
        """A notice of the provider -> what became of it. It counts as handled only after its effect is committed.

        A capture is the provider's word and settles the order, whoever else is at it. A failure never changes an order: it makes us
        ask. Everything else is at most shown to the seller.
        """
        if await self._ledger.notice_known(notice.id):
            return "known"
        owner = await self._ledger.order_of_intent(notice.intent_id) if notice.intent_id else None
        order = await self._ledger.order(owner or notice.order_id) if owner or notice.order_id else None
        if order is None:
            await self._ledger.notice_handled(notice.id, notice.kind, None, NOT_OURS)
            return NOT_OURS
        effect = await self._effect_of(notice, order)
        await self._ledger.notice_handled(notice.id, notice.kind, order.order_id, effect, ignored=effect == IGNORED)
        return effect

    async def _effect_of(self, notice: Notice, order: OrderRow) -> str:
        outcome = notice.outcome
        if outcome is not None and outcome.kind is OutcomeKind.CAPTURED and notice.kind == "payment_intent.succeeded":
            return await self._paid(order.order_id, order.drop_id, None, outcome)
        if notice.kind == "payment_intent.payment_failed":
            if order.attempt_state is not AttemptState.ACTION:
                return IGNORED  # an attempt that is over, or one whose worker will hear of it itself
            await self._jobs.look_up(order.order_id, now_ms())
            return "looked up"
        if notice.questions_payment and notice.intent_id == order.intent_id:
            await self._ledger.money_disputed(order.order_id, f"the provider says: {notice.kind}")
            return "shown"
        if notice.refunded_minor is not None and notice.intent_id == order.intent_id:
            more = await self._ledger.money_reported_back(order.order_id, notice.refunded_minor)
            return "shown" if more else "agreed"
        return "noted"

    # ---- outcomes that stay unknown ----------------------------------------------------------------------------------------------

    async def look_for_money(self, order_id: UUID) -> str:
        """An order is gone while its money is unknown: cancel its intent, which tells whether it was charged."""
        order = await self._ledger.order(order_id)
        if order is None or order.state not in FINAL or order.payment is not MoneyState.UNKNOWN:
            return "nothing"
        if order.intent_id is not None:
            try:
                outcome = await self._provider.cancel(order_id, order.intent_id)
            except UNSETTLED:
                outcome = None
            if outcome is not None and outcome.kind is OutcomeKind.CAPTURED:
                return await self._paid(order_id, order.drop_id, None, outcome)
            if outcome is None or outcome.kind is not OutcomeKind.CANCELLED:
                await self._ledger.money_still_unknown(order_id)
                return "unknown"
        await self._ledger.no_money_after_all(order_id)
        await self._tell(order_id)
        return "none"

    # ---- steps under a claim -------------------------------------------------------------------------------------------------

    async def _answered(self, claimed: Claimed, token: UUID, step) -> str:
        """Run a step that talks to the provider; silence or a refusal leaves the order PROCESSING, its money `unknown`."""
        try:
            return await step
        except UNSETTLED as error:
            await self._ledger.mark_unknown(claimed.order_id, token, str(error))
            log.warning("outcome unknown", order=str(claimed.order_id), error=str(error))
            return "unknown"

    async def _confirm(self, claimed: Claimed, token: UUID) -> str:
        intent_id = claimed.intent_id
        if intent_id is None:
            intent_id = await self._provider.create_intent(claimed.order_id, claimed.amount_minor, claimed.currency)
            if not await self._ledger.store_intent(claimed.order_id, token, intent_id):
                return "lost"
        back_to = self._back_to(claimed.order_id)
        try:
            outcome = await self._provider.confirm(claimed.order_id, claimed.n, intent_id, claimed.payment_method, back_to)
        except ProviderSilent:
            outcome = await self._provider.retrieve(intent_id)  # look before anything else; only a capture or a cancel is certain
            if outcome.kind not in (OutcomeKind.CAPTURED, OutcomeKind.CANCELLED):
                raise
        return await self._settle(claimed, token, outcome)

    def _back_to(self, order_id: UUID) -> str:
        """-> where the bank's page leads back to. A retry of an attempt says the same as its first call did (R5)."""
        path = order_link(self._link_key, order_id) if self._link_key else f"/orders/{order_id}"
        return f"{self._public_url}{path}?back=1"

    async def _look_first(self, claimed: Claimed, token: UUID) -> str:
        leaving = claimed.leaving is not None or claimed.overdue
        if claimed.intent_id is not None:
            outcome = await self._provider.retrieve(claimed.intent_id)
            if outcome.kind in (OutcomeKind.CAPTURED, OutcomeKind.CANCELLED):
                return await self._settle(claimed, token, outcome)
            if outcome.kind is OutcomeKind.PENDING:
                raise ProviderSilent("the provider is still working on this payment")
        if leaving or claimed.n is None:
            return await self._leave(claimed, token)
        return await self._confirm(claimed, token)  # the SAME key: replays the first answer, or makes the charge that never arrived

    async def _leave(self, claimed: Claimed, token: UUID) -> str:
        """Only a cancelled intent proves that no charge can land any more. Without an intent nothing was ever confirmed."""
        if claimed.intent_id is not None:
            outcome = await self._provider.cancel(claimed.order_id, claimed.intent_id)
            if outcome.kind is OutcomeKind.CAPTURED:
                return await self._paid(claimed.order_id, claimed.drop_id, token, outcome)
            if outcome.kind is not OutcomeKind.CANCELLED:
                raise ProviderSilent(f"cancel was answered {outcome.kind}")
        if not await self._ledger.give_back(claimed.order_id, token):
            return "lost"
        await restock(self._ledger, self._gate, self._feed, claimed.order_id, claimed.drop_id)
        return "given back"

    async def _settle(self, claimed: Claimed, token: UUID, outcome: Outcome) -> str:
        match outcome.kind:
            case OutcomeKind.CAPTURED:
                return await self._paid(claimed.order_id, claimed.drop_id, token, outcome)
            case OutcomeKind.CANCELLED:
                return await self._leave(claimed, token)
            case OutcomeKind.ACTION:
                await self._ledger.settle_action(claimed.order_id, token, claimed.n, outcome.action_url)
                await self._tell(claimed.order_id)
                return "action"
            case OutcomeKind.DECLINED:
                verdict = await self._ledger.settle_declined(claimed.order_id, token, claimed.n, outcome.reason)
                if verdict == "used_up":
                    return await self._leave(claimed, token)
                await self._tell(claimed.order_id)
                return "declined" if verdict == "again" else verdict
        raise ProviderSilent(f"the payment is {outcome.kind}")

    async def _paid(self, order_id: UUID, drop_id: int, token: UUID | None, outcome: Outcome) -> str:
        verdict = await self._ledger.settle_paid(
            order_id, token=token, intent_id=outcome.intent_id, amount_minor=outcome.amount_minor, currency=outcome.currency
        )
        if verdict == "paid":
            try:
                await self._gate.settle(drop_id, order_id)
            except GateUnreachable:
                log.info("paid mark waits for the reconciler", order=str(order_id))
            await self._feed.publish("stock", drop=drop_id)
        elif verdict in ("late", "mismatch"):
            log.warning("money without an order", order=str(order_id), verdict=verdict)
            await self._jobs.refund(order_id, LATE_MONEY, 0)
        await self._tell(order_id)
        return verdict

    async def _return_units(self, order_id: UUID) -> None:
        order = await self._ledger.order(order_id)
        await restock(self._ledger, self._gate, self._feed, order_id, order.drop_id)

    async def _tell(self, order_id: UUID) -> None:
        await self._feed.publish("order", order=str(order_id))
