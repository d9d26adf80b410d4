"""A drop with a crowd, and the hand that moves its clocks: deadlines are set into the past instead of waited for."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import asyncpg

from app.domain.drops import Drop
from app.domain.ids import new_order_id
from app.domain.keys import digest_of
from app.domain.orders import OrderState
from app.ledger import Entry, Ledger, NewDrop, Place, Submitted, Wish

GRACE_SECONDS = 60.0
CLAIM_DEAD_SECONDS = 45.0
WAITING_SECONDS_MAX = 10.0
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Scene:
    def __init__(self, ledger: Ledger, hand: asyncpg.Connection, dsn: str, shop_id: int):
        """`hand`: a connection of the test's own, for what no method of the ledger does."""
        self.ledger, self.hand, self.dsn, self.shop_id = ledger, hand, dsn, shop_id
        self.drop: Drop | None = None

    async def publish(self, *variants: tuple[str, int], **changes) -> Drop:
        """A drop of these variants (one of 10 units by default); the scene's own from then on."""
        terms = dict(shop_id=self.shop_id, slug=f"drop-{uuid4().hex[:12]}", title="A drop", price_minor=4900, currency="EUR",
                     opens_at=datetime.now(UTC), variants=variants or (("One size", 10),))  # fmt: skip
        self.drop = await self.ledger.create_drop(NewDrop(**terms | changes))
        return self.drop

    async def shopper(self) -> int:
        return (await self.ledger.mint_shoppers(1))[0]

    def entry(
        self, buyer: int, *, variant: int = 0, quantity: int = 1, key: str | None = None, order_id: UUID | None = None,
        place_id: int | None = None,
    ) -> Entry:  # fmt: skip
        """A journal entry of the scene's drop. `variant`: where it stands in the drop; `place_id`: an offer to this place."""
        key = f"place:{place_id}" if place_id is not None else key
        variant_id, now = self.drop.variants[variant].id, datetime.now(UTC)
        return Entry(
            order_id=order_id or new_order_id(self.drop.id),
            buyer=buyer,
            variant_id=variant_id,
            quantity=quantity,
            key=key or uuid4().hex,
            digest=digest_of(variant_id, quantity),
            reserved_at=now,
            pay_by=now + timedelta(seconds=600),
            place_id=place_id,
        )

    async def joins(self, shopper: int, *, variant: int = 0, quantity: int = 1) -> Place:
        """The shopper joins the drop's list -> their place."""
        (joined,) = await self.ledger.join_list(self.drop.id, [Wish(shopper, self.drop.variants[variant].id, quantity)])
        assert joined.place is not None, joined
        return joined.place

    async def offered(self, place: Place, **more) -> UUID:
        """The gate has offered units to a place and the recorder has written it -> the order."""
        entry = self.entry(place.shopper_id, quantity=place.quantity, place_id=place.place_id, **more)
        await self.ledger.record(self.drop.id, [entry])
        return entry.order_id

    async def place_state(self, place: Place) -> str:
        return await self.hand.fetchval("SELECT state FROM places WHERE id = $1", place.place_id)

    async def told(self, shopper: int) -> list[str]:
        """-> the kinds of mail this shopper was written, oldest first."""
        rows = await self.hand.fetch(
            "SELECT kind FROM messages JOIN shoppers ON email_written = recipient WHERE shoppers.id = $1 ORDER BY messages.id",
            shopper,
        )
        return [row["kind"] for row in rows]

    async def hold(self, buyer: int | None = None, **wish) -> UUID:
        """-> a fresh hold in the ledger."""
        entry = self.entry(buyer or await self.shopper(), **wish)
        (recorded,) = await self.ledger.record(self.drop.id, [entry])
        assert recorded.state is OrderState.PENDING_PAYMENT, recorded
        return entry.order_id

    async def submit(self, order_id: UUID) -> int:
        """The owner submits a payment -> the attempt's number."""
        submitted = await self.ledger.submit_attempt(order_id, (await self.order(order_id)).shopper_id, "pm_card_visa")
        assert isinstance(submitted, Submitted), submitted
        return submitted.n

    async def charging(self, order_id: UUID | None = None) -> tuple[UUID, UUID]:
        """-> (order, token) of an order that a worker is charging, its intent stored."""
        order_id, token = order_id or await self.hold(), uuid4()
        assert await self.ledger.claim_charge(order_id, await self.submit(order_id), token)
        assert await self.ledger.store_intent(order_id, token, intent_of(order_id))
        return order_id, token

    async def capture(
        self, order_id: UUID, token: UUID | None, *, amount_minor: int | None = None, intent_id: str | None = None
    ) -> str:
        """The provider captured what is owed, or another amount, or under another intent."""
        owed = (await self.order(order_id)).amount_minor
        return await self.ledger.settle_paid(
            order_id, token=token, intent_id=intent_id or intent_of(order_id), amount_minor=amount_minor or owed, currency="eur"
        )

    async def capture_now(self, order_id: UUID, token: UUID | None) -> str:
        """The same for one unit at the usual price, without reading the order first."""
        return await self.ledger.settle_paid(
            order_id, token=token, intent_id=intent_of(order_id), amount_minor=4900, currency="eur"
        )

    async def paid(self) -> UUID:
        order_id, token = await self.charging()
        assert await self.capture(order_id, token) == "paid"
        return order_id

    async def decline(self, order_id: UUID) -> str:
        """One whole declined attempt."""
        _, token = await self.charging(order_id)
        return await self.ledger.settle_declined(order_id, token, (await self.order(order_id)).attempts, "card_declined")

    async def ask_authentication(self, order_id: UUID) -> None:
        _, token = await self.charging(order_id)
        assert await self.ledger.settle_action(
            order_id, token, (await self.order(order_id)).attempts, "https://provider.example/3ds"
        )

    async def overdue(self, order_id: UUID, seconds: float = 1.0) -> UUID:
        await self.hand.execute("UPDATE orders SET deadline = now() - make_interval(secs => $2) WHERE id = $1", order_id, seconds)
        return order_id

    async def holder_dies(self, order_id: UUID) -> None:
        """The claim's holder was last heard of long ago."""
        await self.hand.execute("UPDATE orders SET claimed_at = now() - interval '1 hour' WHERE id = $1", order_id)

    async def order(self, order_id: UUID):
        return await self.ledger.order(order_id)

    async def state(self, order_id: UUID) -> OrderState:
        return (await self.order(order_id)).state

    async def kinds(self, order_id: UUID) -> list[str]:
        """-> what happened to the order, in words."""
        return [event.kind for event in await self.ledger.events_of(order_id)]

    async def books(self):
        """-> the books, which must add up."""
        books = await self.ledger.books(self.drop.id)
        assert books.findings == []
        return books

    @contextlib.asynccontextmanager
    async def locked(self, statement: str, *values, waiting: int):
        """Hold the locks of `statement` while the block starts its work, until `waiting` sessions queue for them."""
        other = await asyncpg.connect(self.dsn)
        transaction = other.transaction()
        await transaction.start()
        await other.fetch(statement, *values)
        try:
            yield
            await self.until_waiting(waiting)
        finally:
            await transaction.rollback()
            await other.close()

    async def until_waiting(self, sessions: int) -> None:
        async with asyncio.timeout(WAITING_SECONDS_MAX):
            while await self.hand.fetchval(WAITING) < sessions:  # noqa: ASYNC110 -- Postgres tells nobody who waits
                await asyncio.sleep(0.002)


def intent_of(order_id: UUID) -> str:
    return f"pi_{order_id.hex}"


@contextlib.asynccontextmanager
async def open_scene(database_url: str):
    """-> a scene with a ledger of its own and a published drop of ten units."""
    ledger = await Ledger.open(database_url, name="test", connections_max=8, statement_timeout_seconds=30)
    hand = await asyncpg.connect(database_url)
    scene = Scene(ledger, hand, database_url, await ledger.create_shop("Atelier", "owner@example.org"))
    await scene.publish()
    yield scene
    await hand.close()
    await ledger.close()
