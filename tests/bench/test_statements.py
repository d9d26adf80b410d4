"""SQL statements are counted under the name of whoever sent them, by the server itself."""

import asyncpg
import pytest

from app.bench.statements import CannotCount, counting, statements_in

LOG = """\
bench doorman-pages LOG:  execute __asyncpg_stmt_1__: SELECT 1
\tFROM drops
bench doorman-recorder LOG:  statement: BEGIN;
bench doorman-pages LOG:  duration: 3.1 ms
bench doorman-pages ERROR:  syntax error
bench  LOG:  statement: SELECT 2
2026-11-30 18:00:00 UTC [7] LOG:  statement: SELECT 3
bench doorman-pages DETAIL:  Parameters: $1 = 'LOG:  statement: no'
"""


@pytest.fixture
def server_log(folder):
    return folder / "s" / "postgres.log"


async def named(dsn, name):
    return await asyncpg.connect(dsn, server_settings={"application_name": name})


def test_only_statements_are_counted_each_once_and_under_its_sender():
    assert statements_in(LOG) == [
        ("doorman-pages", "SELECT 1 FROM drops"),
        ("doorman-recorder", "BEGIN;"),
        ("", "SELECT 2"),
    ]


async def test_every_statement_between_mark_and_reading_is_counted(postgres_dsn, server_log):
    pages, recorder = await named(postgres_dsn, "doorman-pages"), await named(postgres_dsn, "doorman-recorder")
    await pages.execute("SELECT 1")
    async with counting(postgres_dsn, server_log) as (statements, connection):
        await pages.execute("SELECT 2")
        await statements.settle(connection)
        statements.mark()
        for number in range(5):
            assert await pages.fetchval("SELECT $1::integer", number) == number
        await recorder.execute("SELECT 3")
        await statements.settle(connection)
        counts = statements.by_process()
    assert (counts["doorman-pages"], counts["doorman-recorder"]) == (5, 1)
    for one in (pages, recorder):
        await one.close()


async def test_the_server_is_left_as_it_was(postgres_dsn, server_log):
    async with counting(postgres_dsn, server_log):
        pass
    connection = await named(postgres_dsn, "after")
    overrides = "SELECT count(*) FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf' AND name LIKE 'log%'"
    assert await connection.fetchval(overrides) == 0
    await connection.close()


async def test_a_log_that_does_not_show_our_own_statements_is_refused(postgres_dsn, tmp_path, monkeypatch):
    monkeypatch.setattr("app.bench.statements.SEEN_SECONDS_MAX", 0.3)
    (tmp_path / "other.log").write_text("nothing here\n")
    with pytest.raises(CannotCount, match="do not appear"):
        async with counting(postgres_dsn, tmp_path / "other.log"):
            raise AssertionError("must not be reached")


async def test_an_account_that_may_not_change_the_server_is_refused(postgres_dsn, server_log):
    owner = await named(postgres_dsn, "owner")
    await owner.execute("CREATE ROLE limited LOGIN PASSWORD 'limited'")
    host = postgres_dsn.partition("host=")[2]
    with pytest.raises(CannotCount, match="does not let us"):
        async with counting(f"postgresql://limited:limited@/postgres?host={host}", server_log):
            raise AssertionError("must not be reached")
    await owner.execute("DROP ROLE limited")
    await owner.close()
