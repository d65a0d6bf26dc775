"""Backups of the database, written during use and checked by opening them."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from gateway.base.describe import describe
from gateway.errors import (
    BackupCorrupt,
    GatewayError,
    NotFound,
    StoreCorrupt,
    StoreFull,
    StoreUnwritable,
)
from gateway.store.lock import NAME as LOCK
from gateway.store.sqlite.opening import STEPS
from gateway.store.sqlite.restore import check_copy, staged_path, sync
from gateway.store.sqlite.writer import translate

STEP = 1024
"""Pages that are copied between two syncs: a commit may have to wait for one."""

COUNTS = "SELECT page_count, (SELECT COUNT(*) FROM sqlite_master) FROM pragma_page_count"
"""Pages and tables: a whole copy has as many."""


async def write_backup(source: Path, target: Path) -> None:
    """Copy the database as of one moment, and check the copy.

    The copy is opened as for a restore. `target` is replaced by a good one or not at all. A caller
    that is cancelled leaves at once, and the copy is given up at its next step.

    Raises StoreUnwritable, StoreFull, StoreCorrupt, or NotFound if there is no database.
    """
    ended = threading.Event()
    try:
        await asyncio.to_thread(_write, source, target, ended.is_set)
    finally:
        ended.set()


def lacking_space(source: Path, folder: Path) -> str:
    """Reason why a copy does not fit in the folder, or "".

    A tenth more has to be free, for what else is on that disk. Raises OSError.
    """
    size, disk = source.stat().st_size * 1.1, shutil.disk_usage(folder)
    if disk.free >= size or not disk.total:  # some disks of other machines do not tell
        return ""
    return f"it needs {size / 1e6:,.0f} MB of space, and {disk.free / 1e6:,.0f} MB are free there"


def _write(source: Path, target: Path, ended: Callable[[], bool]) -> None:
    if not source.exists():
        raise NotFound(f"There is no store at {str(source.parent)!r} yet.")
    if not source.stat().st_size:  # it must not replace an earlier backup
        raise StoreCorrupt(f"The store {str(source)!r} is empty, so there is no backup to make.")
    if target.is_dir():
        raise _unwritable(target, "it is a folder")
    if _belongs_to(target, source):
        raise _unwritable(target, "the store uses this file. Name another file")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        if reason := lacking_space(source, target.parent):
            raise _unwritable(target, reason)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        counts = _copy(source, part, ended)
        sync(part)
        _verify(part, source, counts, ended)
        part.replace(target)
        sync(target.parent)
    except sqlite3.Error as error:
        raise translate(error, source) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreFull from error
        raise _unwritable(target, error.strerror or describe(error)) from error
    finally:
        part.unlink(missing_ok=True)


def _unwritable(target: Path, why: str) -> StoreUnwritable:
    return StoreUnwritable(f"The backup {str(target)!r} can't be written: {why}.")


def _belongs_to(target: Path, source: Path) -> bool:
    """True for the database, its logs and the lock."""
    store, target = source.resolve(), target.resolve()
    logs = {f"{store.name}-{log}" for log in ("wal", "shm", "journal")}
    names = {store.name, LOCK, *logs, staged_path(store).name}
    return target.parent == store.parent and target.name in names


def _copy(source: Path, part: Path, ended: Callable[[], bool]) -> tuple[int, int]:
    written = os.open(part, os.O_RDONLY)

    def step(*_: int) -> None:
        if ended():
            raise GatewayError("The backup was given up before it was complete.")
        os.fsync(written)  # of all at the end, other writers to the disk would wait for long

    try:
        with (
            closing(sqlite3.connect(source, isolation_level=None)) as old,
            closing(sqlite3.connect(part)) as new,
        ):
            old.execute("PRAGMA query_only = ON")
            # It holds the moment: without it, the copy would begin anew after each commit.
            old.execute("BEGIN")
            counts = old.execute(COUNTS).fetchone()
            new.execute("PRAGMA synchronous = OFF")  # each step is synced here
            old.backup(new, pages=STEP, progress=step)
            new.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            return counts
    finally:
        os.close(written)


def _verify(part: Path, source: Path, counts: tuple[int, int], ended: Callable[[], bool]) -> None:
    """Open the copy and check it as a restore does. Raises StoreCorrupt."""
    uri = f"{part.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as copy:
        copy.set_progress_handler(ended, STEPS)
        try:
            check_copy(copy, part)
            if copy.execute(COUNTS).fetchone() == counts:
                return
            found = "it has not all of the store."
        except (BackupCorrupt, sqlite3.DatabaseError) as error:
            found = " ".join(str(error).split())
    raise StoreCorrupt(
        f"The copy of the store {str(source)!r} was not good, and is not kept: {found} "
        "`parley store check` says whether the store itself is damaged."
    )
