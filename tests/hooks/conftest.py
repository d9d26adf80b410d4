import pytest

from app.domain.hooks import hook_key
from app.hooks import Notifier, Sender
from tests.ledger.scene import open_scene

from .receiver import Receiver

KEY = hook_key("s" * 32)


@pytest.fixture
async def scene(database_url):
    """A drop of ten units, published."""
    async with open_scene(database_url) as scene:
        yield scene


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
