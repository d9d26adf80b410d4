"""Counts SQL statements per process, truly: the server itself writes each one down.

PostgreSQL has no counter per application name, so for the time of a measure it is told (ALTER SYSTEM, undone afterwards) to log
every statement under the name of the connection that sent it, and the lines are counted. A control statement before the measure
must appear in the log, and the caller adds one of the counted process's own: a count that cannot see is refused, not reported as 0.
"""

import asyncio
import contextlib
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from app.errors import DoormanError

PREFIX = "bench "
SETTINGS = (
    ("log_statement", "all"),
    ("log_line_prefix", f"{PREFIX}%a "),
    ("log_parameter_max_length", "0"),  # values are people's; statements are ours
    ("log_duration", "off"),
    ("log_min_duration_statement", "-1"),
)
STATEMENT = re.compile(rf"^{PREFIX}(\S*) LOG:  (?:statement|execute [^:]*): (.*(?:\n\t.*)*)", re.MULTILINE)
SEEN_SECONDS_MAX = 5.0


class CannotCount(DoormanError):
    """Statements cannot be counted on this server; the text says why."""


class Statements:
    """A window onto the log. `mark` moves its beginning to now."""

    def __init__(self, log: Path):
        self._log = log
        self._from = 0

    def mark(self) -> None:
        self._from = self._log.stat().st_size

    def read(self) -> list[tuple[str, str]]:
        """-> (application name, the statement on one line) of each statement since the mark."""
        with self._log.open("rb") as log:
            log.seek(self._from)
            return statements_in(log.read().decode(errors="replace"))

    def by_process(self) -> Counter:
        return Counter(name for name, _ in self.read())

    async def settle(self, connection: asyncpg.Connection) -> None:
        """Wait until everything sent so far is in the log: a statement of our own, sent last, has come out."""
        token = f"bench-{uuid.uuid4().hex}"
        await connection.execute(f"SELECT '{token}'")
        try:
            async with asyncio.timeout(SEEN_SECONDS_MAX):
                while token not in self._log.read_text(errors="replace"):
                    await connection.execute(f"SELECT '{token}'")
                    await asyncio.sleep(0.05)
        except (TimeoutError, OSError) as error:
            raise CannotCount(f"PostgreSQL's log was looked for in {self._log}, where its statements do not appear") from error


def statements_in(text: str) -> list[tuple[str, str]]:
    """Lines of the server's log -> (application name, the statement on one line)."""
    return [(name, " ".join(statement.split())) for name, statement in STATEMENT.findall(text)]


@asynccontextmanager
async def counting(dsn: str, log: Path) -> AsyncIterator[tuple[Statements, asyncpg.Connection]]:
    """While open, every statement on the server is logged. CannotCount when we may not say so, or cannot read the log."""
    connection = await asyncpg.connect(dsn, server_settings={"application_name": "bench-counter"})
    try:
        await _tell(connection, [f"ALTER SYSTEM SET {name} = '{value}'" for name, value in SETTINGS])
        statements = Statements(log)
        await statements.settle(connection)
        yield statements, connection
    finally:
        with contextlib.suppress(CannotCount, asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            await _tell(connection, [f"ALTER SYSTEM RESET {name}" for name, _ in SETTINGS])
        await connection.close()


async def _tell(connection: asyncpg.Connection, commands: list[str]) -> None:
    try:
        for command in commands:
            await connection.execute(command)
        await connection.execute("SELECT pg_reload_conf()")
    except asyncpg.PostgresError as error:
        raise CannotCount(f"PostgreSQL does not let us log its statements: {error}") from error
