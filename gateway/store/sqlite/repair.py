"""Repair of a damaged store: a new one with every readable row.

The damaged files are copied first, and only the copy is opened: SQLite would tidy up behind itself.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from gateway.errors import StoreCorrupt
from gateway.store.connection import Row
from gateway.store.formats import migrations, script
from gateway.store.records import StoreFault
from gateway.store.sqlite.commit_count import read_note
from gateway.store.sqlite.mend import mend
from gateway.store.sqlite.migrate import bring_up_to_date
from gateway.store.sqlite.orphans import rows_of_orphans
from gateway.store.sqlite.salvage import Salvage, SavedRow, Table
from gateway.store.sqlite.writer import prepare, translate
from gateway.store.units.search_index import INDEX_TABLES
from gateway.values import value

HEADER = b"SQLite format 3\0"
PAGE_SIZES = range(512, 32768 + 1)
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
        names = ("new.db", "damaged.db", "model.db", "model10.db")
        new, damaged, *models = (Path(folder, name) for name in names)
        await bring_up_to_date(new, migrations())
        await bring_up_to_date(models[0], {})
        _make(models[1], script("sqlite/format10.sql"))
        try:
            done = await asyncio.to_thread(_repair, store, new, damaged, models)
        except sqlite3.Error as error:
            raise translate(error, store) from error
        return done


def _make(model: Path, schema: str) -> None:
    """Make a store with the schema of an earlier format."""
    with closing(sqlite3.connect(model)) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
        raw.executescript(f"BEGIN;\n{schema};\nCOMMIT;")


def _repair(store: Path, new: Path, damaged: Path, models: Sequence[Path]) -> Repaired:
    shutil.copyfile(store, damaged)
    log = store.with_name(f"{store.name}-wal")
    if log.exists():
        shutil.copyfile(log, damaged.with_name(f"{damaged.name}-wal"))
    _complete(damaged)
    saved, unreadable = _save(damaged, new, models)
    with closing(_opened(new)) as raw:
        noted = read_note(store.parent)
        gaps = _finish(raw, noted.commits if noted else 0)
        threads = raw.execute("SELECT 1 FROM threads LIMIT 1").fetchone()
    if not saved or (unreadable and not threads):
        raise StoreCorrupt(
            f"Nothing could be saved: no thread of the store {str(store)!r} is readable. It is as "
            "it was; `parley store restore` puts a backup in its place."
        )
    target = repaired(store)
    new.chmod(0o600)
    new.replace(target)
    _sync(target)
    return Repaired(
        path=target, saved=saved, unreadable=tuple(sorted(unreadable)), gaps=tuple(gaps)
    )


def _complete(damaged: Path) -> None:
    """Give a file that was cut off empty pages at its end."""
    with damaged.open("r+b") as file:
        header = file.read(100)
        size = int.from_bytes(header[16:18], "big")
        pages = int.from_bytes(header[28:32], "big")
        length = file.seek(0, os.SEEK_END)
        if header.startswith(HEADER) and size in PAGE_SIZES and length < size * pages < LONGEST:
            file.truncate(size * pages)


def _opened(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None)
    return prepare(raw, "foreign_keys = OFF", "synchronous = OFF")


def _save(damaged: Path, new: Path, models: Sequence[Path]) -> tuple[dict[str, int], set[str]]:
    """Copy all readable rows; their counts, and tables with unreadable ones."""
    with closing(_opened(new)) as target:
        triggers = target.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        made = triggers.fetchall()
        for trigger in made:
            target.execute(f"DROP TRIGGER {trigger['name']}")
        target.execute("BEGIN IMMEDIATE")
        target.execute("DELETE FROM commits")
        saved: dict[str, int] = {}
        partly: list[Table] = []
        with closing(_readable(damaged, models)) as source:
            for table in _tables(source, target):
                salvage = Salvage(source, table)
                saved[table.name] = _put(target, table, salvage.rows())
                if not salvage.whole:
                    partly.append(table)
            _keep_numbers(source, target)
        for table, row in rows_of_orphans(damaged, [each for each in partly if not each.key]):
            saved[table.name] += _put(target, table, iter([row]))
        target.execute("COMMIT")
        for trigger in made:
            target.execute(trigger["sql"])
    return {name: rows for name, rows in saved.items() if rows}, {each.name for each in partly}


def _keep_numbers(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """Keep the numbers of lost rows from new ones: events name them."""
    with suppress(sqlite3.Error):
        for name, last in source.execute("SELECT name, seq FROM sqlite_sequence").fetchall():
            target.execute(
                "UPDATE sqlite_sequence SET seq = MAX(seq, ?) WHERE name = ?", (last, name)
            )


def _readable(damaged: Path, models: Sequence[Path]) -> sqlite3.Connection:
    """A connection to the damaged database, with some schema."""
    raw = _tolerant(damaged)
    try:
        raw.execute("SELECT name, sql FROM sqlite_master").fetchall()
        raw.execute("SELECT 1 FROM threads LIMIT 0")
    except sqlite3.Error:
        raw.close()
        _put_schema(damaged, max(models, key=lambda model: _likeness(damaged, model)))
        raw = _tolerant(damaged)
    return raw


def _tolerant(path: Path) -> sqlite3.Connection:
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA writable_schema = ON")  # SQLite then reads on where the schema is odd
    return raw


def _put_schema(damaged: Path, model: Path) -> None:
    """Write a new store's schema over that of the damaged one.

    Stores begin with the same pages: a table's first page stands where it stands in a new store.
    """
    roots, size = _roots(model)
    content = model.read_bytes()
    pages = len(content) // size
    with damaged.open("r+b") as file:
        length = file.seek(0, os.SEEK_END)
        for page in {*range(1, pages + 1)} - roots:
            file.seek((page - 1) * size)
            file.write(content[(page - 1) * size : page * size])
        # The header counts the file's own pages, and has no list of free ones.
        file.seek(28)
        file.write((max(length // size, pages)).to_bytes(4, "big") + bytes(8))
    for log in ("-wal", "-shm"):
        damaged.with_name(damaged.name + log).unlink(missing_ok=True)


def _roots(model: Path) -> tuple[set[int], int]:
    """First pages of tables and indexes, and the size of a page."""
    with closing(sqlite3.connect(model)) as raw:
        raw.execute("PRAGMA journal_mode = DELETE")
        query = "SELECT rootpage FROM sqlite_master WHERE rootpage > 0"
        return {row[0] for row in raw.execute(query)}, raw.execute("PRAGMA page_size").fetchone()[0]


def _likeness(damaged: Path, model: Path) -> int:
    """First pages that are of the same kind in both."""
    (roots, size), content = _roots(model), model.read_bytes()
    alike = 0
    with damaged.open("rb") as file:
        for start in ((page - 1) * size for page in roots):
            file.seek(start)
            # Of a page's first byte a bit says how full it is, not of what.
            alike += [byte | 8 for byte in file.read(1)] == [content[start]]
    return alike


def _tables(source: sqlite3.Connection, target: sqlite3.Connection) -> Iterator[Table]:
    names = target.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        f" AND name NOT IN {INDEX_TABLES}"
    ).fetchall()
    for name, sql in names:
        info = target.execute("SELECT * FROM pragma_table_info(?)", (name,)).fetchall()
        try:
            known = {
                row[1] for row in source.execute("SELECT * FROM pragma_table_info(?)", (name,))
            }
        except sqlite3.Error:
            continue
        columns = [row for row in info if row["name"] in known]
        if columns:
            yield _table(name, columns, numbered="WITHOUT ROWID" not in sql)


def _table(name: str, columns: list[Row], *, numbered: bool) -> Table:
    keys = sorted((row["pk"], row["name"]) for row in columns if row["pk"])
    return Table(
        name=name,
        columns=tuple(row["name"] for row in columns),
        kinds=tuple(row["type"] for row in columns),
        key=() if numbered else tuple(key for _, key in keys),
    )


def _put(target: sqlite3.Connection, table: Table, rows: Iterator[SavedRow]) -> int:
    own_number = not table.key and not _has_number(target, table)
    names = ("rowid", *table.columns) if own_number else table.columns
    marks = ", ".join("?" * len(names))
    statement = f"INSERT OR IGNORE INTO {table.name} ({', '.join(names)}) VALUES ({marks})"
    added = 0
    for row in rows:
        added += max(0, target.execute(statement, row[-len(names) :]).rowcount)
    return added


def _has_number(target: sqlite3.Connection, table: Table) -> bool:
    """True if a column is the row's number."""
    info = target.execute("SELECT * FROM pragma_table_info(?)", (table.name,))
    return any(row["pk"] and row["type"] == "INTEGER" for row in info)


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


def _sync(path: Path) -> None:
    for each in (path, path.parent):
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
