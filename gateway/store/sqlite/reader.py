"""The embedded store for reading, by its owner and by others."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from gateway.errors import StoreUnreadable
from gateway.store.connection import Unit
from gateway.store.operations import ReadOperations
from gateway.store.sqlite.connection import NoConnection, SqliteConnection, connect_to_read
from gateway.store.sqlite.migrate import BASE, VERSION, known_version, migrations
from gateway.store.sqlite.readers import Readers
from gateway.store.sqlite.writer import translate

FILE = "parley.db"

T = TypeVar("T")


class SqliteReader(ReadOperations):
    """A SessionReader of the store in `folder`.

    Who does not own the store opens a connection for each unit: no reader stays in the way of a
    checkpoint.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
        steps: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__(clock)
        self._folder = folder.absolute()
        self._steps = migrations() if steps is None else steps
        self._readers: Readers | None = None

    @property
    def folder(self) -> Path:
        """Where everything lies."""
        return self._folder

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that only reads. Raises StoreError."""
        path = self._folder / FILE
        if self._readers is not None:
            return await translated(self._readers.read(unit), path)
        return await translated(asyncio.to_thread(self._read, path, unit), path)

    def _read(self, path: Path, unit: Unit[T]) -> T:
        """As somebody who does not own the store."""
        if not _is_there(path):
            return unit(NoConnection())
        with closing(connect_to_read(path)) as raw:
            known_version(raw.execute(VERSION).fetchone(), path, max(self._steps, default=BASE))
            return unit(SqliteConnection(raw))


def _is_there(path: Path) -> bool:
    """True if there is a store to read. Raises StoreUnreadable."""
    try:
        with path.open("rb"):
            return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreUnreadable(
            f"The store {str(path)!r} can't be read: {error.strerror}. Whoever runs Parley may; "
            "`folder` in [store] says where it is."
        ) from error


async def translated(work: Awaitable[T], path: Path) -> T:
    """The result of `work`; SQLite's errors become the gateway's, with the path."""
    try:
        return await work
    except sqlite3.Error as error:
        raise translate(error, path) from error
