"""Databases for tests: made from one migrated template, handed back, emptied and used again.

Emptying takes a hundredth of the time that making one does. Whoever is still connected to a database that comes back is cut off,
and one whose schema a test has changed is dropped, not used again.
"""

import itertools
import os

import asyncpg

CROWDED_BYTES = 8 * 1024 * 1024  # above, tables are truncated: the dead rows of a hundred thousand orders would slow what follows

TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'migrations'"
BYTES = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
RESTARTED = "SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace"
SCHEMA = """
    SELECT md5(string_agg(line, ',' ORDER BY line)) FROM (
        SELECT concat('column ', relname, attname, atttypid, attnotnull) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'public'::regnamespace
        UNION ALL SELECT concat('trigger ', tgrelid::regclass, tgname, tgenabled) FROM pg_trigger WHERE NOT tgisinternal
        UNION ALL SELECT concat('rule ', conrelid::regclass, conname) FROM pg_constraint
        UNION ALL SELECT concat('function ', proname, md5(prosrc)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    ) AS lines (line)
"""


class Databases:
    """Of one server. `await Databases.of(dsn, connection)` once the database `migrated` has the whole schema."""

    def __init__(self, dsn: str, connection: asyncpg.Connection, tables: list[str], schema: str):
        self.dsn = dsn
        self.connection = connection
        self.tables = tables
        self.schema = schema
        self.free: list[str] = []
        self.numbers = itertools.count()

    @classmethod
    async def of(cls, dsn: str, connection: asyncpg.Connection) -> "Databases":
        template = await asyncpg.connect(database(dsn, "migrated"))
        try:
            tables = [row["relname"] for row in await template.fetch(TABLES)]
            seeded = [table for table in tables if await template.fetchval(f"SELECT EXISTS (SELECT FROM {table})")]  # noqa: S608
            assert not seeded, f"{seeded} have rows from a migration, which emptying would lose"
            return cls(dsn, connection, tables, await template.fetchval(SCHEMA))
        finally:
            await template.close()

    async def take(self) -> str:
        """-> the name of an empty database with the whole schema."""
        if self.free:
            return self.free.pop()
        name = f"t{os.getpid()}_{next(self.numbers)}"
        await self.connection.execute(f"CREATE DATABASE {name} TEMPLATE migrated")
        return name

    async def hand_back(self, name: str) -> None:
        await self.connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name)
        if await self._emptied(name):
            self.free.append(name)
        else:
            await self.connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    async def _emptied(self, name: str) -> bool:
        """-> False: its schema is not ours any more."""
        connection = await asyncpg.connect(database(self.dsn, name), server_settings={"session_replication_role": "replica"})
        try:
            if await connection.fetchval(SCHEMA) != self.schema:
                return False
            if await connection.fetchval(BYTES) > CROWDED_BYTES:
                await connection.execute(f"TRUNCATE {', '.join(self.tables)}")
            else:
                await connection.execute(";".join(f"DELETE FROM {table}" for table in self.tables))  # noqa: S608
            await connection.execute(RESTARTED)
            return True
        finally:
            await connection.close()


def database(dsn: str, name: str) -> str:
    """-> the address of another database of the same server."""
    return dsn.replace("/doorman?", f"/{name}?")
