"""Migrations: numbered SQL files, each applied once, in order, in one transaction, under an advisory lock."""

from pathlib import Path

import asyncpg

FOLDER = Path(__file__).parent / "migrations"
LOCK = 0x0D00_12A7


async def migrate(dsn: str) -> list[str]:
    """Bring the database at `dsn` to this version -> names of the migrations applied now. Safe to run from many processes at once."""
    connection = await asyncpg.connect(dsn)
    applied = []
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
            )
            known = {row["name"] for row in await connection.fetch("SELECT name FROM migrations")}
            for path in sorted(FOLDER.glob("*.sql")):
                if path.name not in known:
                    await connection.execute(path.read_text())
                    await connection.execute("INSERT INTO migrations (name) VALUES ($1)", path.name)
                    applied.append(path.name)
    finally:
        await connection.close()
    return applied
