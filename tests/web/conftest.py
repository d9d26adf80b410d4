"""A shop behind its real doors: guard, raw and routed paths over a real gate and ledger, asked in-process through ASGI."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import httpx
import pytest

from app import clock
from app.domain.drops import Drop
from app.gate import Gate
from app.ledger import Ledger, NewDrop
from app.live import Feed
from app.purchase.drops import create_drop
from app.purchase.paying import Till
from app.purchase.recording import Recorder
from app.settings import Settings
from app.web.app import create_app
from app.web.session import Sessions
from app.wiring import Office, Web
from tests.doubles import ListQueue, ScriptedProvider

HOST = "127.0.0.1:8000"
URL = f"http://{HOST}"
JSON = {"accept": "application/json"}
FORM = {"accept": "text/html", "content-type": "application/x-www-form-urlencoded"}
PARTIAL = {"accept": "text/html", "hx-request": "true", "hx-request-type": "partial"}


@contextlib.asynccontextmanager
async def running(app) -> AsyncIterator[None]:
    """The lifespan of an ASGI application, as a server would play it."""
    asked, told = asyncio.Queue(), asyncio.Queue()
    await asked.put({"type": "lifespan.startup"})
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, asked.get, told.put))
    started = await told.get()
    assert started["type"] == "lifespan.startup.complete", started
    yield
    await asked.put({"type": "lifespan.shutdown"})
    await told.get()
    await task


@dataclass
class Shop:
    settings: Settings
    ledger: Ledger
    gate: Gate
    feed: Feed
    shop_id: int
    app: object
    till: Till
    jobs: ListQueue
    provider: ScriptedProvider
    sessions: Sessions = field(init=False)

    def __post_init__(self):
        self.sessions = Sessions(self.settings)

    def browser(self, cookie: str | None = None, *, app=None, peer: str = "127.0.0.1", **headers: str) -> httpx.AsyncClient:
        """A client with a cookie jar of its own. It follows nothing, so that each answer can be looked at."""
        transport = httpx.ASGITransport(app or self.app, raise_app_exceptions=False, client=(peer, 50_000))
        client = httpx.AsyncClient(transport=transport, base_url=URL, headers=headers)
        if cookie:
            client.headers["cookie"] = cookie
        return client

    async def shopper(self, **headers: str) -> httpx.AsyncClient:
        """A signed-in shopper's client; `client.shopper_id` says who it is."""
        [shopper_id] = await self.ledger.mint_shoppers(1)
        client = self.browser(f"{self.sessions.name}={self.sessions.value(shopper_id, 0)}", **headers)
        client.shopper_id = shopper_id
        return client

    async def opens(
        self, *, units=1, limit=1, variants=None, opens_in_seconds=-5.0, closes_in_seconds=None, hold_seconds=600.0, **more
    ) -> Drop:
        now = clock.now().replace(microsecond=0)
        opens_at = now + timedelta(seconds=opens_in_seconds)
        new = NewDrop(
            shop_id=self.shop_id,
            slug=f"d{uuid4().hex[:20]}",
            title="Night <lamp>",
            price_minor=4900,
            currency="EUR",
            opens_at=opens_at,
            closes_at=None if closes_in_seconds is None else now + timedelta(seconds=closes_in_seconds),
            per_person=limit,
            hold_seconds=hold_seconds,
            payment_attempts=3,
            variants=variants or (("one", units),),
            **more,
        )
        return await create_drop(self, new)

    async def app_hears(self, drop: Drop) -> None:
        """What the feed tells the web process of a drop that changed, without waiting for the feed."""
        hot = self.app.inner
        await hot.catalogue.refresh(drop.id)
        hot.pages.lists.forget(drop.id)
        hot.scenes.forget(drop.id)
        hot.pages.written(drop.slug)

    async def records(self, drop: Drop) -> None:
        await Recorder(self.ledger, self.gate, self.feed, 1).step([drop.id], block_ms=1)

    async def holds(self, drop: Drop, client: httpx.AsyncClient, **fields) -> UUID:
        """The shopper buys and the recorder has written it -> the order."""
        answer = await client.post(f"/drops/{drop.slug}/buy", json=fields, headers=JSON)
        assert answer.status_code == 201, answer.text
        await self.records(drop)
        return UUID(answer.json()["order"])

    async def pays(self, order_id: UUID, method: str = "pm_card_visa") -> None:
        """Its owner pays, and a worker charges at once."""
        order = await self.ledger.order(order_id)
        submitted = await self.till.submit(order_id, order.shopper_id, method)
        await self.till.charge(order_id, submitted.n)

    async def nothing_was_written(self, drop: Drop) -> bool:
        """Neither store has granted or recorded anything in this drop."""
        peek = await self.gate.peek(drop.id)
        untouched = peek.left == {variant.id: variant.units_total for variant in drop.variants} and peek.journal == 0
        return untouched and not await self.rows("SELECT 1 FROM orders")

    async def rows(self, statement: str, *values) -> list:
        async with self.ledger._asking() as ask:
            return await ask._connection.fetch(statement, *values)

    async def newest_code(self) -> str:
        [message, *_] = await self.ledger.newest(1)
        return re.search(r"\b\d{6}\b", message.body_text)[0]


def settings_with(redis_url: str, database_url: str, **more) -> Settings:
    return Settings(secret="s" * 32, redis_url=redis_url, database_url=database_url, public_url=URL, **more)


@contextlib.asynccontextmanager
async def open_shop(settings: Settings) -> AsyncIterator[Shop]:
    async with contextlib.AsyncExitStack() as stack:
        gate = await Gate.open(settings.redis_url, timeout_seconds=2, name="test")
        stack.push_async_callback(gate.close)
        ledger = await Ledger.open(settings.database_url, name="test", connections_max=8)
        stack.push_async_callback(ledger.close)
        feed = await Feed.open(settings.feed_redis_url or settings.redis_url)
        stack.push_async_callback(feed.close)
        jobs, provider = ListQueue(), ScriptedProvider()
        till = Till(
            ledger=ledger,
            gate=gate,
            feed=feed,
            jobs=jobs,
            provider=provider,
            public_url=URL,
            grace_seconds=0,
            claim_dead_seconds=1,
        )
        office = Office(settings, ledger, gate, feed)
        app = create_app(
            Web(settings=settings, crowd=gate, gate=gate, ledger=ledger, office=office, feed=feed, jobs=jobs, till=till)
        )
        await stack.enter_async_context(running(app))
        shop_id = await ledger.first_shop() or await ledger.create_shop("Atelier", "owner@example.org")
        yield Shop(settings, ledger, gate, feed, shop_id, app, till, jobs, provider)


@pytest.fixture
async def shop(redis_url, database_url, tmp_path):
    async with open_shop(settings_with(redis_url, database_url, data=str(tmp_path))) as shop:
        yield shop


@pytest.fixture
async def production_shop(redis_url, database_url):
    """The same shop as the public sees it: https, its own name, no development doors."""
    settings = settings_with(redis_url, database_url)
    production = Settings(
        env="production", secret=settings.secret, public_url="https://shop.example", redis_url=redis_url, database_url=database_url,
        smtp_url="smtp://mail.example:25", stripe_secret_key="sk_live_x",
    )  # fmt: skip
    async with open_shop(production) as shop:
        yield shop
