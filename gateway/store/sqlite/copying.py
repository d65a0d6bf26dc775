"""Tables of an SQLite store, as a copy uses them."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from gateway.errors import StoreCorrupt, StoreError
from gateway.store.connection import Unit
from gateway.store.formats import migrations, newest_format
from gateway.store.lock import StoreLock, file_errors
from gateway.store.sqlite.commit_count import read_note
from gateway.store.sqlite.migrate import (
    APPLICATION_ID,
    BEGUN_COPY_ID,
    VERSION,
    bring_up_to_date,
)
from gateway.store.sqlite.store import FILE, connect_to_read
from gateway.store.sqlite.writer import SqliteConnection, prepare, translate
from gateway.store.tables import NOTES, ROW_NUMBER, SOURCE, StoredRow
from gateway.store.units.counts import count_anew
from gateway.store.units.search_index import index_anew

_TABLES = (
    "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    f" AND name NOT IN ('commits', '{NOTES}')"
)
_RELATIONS = {
    "blobs": "(SELECT rowid, * FROM blobs WHERE sha256 IN (SELECT sha256 FROM attachments))"
}
"""Rows of a table that are copied: no contents that nothing names."""
_ASIDE = (
    "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'index') AND sql <> ''"
)
_ASIDE_NOTE = "aside"
"""The note with the statements that make again what was put aside."""

T = TypeVar("T")


class SqliteTables:
    """The tables of the database at `path`, over their own connection."""

    keeps_nul = True

    def __init__(self, path: Path, raw: sqlite3.Connection) -> None:
        self._path = path
        self._raw = raw
        self._connection = SqliteConnection(raw)

    @property
    def name(self) -> str:
        """The folder of the store."""
        return str(self._path.parent)

    def run(self, unit: Unit[T]) -> T:
        """Run a unit, while no rows are read."""
        return unit(self._connection)

    @cached_property
    def _tables(self) -> Mapping[str, tuple[Sequence[str], Sequence[str]]]:
        """Columns of each table, and those of its key."""
        found: dict[str, tuple[Sequence[str], Sequence[str]]] = {}
        for name, sql in self._raw.execute(_TABLES).fetchall():
            info = self._raw.execute("SELECT * FROM pragma_table_info(?)", (name,)).fetchall()
            columns = [row["name"] for row in info]
            keys = [row["name"] for row in sorted(info, key=lambda row: row["pk"]) if row["pk"]]
            is_number = [row["type"] for row in info if row["pk"]] == ["INTEGER"]
            if "WITHOUT ROWID" not in sql and not is_number:
                keys = [ROW_NUMBER]
                columns.append(ROW_NUMBER)
            found[name] = (columns, keys)
        return found

    def columns(self) -> Mapping[str, Sequence[str]]:
        """The columns of each table; see Tables."""
        return {table: columns for table, (columns, _) in self._tables.items()}

    def key(self, table: str) -> Sequence[str]:
        """The columns by which the table's rows are read in order."""
        return self._tables[table][1]

    def read(
        self,
        table: str,
        columns: Sequence[str],
        *,
        by: Sequence[str] = (),
        after: Sequence[Any] = (),
    ) -> Generator[StoredRow]:
        """Rows, streamed; see Tables."""
        order = f" ORDER BY {_listed(by)}" if by else ""
        relation = _RELATIONS.get(table, table)
        behind = f" WHERE ({_listed(by)}) > ({_marks(by)})" if after else ""
        cursor = self._raw.cursor()
        cursor.row_factory = None
        try:
            yield from cursor.execute(
                f"SELECT {_listed(columns)} FROM {relation}{behind}{order}", tuple(after)
            )
        except sqlite3.Error as error:
            raise self._translated(error, table) from error
        finally:
            cursor.close()

    def count(self, table: str) -> int:
        """The number of rows; see Tables."""
        query = f"SELECT COUNT(*) FROM {_RELATIONS.get(table, table)}"
        return self._raw.execute(query).fetchone()[0]

    def last_numbers(self) -> Mapping[str, int]:
        """The highest number that each numbered table has given."""
        return dict(map(tuple, self._raw.execute("SELECT name, seq FROM sqlite_sequence")))

    def interrupt(self) -> None:
        """Let a statement that another thread waits for fail."""
        self._raw.interrupt()

    def notes(self) -> Mapping[str, str]:
        """The notes of a copy that was begun."""
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        if not self._raw.execute(query, (NOTES,)).fetchall():
            return {}
        return dict(map(tuple, self._raw.execute(f"SELECT name, value FROM {NOTES}")))

    def begin(self, source: str) -> None:
        """Begin a copy; triggers and indexes are put aside. See NewTables."""
        with self._transaction():
            aside = self._raw.execute(_ASIDE).fetchall()
            for row in aside:
                self._raw.execute(f"DROP {row['type']} {row['name']}")
            self._raw.execute(f"CREATE TABLE {NOTES} (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            self._note(SOURCE, source)
            self._note(_ASIDE_NOTE, json.dumps([row["sql"] for row in aside]))
            self._raw.execute(f"PRAGMA application_id = {BEGUN_COPY_ID}")

    def put(self, table: str, columns: Sequence[str], rows: Sequence[StoredRow], note: str) -> None:
        """Add rows and change the table's note, in one commit; see NewTables."""
        statement = f"INSERT INTO {table} ({_listed(columns)}) VALUES ({_marks(columns)})"
        with self._transaction(table):
            self._raw.executemany(statement, rows)
            self._note(table, note)

    @contextmanager
    def completion(self, numbers: Mapping[str, int]) -> Generator[None]:
        """A transaction that makes a store of the tables; see NewTables."""
        aside = json.loads(self.notes()[_ASIDE_NOTE])
        with self._transaction():
            for statement in aside:
                self._raw.execute(statement)
            if found := self._raw.execute("PRAGMA foreign_key_check").fetchone():
                raise self._refused(found[0], "it refers to a row that is not there")
            for table, number in numbers.items():
                self._keep_number(table, number)
            count_anew(self._connection)
            index_anew(self._connection)
            self._raw.execute(
                "UPDATE commits SET at = (SELECT COALESCE(MAX(updated_at), 0) FROM threads)"
            )
            yield
            self._raw.execute(f"DROP TABLE {NOTES}")
            self._raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _keep_number(self, table: str, number: int) -> None:
        """Let no number up to this one be given again."""
        there = {"table": table, "number": number}
        changed = self._raw.execute(
            "UPDATE sqlite_sequence SET seq = MAX(seq, :number) WHERE name = :table", there
        )
        if not changed.rowcount:
            self._raw.execute(
                "INSERT INTO sqlite_sequence (name, seq) SELECT name, :number FROM sqlite_master"
                " WHERE name = :table AND sql LIKE '%AUTOINCREMENT%'",
                there,
            )

    def _note(self, name: str, text: str) -> None:
        self._raw.execute(f"INSERT OR REPLACE INTO {NOTES} VALUES (?, ?)", (name, text))

    @contextmanager
    def _transaction(self, table: str = "") -> Generator[None]:
        try:
            self._raw.execute("BEGIN IMMEDIATE")
            yield
            self._raw.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._translated(error, table) from error
        finally:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")

    def _refused(self, table: str, why: str) -> StoreError:
        return StoreError(f"A row of {table!r} can't be stored in {self.name}: {why}.")

    def _translated(self, error: sqlite3.Error, table: str) -> BaseException:
        translated = translate(error, self._path)
        if translated is not error:
            return translated
        if isinstance(error, sqlite3.IntegrityError):
            return self._refused(table, str(error))
        # Not in its words: they have the text that can't be read.
        return StoreCorrupt(f"A row of {table!r} in {self.name} can't be read.")


@contextmanager
def tables_of(path: Path) -> Generator[SqliteTables]:
    """The tables of a store that is owned, to read them."""
    with closing(connect_to_read(path)) as raw:
        yield SqliteTables(path, raw)


@asynccontextmanager
async def new_tables(folder: Path) -> AsyncGenerator[SqliteTables]:
    """The tables of a new store or a begun copy.

    Nobody else can own it meanwhile.

    Raises StoreInUse, StoreUnwritable, StoreFull, or StoreError where something else is there.
    """
    path, lock = folder / FILE, StoreLock(folder)
    try:
        with file_errors(folder):
            _claim(folder, lock)
            await _prepare(path)
            with closing(_connected(path)) as raw:
                yield SqliteTables(path, raw)
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        lock.release()


def _connected(path: Path) -> sqlite3.Connection:
    """A connection that threads may use in turn."""
    raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    # A power cut may undo the last commits: their rows are copied again.
    pragmas = ("journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 5000")
    return prepare(raw, *pragmas, "foreign_keys = OFF")


def _claim(folder: Path, lock: StoreLock) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    lock.acquire()
    # SQLite gives its -wal and -shm files the permissions of this one.
    os.close(os.open(folder / FILE, os.O_CREAT | os.O_RDWR, 0o600))


async def _prepare(path: Path) -> None:
    """Make the tables, unless there is a copy that was begun."""
    with closing(sqlite3.connect(path)) as raw:
        version, application, _ = raw.execute(VERSION).fetchone()
    if application != BEGUN_COPY_ID:
        noted = read_note(path.parent)
        await bring_up_to_date(path, migrations(), commits=noted.commits if noted else 0)
    elif version != newest_format():
        raise StoreError(
            f"The copy in {str(path.parent)!r} was begun by another version of Parley. Remove it"
            " and begin anew."
        )


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _marks(columns: Iterable[str]) -> str:
    return ", ".join("?" for _ in columns)
