"""Restore: a backup is checked whole, then replaces the database."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from gateway.base.describe import describe
from gateway.errors import BackupCorrupt, NotFound, StoreFull, StoreUnwritable
from gateway.store.formats import newest_format
from gateway.store.sqlite.upgrade import VERSION, known_version
from gateway.store.sqlite.writer import SqliteConnection, prepare, translate
from gateway.store.units.audit import PERSON_DELETED
from gateway.store.units.losses import mark_restored

LOG = logging.getLogger("gateway.store")


async def stage(backup: Path, store: Path) -> None:
    """Copy a backup beside the store and check it whole.

    Raises NotFound, BackupCorrupt, StoreTooNew, StoreTooOld, StoreFull or StoreUnwritable.
    """
    await asyncio.to_thread(_stage, backup, store)


async def put_staged(store: Path, *, commits: int) -> None:
    """Replace the store by the staged backup; the old store is kept.

    Nobody may have it open. It is known to have had so many `commits`.

    Whenever the process or the machine ends, the one or the other is there whole, and only the
    backup says that it was restored. Raises StoreError or StoreFull.
    """
    await asyncio.to_thread(_put, store, commits)


def delete_from_copy(copy: Path, threads: Collection[str], memos: Sequence[int]) -> None:
    """Delete threads and lost memos from a copy, or else the copy."""
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as raw:
            prepare(raw, "foreign_keys = ON", "secure_delete = ON")
            raw.execute("BEGIN IMMEDIATE")
            for statement in _DELETE:  # in the tables that the oldest format has
                raw.executemany(statement, [{"thread": thread} for thread in threads])
            raw.execute(_DELETE_MEMOS, {"kept": json.dumps(memos)})
            raw.execute("COMMIT")
    except sqlite3.Error as error:
        LOG.warning(
            "the copy %s is deleted, because nothing can be deleted in it: %s",
            copy,
            describe(error),
        )
        copy.unlink(missing_ok=True)


def finish_deletions(copy: Path, deleted: Mapping[str, str], memos: Sequence[int]) -> None:
    """Delete from a copy what a kill has left there.

    `deleted` are the threads that the audit knows, with its outcomes. Threads of a deleted person
    take the copy with them.
    """
    with suppress(sqlite3.Error), closing(sqlite3.connect(copy)) as raw:
        left = {thread for (thread,) in raw.execute("SELECT id FROM threads") if thread in deleted}
        if any(deleted[thread] == PERSON_DELETED for thread in left):
            copy.unlink(missing_ok=True)
        elif left:
            delete_from_copy(copy, left, memos)


_DELETE = (
    "DELETE FROM marks WHERE conversation = (SELECT key FROM threads WHERE id = :thread)",
    "DELETE FROM usage WHERE thread = :thread",
    "DELETE FROM audit WHERE thread = :thread",
    "DELETE FROM threads WHERE id = :thread",
)
_DELETE_MEMOS = "DELETE FROM memos WHERE id NOT IN (SELECT value FROM json_each(:kept))"


def kept(store: Path) -> Path:
    """Path of the store that a backup replaced."""
    return store.with_suffix(".before-restore.db")


def staged_path(store: Path) -> Path:
    """Path of a checked copy that is to replace the store."""
    return store.with_suffix(".restore.db")


def _stage(backup: Path, store: Path) -> None:
    if not backup.is_file():
        raise NotFound(f"There is no backup at {str(backup)!r}.")
    staged = staged_path(store)
    try:
        os.close(os.open(staged, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
        _copy_checked(backup, staged)
        sync(staged)
    except BaseException as error:
        staged.unlink(missing_ok=True)
        raise _said(error, backup, store) from error


def _said(error: BaseException, backup: Path, store: Path) -> BaseException:
    match error:
        case OSError(errno=errno.ENOSPC):
            return StoreFull()
        case OSError():
            return StoreUnwritable(
                f"The backup can't be copied to {str(store.parent)!r}: {error.strerror}."
            )
        case sqlite3.OperationalError():
            return translate(error)
        case sqlite3.DatabaseError():
            return BackupCorrupt(f"The backup {str(backup)!r} is damaged: {error}.")
        case _:
            return error


def _copy_checked(backup: Path, staged: Path) -> None:
    source_uri = f"{backup.absolute().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(source_uri, uri=True)) as source,
        closing(sqlite3.connect(staged)) as copy,
    ):
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
        check_copy(copy, backup)


def check_copy(copy: sqlite3.Connection, backup: Path) -> None:
    """Check a copy of a backup whole.

    Raises BackupCorrupt, StoreTooNew or StoreTooOld.
    """
    if not backup.stat().st_size:
        raise BackupCorrupt(f"The file {str(backup)!r} is empty.")
    row, newest = copy.execute(VERSION).fetchone(), newest_format()
    if not known_version(row, backup, newest, what="backup"):
        raise BackupCorrupt(f"The backup {str(backup)!r} has no tables.")
    if (found := copy.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise BackupCorrupt(f"The backup {str(backup)!r} is damaged: {found}.")


def _put(store: Path, commits: int) -> None:
    try:
        _mark(staged_path(store), commits)
        if store.exists():
            _keep(store)
        staged_path(store).replace(store)
        sync(store.parent)
    except OSError as error:
        raise StoreUnwritable(
            f"The store {str(store)!r} can't be replaced: {error.strerror}."
        ) from error


def _mark(staged: Path, commits: int) -> None:
    # In the backup itself: it takes the store's place and says so in one step.
    try:
        with closing(sqlite3.connect(staged)) as raw, raw:
            mark_restored(SqliteConnection(raw), commits)
    except sqlite3.Error as error:
        raise translate(error, staged) from error


def _keep(store: Path) -> None:
    # One that is too damaged to take its log in is kept as it is, with its log.
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    copy = kept(store)
    for path in (copy, _log(copy)):
        path.unlink(missing_ok=True)
    copy.hardlink_to(store)
    if _log(store).exists():
        _log(store).replace(_log(copy))
    store.with_name(f"{store.name}-shm").unlink(missing_ok=True)


def _log(store: Path) -> Path:
    return store.with_name(f"{store.name}-wal")


def sync(path: Path) -> None:
    """Put a file or the list of a folder on disk.

    Raises OSError.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
