"""A copy of the database in one file, made while it is being written."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.errors import NotFound, StoreFull, StoreUnwritable
from gateway.store.writer import translate


async def write_backup(source: Path, target: Path) -> None:
    """Copy the database as it is at one moment; `target` is replaced whole or not at all.

    Raises StoreUnwritable, StoreFull, or NotFound where there is no database.
    """
    await asyncio.to_thread(_write, source, target)


def _write(source: Path, target: Path) -> None:
    if not source.exists():
        raise NotFound(f"There is no store at {str(source.parent)!r} yet.")
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        _copy(source, part)
        _sync(part)
        part.replace(target)
        _sync(target.parent)
    except sqlite3.Error as error:
        raise translate(error) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreFull from error
        raise StoreUnwritable(
            f"The backup {str(target)!r} can't be written: {error.strerror}."
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _copy(source: Path, part: Path) -> None:
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(part)) as new:
        old.execute("PRAGMA query_only = ON")
        # In one step: one that lets writers in between would begin anew after each of them.
        old.backup(new)
        new.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
