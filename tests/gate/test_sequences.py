"""Whatever happens in whatever order, the gate agrees with a plain model of it, and its arithmetic holds after every step."""

import asyncio
import itertools
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import redis.asyncio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule, run_state_machine_as_test

from app.domain.drops import Door
from app.domain.ids import new_order_id
from app.domain.keys import digest_of
from app.domain.orders import UNPAID_HOLDS_MAX
from app.gate import Gate, Heir, Image, KeyRecord, Receipt, Released, Reservation

from .helpers import check_arithmetic

VARIANTS = (1, 2)
PER_PERSON = 4
JOURNAL_MAX = 12

_drops = itertools.count(1000)
buyers, variants, quantities = st.integers(1, 4), st.sampled_from(VARIANTS), st.integers(1, 3)
doors = st.sampled_from([Door.OPEN, Door.OPEN, Door.PAUSED, Door.CLOSED, Door.NOT_READY])


@dataclass
class Model:
    """The gate, as one would explain it on paper."""

    left: dict[int, int]
    door: Door = Door.OPEN
    live: dict[UUID, Receipt] = field(default_factory=dict)
    keys: dict[tuple[int, str], KeyRecord] = field(default_factory=dict)
    places: dict[int, KeyRecord] = field(default_factory=dict)
    journal: list[UUID] = field(default_factory=list)
    counted: set[UUID] = field(default_factory=set)
    granted: set[int] = field(default_factory=set)

    def units_of(self, buyer: int) -> int:
        return sum(receipt.quantity for receipt in self.live.values() if receipt.buyer == buyer)

    def holds_of(self, buyer: int) -> list[UUID]:
        return [receipt.order_id for receipt in self.live.values() if receipt.buyer == buyer and not receipt.paid]

    def held(self, variant: int) -> int:
        return sum(receipt.quantity for receipt in self.live.values() if receipt.variant_id == variant and not receipt.paid)

    def verdict(self, buyer: int, key: str, variant: int, quantity: int) -> str:
        known = self.keys.get((buyer, key))
        if known:
            return "reserved" if known.digest == digest_of(variant, quantity) else "key_conflict"
        if self.door is not Door.OPEN:
            return self.door.value
        if len(self.journal) >= JOURNAL_MAX:
            return "not_ready"
        if self.units_of(buyer) + quantity > PER_PERSON or len(self.holds_of(buyer)) >= UNPAID_HOLDS_MAX:
            return "already_yours"
        if self.left[variant] < quantity:
            return "all_held" if self.held(variant) else "sold_out"
        return "reserved"

    def grant(self, receipt: Receipt) -> None:
        self.left[receipt.variant_id] -= receipt.quantity
        self.live[receipt.order_id] = receipt
        self.journal.append(receipt.order_id)
        self.granted.add(receipt.buyer)

    def take_back(self, order: UUID) -> Receipt | None:
        receipt = self.live.pop(order, None)
        if receipt:
            self.left[receipt.variant_id] += receipt.quantity
        return receipt

    def may_inherit(self, heir: Heir) -> bool:
        return (
            self.door is Door.OPEN
            and len(self.journal) < JOURNAL_MAX
            and heir.place_id not in self.places
            and self.units_of(heir.buyer) + heir.quantity <= PER_PERSON
            and self.left[heir.variant_id] >= heir.quantity
        )


class GateMachine(RuleBasedStateMachine):
    url: str
    orders = Bundle("orders")

    def __init__(self):
        super().__init__()
        self.loop = asyncio.Runner()
        self.drop = next(_drops)
        self.gate = self.run(Gate.open(self.url, name="machine"))
        self.client = self.loop.get_loop().run_until_complete(_client(self.url))
        self.model = Model({1: 4, 2: 2})
        self.operation = uuid4()
        assert self.run(self.gate.mend(self.drop, None, self.image())) == "mended"

    def run(self, awaitable):
        return self.loop.run(awaitable)

    def teardown(self):
        self.run(self.gate.close())
        self.run(self.client.aclose())
        self.loop.close()

    def image(self) -> Image:
        """What a ledger that has recorded everything would say."""
        model = self.model
        totals = {
            variant: left + sum(receipt.quantity for receipt in model.live.values() if receipt.variant_id == variant)
            for variant, left in model.left.items()
        }
        places = [
            KeyRecord(
                known.buyer, f"place:{place}", known.order_id, known.digest, known.pay_by_ms, known.variant_id, known.quantity
            )
            for place, known in model.places.items()
        ]
        return Image(
            model.door, 0, None, PER_PERSON, 60_000, 0, JOURNAL_MAX, totals,
            list(model.live.values()), list(model.keys.values()) + places, list(model.counted),
        )  # fmt: skip

    # ---- what happens -----------------------------------------------------------------------------------------------
    @rule(target=orders, buyer=buyers, key=st.sampled_from("abcdefgh"), variant=variants, quantity=quantities)
    def reserve(self, buyer, key, variant, quantity):
        order, digest = new_order_id(self.drop), digest_of(variant, quantity)
        expected = self.model.verdict(buyer, key, variant, quantity)
        answer = self.run(self.gate.reserve(self.drop, Reservation(buyer, key, digest, variant, quantity, order)))
        assert answer.verdict == expected
        if expected == "already_yours":
            over_limit = self.model.units_of(buyer) + quantity > PER_PERSON
            assert answer.allowed == (PER_PERSON - self.model.units_of(buyer) if over_limit else 0)
            theirs = {receipt.order_id for receipt in self.model.live.values() if receipt.buyer == buyer}
            assert answer.order_id in theirs if theirs else answer.order_id is None
        if expected != "reserved":
            return multiple()
        if known := self.model.keys.get((buyer, key)):
            assert (answer.order_id, answer.pay_by_ms) == (known.order_id, known.pay_by_ms)
            return multiple()
        assert answer.order_id == order
        self.model.keys[buyer, key] = KeyRecord(buyer, key, order, digest, answer.pay_by_ms, variant, quantity)
        self.model.grant(Receipt(order, buyer, variant, quantity, answer.pay_by_ms, False))
        return order

    @rule(order=orders)
    def release(self, order):
        expected = "released" if self.model.take_back(order) else "absent"
        assert self.run(self.gate.release(self.drop, order)).verdict == expected

    @rule(
        target=orders,
        order=consumes(orders),
        places=st.lists(st.tuples(st.integers(1, 5), buyers, variants, quantities), max_size=3),
    )
    def release_to_heirs(self, order, places):
        heirs = [Heir(place, buyer, variant, quantity, new_order_id(self.drop)) for place, buyer, variant, quantity in places]
        receipt = self.model.take_back(order)
        answer = self.run(self.gate.release(self.drop, order, heirs))
        if receipt is None:
            assert answer.verdict == "absent"
            return multiple()
        return self._offered(answer, [heir for heir in heirs if heir.variant_id == receipt.variant_id], "released")

    @rule(target=orders, places=st.lists(st.tuples(st.integers(1, 5), buyers, variants, quantities), min_size=1, max_size=3))
    def offer(self, places):
        heirs = [Heir(place, buyer, variant, quantity, new_order_id(self.drop)) for place, buyer, variant, quantity in places]
        return self._offered(self.run(self.gate.offer(self.drop, heirs)), heirs, "absent")

    def _offered(self, answer, heirs, otherwise):
        """Heirs are served in order, each seeing what those before took."""
        served = []
        for heir in heirs:
            if self.model.may_inherit(heir):
                self.model.grant(Receipt(heir.order_id, heir.buyer, heir.variant_id, heir.quantity, 0, False))
                self.model.places[heir.place_id] = KeyRecord(
                    heir.buyer, f"place:{heir.place_id}", heir.order_id, heir.digest, 0, heir.variant_id, heir.quantity
                )
                served.append(heir)
        assert (answer.verdict, list(answer.heirs)) == ("offered" if served else otherwise, served)
        for heir in served:
            pay_by_ms = self.run(self.gate.receipt(self.drop, heir.order_id)).pay_by_ms
            self.model.live[heir.order_id].pay_by_ms = self.model.places[heir.place_id].pay_by_ms = pay_by_ms
        return multiple(*(heir.order_id for heir in served))

    @rule(order=orders)
    def settle(self, order):
        receipt = self.model.live.get(order)
        assert self.run(self.gate.settle(self.drop, order)) == ("settled" if receipt else "absent")
        if receipt:
            receipt.paid = True

    @rule(
        target=orders,
        variant=variants,
        units=st.integers(-3, 3).filter(bool),
        again=st.booleans(),
        places=st.lists(st.tuples(st.integers(1, 5), buyers, quantities), max_size=2),
    )
    def adjust(self, variant, units, again, places):
        heirs = [Heir(place, buyer, variant, quantity, new_order_id(self.drop)) for place, buyer, quantity in places]
        operation = self.operation if again else uuid4()
        expected = "repeated" if operation in self.model.counted else "too_few" if self.model.left[variant] + units < 0 else "done"
        assert self.run(self.gate.adjust(self.drop, operation, variant, units, heirs)) == expected
        if expected == "done":
            self.model.left[variant] += units
            self.model.counted.add(operation)
            self.operation = operation
        served = tuple(heir for heir in heirs if self.run(self.gate.receipt(self.drop, heir.order_id)))
        return self._offered(Released("offered" if served else "absent", served), heirs, "absent")

    @rule(door=doors)
    def set_door(self, door):
        stays = self.model.door is Door.CLOSED and door is not Door.CLOSED
        assert self.run(self.gate.set_door(self.drop, door, 0, None)) == ("closed" if stays else "done")
        if not stays:
            self.model.door = door

    @rule()
    def record(self):
        read = self.run(self.gate.read_journal([self.drop], "recorder", 1000, 1))
        entries = [entry for _, entries in read for entry in entries]
        assert [entry.order_id for entry in entries] == self.model.journal
        self.run(self.gate.ack(self.drop, [entry.entry_id for entry in entries]))
        self.model.journal.clear()

    @rule(lost=st.booleans(), door=doors)
    def mend(self, lost, door):
        """The reconciler, with the ledger's door; with `lost` after the server came back empty, which it can only mend because all
        was recorded."""
        snapshot = self.run(self.gate.snapshot(self.drop))
        if self.model.journal:
            assert self.run(self.gate.mend(self.drop, snapshot.stamp, self.image())) == "moved"
            return
        if lost:
            assert self.run(self.gate.retire(self.drop, snapshot.stamp)) == "retired"
        self.model.door = door
        assert self.run(self.gate.mend(self.drop, None if lost else snapshot.stamp, self.image())) == "mended"

    # ---- what must hold ---------------------------------------------------------------------------------------------
    @invariant()
    def the_gate_is_what_the_model_is(self):
        snapshot, peek = self.run(check_arithmetic(self.gate, self.client, self.drop))
        assert snapshot.receipts == self.model.live
        assert snapshot.stock == peek.left == self.model.left
        assert peek.held == {variant: self.model.held(variant) for variant in VARIANTS}
        assert snapshot.journal == peek.journal == len(self.model.journal)
        assert snapshot.adjustments == self.model.counted
        assert peek.holders == (set() if any(self.model.left.values()) else self.model.granted)


async def _client(url: str):
    return redis.asyncio.Redis.from_url(url)


def test_any_sequence_of_steps_leaves_gate_and_model_equal(redis_url):
    GateMachine.url = redis_url
    run_state_machine_as_test(
        GateMachine,
        settings=settings(max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)),
    )
