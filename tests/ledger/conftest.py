import asyncpg
import pytest

from app.ledger import Ledger
from ledger.scene import Scene


@pytest.fixture
async def ledger(database_url):
    opened = await Ledger.open(database_url, name="test", connections_max=6)
    yield opened
    await opened.close()


@pytest.fixture
async def scene(ledger, database_url):
    """A shop with one published drop of ten units."""
    hand = await asyncpg.connect(database_url)
    scene = Scene(ledger, hand, database_url, await ledger.create_shop("A shop", "owner@example.org"))
    await scene.publish()
    yield scene
    await hand.close()
