"""Connections and threads of a process that owns the store."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from threading import Thread
from typing import Any, TypeVar

from gateway.errors import GatewayClosed
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.migrate import bring_up_to_date
from gateway.store.postgres.ownership import Ownership
from gateway.store.postgres.pool import connect, open_pool
from gateway.store.postgres.transactions import PATIENCE, SILENCE, Transactions, Work

T = TypeVar("T")

END = 3.0
"""Seconds that units have to end in when the store is closed."""
LOOK = 5.0
"""Seconds between two looks at connections that may be silent."""


class Running:
    """Runs units in threads, one for each connection."""

    def __init__(self, database: Database, boot: str, ownership: Ownership) -> None:
        self.ownership = ownership
        self.pool = open_pool(database)
        self.transactions = Transactions(self.pool, boot)
        self._loop = asyncio.get_running_loop()
        self._threads = ThreadPoolExecutor(database.pool_size, thread_name_prefix="parley-store")
        self._works: dict[asyncio.Future[Any], Work] = {}
        self._watch = self._loop.call_later(LOOK, self._interrupt_silent)

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
        patience: float = PATIENCE,
    ) -> asyncio.Future[T]:
        """Run a unit as one transaction, also if nobody waits."""
        work, write = Work(patience), self.transactions.write
        return self._submit(work, lambda: write(unit, work, alone=alone))

    def read(self, unit: Callable[[PostgresConnection], T]) -> asyncio.Future[T]:
        """Run a unit that only reads."""
        work, read = Work(PATIENCE), self.transactions.read
        return self._submit(work, lambda: read(unit, work))

    def _submit(self, work: Work, job: Callable[[], T]) -> asyncio.Future[T]:
        try:
            future = self._loop.run_in_executor(self._threads, job)
        except RuntimeError as error:  # its threads have ended
            raise GatewayClosed from error
        self._works[future] = work
        future.add_done_callback(lambda done: self._works.pop(done))
        return future

    def _interrupt_silent(self) -> None:
        for work in self._works.values():
            work.interrupt(SILENCE)
        self._watch = self._loop.call_later(LOOK, self._interrupt_silent)

    async def close(self) -> None:
        """Let units end for a while, and close all connections."""
        self._watch.cancel()
        await self._end()
        self.transactions.closing.set()
        for work in self._works.values():
            work.interrupt()
        await self._end()
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._close)

    async def _end(self) -> None:
        if self._works:
            await asyncio.wait([*self._works], timeout=END)

    def _close(self) -> None:
        self.pool.close(END)
        self.ownership.release()


@asynccontextmanager
async def running(database: Database) -> AsyncGenerator[Running]:
    """Own the store in a database. Raises StoreInUse and PostgreSQL's errors."""
    boot = secrets.token_hex(8)
    ownership = Ownership(database, boot, f"process {os.getpid()} on {socket.gethostname()}")
    await asyncio.to_thread(_take, database, ownership)
    # A daemon: a process that ends without `close` is not held by it.
    Thread(target=ownership.keep, name="parley-owner", daemon=True).start()
    found = Running(database, boot, ownership)
    try:
        yield found
    finally:
        await found.close()


def _take(database: Database, ownership: Ownership) -> None:
    with closing(connect(database)) as raw:
        bring_up_to_date(raw, database.url)
    ownership.take()
