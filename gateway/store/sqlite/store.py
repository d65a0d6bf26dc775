"""The embedded store: one SQLite file in its owner's private folder.

store = SqliteStore(folder)
async with store.own():       # the one process that writes
    ...
await store.threads()         # reading needs no ownership
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, closing
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from gateway.errors import GatewayClosed, StoreFull, StoreUnreadable, StoreUnwritable
from gateway.store.connection import Connection, Unit
from gateway.store.operations import ReadOperations, WriteOperations
from gateway.store.sqlite.backup import kept, put_staged, stage, write_backup
from gateway.store.sqlite.connection import (
    NoConnection,
    Readers,
    SqliteConnection,
    connect_to_read,
    connect_to_write,
)
from gateway.store.sqlite.lock import StoreLock
from gateway.store.sqlite.migrate import BASE, VERSION, bring_up_to_date, known_version, migrations
from gateway.store.sqlite.writer import Writer, translate
from gateway.store.units.threads import thread_ids

LOG = logging.getLogger("gateway.store")

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
            return await _translated(self._readers.read(unit), path)
        return await _translated(asyncio.to_thread(self._read, path, unit), path)

    def _read(self, path: Path, unit: Unit[T]) -> T:
        """As somebody who does not own the store."""
        if not _is_there(path):
            return unit(NoConnection())
        with closing(connect_to_read(path)) as raw:
            known_version(raw.execute(VERSION).fetchone(), path, max(self._steps, default=BASE))
            return unit(SqliteConnection(raw))


class SqliteStore(SqliteReader, WriteOperations):
    """A SessionStore in `folder`, which is made when it is first owned."""

    _writer: Writer | None = None

    @cached_property
    def _work(self) -> Path:
        """Where the work folders are."""
        return self._folder / "work"

    @property
    def commits(self) -> int:
        """Number of transactions that this owner has committed."""
        return self._writer.commits if self._writer else 0

    @asynccontextmanager
    async def own(self) -> AsyncGenerator[None]:
        """Be its only owner.

        Raises StoreInUse, StoreUnwritable, StoreTooNew, StoreTooOld, StoreCorrupt or StoreFull.
        """
        lock, path = StoreLock(self._folder), self._folder / FILE
        self._prepare(lock)
        try:
            await _translated(bring_up_to_date(path, self._steps), path)
            writer = Writer(lambda: connect_to_write(path))
            await _translated(writer.start(), path)
            self._writer = writer
            self._readers = Readers(path)
            try:
                await self._sweep()
                yield
            finally:
                self._readers.close()
                self._readers = self._writer = None
                await writer.close()
        finally:
            lock.release()

    def _prepare(self, lock: StoreLock) -> None:
        try:
            self._make_folder()
            lock.acquire()
            # SQLite gives its -wal and -shm files the permissions of this one.
            os.close(os.open(self._folder / FILE, os.O_CREAT | os.O_RDWR, 0o600))
            (self._folder / FILE).chmod(0o600)
        except OSError as error:
            lock.release()
            if error.errno == errno.ENOSPC:
                raise StoreFull from error
            raise StoreUnwritable(
                f"The store {str(self._folder)!r} can't be written: {error.strerror}."
            ) from error

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.chmod(0o700)

    async def write(
        self, unit: Callable[[SqliteConnection], T], then: Callable[[T], None] | None = None
    ) -> T:
        """Run a unit of work as one transaction; see `Writer.write`."""
        if self._writer is None:
            raise GatewayClosed
        return await self._writer.write(unit, then)

    async def clear(self, threads: Collection[str]) -> None:
        """Remove from the disk what the database has let go of."""
        await asyncio.to_thread(self._remove_files, threads)
        if self._writer is not None and not await self._writer.empty_log():
            LOG.warning("a reader kept what was deleted in the write-ahead log a little longer")

    def _remove_files(self, threads: Collection[str]) -> None:
        for thread in threads:
            shutil.rmtree(self._work_folder(thread), ignore_errors=True)
        # The copies from before a migration or a restore hold what was said until then.
        for copy in self._folder.glob("parley.*.db*"):
            copy.unlink(missing_ok=True)

    async def _sweep(self) -> None:
        """Remove the work folders of deleted threads that a crash left behind."""
        await asyncio.to_thread(self._remove_others, await self.read(thread_ids))

    def _remove_others(self, kept: Collection[str]) -> None:
        for folder in self._work.iterdir() if self._work.is_dir() else ():
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    async def probe(self) -> None:
        """Write what stands there already. Raises the GatewayError that a write would."""
        await self.write(_rewrite_version)

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file; see SessionStore."""
        await write_backup(self._folder / FILE, path)

    async def stage(self, backup: Path) -> None:
        """Check a backup and copy it beside the store, for `restore`.

        The store may be in use.

        Raises NotFound, StoreCorrupt, StoreTooNew, StoreTooOld, StoreFull or StoreUnwritable.
        """
        await asyncio.to_thread(self._make_folder)
        await stage(backup, self._folder / FILE)

    async def restore(self) -> None:
        """Replace the store by the staged backup; the old one is `kept`.

        Raises StoreInUse or StoreUnwritable.
        """
        lock = StoreLock(self._folder)
        lock.acquire()
        try:
            await put_staged(self._folder / FILE)
        finally:
            lock.release()

    @property
    def kept(self) -> Path:
        """Where the store is kept that a backup took the place of."""
        return kept(self._folder / FILE)

    async def work_folder(self, thread: str) -> Path:
        """Folder in which the thread's tools may write.

        It is made if it is not there, and removed with the thread.
        """
        folder = self._work_folder(thread)
        # On the event loop: one entry in a folder costs less than a hop to a thread.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    def _work_folder(self, thread: str) -> Path:
        return self._work / thread


@asynccontextmanager
async def temporary_store() -> AsyncGenerator[SqliteStore]:
    """A store that is deleted when the context ends."""
    folder = Path(tempfile.mkdtemp(prefix="parley-"))
    try:
        yield SqliteStore(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rewrite_version(connection: Connection) -> None:
    version = connection.fetch("PRAGMA user_version")[0][0]
    connection.execute(f"PRAGMA user_version = {int(version)}")


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


async def _translated(work: Awaitable[T], path: Path) -> T:
    """The result of `work`; SQLite's errors become the gateway's, with the path."""
    try:
        return await work
    except sqlite3.Error as error:
        raise translate(error, path) from error
