"""Real servers for the tests: one Valkey and one PostgreSQL a session, an empty gate and a fresh migrated database a test."""

import shutil
import tempfile
from pathlib import Path

import asyncpg
import pytest
import structlog

from app.embedded import postgres, valkey
from app.ledger.migrate import migrate
from tests.databases import Databases, database


@pytest.fixture(autouse=True)
def own_log():
    """A command run inside a test points the log at that test's captured output, which ends with it."""
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def folder():
    """A short folder of this session's own, which the database's account may pass through."""
    path = Path(tempfile.mkdtemp(prefix="dm-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def valkey_url(folder):
    process = valkey.start(folder / "gate", folder / "g.sock", "everysec")
    yield f"unix://{folder}/g.sock"
    process.terminate()
    process.wait()


@pytest.fixture(scope="session")
def postgres_dsn(folder):
    process, dsn = postgres.start(folder / "pg", folder / "s", "test", ("fsync=off",))
    yield dsn
    process.terminate()
    process.wait()


@pytest.fixture(scope="session")
async def databases(postgres_dsn):
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute("CREATE DATABASE migrated")
    await migrate(database(postgres_dsn, "migrated"))
    yield await Databases.of(postgres_dsn, connection)
    await connection.close()


@pytest.fixture
async def database_url(postgres_dsn, databases):
    """An empty database with the whole schema."""
    name = await databases.take()
    yield database(postgres_dsn, name)
    await databases.hand_back(name)


@pytest.fixture
async def redis_url(valkey_url):
    """An empty Valkey."""
    import redis.asyncio

    client = redis.asyncio.Redis.from_url(valkey_url)
    await client.flushall()
    await client.script_flush()
    await client.aclose()
    return valkey_url
