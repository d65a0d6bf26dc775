"""Versions of a store: creation, and upgrades with copies."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiosqlite

from gateway.errors import BackupCorrupt, StoreCorrupt, StoreError, StoreTooNew
from gateway.store.formats import BASE, check_upgradable, script

LOG = logging.getLogger("gateway.store")

APPLICATION_ID = 0x5041524C
"""Marks an SQLite file as ours ("PARL")."""

BEGUN_COPY_ID = 0x5041524D
"""Marks a copy of a store that is not complete ("PARM")."""

VERSION = """
    SELECT user_version, application_id, (SELECT COUNT(*) FROM sqlite_master)
    FROM pragma_user_version, pragma_application_id
"""
"""The query whose row `known_version` is given."""


async def bring_up_to_date(path: Path, steps: Mapping[int, str], *, commits: int = 0) -> None:
    """Make the store at `path`, or apply the steps it lacks.

    It is never made in the place of one that is known to have had `commits`.

    Raises StoreTooNew, StoreTooOld, StoreCorrupt or OSError.
    """
    newest = max(steps, default=BASE)
    async with aiosqlite.connect(path, isolation_level=None) as connection:
        (row,) = await connection.execute_fetchall(VERSION)
        version = known_version(row, path, newest)
        if version == 0 and commits:
            raise gone(path, commits)
        await connection.execute("PRAGMA journal_mode = WAL")
        await connection.execute("PRAGMA synchronous = FULL")
        # What a step moves elsewhere, or removes, must not stay where it was.
        await connection.execute("PRAGMA secure_delete = ON")
        if version == 0:
            schema = f"{script('schema.sql')}\n{script('sqlite/triggers.sql')}"
            await _apply(connection, f"PRAGMA application_id = {APPLICATION_ID};\n{schema}", BASE)
        for step in range((version or BASE) + 1, newest + 1):
            if version:
                await _copy(connection, copy := _copy_of(path, step - 1))
                LOG.info("the store was upgraded; the way back is its copy %s", copy)
            await _apply(connection, steps[step], step)


def known_version(row: Sequence[Any], path: Path, newest: int, *, what: str = "store") -> int:
    """The version of the store at `path`; 0 for an empty file.

    `row` is its VERSION.

    Raises StoreTooNew for one after `newest`, StoreTooOld for one before OLDEST, and StoreCorrupt.
    """
    version, application, tables = row
    if not tables:
        return 0
    if application == BEGUN_COPY_ID:
        raise StoreError(
            f"The {what} {str(path)!r} is a copy that is not complete: `parley store copy` goes on"
            " with it."
        )
    if application != APPLICATION_ID:
        kind = BackupCorrupt if what == "backup" else StoreCorrupt
        raise kind(f"The file {str(path)!r} is a database, but not one of Parley's.")
    if version > newest:
        raise StoreTooNew(
            f"The {what} {str(path)!r} was made by a newer Parley (format {version}, "
            f"this one knows {newest}). Update Parley to use it.{_way_back(path, newest)}"
        )
    check_upgradable(version, f"{what} {str(path)!r}")
    return version


def gone(path: Path, commits: int) -> StoreCorrupt:
    """The error of a store that is empty, though it had `commits`."""
    return StoreCorrupt(
        f"The store {str(path)!r} is empty or missing, though {commits} commits were made in it. "
        "`parley store restore` puts a backup in its place. To begin with an empty store, remove "
        "the file `commits` beside it."
    )


def _copy_of(path: Path, version: int) -> Path:
    """Path of the copy from before an upgrade of this version."""
    return path.with_suffix(f".v{version}.db")


def _way_back(path: Path, version: int) -> str:
    copy = _copy_of(path, version)
    if not copy.exists():
        return ""
    return f" Its copy from before the upgrade is kept: `parley store restore {copy}`."


def go_on_behind(raw: sqlite3.Connection, numbers: Iterable[tuple[str, int]]) -> None:
    """Let numbered tables give no number up to these, by their names.

    Of rows that are gone others may know: events, and who reads the audit.
    """
    raw.execute(
        "INSERT INTO sqlite_sequence (name, seq) SELECT name, 0 FROM sqlite_master"
        " WHERE sql LIKE '%AUTOINCREMENT%' AND name NOT IN (SELECT name FROM sqlite_sequence)"
    )
    raw.executemany("UPDATE sqlite_sequence SET seq = MAX(seq, ?2) WHERE name = ?1", numbers)


async def _apply(connection: aiosqlite.Connection, script: str, version: int) -> None:
    try:
        await connection.executescript(
            f"BEGIN IMMEDIATE;\n{script};\nPRAGMA user_version = {version};\nCOMMIT;"
        )
    except sqlite3.Error:
        if connection.in_transaction:
            await connection.rollback()
        raise


async def _copy(connection: aiosqlite.Connection, target: Path) -> None:
    # A copy that is there already is of an attempt that failed: it is written anew.
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
    async with aiosqlite.connect(target) as copy:
        await connection.backup(copy)
