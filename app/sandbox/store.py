"""The durable memory of a sandbox: one SQLite file, written ahead and flushed at every commit.

A request's whole effect and the reply that a repeat of it must get are written in one transaction: `kill -9` at any moment leaves
both or neither. One process, one thread and one connection, so a transaction is never in another's way and never spans an await.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUSY_SECONDS = 5


class Store:
    def __init__(self, path: Path, schema: str):
        """`schema`: statements that create what is missing (CREATE ... IF NOT EXISTS)."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA foreign_keys = ON")
        self._connection.executescript(schema)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block, durably, or nothing of it."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself ends it on some failures, a full disk among them
                self._connection.execute("ROLLBACK")
            raise

    def run(self, statement: str, *values) -> int:
        """-> the number of rows changed."""
        return self._connection.execute(statement, values).rowcount

    def row(self, statement: str, *values) -> sqlite3.Row | None:
        return self._connection.execute(statement, values).fetchone()

    def rows(self, statement: str, *values) -> list[sqlite3.Row]:
        return self._connection.execute(statement, values).fetchall()

    def close(self) -> None:
        self._connection.close()
