"""SQLite connections for units of work, and how each kind is opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from gateway.store.connection import NO_PARAMETERS, Parameters, Row

CACHE = 256
"""KiB of pages that a connection keeps: what it reads is in the system's cache, and two threads are
seldom looked at one after the other.
"""


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
