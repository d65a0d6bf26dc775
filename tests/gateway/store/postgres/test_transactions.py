"""Units as transactions of one node."""

from __future__ import annotations

import socket
from time import monotonic, time
from types import SimpleNamespace
from typing import Any, cast

from gateway.store.connection import Connection
from gateway.store.nodes import Node
from gateway.store.postgres.database import Database
from gateway.store.postgres.running import running
from gateway.store.postgres.store import PostgresStore
from gateway.store.postgres.transactions import Work, hang_up


def marks(connection: Connection) -> int:
    return len(connection.fetch("SELECT 1 FROM marks WHERE platform = 'x'"))


async def test_a_unit_is_committed_once_and_counted(postgres_url: str, tmp_path: Any) -> None:
    database = Database(url=postgres_url)
    async with PostgresStore(database, tmp_path).own():
        pass  # its tables are made
    seconds: list[float] = []

    def mark(connection: Connection) -> str:
        connection.execute("INSERT INTO marks (platform, name, value) VALUES ('x', 'a', '1')")
        return "marked"

    async with running(database, Node(boot="b", name="n"), time) as found:
        transactions = found.transactions
        transactions.observe = seconds.append
        before = transactions.commits
        assert transactions.write(mark, Work(5.0), alone=False) == "marked"
        assert transactions.read(marks, Work(5.0)) == 1
        assert (transactions.commits, len(seconds)) == (before + 1, 1)


def test_a_connection_is_hung_up() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(5)
        hang_up(ours.fileno)
        assert theirs.recv(1) == b""


def test_a_unit_is_interrupted_where_it_waits_too_long() -> None:
    ours, theirs = socket.socketpair()
    raw = SimpleNamespace(fileno=ours.fileno)
    pipeline = SimpleNamespace(raw=raw, asked_at=monotonic())
    with ours, theirs:
        theirs.settimeout(5)
        work = Work(5.0)
        assert not work.interrupt()
        work.holds(cast("Any", SimpleNamespace(pipeline=pipeline)))
        assert not work.interrupt(60.0)
        assert work.interrupt()
        assert theirs.recv(1) == b""
        work.holds(None)
        assert not work.interrupt()
