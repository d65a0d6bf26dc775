"""Opening of a store by its owner: its check and its count."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from gateway.store.connection import Connection
from gateway.store.lock import StoreLock, make_private
from gateway.store.records import LossCause
from gateway.store.sqlite.commit_count import CommitCount, CommitNote, read_note
from gateway.store.sqlite.upgrade import VERSION, known_version
from gateway.store.sqlite.writer import SqliteConnection, prepare_to_write, translate
from gateway.store.units.losses import add_loss, take_restored

LOG = logging.getLogger("gateway.store")

CHECK_SECONDS = 20.0
"""Seconds that the check after an unclean end may take."""
STEPS = 100_000
"""Steps of SQLite between two looks at the clock."""


def claim(path: Path, lock: StoreLock) -> None:
    """Lock the folder of a database, and make both. Raises OSError, StoreInUse."""
    make_private(path.parent)
    lock.acquire()
    # SQLite gives its -wal and -shm files the permissions of this one.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)


def check_after_unclean_end(path: Path, seconds: float = CHECK_SECONDS) -> None:
    """Check the structure of the database, as far as the time allows.

    Raises StoreCorrupt.
    """
    if not path.stat().st_size:  # it is to be made
        return
    began = time.monotonic()
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA query_only = ON")
            connection.set_progress_handler(lambda: time.monotonic() - began > seconds, STEPS)
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise translate(error, path) from error
        LOG.warning(
            "the store was not closed, and its check was ended after %.0f s: `parley store check`"
            " checks all of it",
            seconds,
        )
    except sqlite3.DatabaseError as error:
        raise translate(error, path) from error
    else:
        if found != "ok":
            raise damage(path, found)
        took = time.monotonic() - began
        LOG.info("the store was not closed; it was checked in %.1f s and is sound", took)


def damage(path: Path, found: str) -> BaseException:
    """The error of a store that a check found to be damaged."""
    error = sqlite3.DatabaseError(" ".join(found.split()))
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return translate(error, path)


class Outdated(Exception):
    """The store is to be made or upgraded before it is opened."""


def open_to_write(
    path: Path, newest: int, count: CommitCount, clock: Callable[[], float]
) -> sqlite3.Connection:
    """The connection that writes; missing commits are noted as a loss.

    Raises OSError, StoreError, and Outdated for a store that is not of the `newest` version.
    """
    raw = sqlite3.connect(path, isolation_level=None)
    try:
        if known_version(raw.execute(VERSION).fetchone(), path, newest) != newest:
            raise Outdated  # noqa: TRY301 (the connection is closed below)
        prepare_to_write(raw)
        noted = read_note(path.parent)
        raw.execute("BEGIN IMMEDIATE")
        commits = _settle(SqliteConnection(raw, clock()), noted)
        raw.execute("COMMIT")
        count.begin(commits)
    except sqlite3.Error as error:
        raw.close()
        raise translate(error, path) from error
    except BaseException:
        raw.close()
        raise
    return raw


def _settle(connection: Connection, noted: CommitNote | None) -> int:
    """Compare the database with the note; the number to count from."""
    (row,) = connection.fetch("SELECT n, at FROM commits")
    found: int = row["n"]
    replaced = take_restored(connection)
    known = max(noted.commits if noted else 0, replaced or 0)
    missing = max(0, known - found)
    cause: LossCause = "damaged" if replaced is None else "restored"
    if missing or replaced is not None:
        add_loss(connection, cause, since=row["at"], commits=missing)
        connection.execute("UPDATE commits SET n = :n", {"n": found + missing})
    return found + missing
