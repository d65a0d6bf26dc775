"""The whole check of a store: its structure, its references, its laws."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.errors import NotFound
from gateway.store.connection import Connection
from gateway.store.formats import newest_format
from gateway.store.records import StoreFault
from gateway.store.sqlite.commit_count import read_note
from gateway.store.sqlite.upgrade import VERSION, gone, known_version
from gateway.store.sqlite.writer import SqliteConnection, prepare, translate
from gateway.store.units.invariants import broken_laws

MOST_FAULTS = 1000
"""Faults of the structure that are looked for."""


def check_whole(path: Path, *, in_use: bool) -> list[StoreFault]:
    """Faults of a store as of one moment.

    Raises NotFound, StoreTooNew, StoreTooOld, or StoreCorrupt for a file that is no store.
    """
    noted = read_note(path.parent)
    commits = noted.commits if noted else 0
    if not path.is_file():
        if commits:
            raise gone(path, commits)
        raise NotFound(f"There is no store at {str(path.parent)!r} yet.")
    try:
        # Read-only: SQLite must not tidy up a damaged log behind it.
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as raw:
            prepare(raw, "query_only = ON", "busy_timeout = 5000")
            newest = newest_format()
            version = known_version(raw.execute(VERSION).fetchone(), path, newest)
            if version == 0 and commits:
                raise gone(path, commits)
            if version == 0:
                return [StoreFault(thread="", text="it is empty: it has no tables")]
            raw.execute("BEGIN")
            return _faults(raw, path, counted=version == newest and not in_use)
    except sqlite3.Error as error:
        raise translate(error, path) from error


def _faults(raw: sqlite3.Connection, path: Path, *, counted: bool) -> list[StoreFault]:
    found = [StoreFault(thread="", text=text) for text in _structure(raw)]
    if found:  # what is read from it now may be anything
        return found
    connection = SqliteConnection(raw)
    missing = _missing_commits(connection, path.parent) if counted else []
    return [*missing, *_references(raw), *_unused_contents(connection), *broken_laws(connection)]


def _structure(raw: sqlite3.Connection) -> list[str]:
    try:
        rows = raw.execute(f"PRAGMA integrity_check({MOST_FAULTS})").fetchall()
    except sqlite3.DatabaseError as error:  # not even its check can go on
        return [str(error)]
    found = [" ".join(str(row[0]).split()) for row in rows]
    return [] if found == ["ok"] else found


def _missing_commits(connection: Connection, folder: Path) -> list[StoreFault]:
    noted = read_note(folder)
    (row,) = connection.fetch("SELECT n FROM commits")
    missing = noted.commits - row["n"] if noted else 0
    text = f"{missing} commits are missing at its end"
    return [StoreFault(thread="", text=text)] if missing > 0 else []


def _references(raw: sqlite3.Connection) -> list[StoreFault]:
    return [
        StoreFault(thread="", text=f"a row of {row['table']} refers to no row of {row['parent']}")
        for row in raw.execute("PRAGMA foreign_key_check")
    ]


def _unused_contents(connection: Connection) -> list[StoreFault]:
    rows = connection.fetch(
        "SELECT 1 FROM blobs b WHERE NOT EXISTS (SELECT 1 FROM attachments WHERE sha256 = b.sha256)"
    )
    return [StoreFault(thread="", text="a file's content belongs to no message") for _ in rows]
