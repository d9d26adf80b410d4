"""A sale against a plain model, with every step taken apart.

Real gate (Valkey) and real ledger (PostgreSQL). Hypothesis plays shoppers, those who wait for what comes back, recorders, sweepers,
charge workers, the reconciler and the faults of Redis in any order; a worker may die between any two of its steps, a job may be
lost or done twice. After every step the invariants of PROTOCOL section 6 are checked; at the end everything is restarted, drained,
and the books must close.

A failure prints the steps as Python, and the blob that replays them.
"""

import asyncio
import os
from collections import Counter
from datetime import timedelta
from uuid import uuid4

import asyncpg
import redis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from app import clock
from app.domain.ids import new_order_id
from app.domain.keys import digest_of
from app.domain.orders import OrderState, Refusal
from app.domain.verdicts import Verdict
from app.gate import Gate, Reservation
from app.ledger import Ledger, NewDrop, Wish
from app.purchase.reconciling import Reconciled, agree, reconcile, to_gate_image
from app.purchase.recording import to_entry
from app.purchase.restocking import CONFIRMATIONS
from app.purchase.waiting import heirs_of_order, heirs_of_variant
from tests.doubles import SilentFeed

BUYERS = 4
KEYS = 3
WORKERS = 2
JOURNAL_MAX = 50
TURNS_MAX = 20
ROWS_MAX = 10_000  # one database has the drops of all examples
LIVE = ("PENDING_PAYMENT", "PROCESSING", "PAID")


class Sale(RuleBasedStateMachine):
    """One drop. `redis_url` and `database_url` are set by the test."""

    redis_url: str
    database_url: str

    def __init__(self):
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.feed = SilentFeed()

    def run(self, awaitable):
        return self.loop.run_until_complete(awaitable)

    @initialize(units=st.integers(1, 3), second=st.integers(0, 2), limit=st.integers(1, 3))
    def opens(self, units, second, limit):
        self.raw = redis.Redis.from_url(self.redis_url)
        self.raw.flushall()
        self.gate = self.run(Gate.open(self.redis_url, timeout_seconds=5, name="model"))
        self.ledger = self.run(Ledger.open(self.database_url, name="model", connections_max=4))
        self.connection = self.run(asyncpg.connect(self.database_url))
        shop = self.run(self.ledger.create_shop(f"shop {uuid4()}", "owner@example.org"))
        self.shoppers = self.run(self.ledger.mint_shoppers(BUYERS))
        variants = (("one", units),) + ((("two", second),) if second else ())
        new = NewDrop(
            shop_id=shop, slug=f"d{uuid4().hex[:20]}", title="Drop", price_minor=4900, currency="EUR",
            opens_at=clock.now() - timedelta(minutes=1), per_person=limit, hold_seconds=3600, payment_attempts=2, variants=variants,
        )  # fmt: skip
        self.drop = self.run(self.ledger.create_drop(new))
        self.limit = limit
        assert self.run(self.reconcile()) is Reconciled.MENDED
        self.told = {}  # (buyer, key) -> order the shopper was told
        self.asked = {}  # (buyer, key) -> (variant, quantity) first granted
        self.readers = [[] for _ in range(WORKERS)]  # entries read, not yet recorded
        self.recorded = [[] for _ in range(WORKERS)]  # recorded, not yet acknowledged
        self.releasing = []  # orders whose release was answered, not yet noted
        self.plan = None  # the reconciler between its steps
        self.charges = []  # claimed: (order, token, n)
        self.plans = []  # a sweeper between asking who is next and asking the gate: (order or None, heirs)
        self.aheads = {}  # place -> how many were ahead when it was last looked at
        self.replica = None
        self.lost = 0
        self.faults = 0

    async def reconcile(self):
        return await reconcile(self.ledger, self.gate, self.feed, self.drop.id, JOURNAL_MAX)

    def orders(self):
        """-> the orders, oldest first: their ids are random, and a replay must choose the same ones."""
        return {row["id"]: row for row in self.run(self._orders())}

    async def _orders(self):
        return await self.connection.fetch(
            "SELECT orders.*, (SELECT min(events.id) FROM events WHERE order_id = orders.id) AS born"
            " FROM orders WHERE drop_id = $1 ORDER BY born",
            self.drop.id,
        )

    def oldest_first(self, order_ids):
        wanted = set(order_ids)
        return [order for order in self.orders() if order in wanted]

    def unreleased(self):
        return self.oldest_first(order for order, _ in self.run(self.ledger.unreleased(ROWS_MAX)))

    async def _sql(self, statement, *arguments):
        return await self.connection.execute(statement, *arguments)

    # ---- shoppers ------------------------------------------------------------------------------------------------------------

    @rule(
        buyer=st.integers(0, BUYERS - 1),
        key=st.integers(0, KEYS - 1),
        variant=st.integers(0, 1),
        quantity=st.integers(1, 2),
        heard=st.booleans(),
    )
    def a_shopper_presses_buy(self, buyer, key, variant, quantity, heard):
        who, name = self.shoppers[buyer], f"k{key}"
        variant = self.drop.variants[variant % len(self.drop.variants)]
        wish = (variant.id, quantity)
        order = new_order_id(self.drop.id)
        answer = self.run(self.gate.reserve(self.drop.id, Reservation(who, name, digest_of(*wish), variant.id, quantity, order)))
        if answer.verdict is Verdict.RESERVED:
            if not self.faults:
                first = self.told.get((who, name))
                assert first in (None, answer.order_id), f"R10: replay answered {answer.order_id}, first was {first}"
                assert self.asked.setdefault((who, name), wish) == wish, "R10: other content under a granted key was granted"
            if heard:
                self.told[who, name] = answer.order_id
            self.asked.setdefault((who, name), wish)
        elif not self.faults:
            assert (who, name) not in self.told or answer.verdict is Verdict.KEY_CONFLICT, (
                f"R10: a granted key heard {answer.verdict}"
            )

    @rule(buyer=st.integers(0, BUYERS - 1), key=st.integers(0, KEYS - 1))
    def a_shopper_gets_a_hold(self, buyer, key):
        """The whole way at once, so that deep states are common: buy, read, commit, acknowledge."""
        self.a_shopper_presses_buy(buyer, key, 0, 1, True)
        self.a_recorder_reads(0, 3)
        self.a_recorder_commits(0)
        self.a_recorder_acknowledges(0)

    # ---- recorders, step by step ---------------------------------------------------------------------------------------------

    @rule(worker=st.integers(0, WORKERS - 1), count=st.integers(1, 3))
    def a_recorder_reads(self, worker, count):
        for _, entries in self.run(self.gate.read_journal([self.drop.id], f"w{worker}", count, 0)):
            self.readers[worker] += entries

    @rule(worker=st.integers(0, WORKERS - 1))
    def a_recorder_takes_over(self, worker):
        self.readers[worker] += self.run(self.gate.take_over(self.drop.id, f"w{worker}", 0, 3))

    @rule(worker=st.integers(0, WORKERS - 1))
    def a_recorder_commits(self, worker):
        entries, self.readers[worker] = self.readers[worker], []
        if entries:
            self.run(self.ledger.record(self.drop.id, [to_entry(entry) for entry in entries]))
            self.recorded[worker] += entries

    @rule(worker=st.integers(0, WORKERS - 1))
    def a_recorder_acknowledges(self, worker):
        entries, self.recorded[worker] = self.recorded[worker], []
        if entries:
            self.run(self.gate.ack(self.drop.id, [entry.entry_id for entry in entries]))

    @rule(worker=st.integers(0, WORKERS - 1))
    def a_recorder_dies(self, worker):
        self.readers[worker], self.recorded[worker] = [], []

    # ---- payment, step by step (the provider says yes or no) -----------------------------------------------------------------

    @rule(data=st.data())
    def a_shopper_submits_a_payment(self, data):
        waiting = [order for order in self.orders().values() if order["state"] == "PENDING_PAYMENT"]
        if waiting:
            order = data.draw(st.sampled_from(waiting))
            self.run(self.ledger.submit_attempt(order["id"], order["shopper_id"], "pm_card_visa"))

    @rule(data=st.data())
    def a_worker_claims_a_charge(self, data):
        waiting = [order["id"] for order in self.orders().values() if order["state"] == "PENDING_PAYMENT" and order["attempts"]]
        if waiting:
            order = data.draw(st.sampled_from(waiting))
            n, token = self.orders()[order]["attempts"], uuid4()
            if self.run(self.ledger.claim_charge(order, n, token)):
                assert self.run(self.ledger.store_intent(order, token, f"pi_{order}"))
                self.charges.append((order, token, n))

    @rule(data=st.data(), captured=st.booleans())
    def a_charge_is_answered(self, data, captured):
        if not self.charges:
            return
        order, token, n = self.charges.pop(data.draw(st.integers(0, len(self.charges) - 1)))
        if captured:
            self.run(
                self.ledger.settle_paid(
                    order, token=token, intent_id=f"pi_{order}", amount_minor=self.amount(order), currency="EUR"
                )
            )
        elif self.run(self.ledger.settle_declined(order, token, n, "card_declined")) == "used_up":
            assert self.run(self.ledger.give_back(order, token))

    def amount(self, order):
        return self.orders()[order]["amount_minor"]

    @rule(captured=st.booleans())
    def a_job_is_done_twice(self, captured):
        """A second answer for a charge that is already settled must lose."""
        settled = [o for o in self.orders().values() if o["state"] in ("PAID", "EXPIRED", "FAILED")]
        if settled:
            before = settled[0]["state"]
            verdict = self.run(
                self.ledger.settle_paid(
                    settled[0]["id"], token=uuid4(), intent_id=f"pi_{settled[0]['id']}",
                    amount_minor=settled[0]["amount_minor"], currency="EUR"
                )
            ) if captured else self.run(self.ledger.settle_declined(settled[0]["id"], uuid4(), 1, "late"))  # fmt: skip
            assert verdict != "paid"
            assert self.orders()[settled[0]["id"]]["state"] == before

    # ---- sweeper, step by step -----------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def a_deadline_passes(self, data):
        waiting = [order["id"] for order in self.orders().values() if order["state"] == "PENDING_PAYMENT"]
        if waiting:
            order = data.draw(st.sampled_from(waiting))
            self.run(self._sql("UPDATE orders SET deadline = now() - interval '1 hour' WHERE id = $1", order))

    @rule(data=st.data(), confirmed=st.booleans())
    def a_hold_lapses(self, data, confirmed):
        """Deadline, expiry and release at once; the sweeper may die before it notes the confirmation."""
        self.a_deadline_passes(data)
        self.the_sweeper_expires()
        self.the_sweeper_asks_for_a_release(data)
        self.the_sweeper_notes_the_confirmations() if confirmed else self.the_sweeper_dies()

    @rule()
    def the_sweeper_expires(self):
        self.run(self.ledger.expire_unattempted(ROWS_MAX))

    @rule(data=st.data())
    def the_sweeper_gives_back_an_order_with_attempts(self, data):
        due = self.oldest_first(due.order_id for due in self.run(self.ledger.due_give_backs(ROWS_MAX, 0)))
        if due:
            order, token = data.draw(st.sampled_from(due)), uuid4()
            to, why = OrderState.EXPIRED, Refusal.DEADLINE
            if self.run(self.ledger.claim_give_back(order, token, to=to, reason=why, shopper_id=None, grace_seconds=0)):
                assert self.run(self.ledger.give_back(order, token))  # the provider says: cancelled

    @rule(data=st.data())
    def the_sweeper_asks_for_a_release(self, data):
        """Who is next is asked of the ledger, then the gate is asked: the whole step at once."""
        self.the_sweeper_asks_who_is_next(data)
        if self.plans:
            self.the_sweeper_asks_the_gate(data, at=-1)

    @rule(data=st.data())
    def the_sweeper_asks_who_is_next(self, data):
        due = self.unreleased()
        if due:
            order = data.draw(st.sampled_from(due))
            self.plans.append((order, self.run(heirs_of_order(self.ledger, self.gate, self.drop.id, order))))

    @rule(variant=st.integers(0, 1))
    def the_sweeper_looks_for_public_stock(self, variant):
        variant = self.drop.variants[variant % len(self.drop.variants)]
        heirs = self.run(heirs_of_variant(self.ledger, self.gate, self.drop.id, variant.id))
        if heirs:
            self.plans.append((None, heirs))

    @precondition(lambda self: self.plans)
    @rule(data=st.data())
    def the_sweeper_asks_the_gate(self, data, at=None):
        """However late it comes: the heirs it names may have left, been served, or bought something meanwhile."""
        order, heirs = self.plans.pop(data.draw(st.integers(0, len(self.plans) - 1)) if at is None else at)
        before = self.run(self.gate.snapshot(self.drop.id))
        served = self.run(self.gate.offered_places(self.drop.id, [heir.place_id for heir in heirs]))
        if order is None:
            answer = self.run(self.gate.offer(self.drop.id, heirs))
        else:
            answer = self.run(self.gate.release(self.drop.id, order, heirs))
            if answer.verdict in CONFIRMATIONS:
                self.releasing.append(order)
        self.heirs_were_served_in_order(before, order, heirs, served, answer)

    def heirs_were_served_in_order(self, before, order, heirs, served, answer):
        """Nobody was passed over who could have had units, nobody got any who could not."""
        if before is None or (order is not None and order not in before.receipts):
            assert not answer.heirs
            return
        left, receipts, room = dict(before.stock), dict(before.receipts), JOURNAL_MAX - before.journal
        freed = None
        if order is not None:
            freed = receipts.pop(order)
            left[freed.variant_id] += freed.quantity
        units = Counter()
        for receipt in receipts.values():
            units[receipt.buyer] += receipt.quantity
        expected = []
        for heir in heirs:
            fits = heir.quantity <= left[heir.variant_id] and units[heir.buyer] + heir.quantity <= self.limit
            if fits and room > 0 and heir.place_id not in served and (freed is None or heir.variant_id == freed.variant_id):
                expected.append(heir)
                left[heir.variant_id] -= heir.quantity
                units[heir.buyer] += heir.quantity
                room -= 1
        assert list(answer.heirs) == expected, "the line was not served in order"

    @rule()
    def the_sweeper_notes_the_confirmations(self):
        confirmed, self.releasing = self.releasing, []
        for order in confirmed:
            self.run(self.ledger.confirm_released(order))

    @rule()
    def the_sweeper_dies(self):
        self.releasing = []

    # ---- the waitlist ----------------------------------------------------------------------------------------------------------

    @rule(buyer=st.integers(0, BUYERS - 1), variant=st.integers(0, 1), quantity=st.integers(1, 2))
    def a_shopper_joins_the_list(self, buyer, variant, quantity):
        variant = self.drop.variants[variant % len(self.drop.variants)]
        wish = Wish(self.shoppers[buyer], variant.id, quantity)
        first, again = self.run(self.ledger.join_list(self.drop.id, [wish, wish]))
        assert first.place == again.place and not again.fresh

    @rule(buyer=st.integers(0, BUYERS - 1), variant=st.integers(0, 1))
    def a_shopper_leaves_the_list(self, buyer, variant):
        variant = self.drop.variants[variant % len(self.drop.variants)]
        self.run(self.ledger.leave_list(self.drop.id, variant.id, self.shoppers[buyer]))

    @rule(data=st.data(), buyer=st.integers(0, BUYERS - 1))
    def a_unit_comes_back_while_somebody_waits(self, data, buyer):
        """The whole way at once, so that offers are common: a hold, somebody waits, it lapses, it is passed on, it is written."""
        self.a_shopper_gets_a_hold(buyer, 0)
        self.a_shopper_joins_the_list((buyer + 1) % BUYERS, 0, 1)
        self.a_hold_lapses(data, True)
        self.a_recorder_reads(1, 3)
        self.a_recorder_commits(1)
        self.a_recorder_acknowledges(1)

    @rule(data=st.data(), buyer=st.integers(0, BUYERS - 1))
    def somebody_leaves_while_their_offer_is_on_its_way(self, data, buyer):
        self.a_shopper_gets_a_hold(buyer, 1)
        self.a_shopper_joins_the_list((buyer + 1) % BUYERS, 0, 1)
        self.a_hold_lapses(data, True)
        self.a_shopper_leaves_the_list((buyer + 1) % BUYERS, 0)
        self.a_recorder_reads(1, 3)
        self.a_recorder_commits(1)
        self.a_recorder_acknowledges(1)

    @rule(data=st.data())
    def a_release_is_repeated_much_later(self, data):
        final = [order["id"] for order in self.orders().values() if order["state"] in ("EXPIRED", "FAILED", "CANCELLED")]
        if final:
            self.run(self.gate.release(self.drop.id, data.draw(st.sampled_from(final))))

    # ---- seller --------------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.run(self.ledger.drop_by_id(self.drop.id)).units_total < 6)
    @rule(twice=st.booleans())
    def the_seller_adds_a_unit(self, twice):
        op, variant = uuid4(), self.drop.variants[0].id
        for _ in range(1 + twice):
            self.run(self.ledger.add_units(self.drop.id, variant, 1, op))

    @rule(twice=st.booleans())
    def the_sweeper_brings_the_units_to_the_gate(self, twice):
        for adjustment in self.run(self.ledger.unconfirmed_adjustments(self.drop.id)):
            for _ in range(1 + twice):
                verdict = self.run(self.gate.adjust(self.drop.id, adjustment.id, adjustment.variant_id, adjustment.units))
            if verdict in ("done", "repeated"):
                self.run(self.ledger.confirm_adjustment(adjustment.id))

    # ---- reconciler, step by step --------------------------------------------------------------------------------------------

    @rule()
    def the_reconciler_reads_the_gate(self):
        snapshot = self.run(self.gate.snapshot(self.drop.id))
        self.plan = None if snapshot is not None and snapshot.journal else (snapshot, None)

    @precondition(lambda self: self.plan is not None and self.plan[1] is None)
    @rule()
    def the_reconciler_reads_the_ledger(self):
        self.plan = (self.plan[0], to_gate_image(self.run(self.ledger.image(self.drop.id)), JOURNAL_MAX))

    @precondition(lambda self: self.plan is not None and self.plan[1] is not None)
    @rule()
    def the_reconciler_mends(self):
        (snapshot, image), self.plan = self.plan, None
        if snapshot is None or not agree(snapshot, image):
            self.run(self.gate.mend(self.drop.id, snapshot.stamp if snapshot else None, image))

    @rule()
    def the_reconciler_runs(self):
        self.the_reconciler_reads_the_gate()
        if self.plan is not None:
            self.the_reconciler_reads_the_ledger()
            self.the_reconciler_mends()

    # ---- faults of Redis -----------------------------------------------------------------------------------------------------

    def _keys(self):
        return self.raw.keys(f"{{drop:{self.drop.id}}}:*")

    def _receipts(self):
        snapshot = self.run(self.gate.snapshot(self.drop.id))
        return set(snapshot.receipts) if snapshot else set()

    @rule()
    def a_replica_stops_following(self):
        self.replica = ({key: self.raw.dump(key) for key in self._keys()}, self._receipts())

    @precondition(lambda self: self.replica is not None and self.faults < 2 and self.replica[0])
    @rule()
    def the_stale_replica_is_promoted(self):
        before = self._receipts()
        self.lost += len(before - self.replica[1])
        for key in self._keys():
            self.raw.delete(key)
        for key, value in self.replica[0].items():
            self.raw.restore(key, 0, value)
        self.replica, self.faults = None, self.faults + 1

    @precondition(lambda self: self.faults < 2)
    @rule()
    def redis_comes_back_empty(self):
        live = {order["id"] for order in self.orders().values() if order["state"] in LIVE}
        self.lost += len(self._receipts() - live)
        self.raw.flushall()
        self.replica, self.faults = None, self.faults + 1

    @rule()
    def scripts_are_flushed(self):
        self.raw.script_flush()

    # ---- what must hold ------------------------------------------------------------------------------------------------------

    @invariant()
    def the_invariants_hold(self):
        orders = self.orders().values()
        drop = self.run(self.ledger.drop_by_id(self.drop.id))
        books = self.run(self.ledger.books(self.drop.id))
        assert not books.findings, books.findings
        live = [order for order in orders if order["state"] in LIVE]
        for variant in drop.variants:
            assert sum(o["quantity"] for o in live if o["variant_id"] == variant.id) <= variant.units_total, "R1: oversold"
        for who in self.shoppers:
            mine = [o for o in live if o["shopper_id"] == who]
            assert sum(o["quantity"] for o in mine) <= self.limit, "over the limit"
            assert len({o["key"] for o in mine}) == len(mine), "R10: two live orders of one key"
        refused = sum(order["state"] == "REFUSED" for order in orders)
        assert refused <= self.lost, f"{refused} refused, but Redis lost only {self.lost}"
        self.the_list_is_in_order(orders)
        snapshot = self.run(self.gate.snapshot(self.drop.id))
        if snapshot is not None:
            assert all(left >= 0 for left in snapshot.stock.values()), "gate stock below zero"
            for variant in drop.variants:
                taken = sum(r.quantity for r in snapshot.receipts.values() if r.variant_id == variant.id)
                assert snapshot.stock[variant.id] + taken <= variant.units_total, "a unit came back twice at the gate"
            if not self.faults:
                assert {o["id"] for o in live} <= set(snapshot.receipts), "a live order without a receipt"

    def the_list_is_in_order(self, orders):
        places = self.run(self.connection.fetch("SELECT * FROM places WHERE drop_id = $1 ORDER BY id", self.drop.id))
        for key in {order["key"] for order in orders if order["key"].startswith("place:")}:
            granted = [order for order in orders if order["key"] == key and order["state"] != "REFUSED"]
            assert len(granted) <= 1, "units were offered twice to one place"
        by_order = {order["id"]: order for order in orders}
        ends = {
            "offered": ("PENDING_PAYMENT", "PROCESSING"),
            "taken": ("PAID", "REFUNDED"),
            "lapsed": ("EXPIRED", "FAILED", "CANCELLED"),
        }
        for place in places:
            if place["order_id"]:
                order = by_order[place["order_id"]]
                assert (order["shopper_id"], order["key"]) == (place["shopper_id"], f"place:{place['id']}")
                assert order["state"] in ends[place["state"]], f"{place['state']} place, {order['state']} order"
        waiting = [place for place in places if place["state"] == "waiting"]
        for place in waiting:
            ahead = sum(other["variant_id"] == place["variant_id"] and other["id"] < place["id"] for other in waiting)
            assert ahead <= self.aheads.get(place["id"], ahead), "somebody came in before"
            self.aheads[place["id"]] = ahead

    def teardown(self):
        if not hasattr(self, "drop"):
            self.loop.close()
            return
        try:
            self.run(self._drain())
            self.the_invariants_hold()
            self._closes()
        finally:
            self.run(self.gate.close())
            self.run(self.ledger.close())
            self.run(self.connection.close())
            self.raw.close()
            self.loop.close()

    async def _drain(self):
        """Restart everything: nobody remembers what they were doing."""
        owed = {row["id"]: row["amount_minor"] for row in await self._orders()}
        for order, token, _ in self.charges:
            await self.ledger.settle_paid(order, token=token, intent_id=f"pi_{order}", amount_minor=owed[order], currency="EUR")
            await self._sql(
                "UPDATE orders SET claimed_at = now() - interval '1 hour' WHERE id = $1 AND state = 'PROCESSING'", order
            )
        for _ in range(3):
            if await self.gate.snapshot(self.drop.id) is None:
                await self.reconcile()
            while entries := await self.gate.take_over(self.drop.id, "restarted", 0, 100):
                await self._record(entries)
            while batches := await self.gate.read_journal([self.drop.id], "restarted", 100, 0):
                for _, entries in batches:
                    await self._record(entries)
            await self.ledger.expire_unattempted(ROWS_MAX)
            for order, _ in await self.ledger.unreleased(ROWS_MAX):
                heirs = await heirs_of_order(self.ledger, self.gate, self.drop.id, order)
                if (await self.gate.release(self.drop.id, order, heirs)).verdict in CONFIRMATIONS:
                    await self.ledger.confirm_released(order)
            for adjustment in await self.ledger.unconfirmed_adjustments(self.drop.id):
                await self.gate.adjust(self.drop.id, adjustment.id, adjustment.variant_id, adjustment.units)
                await self.ledger.confirm_adjustment(adjustment.id)
            await self.reconcile()
        for turn in range(TURNS_MAX):  # everything is recorded and mended: who can be served is served, until nobody can
            if not await self._serve_lists():
                break
            assert turn < TURNS_MAX - 1, "offers never end"

    async def _serve_lists(self):
        served = 0
        for variant in self.drop.variants:
            heirs = await heirs_of_variant(self.ledger, self.gate, self.drop.id, variant.id)
            served += len((await self.gate.offer(self.drop.id, heirs)).heirs) if heirs else 0
        for _, entries in await self.gate.read_journal([self.drop.id], "restarted", 100, 0):
            await self._record(entries)
        await self.reconcile()
        return served

    async def _record(self, entries):
        await self.ledger.record(self.drop.id, [to_entry(entry) for entry in entries])
        await self.gate.ack(self.drop.id, [entry.entry_id for entry in entries])

    def _closes(self):
        orders = self.orders()
        snapshot = self.run(self.gate.snapshot(self.drop.id))
        drop = self.run(self.ledger.drop_by_id(self.drop.id))
        live = {order["id"] for order in orders.values() if order["state"] in LIVE}
        for variant in drop.variants:
            heirs = self.run(heirs_of_variant(self.ledger, self.gate, self.drop.id, variant.id))
            assert not heirs, f"{heirs[0]} waits for ever although there are units"
        assert snapshot.journal == 0, "the journal never drains"
        assert not self.oldest_first(order for order, _ in self.run(self.ledger.unreleased(ROWS_MAX))), (
            "a release was never confirmed"
        )
        assert set(snapshot.receipts) == live, "receipts differ from live orders at rest"
        for variant in drop.variants:
            taken = sum(orders[i]["quantity"] for i in live if orders[i]["variant_id"] == variant.id)
            assert snapshot.stock[variant.id] + taken == variant.units_total, "the books do not close"
        if not self.lost:
            assert all(order in orders for order in self.told.values()), "told reserved, but no order anywhere"


def test_no_order_of_steps_breaks_the_books(redis_url, database_url):
    machine = type("Sale", (Sale,), {"redis_url": redis_url, "database_url": database_url})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40,
            stateful_step_count=40,
            deadline=None,
            print_blob=True,
            database=None,
            derandomize=bool(os.environ.get("CI")),  # the same stories each time where a red run must be the change's fault
            suppress_health_check=list(HealthCheck),
        ),  # fmt: skip
    )
