"""Builds the parts of each process from the settings: the one place that knows which pool serves whom (R13).

Crowd, pages, dashboard and workers each have their own gate connection and their own Postgres pool, so that a hot drop fills
only its own. Opening never waits for Redis; it needs Postgres once. What only workers and web processes need (saq, the Stripe
SDK) is imported where it is built, so that the command line starts fast.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.hooks import hook_key
from app.gate import Gate
from app.ledger import Ledger
from app.live import Feed
from app.mail.letters import Letters
from app.settings import Settings

if TYPE_CHECKING:
    from app.hooks import Notifier
    from app.jobs import Jobs
    from app.purchase.fulfilling import Packer
    from app.purchase.paying import Till
    from app.purchase.reconciling import Reconciler
    from app.purchase.recording import Recorder
    from app.purchase.sweeping import Sweeper

PAGES_CONNECTIONS_MAX = 8
OFFICE_CONNECTIONS_MAX = 4
JOBS_CONNECTIONS_MAX = 10
RECORDER_CONNECTIONS_MAX = 2
SWEEPER_CONNECTIONS_MAX = 8
HOOKS_CONNECTIONS_MAX = 4


@dataclass(frozen=True, slots=True)
class Office:
    """The seller's side: CLI, dashboard, demo."""

    settings: Settings
    ledger: Ledger
    gate: Gate
    feed: Feed


@dataclass(frozen=True, slots=True)
class Web:
    """A web process. `crowd` serves the buy path alone; `gate` serves pages."""

    settings: Settings
    crowd: Gate
    gate: Gate
    ledger: Ledger
    office: Office
    feed: Feed
    jobs: Jobs
    till: Till


@dataclass(frozen=True, slots=True)
class Work:
    """A worker process: what saq jobs call."""

    settings: Settings
    ledger: Ledger
    till: Till
    jobs: Jobs
    packer: Packer | None  # None: no warehouse is set
    letters: Letters
    notifier: Notifier


@dataclass(frozen=True, slots=True)
class Loops:
    """The recorder process: loops that need no queue."""

    settings: Settings
    recorder: Recorder
    reconciler: Reconciler
    sweeper: Sweeper


@asynccontextmanager
async def office(settings: Settings, name: str = "office") -> AsyncIterator[Office]:
    async with AsyncExitStack() as stack:
        yield await _office(stack, settings, name)


@asynccontextmanager
async def web(settings: Settings) -> AsyncIterator[Web]:
    async with AsyncExitStack() as stack:
        desk = await _office(stack, settings, "dashboard")
        ledger = await _ledger(stack, settings, "pages", PAGES_CONNECTIONS_MAX)
        gate = await _gate(stack, settings, "pages")
        jobs = _jobs(stack, settings)
        yield Web(
            settings=settings,
            crowd=await _gate(stack, settings, "crowd"),
            gate=gate,
            ledger=ledger,
            office=desk,
            feed=desk.feed,
            jobs=jobs,
            till=_till(stack, settings, ledger, gate, desk.feed, jobs),
        )


@asynccontextmanager
async def work(settings: Settings) -> AsyncIterator[Work]:
    async with AsyncExitStack() as stack:
        ledger = await _ledger(stack, settings, "jobs", JOBS_CONNECTIONS_MAX)
        jobs = _jobs(stack, settings)
        feed = await _feed(stack, settings)
        till = _till(stack, settings, ledger, await _gate(stack, settings, "jobs"), feed, jobs)
        yield Work(
            settings=settings,
            ledger=ledger,
            till=till,
            jobs=jobs,
            packer=_packer(stack, settings, ledger, feed),
            letters=Letters(settings.public_url, settings.secret),
            notifier=await _notifier(stack, settings),
        )


@asynccontextmanager
async def packing(settings: Settings) -> AsyncIterator[Packer | None]:
    """What the seller's word about one parcel needs. None: no warehouse is set."""
    async with AsyncExitStack() as stack:
        ledger = await _ledger(stack, settings, "packing", OFFICE_CONNECTIONS_MAX)
        yield _packer(stack, settings, ledger, await _feed(stack, settings))


@asynccontextmanager
async def loops(settings: Settings) -> AsyncIterator[Loops]:
    from app.purchase.reconciling import Reconciler
    from app.purchase.recording import Recorder
    from app.purchase.sweeping import Sweeper

    async with AsyncExitStack() as stack:
        feed = await _feed(stack, settings)
        jobs = _jobs(stack, settings)
        recording = await _ledger(stack, settings, "recorder", RECORDER_CONNECTIONS_MAX, settings.record_timeout_seconds)
        sweeping = await _ledger(stack, settings, "sweeper", SWEEPER_CONNECTIONS_MAX)
        gate = await _gate(stack, settings, "sweeper")
        till = _till(stack, settings, sweeping, gate, feed, jobs)
        yield Loops(
            settings=settings,
            recorder=Recorder(recording, await _gate(stack, settings, "recorder"), feed, settings.record_idle_seconds),
            reconciler=Reconciler(sweeping, gate, feed, settings.reconcile_seconds, settings.journal_entries_max),
            sweeper=Sweeper(
                ledger=sweeping,
                gate=gate,
                feed=feed,
                jobs=jobs,
                till=till,
                sweep_seconds=settings.sweep_seconds,
                grace_seconds=settings.grace_seconds,
                claim_dead_seconds=settings.claim_dead_seconds,
                queue_retry_seconds=settings.queue_retry_seconds,
                packer=_packer(stack, settings, sweeping, feed),
                parcel_dead_seconds=settings.parcel_dead_seconds,
            ),
        )


async def _office(stack: AsyncExitStack, settings: Settings, name: str) -> Office:
    ledger = await _ledger(stack, settings, name, OFFICE_CONNECTIONS_MAX)
    return Office(settings, ledger, await _gate(stack, settings, name), await _feed(stack, settings))


async def _ledger(
    stack: AsyncExitStack, settings: Settings, name: str, connections_max: int, timeout_seconds: float = 5.0
) -> Ledger:
    ledger = await Ledger.open(
        settings.database_url, name=name, connections_max=connections_max, statement_timeout_seconds=timeout_seconds
    )
    stack.push_async_callback(ledger.close)
    return ledger


async def _gate(stack: AsyncExitStack, settings: Settings, name: str) -> Gate:
    gate = await Gate.open(settings.redis_url, timeout_seconds=settings.gate_timeout_seconds, name=name)
    stack.push_async_callback(gate.close)
    return gate


async def _feed(stack: AsyncExitStack, settings: Settings) -> Feed:
    feed = await Feed.open(settings.feed_redis_url or settings.redis_url)
    stack.push_async_callback(feed.close)
    return feed


def _jobs(stack: AsyncExitStack, settings: Settings) -> Jobs:
    from app.jobs import Jobs

    jobs = Jobs(settings.queue_redis_url or settings.redis_url, settings.job_timeout_seconds, settings.parcel_job_timeout_seconds)
    stack.push_async_callback(jobs.close)
    return jobs


def _till(stack: AsyncExitStack, settings: Settings, ledger: Ledger, gate: Gate, feed: Feed, jobs: Jobs) -> Till:
    from app.payments import StripeProvider
    from app.purchase.paying import Till

    provider = StripeProvider(
        api_base=settings.stripe_api_base, secret_key=settings.stripe_secret_key, timeout_seconds=settings.provider_timeout_seconds
    )
    stack.push_async_callback(provider.close)
    return Till(
        ledger=ledger,
        gate=gate,
        feed=feed,
        jobs=jobs,
        provider=provider,
        public_url=settings.public_url,
        secret=settings.secret,
        grace_seconds=settings.grace_seconds,
        claim_dead_seconds=settings.claim_dead_seconds,
    )


async def _notifier(stack: AsyncExitStack, settings: Settings) -> Notifier:
    """On a pool of its own: a receiver that hangs never takes a connection from those who charge."""
    from app.hooks import Notifier, Sender

    sender = Sender(outside_only=settings.production)
    stack.push_async_callback(sender.close)
    return Notifier(await _ledger(stack, settings, "hooks", HOOKS_CONNECTIONS_MAX), sender, hook_key(settings.secret))


def _packer(stack: AsyncExitStack, settings: Settings, ledger: Ledger, feed: Feed) -> Packer | None:
    """-> None where no warehouse is set: parcels wait in the ledger until there is one."""
    if not settings.warehouse_url:
        return None
    from app.fulfilment import HttpWarehouse
    from app.purchase.fulfilling import Packer

    warehouse = HttpWarehouse(settings.warehouse_url, settings.warehouse_token, timeout_seconds=settings.warehouse_timeout_seconds)
    stack.push_async_callback(warehouse.close)
    return Packer(
        ledger=ledger,
        feed=feed,
        warehouse=warehouse,
        claim_dead_seconds=settings.parcel_dead_seconds,
        settle_seconds=settings.parcel_settle_seconds,
    )
