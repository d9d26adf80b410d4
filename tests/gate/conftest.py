import pytest
import redis.asyncio

from app.gate import Gate


@pytest.fixture
async def gate(redis_url):
    gate = await Gate.open(redis_url, name="test")
    yield gate
    await gate.close()


@pytest.fixture
async def client(redis_url):
    """A plain client beside the gate, for looking and for breaking things."""
    client = redis.asyncio.Redis.from_url(redis_url)
    yield client
    await client.aclose()
