"""Repair of a damaged store: a new one with every readable row.

The damaged files are copied first, and only the copy is opened: SQLite would tidy up behind itself.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from mmap import ACCESS_READ, mmap
from pathlib import Path

from gateway.errors import StoreCorrupt
from gateway.store.formats import upgrades
from gateway.store.records import StoreFault
from gateway.store.sqlite.commit_count import read_note
from gateway.store.sqlite.mend import mend
from gateway.store.sqlite.pages import FIRST, Pages
from gateway.store.sqlite.restore import sync
from gateway.store.sqlite.salvage import Salvage
from gateway.store.sqlite.upgrade import bring_up_to_date, go_on_behind
from gateway.store.sqlite.writer import prepare, translate
from gateway.values import value

HEADER = b"SQLite format 3\0"
PAGE_SIZES = [2**power for power in range(9, 16)]
PAGE_SIZE = 4096
"""That of stores whose header is lost."""
LONGEST = 2**40
"""Bytes that a damaged header is believed to count."""


@value
class Repaired:
    """The new store, and what it lacks."""

    path: Path
    saved: Mapping[str, int]
    """Rows by their tables."""
    unreadable: tuple[str, ...]
    """Tables of which something could not be read."""
    gaps: tuple[StoreFault, ...]


def repaired(store: Path) -> Path:
    """Path of the store that a repair makes."""
    return store.with_suffix(".repaired.db")


async def repair(store: Path) -> Repaired:
    """Make a new store of what is readable in a damaged one.

    Nobody may use that.

    Raises StoreCorrupt where nothing is readable, and OSError.
    """
    with tempfile.TemporaryDirectory(prefix=".repair-", dir=store.parent) as folder:
        new, damaged = Path(folder, "new.db"), Path(folder, "damaged.db")
        await bring_up_to_date(new, upgrades())
        try:
            return await asyncio.to_thread(_repair, store, new, damaged)
        except sqlite3.Error as error:
            raise translate(error, store) from error


def _repair(store: Path, new: Path, damaged: Path) -> Repaired:
    shutil.copyfile(store, damaged)
    log = store.with_name(f"{store.name}-wal")
    if log.exists():
        shutil.copyfile(log, damaged.with_name(f"{damaged.name}-wal"))
    saved, unreadable = _save(damaged, _complete(damaged), new)
    with closing(_opened(new)) as raw:
        noted = read_note(store.parent)
        gaps = _finish(raw, noted.commits if noted else 0)
        threads = raw.execute("SELECT 1 FROM threads LIMIT 1").fetchone()
    if not saved or (unreadable and not threads):
        raise StoreCorrupt(
            f"The store {str(store)!r} can't be repaired: no thread is readable. It is as it was; "
            "`parley store restore` puts a backup in its place."
        )
    target = repaired(store)
    new.chmod(0o600)
    new.replace(target)
    for each in (target, target.parent):
        sync(each)
    return Repaired(
        path=target, saved=saved, unreadable=tuple(sorted(unreadable)), gaps=tuple(gaps)
    )


def _complete(damaged: Path) -> int:
    """Take the log in, and add pages that are missing; their size."""
    with damaged.open("r+b") as file:
        header = file.read(FIRST)
        size, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
        if not header.startswith(HEADER) or size not in PAGE_SIZES:
            size, pages = PAGE_SIZE, 1
        if file.seek(0, os.SEEK_END) < size * pages < LONGEST:
            file.truncate(size * pages)
    # SQLite alone reads the log; where it can't, the file stays as it is.
    with suppress(sqlite3.Error), closing(sqlite3.connect(damaged)) as raw:
        raw.execute("PRAGMA writable_schema = ON")  # it reads on where the schema is odd
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return size


def _opened(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None)
    return prepare(raw, "foreign_keys = OFF", "synchronous = OFF")


def _save(damaged: Path, size: int, new: Path) -> tuple[dict[str, int], set[str]]:
    """Copy all readable rows; their counts, and tables with unreadable ones."""
    with (
        closing(_opened(new)) as target,
        damaged.open("rb") as file,
        closing(mmap(file.fileno(), 0, access=ACCESS_READ)) as content,
    ):
        triggers = target.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        made = triggers.fetchall()
        for trigger in made:
            target.execute(f"DROP TRIGGER {trigger['name']}")
        target.execute("BEGIN IMMEDIATE")
        target.execute("DELETE FROM commits")
        salvage = Salvage(Pages(content, size), target)
        saved: Counter[str] = Counter()
        for table in salvage.tables:
            saved[table.name] += target.executemany(table.insert, salvage.rows(table)).rowcount
        for table, row in salvage.orphans():
            saved[table.name] += target.execute(table.insert, row).rowcount
        go_on_behind(target, salvage.numbers())
        target.execute("COMMIT")
        for trigger in made:
            target.execute(trigger["sql"])
    return dict(+saved), salvage.unreadable


def _finish(raw: sqlite3.Connection, commits: int) -> list[StoreFault]:
    raw.execute("BEGIN IMMEDIATE")
    gaps = mend(raw)
    if not raw.execute("SELECT 1 FROM commits").fetchall():
        raw.execute(
            "INSERT INTO commits SELECT ?, COALESCE(MAX(updated_at), 0) FROM threads", (commits,)
        )
    raw.execute("COMMIT")
    raw.execute("PRAGMA journal_mode = DELETE")
    return gaps
