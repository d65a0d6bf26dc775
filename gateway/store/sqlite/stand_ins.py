"""Stand-ins for what an earlier version's store lacks, when read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from importlib.resources import files

from gateway.store.sqlite.migrate import SEARCHED, TALLIED, migrations
from gateway.store.units.counts import COUNTING_VIEWS
from gateway.store.units.search_index import SEARCH_VIEWS

_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


def stand_in(raw: sqlite3.Connection, version: int) -> None:
    """Give a store, when read, what it lacks."""
    own = [
        *(COUNTING_VIEWS if version < TALLIED else ()),
        *(SEARCH_VIEWS if version < SEARCHED else ()),
    ]
    names = {view.split()[3] for view in own}  # CREATE TEMP VIEW name ...
    others = [view for name, view in _views(raw) if name not in names]
    raw.execute("PRAGMA query_only = OFF")
    for view in (*others, *own):
        raw.execute(view)
    raw.execute("PRAGMA query_only = ON")


def _views(raw: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Views of tables as they would be after the upgrade, by name."""
    there = dict(raw.execute(_TABLES))
    for table, columns in _newest().items():
        if table not in there:
            empty = ", ".join(f"NULL AS {name}" for name in columns)
            yield table, f"CREATE TEMP VIEW {table} AS SELECT {empty} WHERE FALSE"
            continue
        has = {row[1] for row in raw.execute(f"PRAGMA table_info({table})")}
        if lacks := [f"{value} AS {name}" for name, value in columns.items() if name not in has]:
            own = "*" if "WITHOUT ROWID" in there[table] else "*, rowid"
            wanted = f"{own}, {', '.join(lacks)}"
            yield table, f"CREATE TEMP VIEW {table} AS SELECT {wanted} FROM main.{table}"


@lru_cache(maxsize=1)
def _newest() -> Mapping[str, Mapping[str, str]]:
    """Columns of each table in today's version, with their defaults as SQL."""
    scripts = (files("gateway.store.sqlite") / "schema.sql").read_text("utf-8")
    with closing(sqlite3.connect(":memory:")) as raw:
        raw.executescript(scripts)
        for _, script in sorted(migrations().items()):
            raw.executescript(script)
        tables = [name for name, _ in raw.execute(_TABLES)]
        return {
            table: {row[1]: row[4] or "NULL" for row in raw.execute(f"PRAGMA table_info({table})")}
            for table in tables
        }
