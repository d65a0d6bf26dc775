"""Connections and workers of a node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, TypeVar

from gateway.errors import GatewayClosed, StoreTaken
from gateway.store.nodes import Node
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.membership import HEARTBEATS, Membership
from gateway.store.postgres.pool import connect, open_pool
from gateway.store.postgres.transactions import Transactions, Work
from gateway.store.postgres.upgrade import bring_up_to_date

T = TypeVar("T")

CUT_EVERY = 0.1
"""Seconds between two interruptions of what has not ended."""
SILENT = 0.3
"""Seconds without an answer after which a store that is closed waits for none."""
END, AT_ONCE = 1.0, 0.1
"""Seconds in which workers end that may be connecting, and where the database says nothing."""


class Running:
    """Runs units in workers, one for each connection."""

    def __init__(self, database: Database, membership: Membership) -> None:
        self.membership = membership
        self.pool = open_pool(database, membership.boot)
        self._patience = database.patience
        self._between = min(database.failover / HEARTBEATS, self._patience.look)
        self._silence = database.failover / 2  # two heartbeats: between them it is idle
        boot, table = membership.boot, membership.table
        self.transactions = Transactions(self.pool, boot, table, database)
        self._loop = asyncio.get_running_loop()
        self._workers = ThreadPoolExecutor(database.pool_size, thread_name_prefix="parley-store")
        self._works: dict[asyncio.Future[Any], Work] = {}
        self._watch = self._loop.call_later(0, self._look)
        self.lost = asyncio.Event()
        """This node was declared dead."""
        self.outdated = asyncio.Event()
        """A newer version of Parley has changed the store."""

    @property
    def busy(self) -> int:
        """Number of connections in which a unit runs."""
        figures = self.pool.get_stats()
        return figures["pool_size"] - figures["pool_available"]

    def write(
        self,
        unit: Callable[[PostgresConnection], T],
        now: float,
        *,
        alone: bool = False,
        patience: float | None = None,
    ) -> asyncio.Future[T]:
        """Run a unit, asked for `now`, as one transaction.

        It goes on if nobody waits.
        """
        work = Work(self._patience.unit if patience is None else patience, now)
        write = self.transactions.write
        return self._submit(work, lambda: write(unit, work, alone=alone))

    def read(self, unit: Callable[[PostgresConnection], T], now: float) -> asyncio.Future[T]:
        """Run a unit that only reads."""
        work, read = Work(self._patience.unit, now), self.transactions.read
        return self._submit(work, lambda: read(unit, work))

    def _submit(self, work: Work, job: Callable[[], T]) -> asyncio.Future[T]:
        try:
            future = self._loop.run_in_executor(self._workers, job)
        except RuntimeError as error:  # its workers have ended
            raise GatewayClosed from error
        self._works[future] = work
        future.add_done_callback(self._done)
        return future

    def _done(self, future: asyncio.Future[Any]) -> None:
        del self._works[future]
        if not future.cancelled() and isinstance(future.exception(), StoreTaken):
            self.lost.set()

    def _look(self) -> None:
        for work in self._works.values():
            work.interrupt(self._patience.silence)
        self.membership.session.interrupt(self._silence)
        if self.membership.is_lost:
            self.lost.set()
        if self.membership.is_outdated:
            self.outdated.set()
        self._watch = self._loop.call_later(self._between, self._look)

    async def close(self) -> None:
        """Let units end for a while, and close all connections."""
        self._watch.cancel()
        silent = await self._is_silent_to_the_end()
        seconds = AT_ONCE if silent else END
        self.transactions.closing.set()
        self._workers.shutdown(wait=False)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._cut_short(), name="store's end")
            group.create_task(
                asyncio.to_thread(self.membership.release, seconds), name="node's end"
            )
            await asyncio.to_thread(self.pool.close, seconds)

    async def _is_silent_to_the_end(self) -> bool:
        """Wait for units; True once the database says nothing."""
        until = monotonic() + self._patience.end
        while self._works and monotonic() < until:
            silent = [work.interrupt(SILENT) for work in self._works.values()]
            if any(silent) or self.membership.unreachable_since is not None:
                return True
            await asyncio.wait([*self._works], timeout=CUT_EVERY)
        return bool(self._works)

    async def _cut_short(self) -> None:
        """Interrupt units until there is none, also those that begin only now."""
        until = monotonic() + self._patience.end
        while self._works and monotonic() < until:
            for work in self._works.values():
                work.interrupt()
            await asyncio.wait([*self._works], timeout=CUT_EVERY)


@asynccontextmanager
async def running(
    database: Database, node: Node, clock: Callable[[], float], *, alone: bool = False
) -> AsyncGenerator[Running]:
    """Be a node of the store. Raises StoreInUse and PostgreSQL's errors.

    `alone`: nobody else may be one.
    """
    membership = Membership(database, node, clock, alone=alone)
    try:
        await asyncio.to_thread(_join, database, membership)
    except BaseException:
        membership.release()  # who was cancelled here may become a node a moment later
        raise
    found = Running(database, membership)
    try:
        yield found
    finally:
        await found.close()


def _join(database: Database, membership: Membership) -> None:
    raw = connect(database, membership.boot)
    try:
        membership.enter(raw)  # before the tables are changed: somebody may use the older ones
        bring_up_to_date(raw, database.url, database.schema)
        membership.join(raw)
    except BaseException:
        raw.close()
        raise
