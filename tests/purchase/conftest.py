"""A small shop: real gate, real ledger, a provider and a queue under the test's control."""

from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from app import clock
from app.domain.verdicts import Answer
from app.gate import Gate
from app.ledger import Ledger, NewDrop, Submitted, Wish
from app.purchase.drops import create_drop
from app.purchase.fulfilling import Packer
from app.purchase.paying import Till
from app.purchase.reconciling import reconcile
from app.purchase.recording import Recorder
from app.purchase.reserving import Counter
from app.purchase.sweeping import Sweeper
from app.settings import Settings
from tests.doubles import GoneQueue, ListQueue, ScriptedProvider, ScriptedWarehouse, SilentFeed

PARCEL_DEAD_SECONDS = 180.0
SECRET = "s" * 32


@dataclass
class Shop:
    settings: Settings
    ledger: Ledger
    gate: Gate
    shop_id: int
    feed: SilentFeed = field(default_factory=SilentFeed)
    jobs: object = field(default_factory=GoneQueue)
    provider: ScriptedProvider = field(default_factory=ScriptedProvider)
    warehouse: ScriptedWarehouse = field(default_factory=ScriptedWarehouse)
    settle_seconds: float = 0.0

    async def opens(
        self, *, units=1, limit=1, attempts=3, hold_seconds=600.0, variants=None, price_minor=4900, currency="EUR", **more
    ):
        new = NewDrop(
            shop_id=self.shop_id, slug=f"d{uuid4().hex[:20]}", title="Night lamp", price_minor=price_minor, currency=currency,
            opens_at=clock.now() - timedelta(seconds=5), per_person=limit, hold_seconds=hold_seconds, payment_attempts=attempts,
            variants=variants or (("one", units),), **more,
        )  # fmt: skip
        return await create_drop(self, new)

    async def shopper(self) -> int:
        return (await self.ledger.mint_shoppers(1))[0]

    def counter(self, buy_limit=(10_000, 1.0)) -> Counter:
        return Counter(self.gate, buy_limit)

    def till(self, jobs=None) -> Till:
        return Till(
            ledger=self.ledger, gate=self.gate, feed=self.feed, jobs=jobs or self.jobs, provider=self.provider,
            public_url="http://127.0.0.1:8000", secret=SECRET, grace_seconds=0, claim_dead_seconds=1,
        )  # fmt: skip

    def sweeper(self, jobs=None) -> Sweeper:
        jobs = jobs or self.jobs
        return Sweeper(
            ledger=self.ledger, gate=self.gate, feed=self.feed, jobs=jobs, till=self.till(jobs), sweep_seconds=1, grace_seconds=0,
            claim_dead_seconds=1, queue_retry_seconds=60, packer=self.packer(), parcel_dead_seconds=PARCEL_DEAD_SECONDS,
        )  # fmt: skip

    def packer(self) -> Packer:
        return Packer(
            ledger=self.ledger, feed=self.feed, warehouse=self.warehouse,
            claim_dead_seconds=PARCEL_DEAD_SECONDS, settle_seconds=self.settle_seconds,
        )  # fmt: skip

    def recorder(self) -> Recorder:
        return Recorder(self.ledger, self.gate, self.feed, idle_seconds=1)

    async def buys(self, drop, shopper, *, quantity=1, key="k", variant=None) -> Answer:
        return await self.counter().buy(drop, shopper, variant or drop.variants[0], quantity, key)

    async def holds(self, drop, shopper, **more) -> UUID:
        """A shopper buys and the recorder has written it -> the order."""
        answer = await self.buys(drop, shopper, **more)
        assert answer.verdict == "reserved", answer
        await self.records(drop)
        return answer.order_id

    async def waits(self, drop, shopper=None, *, quantity=1, variant=None) -> int:
        """A shopper (a new one) joins the drop's list -> the shopper."""
        shopper = shopper or await self.shopper()
        (joined,) = await self.ledger.join_list(drop.id, [Wish(shopper, (variant or drop.variants[0]).id, quantity)])
        assert joined.place is not None, joined
        return shopper

    async def offer_of(self, drop, shopper) -> UUID | None:
        """-> the order that holds units for this shopper's place."""
        return next((place.order_id for place in await self.ledger.places_of(drop.id, shopper) if place.order_id), None)

    async def records(self, drop) -> None:
        await self.recorder().step([drop.id], block_ms=1)

    async def sweeps(self) -> None:
        sweeper = self.sweeper()
        await sweeper.sweep()
        await sweeper.finish()

    async def reconciles(self, drop):
        return await reconcile(self.ledger, self.gate, self.feed, drop.id, self.settings.journal_entries_max)

    async def pays(self, drop, method="pm_card_visa", **more) -> UUID:
        """A shopper buys and submits a payment, which a worker charges -> the order."""
        shopper = await self.shopper()
        order = await self.holds(drop, shopper, **more)
        assert isinstance(await self.till(ListQueue()).submit(order, shopper, method), Submitted)
        await self.till(ListQueue()).charge(order, 1)
        return order

    async def events(self, order_id) -> list[str]:
        return [event.kind for event in await self.ledger.events_of(order_id)]

    async def mails(self, kind) -> list[str]:
        """-> whom mails of this kind go to."""
        return [message.recipient for message in await self.ledger.newest(100) if message.kind == kind]

    async def time_passes(self) -> None:
        """Everything that rests is due, and every holder of a claim is long dead."""
        await self.sql("UPDATE orders SET claimed_at = now() - interval '1 hour' WHERE state = 'PROCESSING'")
        await self.sql("UPDATE refunds SET ask_at = now() - interval '1 s', enqueued_at = NULL")
        await self.sql("UPDATE payments SET ask_at = now() - interval '1 s' WHERE ask_at IS NOT NULL")
        await self.sql(
            "UPDATE parcels SET ask_at = now() - interval '1 s', claimed_at = claimed_at - interval '1 hour', enqueued_at = NULL,"
            " created_last_at = created_last_at - interval '1 hour'"
        )

    async def state(self, order_id) -> str:
        return (await self.ledger.order(order_id)).state

    async def sql(self, statement, *arguments):
        """A hand in the ledger that no part of Doorman has: only to set a scene."""
        connection = await asyncpg.connect(self.settings.database_url)
        try:
            return await connection.fetch(statement, *arguments)
        finally:
            await connection.close()

    async def deadline_passes(self, order_id) -> None:
        await self.sql("UPDATE orders SET deadline = now() - interval '1 hour' WHERE id = $1", order_id)

    async def claim_dies(self, order_id) -> None:
        await self.sql("UPDATE orders SET claimed_at = now() - interval '1 hour' WHERE id = $1", order_id)

    async def books_close(self, drop) -> dict:
        """Everything at rest: the books of the contract balance, gate and ledger agree."""
        from app.purchase.books import books

        found = await books(self, drop.slug)
        assert found["balanced"] is True, found
        return found


@pytest.fixture
async def shop(redis_url, database_url):
    gate = await Gate.open(redis_url, timeout_seconds=2, name="test")
    ledger = await Ledger.open(database_url, name="test", connections_max=8)
    settings = Settings.from_environment({}, redis_url=redis_url, database_url=database_url)
    yield Shop(settings, ledger, gate, await ledger.create_shop("Atelier", "owner@example.org"))
    await gate.close()
    await ledger.close()
