import httpx
import pytest

from tests.sandboxes import WAREHOUSE, Sandbox

OPEN = {"lag": 0, "tracking": 5, "latency": [0, 0], "numbers": 1_000_000, "drop_after_create": 0, "outage": False}
ANSWER_SECONDS_MAX = 5.0


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    warehouse = Sandbox(WAREHOUSE, tmp_path_factory.mktemp("warehouse"))
    yield warehouse
    warehouse.stops()


@pytest.fixture
def warehouse(running):
    """The sandbox warehouse: open, listing at once, until a test says otherwise."""
    running.script(**OPEN)
    return running


@pytest.fixture
def mortal(tmp_path):
    """A sandbox warehouse of this test's own, which it may kill."""
    warehouse = Sandbox(WAREHOUSE, tmp_path)
    yield warehouse
    warehouse.stops()


@pytest.fixture
async def client(warehouse):
    async with connected(warehouse) as client:
        yield client


def connected(warehouse: Sandbox) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=warehouse.url, headers=warehouse.bearer, timeout=ANSWER_SECONDS_MAX)
