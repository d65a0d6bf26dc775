"""Stand-ins for what an earlier version's store lacks, when read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from gateway.store.formats import tables


def stand_in(raw: sqlite3.Connection) -> None:
    """Give a store, when read, what it lacks."""
    raw.execute("PRAGMA query_only = OFF")
    for view in list(_views(raw)):
        raw.execute(view)
    raw.execute("PRAGMA query_only = ON")


def _views(raw: sqlite3.Connection) -> Iterator[str]:
    """Views of tables as they would be after the upgrade."""
    for name, table in tables().items():
        has = {row[1] for row in raw.execute(f"PRAGMA table_info({name})")}
        lacks = [f"{table.defaults[each]} AS {each}" for each in table.kinds if each not in has]
        if not has:
            empty = ", ".join(f"NULL AS {each}" for each in table.kinds)
            yield f"CREATE TEMP VIEW {name} AS SELECT {empty} WHERE FALSE"
        elif lacks:
            own = "*" if table.key else "*, rowid"
            yield f"CREATE TEMP VIEW {name} AS SELECT {own}, {', '.join(lacks)} FROM main.{name}"
