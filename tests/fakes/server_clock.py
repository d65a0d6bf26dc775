"""A store's time in the hands of a test."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from gateway.store.connection import Connection
from gateway.store.units import adapters as adapter_units
from tests.fakes.new_store import is_on_postgres, new_store

_MOVED = """
    CREATE OR REPLACE FUNCTION server_time() RETURNS double precision LANGUAGE sql VOLATILE
    RETURN (SELECT CAST(value AS double precision) FROM marks WHERE platform = 'test')
"""
_JOIN = """
    INSERT INTO nodes (boot, name, version, since, beat, patience)
    VALUES (:boot, :boot, '', :now, :now, 6)
"""


class ServerClock:
    """The time of the database; processes may have another one.

    On SQLite it is the time of the only process.
    """

    def __init__(self) -> None:
        self.now = 4_000_000_000.0
        """Later than any node's start."""
        self.store: Any = None
        self._other = is_on_postgres()

    def of_process(self) -> float:
        """The time of the process, wrong where the database has its own."""
        return self.now - 86_400 if self._other else self.now

    async def take(self, store: Any) -> None:
        """Let an owned store go by this clock."""
        self.store = store
        await self.advance(0)
        if self._other:
            await store.write(lambda connection: connection.execute(_MOVED))
        else:
            await self.join("this process")  # as it would have done in a database

    async def advance(self, seconds: float) -> None:
        """Move the time of the database."""
        self.now += seconds
        if self._other:
            await self.store.run(adapter_units.mark, "test", "now", repr(self.now))

    async def join(self, boot: str) -> None:
        """Begin a node."""

        def unit(connection: Connection) -> None:
            connection.execute(_JOIN, {"boot": boot, "now": self.now})

        await self.store.write(unit)

    async def die(self, boot: str) -> None:
        """Declare a node dead."""
        bury = "DELETE FROM nodes WHERE boot = :boot"
        await self.store.write(lambda connection: connection.execute(bury, {"boot": boot}))


@asynccontextmanager
async def timed_store(folder: Path) -> AsyncGenerator[ServerClock]:
    """A store that goes by a clock."""
    clock = ServerClock()
    store = new_store(folder, clock=clock.of_process)
    async with store.own():
        await clock.take(store)
        yield clock
