import pytest

from tests.ledger.scene import open_scene

from .sink import Sink


@pytest.fixture
async def scene(database_url):
    """A drop of ten units, published."""
    async with open_scene(database_url) as scene:
        yield scene


@pytest.fixture
async def sink():
    sink = await Sink().open()
    yield sink
    await sink.close()
