"""One process's connections to Postgres for one purpose (R13): a bounded pool with a name, and what every statement goes through.

Guarantees: no call waits longer than `ACQUIRE_SECONDS` for a connection plus the statement timeout for each answer. Postgres gone,
restarting, too busy or without a free connection is `LedgerUnreachable`, whatever asyncpg calls it; the transaction then either
committed or left nothing (a lost answer to COMMIT is unknown, and every change is conditional, so asking again is harmless).
Connections lost to a restart are replaced by the next call.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

import asyncpg

from app.errors import LedgerUnreachable
from app.ledger.statements import STATEMENTS

ACQUIRE_SECONDS = 5.0  # longest wait for a free connection, connecting included
ANSWER_MARGIN_SECONDS = 1.0  # how long past the statement timeout the server's own "cancelled" may take to arrive
CONNECT_SECONDS = 3.0
CLOSE_SECONDS = 5.0

UNREACHABLE = (
    OSError,  # TimeoutError too
    asyncpg.PostgresConnectionError,
    asyncpg.InternalClientError,
    asyncpg.exceptions.OperatorInterventionError,  # shutdown, crash, starting up, statement timeout
    asyncpg.exceptions.InsufficientResourcesError,  # too many connections, disk full
    asyncpg.exceptions.LockNotAvailableError,
    asyncpg.exceptions.DeadlockDetectedError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
    asyncpg.exceptions.ReadOnlySQLTransactionError,  # a replica that has not been promoted yet
    asyncpg.exceptions.InvalidAuthorizationSpecificationError,
    asyncpg.exceptions.InvalidCatalogNameError,  # the server is there, the database is not
)
CLOSED = ("closed", "closing")  # in asyncpg's words for a pool or a connection that went away under a call


@contextmanager
def reachable() -> Iterator[None]:
    """Turn every way Postgres can fail to answer into LedgerUnreachable."""
    try:
        yield
    except UNREACHABLE as error:
        raise LedgerUnreachable(f"{type(error).__name__}: {error}") from error
    except asyncpg.InterfaceError as error:
        if not any(word in str(error) for word in CLOSED):  # a fault of ours, such as a missing argument
            raise
        raise LedgerUnreachable(str(error)) from error


class Asker:
    """Runs named statements on one connection."""

    def __init__(self, connection):
        self._connection = connection

    async def rows(self, name: str, *values) -> Sequence[asyncpg.Record]:
        return await self._connection.fetch(STATEMENTS[name].text, *values)

    async def row(self, name: str, *values) -> asyncpg.Record | None:
        return await self._connection.fetchrow(STATEMENTS[name].text, *values)

    async def value(self, name: str, *values):
        """-> the first column of the first row, None without one."""
        return await self._connection.fetchval(STATEMENTS[name].text, *values)

    async def count(self, name: str, *values) -> int:
        """-> how many rows the statement changed."""
        status = await self._connection.execute(STATEMENTS[name].text, *values)
        return int(status.rpartition(" ")[2])


class Pool:
    """The base that every part of the Ledger stands on."""

    def __init__(self, pool: asyncpg.Pool, statement_timeout_seconds: float):
        self._pool = pool
        self._statement_timeout_seconds = statement_timeout_seconds

    @classmethod
    async def open(cls, dsn: str, *, name: str, connections_max: int, statement_timeout_seconds: float = 5.0):
        """Connect once, to know that it works. `name` shows in pg_stat_activity as `doorman-NAME`."""
        with reachable():
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=connections_max,
                timeout=CONNECT_SECONDS,
                command_timeout=statement_timeout_seconds + ANSWER_MARGIN_SECONDS,
                reset=_keep_session,
                server_settings={
                    "application_name": f"doorman-{name}",
                    "jit": "off",  # compiling costs more than any of these statements
                    "statement_timeout": str(round(statement_timeout_seconds * 1000)),
                    "idle_in_transaction_session_timeout": str(round(statement_timeout_seconds * 1000)),
                },
            )
        return cls(pool, statement_timeout_seconds)

    async def close(self) -> None:
        """Let calls under way finish for `CLOSE_SECONDS`; what is still running then gets LedgerUnreachable."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    @asynccontextmanager
    async def _asking(self) -> AsyncIterator[Asker]:
        """One connection, every statement its own transaction."""
        with reachable():
            async with self._pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
                yield Asker(connection)

    @asynccontextmanager
    async def _transaction(self, **kind) -> AsyncIterator[Asker]:
        """One transaction: committed when the block ends, rolled back when it raises."""
        with reachable():
            async with self._pool.acquire(timeout=ACQUIRE_SECONDS) as connection, connection.transaction(**kind):
                yield Asker(connection)

    def _snapshot(self):
        """A transaction whose statements all see the same moment."""
        return self._transaction(isolation="repeatable_read", readonly=True)

    async def _rows(self, name: str, *values) -> Sequence[asyncpg.Record]:
        async with self._asking() as ask:
            return await ask.rows(name, *values)

    async def _row(self, name: str, *values) -> asyncpg.Record | None:
        async with self._asking() as ask:
            return await ask.row(name, *values)

    async def _value(self, name: str, *values):
        async with self._asking() as ask:
            return await ask.value(name, *values)

    async def _count(self, name: str, *values) -> int:
        async with self._asking() as ask:
            return await ask.count(name, *values)


async def _keep_session(connection) -> None:
    """We never change a session, and asyncpg itself rolls an open transaction back: returning a connection costs no round trip."""
