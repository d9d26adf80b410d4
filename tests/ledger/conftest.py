import asyncpg
import pytest

from app.ledger import Ledger
from ledger.scene import Scene

EMPTY_EVERYTHING = """
SET session_replication_role = replica;
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations' LOOP
        EXECUTE format('DELETE FROM %I', name);
    END LOOP;
END $$;
"""


@pytest.fixture(scope="session")
async def ledger_dsn(postgres_dsn, migrated_template):
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute(f"CREATE DATABASE ledger TEMPLATE {migrated_template}")
    await connection.execute("ALTER DATABASE ledger SET synchronous_commit = off")  # nothing here tests a power cut
    yield postgres_dsn.replace("/doorman?", "/ledger?")
    await connection.execute("DROP DATABASE ledger WITH (FORCE)")
    await connection.close()


@pytest.fixture
async def database_url(ledger_dsn):
    """An empty database with the whole schema: one for this folder, emptied for each test, which is far cheaper than a new one."""
    connection = await asyncpg.connect(ledger_dsn)
    await connection.execute(EMPTY_EVERYTHING)
    await connection.close()
    return ledger_dsn


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
