"""Connections and threads of a process that owns the store."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from gateway.errors import GatewayClosed, StoreTaken
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.migrate import bring_up_to_date
from gateway.store.postgres.ownership import Ownership
from gateway.store.postgres.pool import connect, open_pool
from gateway.store.postgres.transactions import Transactions, Work

T = TypeVar("T")


class Running:
    """Runs units in threads, one for each connection."""

    def __init__(self, database: Database, boot: str, ownership: Ownership) -> None:
        self.ownership = ownership
        self.pool = open_pool(database)
        self._patience = database.patience
        self.transactions = Transactions(self.pool, boot, self._patience.connection)
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(database.pool_size, thread_name_prefix="parley-store")
        self._works: dict[asyncio.Future[Any], Work] = {}
        self._watch = self._loop.call_later(0, self._look)
        self.taken = asyncio.Event()
        """Another process owns the store."""

    @property
    def busy(self) -> int:
        """Number of connections in which a unit runs."""
        figures = self.pool.get_stats()
        return figures["pool_size"] - figures["pool_available"]

    def write(
        self,
        unit: Callable[[PostgresConnection], T],
        *,
        alone: bool = False,
        patience: float | None = None,
    ) -> asyncio.Future[T]:
        """Run a unit as one transaction, also if nobody waits."""
        work = Work(self._patience.unit if patience is None else patience)
        write = self.transactions.write
        return self._submit(work, lambda: write(unit, work, alone=alone))

    def read(self, unit: Callable[[PostgresConnection], T]) -> asyncio.Future[T]:
        """Run a unit that only reads."""
        work, read = Work(self._patience.unit), self.transactions.read
        return self._submit(work, lambda: read(unit, work))

    def _submit(self, work: Work, job: Callable[[], T]) -> asyncio.Future[T]:
        try:
            future = self._loop.run_in_executor(self._threads, job)
        except RuntimeError as error:  # its threads have ended
            raise GatewayClosed from error
        self._works[future] = work
        future.add_done_callback(self._done)
        return future

    def _done(self, future: asyncio.Future[Any]) -> None:
        del self._works[future]
        if not future.cancelled() and isinstance(future.exception(), StoreTaken):
            self.taken.set()

    def _look(self) -> None:
        for work in (*self._works.values(), self.ownership.session):
            work.interrupt(self._patience.silence)
        if self.ownership.is_taken:
            self.taken.set()
        self._watch = self._loop.call_later(self._patience.beat, self._look)

    async def close(self) -> None:
        """Let units end for a while, and close all connections."""
        self._watch.cancel()
        await self._end()
        self.transactions.closing.set()
        for work in self._works.values():
            work.interrupt()
        self._threads.shutdown(wait=False)  # those that have not begun are refused
        await asyncio.to_thread(self._close)
        await self._end()

    async def _end(self) -> None:
        if self._works:
            await asyncio.wait([*self._works], timeout=self._patience.end)

    def _close(self) -> None:
        self.pool.close(self._patience.end)
        self.ownership.release()


@asynccontextmanager
async def running(database: Database) -> AsyncGenerator[Running]:
    """Own the store in a database. Raises StoreInUse and PostgreSQL's errors."""
    boot = secrets.token_hex(8)
    ownership = Ownership(database, boot, f"process {os.getpid()} on {socket.gethostname()}")
    try:
        await asyncio.to_thread(_take, database, ownership)
    except BaseException:
        ownership.release()  # who was cancelled here may become the owner a moment later
        raise
    found = Running(database, boot, ownership)
    try:
        yield found
    finally:
        await found.close()


def _take(database: Database, ownership: Ownership) -> None:
    raw = connect(database)
    try:
        bring_up_to_date(raw, database.url)
    except BaseException:
        raw.close()
        raise
    ownership.take(raw)
