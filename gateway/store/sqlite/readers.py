"""The connections that read while a store is owned: opened once, used in turn, one hop for a query.

A connection of its own for each query would cost a thread, its opening and the reading of the
schema: more than most queries take.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

READERS = 4
"""Queries that run side by side."""

CACHE = 256
"""KiB of pages that a connection keeps: what it reads is in the system's cache, and two threads are
seldom looked at one after the other.
"""

Parameters = tuple[Any, ...] | dict[str, Any]


class Readers:
    """Runs queries on connections to the store at `path`, which only read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        # Its threads do not hold a process that ends without `close`.
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="parley-reader")

    async def rows(self, query: str, parameters: Parameters) -> list[sqlite3.Row]:
        """All rows. A caller that is cancelled leaves; the query runs to its end."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._fetch, query, parameters)

    def _fetch(self, query: str, parameters: Parameters) -> list[sqlite3.Row]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = _connect(self._path)
        kept = False
        try:
            rows = connection.execute(query, parameters).fetchall()
            kept = not self._closed
        finally:
            if kept:
                self._idle.append(connection)
            else:
                connection.close()
        return rows

    def close(self) -> None:
        """Let go of the connections; a query that still runs closes its own."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            self._idle.pop().close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.create_function("fold", 1, fold, deterministic=True)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA busy_timeout = 5000")
    connection.execute(f"PRAGMA cache_size = -{CACHE}")
    return connection


def fold(text: str | None) -> str | None:
    """The function of this name in queries: text as searches compare it."""
    return None if text is None else text.casefold()
