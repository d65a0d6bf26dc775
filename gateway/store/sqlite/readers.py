"""Pool of reading connections of an owned store.

A connection of its own for each unit would cost a thread, its opening and the reading of the
schema: more than most queries take.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from gateway.store.connection import Unit
from gateway.store.sqlite.connection import SqliteConnection, connect_to_read

READERS = 4
"""Units that run side by side."""

T = TypeVar("T")


class Readers:
    """Runs units on connections to the store at `path`, which only read."""

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
