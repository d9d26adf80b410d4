from uuid import UUID

import httpx
import pytest

from app.domain.ids import new_order_id
from app.payments import StripeProvider
from tests.sandboxes import PROVIDER, PROVIDER_TIMEOUT_SECONDS, Sandbox

QUIET = {
    "latency": [0, 0],
    "latency_taken": "either",
    "decline_rate": 0,
    "drop_after_capture": 0,
    "outage": False,
    "webhooks": "normal",
}


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    sandbox = Sandbox(PROVIDER, tmp_path_factory.mktemp("provider"))
    yield sandbox
    sandbox.stops()


@pytest.fixture
def sandbox(running):
    """The sandbox provider: alive, at once, and saying yes to good cards until a test says otherwise."""
    running.script(**QUIET)
    return running


@pytest.fixture
def mortal(tmp_path):
    """A sandbox provider of this test's own, which it may kill."""
    sandbox = Sandbox(PROVIDER, tmp_path)
    yield sandbox
    sandbox.stops()


@pytest.fixture
async def api(sandbox):
    """Plain HTTP as Stripe's clients speak it: forms, and the key as a bearer."""
    async with _client(sandbox) as client:
        yield client


@pytest.fixture
async def browser():
    """A person's browser: it knows no keys."""
    async with httpx.AsyncClient(timeout=PROVIDER_TIMEOUT_SECONDS) as client:
        yield client


@pytest.fixture
async def provider(sandbox):
    provider = StripeProvider("sk_test_sandbox", api_base=sandbox.url, timeout_seconds=PROVIDER_TIMEOUT_SECONDS)
    yield provider
    await provider.close()


@pytest.fixture
async def mortal_provider(mortal):
    provider = StripeProvider("sk_test_sandbox", api_base=mortal.url, timeout_seconds=PROVIDER_TIMEOUT_SECONDS)
    yield provider
    await provider.close()


@pytest.fixture
def order() -> UUID:
    return new_order_id(7)


def _client(sandbox: Sandbox) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=sandbox.url, headers={"Authorization": "Bearer sk_test_sandbox"}, timeout=PROVIDER_TIMEOUT_SECONDS
    )
