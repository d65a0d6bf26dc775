"""SQLite connections for units of work, and the pool of readers."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gateway.store.connection import NO_PARAMETERS, Parameters, Row, Unit

CACHE = 256
"""KiB of pages that a connection keeps: what it reads is in the system's cache, and two threads are
seldom looked at one after the other.
"""

READERS = 4
"""Units that run side by side."""

T = TypeVar("T")


class SqliteConnection:
    """A Connection; `raw` is for what only SQLite can do."""

    __slots__ = ("raw",)

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def execute(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> int:
        """Carry out a statement; how many rows it has changed."""
        return self.raw.execute(statement, parameters).rowcount

    def fetch(self, query: str, parameters: Parameters = NO_PARAMETERS, /) -> Sequence[Row]:
        """All rows of a query, or of a statement that returns some."""
        return self.raw.execute(query, parameters).fetchall()

    def many(self, statement: str, each: Sequence[Parameters], /) -> None:
        """Carry out a statement once for each set of parameters."""
        self.raw.executemany(statement, each)


class NoConnection:
    """A Connection to a store that does not exist yet: no rows."""

    def execute(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> int:
        """Change nothing."""
        return 0

    def fetch(self, query: str, parameters: Parameters = NO_PARAMETERS, /) -> Sequence[Row]:
        """Find nothing."""
        return ()

    def many(self, statement: str, each: Sequence[Parameters], /) -> None:
        """Change nothing."""


def connect_to_write(path: Path) -> sqlite3.Connection:
    """A connection for the one thread that writes."""
    return _connected(
        sqlite3.connect(path, isolation_level=None),
        "journal_mode = WAL",
        "synchronous = FULL",
        "busy_timeout = 5000",
        "foreign_keys = ON",
        "secure_delete = ON",
        "journal_size_limit = 67108864",
    )


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that only reads, which threads may use in turn."""
    raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    raw.create_function("fold", 1, _fold, deterministic=True)
    return _connected(raw, "query_only = ON", "busy_timeout = 5000", f"cache_size = -{CACHE}")


def _connected(raw: sqlite3.Connection, *pragmas: str) -> sqlite3.Connection:
    raw.row_factory = sqlite3.Row
    for pragma in pragmas:
        raw.execute(f"PRAGMA {pragma}")
    return raw


def _fold(text: str | None) -> str | None:
    """Text as searches compare it."""
    return None if text is None else text.casefold()


class Readers:
    """Runs units on connections to the store at `path`, which only read.

    A connection of its own for each unit would cost a thread, its opening and the reading of the
    schema: more than most queries take.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[SqliteConnection] = []
        self._closed = False
        # Its threads do not hold a process that ends without `close`.
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="parley-reader")

    async def read(self, unit: Unit[T]) -> T:
        """Result of the unit.

        A caller that is cancelled leaves; the unit runs to its end.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._run, unit)

    def _run(self, unit: Unit[T]) -> T:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = SqliteConnection(connect_to_read(self._path))
        kept = False
        try:
            result = unit(connection)
            kept = not self._closed
        finally:
            if kept:
                self._idle.append(connection)
            else:
                connection.raw.close()
        return result

    def close(self) -> None:
        """Release the connections; a running unit closes its own."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            self._idle.pop().raw.close()
