"""The store in a PostgreSQL database.

store = PostgresStore(Database(url="postgresql://..."), folder)
async with store.own():       # be one of its nodes
    ...
await store.run(thread_units.threads)         # reading needs no ownership
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from socket import gethostname
from typing import Any, TypeVar, cast

from psycopg.errors import UndefinedColumn, UndefinedFunction, UndefinedTable

from gateway.base.database_url import DatabasePlace
from gateway.errors import (
    GatewayClosed,
    StoreFull,
    StoreTaken,
    StoreUnreachable,
)
from gateway.store.connection import Connection, NoConnection, Unit
from gateway.store.formats import newest_format
from gateway.store.ids import new_id
from gateway.store.last_writes import LastWrites
from gateway.store.lock import StoreLock, file_errors, make_private, try_files
from gateway.store.nodes import Node
from gateway.store.operations import UnitReader, hand_on
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.errors import translate
from gateway.store.postgres.group import Group
from gateway.store.postgres.integrity import check_rows
from gateway.store.postgres.listening import listen
from gateway.store.postgres.membership import IS_ORIGINAL, SIGN
from gateway.store.postgres.pool import connect
from gateway.store.postgres.reload_operations import ReloadOperations
from gateway.store.postgres.running import Running, running
from gateway.store.postgres.transactions import Work
from gateway.store.postgres.upgrade import check_up_to_date, known_version
from gateway.store.postgres.work_contents import StoredContents
from gateway.store.records import PoolFigures, StoreFault
from gateway.store.turn_records import Lease, StoredUpdate, TurnUpdate
from gateway.store.units import turns
from gateway.store.units.losses import note_restore
from gateway.store.units.threads import thread_ids
from gateway.store.work.folder import WorkFolders

T = TypeVar("T")

_SIGNAL = "SELECT pg_notify('parley', :text)"

PROBE = 3.0
"""Seconds for which a probe waits for the database."""


class PostgresReader(UnitReader):
    """A SessionReader of the store in a database.

    Who does not own the store opens a connection for each unit.
    """

    _running: Running | None = None

    def __init__(
        self, database: Database, folder: Path, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(folder, clock)
        self._database = database
        self.digest = ""
        """That of the config which this node serves; threads are for nodes with the same one."""

    @property
    def database(self) -> Database:
        """The database, with its address."""
        return self._database

    @property
    def place(self) -> DatabasePlace:
        """Server and name of the database."""
        return self._database.place

    async def read(self, unit: Callable[[PostgresConnection], T]) -> T:
        """Run a unit that only reads. Raises StoreError."""
        if self._running is not None:
            reading = self._running.read(unit, self.clock())
            return await self._translated(asyncio.shield(reading))
        return await self._translated(self._read_alone(unit))

    async def _read_alone(self, unit: Callable[[PostgresConnection], T]) -> T:
        """As somebody who does not own the store."""
        work = Work(self._database.patience.unit, self.clock())
        loop = asyncio.get_running_loop()
        late = loop.call_later(self._database.patience.silence, work.interrupt)
        try:
            return await asyncio.to_thread(self._read, unit, work)
        finally:
            late.cancel()
            work.interrupt()  # its worker may go on although nobody waits for it

    def _read(self, unit: Callable[[PostgresConnection], T], work: Work) -> T:
        with closing(connect(self._database)) as raw:
            connection = PostgresConnection(raw, work.now)
            work.holds(connection)
            try:
                raw.execute("SET default_transaction_read_only = on")
                known = known_version(raw, self._database.url)
                try:
                    return unit(connection if known else cast("PostgresConnection", NoConnection()))
                except (UndefinedTable, UndefinedColumn, UndefinedFunction):
                    check_up_to_date(known, self._database.url)
                    raise
            finally:
                work.holds(None)

    async def is_current(self) -> bool:
        """True if there is a store that needs no upgrade."""
        found = await self.read(lambda connection: connection.fetch("SELECT version FROM store"))
        return bool(found) and found[0][0] == newest_format()

    async def check(self) -> list[StoreFault]:
        """All faults of the rows; somebody may be using the store.

        Raises NotFound or StoreError.
        """
        return await self._translated(asyncio.to_thread(check_rows, self._database))

    async def _translated(self, work: Awaitable[T]) -> T:
        """The result of `work`; PostgreSQL's errors become the gateway's."""
        try:
            return await work
        except Exception as error:
            if (translated := translate(error, self._database.url)) is error:
                raise
            raise translated from error


class PostgresStore(PostgresReader, ReloadOperations):
    """A SessionStore in a database, and in a folder of this node."""

    _group: Group | None = None

    def __init__(
        self, database: Database, folder: Path, *, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(database, folder, clock=clock)
        contents = StoredContents(self._folder)
        self._work = WorkFolders(self._folder, database.work, contents, copies=True)
        self._last = LastWrites(StoreFull, StoreUnreachable)
        self._left: set[asyncio.Future[Any]] = set()
        """Units that go on without their callers."""

    @property
    def commits(self) -> int:
        """Number of transactions that this owner has committed."""
        return self._running.transactions.commits if self._running else 0

    def pool(self) -> PoolFigures:
        """The connections of this owner."""
        used = self._running.busy if self._running else 0
        return PoolFigures(used=used, most=self._database.pool_size)

    @property
    def unreachable_since(self) -> float | None:
        """When the database stopped to answer, by the monotonic clock."""
        return self._running.membership.unreachable_since if self._running else None

    @property
    def speaks(self) -> bool:
        """True while no other node can have declared this one dead."""
        return self._running is None or self._running.membership.speaks

    @property
    def is_steady(self) -> bool:
        """True unless this node was held up itself."""
        return self._running is None or self._running.membership.is_steady

    @property
    def node_count(self) -> int:
        """Number of nodes a moment ago."""
        return self._running.membership.nodes if self._running else 0

    def tell_figures(self, figures: Callable[[], dict[str, Any]]) -> None:
        """Ask for this node's load with each heartbeat, in a worker."""
        if self._running is not None:
            self._running.membership.figures = figures

    async def until_lost(self) -> None:
        """Wait as long as this node is one. Raises StoreTaken then."""
        if self._running is None:
            raise GatewayClosed
        await self._running.lost.wait()
        raise StoreTaken

    async def until_outdated(self) -> None:
        """Wait until a newer version of Parley has changed the store."""
        if self._running is None:
            raise GatewayClosed
        await self._running.outdated.wait()

    async def signal(self, text: str) -> None:
        """Tell all nodes, outside of any transaction; it may be lost."""
        await self.read(lambda connection: connection.fetch(_SIGNAL, {"text": text}))

    async def listen(self, told: Callable[[str], None]) -> None:
        """Call `told` with each signal, and "" for new jobs, until cancelled.

        Whenever the connection was made anew, it is called with "", too.
        """
        boot = self._running.membership.boot if self._running else ""
        await listen(self._database, boot, told)

    @asynccontextmanager
    async def own(self, node: Node | None = None, *, alone: bool = False) -> AsyncGenerator[None]:
        """Be a node of it. Raises StoreError.

        `alone`: nobody else may be one.
        """
        lock = StoreLock(self._folder)
        self._prepare(lock)
        node = node or Node(boot=new_id())
        name = node.name or f"process {os.getpid()} on {gethostname()}"
        named = replace(node, name=name, digest=node.digest or self.digest)
        try:
            context = running(self._database, named, self.clock, alone=alone)
            self._running = await self._translated(context.__aenter__())
            if self._observe is not None:
                self._running.transactions.observe = self._observe
            self._group = Group(self._running, self._database.patience.unit)
            try:
                await self.write(_note_restore, alone=True)
                await self._sweep()
                yield
            finally:
                await self._work.finish(self._database.patience.end)
                self._running = self._group = None
                await context.__aexit__(None, None, None)
                await self._until_cleared()
        finally:
            lock.release()

    async def rehearse(self) -> None:
        """Raise what `own` would, as far as reading tells."""
        await self.read(lambda _: None)  # its version
        with file_errors(self._folder):
            try_files(self._folder)

    def _prepare(self, lock: StoreLock) -> None:
        with file_errors(self._folder):
            make_private(self._folder)
            lock.acquire()

    async def write(
        self,
        unit: Callable[[PostgresConnection], T],
        then: Callable[[T], None] | None = None,
        *,
        alone: bool = False,
    ) -> T:
        """Run a unit of work as one transaction; see UnitWriter."""
        while self._left:  # what their callers write now comes behind them
            await asyncio.wait([*self._left])
        if self._running is None:
            raise GatewayClosed
        running = self._running.write(unit, self.clock(), alone=alone)
        if then is not None:
            running.add_done_callback(lambda done: _hand_on(done, then))
        try:
            return await self._last.watch(unit, self._translated(asyncio.shield(running)))
        except asyncio.CancelledError:
            if not running.done():
                self._left.add(running)
                running.add_done_callback(self._left.discard)
            raise

    async def write_in_group(self, unit: Unit[T], then: Callable[[T], None] | None) -> T:
        """Run a unit in a transaction that it may share with others."""
        if self._group is None:
            raise GatewayClosed
        work = self._group.write(unit, then, self.clock())
        return await self._last.watch(unit, self._translated(work))

    async def record(self, lease: Lease, record: TurnUpdate) -> StoredUpdate:
        """Add to a turn, with changes of the thread's folder.

        Raises LeaseLost.
        """

        states = self._work.limits.fork_turns

        def unit(connection: Connection) -> StoredUpdate:
            return turns.record(connection, lease, record, states=states)

        return await self._work.record(lease.thread, record, unit, self.read, self.write)

    async def clear(self, threads: Collection[str], *, person: bool = False) -> None:
        """Remove the working copies of deleted threads."""
        await self._work.clear(threads)

    async def _sweep(self) -> None:
        """Remove working copies of threads that are gone."""
        kept = await self.read(thread_ids)
        await asyncio.to_thread(self._work.sweep, kept)

    async def probe(self) -> None:
        """Write a little, or more after a refusal; see SessionStore."""

        async def soon(unit: Unit[None]) -> None:
            if self._running is None:
                raise GatewayClosed
            await self._translated(self._running.write(unit, self.clock(), patience=PROBE))

        await self._last.probe(soon, _rewrite_owner)

    async def work_folder(self, thread: str) -> Path:
        """The thread's folder as it is stored; it may be missing."""
        return await self._work.bring(thread, self.read)

    async def fork_folder(self, thread: str, n: int, new: str) -> bool:
        """Make the folder of a thread's fork; see SessionStore."""
        return await self._work.fork(thread, n, new, self.read)

    async def drop_folder(self, thread: str) -> None:
        """Remove the folder of a thread that is not there; see SessionStore."""
        await self._work.clear([thread])

    def loaded_at(self, thread: str) -> int:
        """Time until which the folder has files of the store alone."""
        return self._work.loaded_at(thread)


def _hand_on(done: asyncio.Future[T], then: Callable[[T], None]) -> None:
    """Tell what a unit has brought, also if its caller has left."""
    if not done.cancelled() and done.exception() is None:
        hand_on(then, done.result())


def _note_restore(connection: PostgresConnection) -> None:
    """Note a loss if the database was restored, and sign it."""
    [[original]] = connection.fetch(f"SELECT {IS_ORIGINAL} AS original")
    note_restore(connection, restored=original is False)
    if not original:
        connection.execute(SIGN)


def _rewrite_owner(connection: Connection) -> None:
    connection.execute("UPDATE owner SET boot = boot")
