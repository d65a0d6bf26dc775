"""The embedded store: one SQLite file in its owner's private folder.

store = SqliteStore(folder)
async with store.own():       # the one process that writes
    ...
await store.run(thread_units.threads)         # reading needs no ownership
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from gateway.errors import (
    GatewayClosed,
    GatewayError,
    NotFound,
    StoreFull,
    StoreUnreadable,
    StoreUnwritable,
)
from gateway.store.connection import Connection, NoConnection, Unit
from gateway.store.formats import BASE, upgrades
from gateway.store.last_writes import LastWrites
from gateway.store.lock import StoreLock, file_errors, make_private, try_files
from gateway.store.nodes import Node
from gateway.store.operations import PATIENCE, UnitReader, UnitWriter
from gateway.store.records import StoreFault
from gateway.store.sqlite.backup import write_backup
from gateway.store.sqlite.commit_count import CommitCount, read_note
from gateway.store.sqlite.integrity import check_whole
from gateway.store.sqlite.opening import Outdated, check_after_unclean_end, claim, open_to_write
from gateway.store.sqlite.repair import Repaired, repair
from gateway.store.sqlite.restore import delete_from_copy, finish_deletions, kept, put_staged, stage
from gateway.store.sqlite.stand_ins import stand_in
from gateway.store.sqlite.upgrade import (
    VERSION,
    bring_up_to_date,
    gone,
    known_version,
)
from gateway.store.sqlite.work_contents import ContentFiles
from gateway.store.sqlite.writer import SqliteConnection, Writer, prepare, translate
from gateway.store.turn_records import Lease, StoredUpdate, TurnUpdate
from gateway.store.units import turns
from gateway.store.units.audit import deleted_threads
from gateway.store.units.memos import memo_ids
from gateway.store.units.threads import thread_ids
from gateway.store.work.contents import WorkLimits
from gateway.store.work.folder import WorkFolders

LOG = logging.getLogger("gateway.store")

FILE = "parley.db"

VERSIONS = "versions"
"""Folder of the contents of work folders, beside the work folders."""

CACHE = 256
"""KiB of pages that a reader keeps: what it reads is in the system's cache, and two workers are
seldom looked at one after the other.
"""

READERS = 4
"""Units that run side by side."""

_VERSION = "PRAGMA user_version"

T = TypeVar("T")


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that only reads, which workers may use in turn."""
    raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    return prepare(raw, "query_only = ON", "busy_timeout = 5000", f"cache_size = -{CACHE}")


class Readers:
    """Runs units on connections to the store at `path`, which only read.

    A connection of its own for each unit would cost a worker, its opening and the reading of the
    schema: more than most queries take.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[SqliteConnection] = []
        self._closed = False
        # Its workers do not hold a process that ends without `close`.
        self._workers = ThreadPoolExecutor(READERS, thread_name_prefix="parley-reader")

    async def read(self, unit: Unit[T], now: float) -> T:
        """Result of the unit.

        A caller that is cancelled leaves; the unit runs to its end. Raises GatewayClosed for one
        that had not begun when the store was closed.
        """
        reading = asyncio.get_running_loop().run_in_executor(self._workers, self._run, unit, now)
        try:
            return await reading
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and reading.cancelled() and not (task and task.cancelling()):
                raise GatewayClosed from None
            raise

    def _run(self, unit: Unit[T], now: float) -> T:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = SqliteConnection(connect_to_read(self._path))
        connection.now, kept = now, False
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
        self._workers.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            self._idle.pop().raw.close()


class SqliteReader(UnitReader):
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
        super().__init__(folder, clock)
        self._steps = upgrades() if steps is None else steps
        self._readers: Readers | None = None

    @property
    def path(self) -> Path:
        """The database's file."""
        return self._folder / FILE

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that only reads. Raises StoreError."""
        path = self.path
        if self._readers is not None:
            return await _translated(self._readers.read(unit, self.clock()), path)
        return await _translated(asyncio.to_thread(self._read, path, unit), path)

    def _read(self, path: Path, unit: Unit[T]) -> T:
        """As somebody who does not own the store."""
        noted = read_note(self._folder)
        if _is_there(path):
            newest = max(self._steps, default=BASE)
            with closing(connect_to_read(path)) as raw:
                version = known_version(raw.execute(VERSION).fetchone(), path, newest)
                if version:
                    if version < newest:
                        stand_in(raw)
                    return unit(SqliteConnection(raw, self.clock()))
        if noted is not None and noted.commits:
            raise gone(path, noted.commits)
        return unit(NoConnection())


class SqliteStore(SqliteReader, UnitWriter):
    """A SessionStore in `folder`, which is made when it is first owned."""

    _writer: Writer | None = None

    def __init__(
        self,
        folder: Path,
        *,
        limits: WorkLimits | None = None,
        clock: Callable[[], float] = time.time,
        steps: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__(folder, clock=clock, steps=steps)
        self._contents = ContentFiles(self._folder / VERSIONS)
        limits = limits or WorkLimits()
        self._work = WorkFolders(self._folder, limits, self._contents, copies=False)

    @cached_property
    def _last(self) -> LastWrites:
        return LastWrites(StoreFull, StoreUnwritable)

    @property
    def commits(self) -> int:
        """Number of transactions that this owner has committed."""
        return self._writer.commits if self._writer else 0

    @asynccontextmanager
    async def own(self, node: Node | None = None, *, alone: bool = False) -> AsyncGenerator[None]:
        """Be its only owner, as nobody shares files.

        Raises StoreInUse, StoreUnwritable, StoreTooNew, StoreTooOld, StoreCorrupt or StoreFull.
        """
        lock, path = StoreLock(self._folder), self._folder / FILE
        self._prepare(lock)
        try:
            writer = await self._open(path)
            if self._observe is not None:
                writer.observe = self._observe
            self._writer = writer
            self._readers = Readers(path)
            try:
                await self._sweep()
                yield
            finally:
                await self._work.finish(PATIENCE)
                self._readers.close()
                self._readers = self._writer = None
                await writer.close()
                await self._until_cleared()
        finally:
            lock.release()

    async def _open(self, path: Path) -> Writer:
        noted = read_note(self._folder)
        if noted is None or noted.state != "closed":
            await asyncio.to_thread(check_after_unclean_end, path)
        commits = noted.commits if noted else 0
        with file_errors(self._folder):
            try:
                return await self._start(path)
            except Outdated:
                await _translated(bring_up_to_date(path, self._steps, commits=commits), path)
                return await self._start(path)

    async def _start(self, path: Path) -> Writer:
        """The writer of a store that needs no upgrade. Raises Outdated."""
        newest, count = max(self._steps, default=BASE), CommitCount(self._folder, self.clock)
        writer = Writer(lambda: open_to_write(path, newest, count, self.clock), count)
        await _translated(writer.start(), path)
        return writer

    async def rehearse(self) -> None:
        """Raise what `own` would, as far as reading tells.

        Nobody may own it.
        """
        await self.read(lambda _: None)  # its version, and whether it is there
        noted = read_note(self._folder)
        if _is_there(self.path) and (noted is None or noted.state != "closed"):
            await asyncio.to_thread(check_after_unclean_end, self.path)
        with file_errors(self._folder):
            try_files(self._folder, FILE)

    def _prepare(self, lock: StoreLock) -> None:
        try:
            with file_errors(self._folder):
                claim(self.path, lock)
        except GatewayError:
            lock.release()
            raise

    async def write(
        self,
        unit: Callable[[SqliteConnection], T],
        then: Callable[[T], None] | None = None,
        *,
        alone: bool = False,
    ) -> T:
        """Run a unit of work as one transaction; see `Writer.write`.

        Each is alone here: there is one writer.
        """
        if self._writer is None:
            raise GatewayClosed
        return await self._last.watch(unit, self._writer.write(unit, then, self.clock()))

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        """Add to a turn. Raises LeaseLost.

        Changes of the thread's folder are stored with the turn's end.
        """

        states = self._work.limits.fork_turns

        def unit(connection: Connection) -> StoredUpdate:
            return turns.record(connection, lease, record, states=states)

        if record.end is None:
            return await self.write(unit)
        return await self._work.record(lease.thread, record, unit, self.read, self.write)

    async def clear(self, threads: Collection[str], *, person: bool = False) -> None:
        """Remove from the disk what the database has let go of."""
        copies = [] if person else [*self._folder.glob("parley.v*.db")]
        memos = await self.read(memo_ids) if copies else []
        await self._work.clear(threads)
        await asyncio.to_thread(self._remove_copies, threads, copies, memos)
        if self._writer is not None and not await self._writer.empty_log():
            LOG.warning("a reader kept what was deleted in the write-ahead log a little longer")

    def _remove_copies(
        self, threads: Collection[str], copies: Collection[Path], memos: Sequence[int]
    ) -> None:
        # The copies from before an upgrade or a restore hold what was said until then. Without
        # those from before an upgrade there is no way back to an older version.
        for copy in {*self._folder.glob("parley.*.db*")}.difference(copies):
            copy.unlink(missing_ok=True)
        for copy in copies:
            delete_from_copy(copy, threads, memos)

    async def _sweep(self) -> None:
        """Remove what a crash left behind of work folders, and in copies."""
        if any(
            (self._folder / name).is_dir() for name in ("work", VERSIONS)
        ):  # a worker costs more
            await asyncio.to_thread(self._work.sweep, await self.read(thread_ids))
            await self.read(self._contents.sweep)
        if copies := [*self._folder.glob("parley.v*.db")]:
            deleted, memos = await self.read(deleted_threads), await self.read(memo_ids)
            for copy in copies:
                await asyncio.to_thread(finish_deletions, copy, deleted, memos)

    async def probe(self) -> None:
        """Write a little, or more after a refusal; see SessionStore."""
        await self._last.probe(self.write, _rewrite_version)

    async def backup(self, path: Path) -> None:
        """Write a copy of the store to a file; see SessionStore."""
        await write_backup(self._folder / FILE, path)

    async def stage(self, backup: Path) -> None:
        """Check a backup and copy it beside the store, for `restore`.

        The store may be in use.

        Raises NotFound, StoreCorrupt, StoreTooNew, StoreTooOld, StoreFull or StoreUnwritable.
        """
        await asyncio.to_thread(make_private, self._folder)
        await stage(backup, self._folder / FILE)

    async def restore(self) -> None:
        """Replace the store by the staged backup; the old one is `kept`.

        Raises StoreInUse or StoreUnwritable.
        """
        lock = StoreLock(self._folder)
        lock.acquire()
        try:
            noted = read_note(self._folder)
            await put_staged(self.path, commits=noted.commits if noted else 0)
        finally:
            lock.release()

    async def check(self, *, in_use: bool) -> list[StoreFault]:
        """All faults of the store; somebody may be using it.

        Raises NotFound or StoreError.
        """
        return await asyncio.to_thread(check_whole, self.path, in_use=in_use)

    async def is_current(self) -> bool:
        """True if there is a store that needs no upgrade."""
        version = await self.read(lambda connection: connection.fetch(_VERSION))
        return bool(version) and version[0][0] == max(self._steps, default=BASE)

    async def repair(self) -> Repaired:
        """Make a new store of readable rows; this one stays untouched.

        Raises NotFound, StoreInUse, StoreCorrupt, StoreFull or StoreUnwritable.
        """
        if not _is_there(self.path):
            raise NotFound(f"There is no store at {str(self._folder)!r} yet.")
        lock = StoreLock(self._folder)
        lock.acquire()
        try:
            with file_errors(self._folder):
                return await repair(self.path)
        finally:
            lock.release()

    @property
    def kept(self) -> Path:
        """Where the store is kept that a backup took the place of."""
        return kept(self._folder / FILE)

    async def work_folder(self, thread: str) -> Path:
        """The thread's folder for its tools, which may not be there yet."""
        return self._work.path(thread)

    async def fork_folder(self, thread: str, n: int, new: str) -> bool:
        """Make the folder of a thread's fork; see SessionStore."""
        return await self._work.fork(thread, n, new, self.read)

    async def drop_folder(self, thread: str) -> None:
        """Remove the folder of a thread that is not there; see SessionStore."""
        await self._work.clear([thread])

    def loaded_at(self, thread: str) -> int:
        """0: the folder itself is kept, no copy of it."""
        return 0


@asynccontextmanager
async def temporary_store() -> AsyncGenerator[SqliteStore]:
    """A store that is deleted when the context ends."""
    folder = Path(tempfile.mkdtemp(prefix="parley-"))
    try:
        yield SqliteStore(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rewrite_version(connection: Connection) -> None:
    version = connection.fetch(_VERSION)[0][0]
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
            f"The store {str(path)!r} can't be read: {error.strerror}. Ask as Parley's user; "
            "`folder` in [store] says where it is."
        ) from error


async def _translated(work: Awaitable[T], path: Path) -> T:
    """The result of `work`; SQLite's errors become the gateway's, with the path."""
    try:
        return await work
    except sqlite3.Error as error:
        raise translate(error, path) from error
