import asyncio

import asyncpg
import pytest

from app.errors import LedgerUnreachable
from app.ledger.migrate import FOLDER, migrate

ALL = sorted(path.name for path in FOLDER.glob("*.sql"))


@pytest.fixture
async def empty_dsn(postgres_dsn):
    connection = await asyncpg.connect(postgres_dsn)
    await connection.execute("CREATE DATABASE empty")
    yield postgres_dsn.replace("/doorman?", "/empty?")
    await connection.execute("DROP DATABASE empty WITH (FORCE)")
    await connection.close()


async def test_a_second_migration_changes_nothing(database_url):
    assert await migrate(database_url) == []


async def test_processes_that_migrate_at_once_apply_each_file_once(empty_dsn):
    applied = await asyncio.gather(*(migrate(empty_dsn) for _ in range(3)))
    assert sorted(applied) == [[], [], ALL]


async def test_a_migration_that_fails_leaves_nothing(empty_dsn, tmp_path):
    (tmp_path / "0001_half.sql").write_text("CREATE TABLE half (id integer);")
    (tmp_path / "0002_wrong.sql").write_text("CREATE TABLE wrong (id no_such_type);")
    with pytest.raises(asyncpg.UndefinedObjectError):
        await migrate(empty_dsn, tmp_path)
    connection = await asyncpg.connect(empty_dsn)
    assert await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    await connection.close()


async def test_no_postgres_is_unreachable(tmp_path):
    with pytest.raises(LedgerUnreachable):
        await migrate(f"postgresql://doorman@/doorman?host={tmp_path}")
