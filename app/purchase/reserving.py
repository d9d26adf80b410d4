"""The counter: where a buyer presses Buy.

Guarantees: a verdict comes from the gate, or, when nothing is left, from this process's own memory of the gate. The memory is
at most `MEMORY_SECONDS` old, was read in one atomic step together with the set of everyone who was ever granted something, and
answers only shoppers outside that set: a winner who lost the reply always reaches the gate. A "no" costs no SQL and mostly no
Redis.

A shopper may press Buy `buy_limit` times in a window (app/gate/limiter.py): the first presses cost no question, one who hammers is
counted across all processes, and a refusal from memory counts like any other press.

The gate gone: `not_ready`. The caller gone (a cancelled request): the verdict stands at the gate and the same key finds it.
"""

import asyncio

import structlog

from app.clock import monotonic
from app.domain.drops import Drop, Phase, Variant, phase_of
from app.domain.ids import new_order_text
from app.domain.keys import digest_of
from app.domain.verdicts import Answer, Verdict
from app.errors import GateUnreachable
from app.gate import ASK, Gate, Limiter, Peek, Reservation, answer_of

MEMORY_SECONDS = 1.0  # a memory older than this is never used
REFRESH_SECONDS = 0.4  # a used memory older than this is read again in the background
MEMORIES_MAX = 32  # drops; the one that was read longest ago is forgotten first
RETRY_SECONDS = 2  # Retry-After of not_ready

NOT_READY = Answer(Verdict.NOT_READY, retry_after_seconds=RETRY_SECONDS)
SOLD_OUT = Answer(Verdict.SOLD_OUT)
ALL_HELD = Answer(Verdict.ALL_HELD)
TOO_OLD = float("-inf")
NOTHING_LEFT = {Phase.SOLD_OUT, Phase.ALL_HELD}

log = structlog.get_logger("counter")


class Counter:
    """One per web process."""

    def __init__(self, gate: Gate, buy_limit: tuple[int, float]):
        """`buy_limit`: (calls, seconds) of one shopper."""
        self._gate = gate
        self._limiter = Limiter(gate, "buyer", *buy_limit)
        self._memory: dict[int, tuple[Peek, float]] = {}  # an old one answers nobody, but spares its holders when it is read anew
        self._refreshing: dict[int, asyncio.Task] = {}
        self.answers_from_memory = 0

    async def buy(self, drop: Drop, buyer: int, variant: Variant, quantity: int, key: str) -> Answer:
        """-> the verdict for `quantity` units of `variant`, asked by shopper `buyer` under the checked idempotency key `key`."""
        wait = self._limiter.look(buyer)
        if wait == ASK:
            wait = await self._limiter.ask(buyer)
        if wait:
            return Answer(Verdict.TOO_FAST, retry_after_seconds=wait)
        remembered = self._from_memory(drop.id, buyer, variant.id)
        if remembered is not None:
            self.answers_from_memory += 1
            return remembered
        return await self._ask(self._gate.reserve, drop, buyer, variant, quantity, key)

    async def buy_again(self, drop: Drop, buyer: int, variant: Variant, quantity: int, key: str) -> Answer:
        """As `buy`, after the reply to `asks_at_once` was lost: this press is counted already."""
        return await self._ask(self._gate.reserve_again, drop, buyer, variant, quantity, key)

    async def _ask(self, reserve, drop: Drop, buyer: int, variant: Variant, quantity: int, key: str) -> Answer:
        try:
            answer = await reserve(drop.id, _reservation(drop.id, buyer, variant.id, quantity, key))
        except GateUnreachable as error:
            log.warning("gate unreachable", drop=drop.id, error=str(error))
            return NOT_READY
        return self._remember_no(drop.id, answer)

    # What needs no task: for those who press with credit (app/gate/limiter.py), as nearly all do.

    def refuses_at_once(self, drop_id: int, buyer: int, variant_id: int) -> Answer | None:
        """-> the no from memory that `buy` would say, counted as said; None: nothing was counted."""
        remembered = self._from_memory(drop_id, buyer, variant_id)
        if remembered is None or not self._limiter.passes_on_credit(buyer):
            return None
        self.answers_from_memory += 1
        return remembered

    def asks_at_once(self, drop_id: int, buyer: int, variant_id: int, quantity: int, key: str) -> asyncio.Future | None:
        """-> the gate's reply to come, which `heard` understands; None: nothing was counted or asked, and `buy` must be awaited.

        A reply that fails: `buy_again` with the same key. Only after `refuses_at_once` had nothing to say.
        """
        if not self._gate.listens or not self._limiter.passes_on_credit(buyer):
            return None
        return self._gate.ask_to_reserve(drop_id, _reservation(drop_id, buyer, variant_id, quantity, key))

    def heard(self, drop_id: int, reply: list[str]) -> Answer:
        """What the gate replied to `asks_at_once` -> the verdict."""
        return self._remember_no(drop_id, answer_of(reply))

    def forget(self, drop_id: int) -> None:
        """The feed says that this drop's stock changed: ask the gate again."""
        if drop_id in self._memory:
            self._memory[drop_id] = (self._memory[drop_id][0], TOO_OLD)

    def forget_all(self) -> None:
        """The feed was deaf for a while: nothing remembered can be trusted."""
        for drop_id in self._memory:
            self.forget(drop_id)

    def _from_memory(self, drop_id: int, buyer: int, variant_id: int) -> Answer | None:
        remembered = self._memory.get(drop_id)
        if remembered is None:
            return None
        peek, read_at = remembered
        age = monotonic() - read_at
        if age > MEMORY_SECONDS:
            return None
        if age > REFRESH_SECONDS:
            self._refresh(drop_id)
        if buyer in peek.holders or variant_id not in peek.held:
            return None
        return ALL_HELD if peek.held[variant_id] else SOLD_OUT

    def _remember_no(self, drop_id: int, answer: Answer) -> Answer:
        if answer.verdict in (Verdict.SOLD_OUT, Verdict.ALL_HELD):
            self._refresh(drop_id)
        return answer

    def _refresh(self, drop_id: int) -> None:
        """Read the memory again in the background; one read at a time and drop."""
        if drop_id not in self._refreshing:
            task = asyncio.create_task(self._read(drop_id))
            self._refreshing[drop_id] = task
            task.add_done_callback(lambda _: self._refreshing.pop(drop_id, None))

    async def _read(self, drop_id: int) -> None:
        asked_at = monotonic()  # the age counts from before the question
        known = self._memory.get(drop_id)
        try:
            peek = await self._gate.peek(drop_id, holders=True, known=known and known[0])
        except GateUnreachable:
            return
        self._memory.pop(drop_id, None)
        if peek is not None and nothing_left(peek):
            self._memory[drop_id] = (peek, asked_at)  # behind all others
            if len(self._memory) > MEMORIES_MAX:
                del self._memory[next(iter(self._memory))]


def _reservation(drop_id: int, buyer: int, variant_id: int, quantity: int, key: str) -> Reservation:
    return Reservation(buyer, key, digest_of(variant_id, quantity), variant_id, quantity, new_order_text(drop_id))


def nothing_left(peek: Peek) -> bool:
    """Whether this peek may stand for the gate's no: the drop is open and every variant is at zero."""
    return phase_of(peek.door, peek.opens_ms, peek.closes_ms, peek.now_ms, peek.left, peek.held) in NOTHING_LEFT
