import asyncpg
import pytest

from app.domain.hooks import hook_key
from app.hooks import Notifier, Sender
from app.ledger import Ledger
from tests.ledger.scene import Scene

from .receiver import Receiver

KEY = hook_key("s" * 32)


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
async def receiver():
    receiver = await Receiver().open()
    yield receiver
    await receiver.close()


@pytest.fixture
async def sender():
    """One that also sends to this machine, as in development, and is not patient."""
    sender = Sender(outside_only=False, seconds_max=0.5)
    yield sender
    await sender.close()


@pytest.fixture
async def notifier(scene, sender):
    return Notifier(scene.ledger, sender, KEY)
