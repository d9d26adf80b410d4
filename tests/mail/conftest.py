import asyncpg
import pytest

from app.ledger import Ledger
from tests.ledger.scene import Scene

from .sink import Sink


@pytest.fixture
async def scene(database_url):
    """A drop of ten units, published."""
    ledger = await Ledger.open(database_url, name="test", connections_max=8, statement_timeout_seconds=30)
    hand = await asyncpg.connect(database_url)
    scene = Scene(ledger, hand, database_url, await ledger.create_shop("Atelier", "owner@example.org"))
    await scene.publish()
    yield scene
    await hand.close()
    await ledger.close()


@pytest.fixture
async def sink():
    sink = await Sink().open()
    yield sink
    await sink.close()
