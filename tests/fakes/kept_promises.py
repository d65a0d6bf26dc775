"""Check of the keys in all stores that a test leaves."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.store.formats import newest_format
from gateway.store.records import BrokenPromise
from gateway.store.sqlite.store import FILE, connect_to_read
from gateway.store.sqlite.writer import SqliteConnection
from gateway.store.units.copies import broken_promises


def unkept_promises(*folders: Path) -> list[BrokenPromise]:
    """Broken promises in all stores below these folders.

    A store that a test has damaged, or that another version made, has promised nothing.
    """
    found = {path for folder in folders for path in folder.rglob(FILE)}
    return [broken for path in sorted(found) for broken in _unkept(path)]


def unkept_promises_at(url: str) -> list[BrokenPromise]:
    """Broken promises in a PostgreSQL database, which may have no store."""
    from gateway.store.postgres.connection import PostgresConnection
    from gateway.store.postgres.database import Database
    from gateway.store.postgres.pool import connect
    from gateway.store.postgres.upgrade import version_of

    with closing(connect(Database(url=url))) as raw:
        return broken_promises(PostgresConnection(raw)) if version_of(raw) else []


def _unkept(path: Path) -> list[BrokenPromise]:
    try:
        with closing(connect_to_read(path)) as raw:
            (version,) = raw.execute("PRAGMA user_version").fetchone()
            (state,) = raw.execute("PRAGMA quick_check(1)").fetchone()
            whole = state == "ok" and version == newest_format()
            return broken_promises(SqliteConnection(raw)) if whole else []
    except sqlite3.DatabaseError:
        return []
