"""Stand-ins for what an earlier version's store lacks, when read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import lru_cache

from gateway.store.formats import BASE, migrations, script

_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


def stand_in(raw: sqlite3.Connection) -> None:
    """Give a store, when read, what it lacks."""
    raw.execute("PRAGMA query_only = OFF")
    for view in list(_views(raw)):
        raw.execute(view)
    raw.execute("PRAGMA query_only = ON")


def _views(raw: sqlite3.Connection) -> Iterator[str]:
    """Views of tables as they would be after the upgrade."""
    there = dict(raw.execute(_TABLES))
    for table, columns in _newest().items():
        if table not in there:
            empty = ", ".join(f"NULL AS {name}" for name in columns)
            yield f"CREATE TEMP VIEW {table} AS SELECT {empty} WHERE FALSE"
            continue
        has = {row[1] for row in raw.execute(f"PRAGMA table_info({table})")}
        if lacks := [f"{value} AS {name}" for name, value in columns.items() if name not in has]:
            own = "*" if "WITHOUT ROWID" in there[table] else "*, rowid"
            wanted = f"{own}, {', '.join(lacks)}"
            yield f"CREATE TEMP VIEW {table} AS SELECT {wanted} FROM main.{table}"


@lru_cache(maxsize=1)
def _newest() -> Mapping[str, Mapping[str, str]]:
    """Columns of each table in today's version, with their defaults as SQL."""
    with closing(sqlite3.connect(":memory:")) as raw:
        for each in (script("schema.sql"), *(migrations()[n] for n in migrations() if n > BASE)):
            raw.executescript(each)
        tables = [name for name, _ in raw.execute(_TABLES)]
        return {
            table: {row[1]: row[4] or "NULL" for row in raw.execute(f"PRAGMA table_info({table})")}
            for table in tables
        }
