"""Units in workers, one for each connection."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event
from time import time

import pytest

from gateway.errors import GatewayClosed
from gateway.store.connection import Connection
from gateway.store.nodes import Node
from gateway.store.postgres.database import Database
from gateway.store.postgres.running import running
from gateway.store.postgres.store import PostgresStore


async def test_units_run_side_by_side_and_end_with_the_store(
    postgres_url: str, tmp_path: Path
) -> None:
    database = Database(url=postgres_url, pool_size=2)
    async with PostgresStore(database, tmp_path).own():
        pass  # its tables are made
    begun, go_on = Event(), Event()

    def wait(connection: Connection) -> str:
        begun.set()
        go_on.wait()
        return "waited"

    def mark(connection: Connection) -> None:
        connection.execute("INSERT INTO marks (platform, name, value) VALUES ('x', 'a', '1')")

    def marks(connection: Connection) -> int:
        return len(connection.fetch("SELECT 1 FROM marks WHERE platform = 'x'"))

    async with running(database, Node(boot="b", name="n"), time) as found:
        waiting = found.read(wait, time())
        await asyncio.to_thread(begun.wait)
        assert found.busy >= 1
        await found.write(mark, time())
        assert await found.read(marks, time()) == 1
        go_on.set()
        assert await waiting == "waited"
        await found.close()
        with pytest.raises(GatewayClosed):
            found.read(marks, time())
