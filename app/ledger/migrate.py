"""Migrations: numbered SQL files, each applied once, in order, in one transaction, under an advisory lock."""

from pathlib import Path

import asyncpg

from app.ledger.pool import CONNECT_SECONDS, reachable

FOLDER = Path(__file__).parent / "migrations"
LOCK = 0x0D00_12A7


async def migrate(dsn: str, folder: Path = FOLDER) -> list[str]:
    """Bring the database at `dsn` to this version -> names of the migrations applied now.

    Any number of processes may do it at once. LedgerUnreachable: no Postgres there.
    """
    with reachable():
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    files = {path.name: path.read_text() for path in sorted(folder.glob("*.sql"))}  # noqa: ASYNC240 -- before anything serves
    applied = []
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
            )
            known = {row["name"] for row in await connection.fetch("SELECT name FROM migrations")}
            for name, text in files.items():
                if name not in known:
                    await connection.execute(text)
                    await connection.execute("INSERT INTO migrations (name) VALUES ($1)", name)
                    applied.append(name)
    finally:
        await connection.close()
    return applied
