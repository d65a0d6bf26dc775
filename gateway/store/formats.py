"""Formats of the store, the same in both databases.

A new store is made from `schema.sql`; the numbered scripts in `upgrades` bring others up to date.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from importlib.resources import files

from gateway.errors import StoreTooOld
from gateway.values import value

OLDEST = 21
"""The oldest format that is upgraded."""
BASE = 26
"""The format that `schema.sql` makes."""
LAST_UPGRADE = "14d6f32f"
"""The last commit of Parley that upgrades what is older than OLDEST."""

_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


@value
class Table:
    """A table of both databases."""

    kinds: Mapping[str, str]
    """Types of its columns, in the words of `schema.sql`."""
    defaults: Mapping[str, str]
    """Values of columns that were not given any, as SQL."""
    key: Sequence[str]
    """Columns of its key in SQLite; none where that has row numbers instead."""
    numbered: bool
    """PostgreSQL has SQLite's row numbers as a column."""


def script(path: str) -> str:
    """The text of a script, by its path below this folder."""
    return files("gateway.store").joinpath(path).read_text("utf-8")


@cache
def upgrades() -> Mapping[int, str]:
    """The scripts that lead to each format, by its number."""
    folder = files("gateway.store") / "upgrades"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return {int(name[:4]): script(f"upgrades/{name}") for name in names}


@cache
def tables() -> Mapping[str, Table]:
    """Tables of a store that is up to date, by name."""
    with closing(sqlite3.connect(":memory:")) as raw:
        for each in (script("schema.sql"), *(upgrades()[n] for n in upgrades() if n > BASE)):
            raw.executescript(each)
        made = raw.execute(_TABLES).fetchall()
        return {name: _table(raw.execute(f"PRAGMA table_info({name})"), sql) for name, sql in made}


def _table(columns: sqlite3.Cursor, made: str) -> Table:
    rows = [(name, kind, default, key) for _, name, kind, _, default, key in columns]
    keys = sorted((key, name) for name, _, _, key in rows if key)
    return Table(
        kinds={name: kind for name, kind, _, _ in rows},
        defaults={name: default or "NULL" for name, _, default, _ in rows},
        key=tuple(name for _, name in keys) if "WITHOUT ROWID" in made else (),
        numbered="/*pg rowid" in made,
    )


def newest_format() -> int:
    """The format of a store that is up to date."""
    return max(upgrades())


def check_upgradable(version: int, what: str) -> None:
    """Raise StoreTooOld for what is older than OLDEST."""
    if version < OLDEST:
        raise StoreTooOld(
            f"The {what} was made by an older Parley (format {version}, this one knows {OLDEST} and"
            f" later). Open it once with Parley at commit {LAST_UPGRADE}, which upgrades it."
        )
