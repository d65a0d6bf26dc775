"""Tables of an SQLite store, as a copy uses them."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TypeVar

from gateway.errors import StoreCorrupt, StoreError
from gateway.store.connection import Unit
from gateway.store.formats import newest_format, tables, upgrades
from gateway.store.lock import StoreLock, file_errors
from gateway.store.sqlite.commit_count import read_note
from gateway.store.sqlite.opening import claim
from gateway.store.sqlite.store import FILE, connect_to_read
from gateway.store.sqlite.upgrade import (
    APPLICATION_ID,
    BEGUN_COPY_ID,
    VERSION,
    bring_up_to_date,
    go_on_behind,
)
from gateway.store.sqlite.writer import SqliteConnection, prepare, translate
from gateway.store.tables import ROW_NUMBER, StoredRow, copied, refused
from gateway.store.units.counts import count_anew
from gateway.store.units.search_index import index_anew

_ASIDE = (
    "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'index') AND sql <> ''"
)

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
        with self._translated():
            return unit(self._connection)

    def read(
        self, table: str, columns: Sequence[str], after: StoredRow | None = None
    ) -> Generator[StoredRow]:
        """Rows, streamed; see Tables."""
        key = _listed(tables()[table].key or (ROW_NUMBER,))
        query = f"SELECT {_listed(columns)} FROM {table} WHERE {copied(table)}"
        if after is not None:
            query = query.replace("SELECT ", f"SELECT {key}, ", 1)
            query += f" AND ({key}) > ({_marks(after)})" if after else ""
            query += f" ORDER BY {key}"
        with self._translated(table), closing(self._raw.cursor()) as cursor:
            cursor.row_factory = None
            yield from cursor.execute(query, after or ())

    def last_numbers(self) -> Mapping[str, int]:
        """The highest number that each numbered table has given."""
        return dict(map(tuple, self._raw.execute("SELECT name, seq FROM sqlite_sequence")))

    def interrupt(self) -> None:
        """Let a statement that another worker waits for fail."""
        self._raw.interrupt()

    def is_begun(self) -> bool:
        """True if a copy was begun here, and is not complete."""
        return self._raw.execute("PRAGMA application_id").fetchone()[0] == BEGUN_COPY_ID

    def begin(self) -> Sequence[str]:
        """Put triggers and indexes aside; see Tables."""
        aside = self._raw.execute(_ASIDE).fetchall()
        for row in aside:
            self._raw.execute(f"DROP {row['type']} {row['name']}")
        self._raw.execute(f"PRAGMA application_id = {BEGUN_COPY_ID}")
        return [row["sql"] for row in aside]

    def add(self, table: str, columns: Sequence[str], rows: Iterable[StoredRow]) -> None:
        """Add rows."""
        statement = f"INSERT INTO {table} ({_listed(columns)}) VALUES ({_marks(columns)})"
        self._raw.executemany(statement, rows)

    def complete(self, aside: Sequence[str], numbers: Mapping[str, int]) -> None:
        """Make a store of the tables; see Tables."""
        for statement in aside:
            self._raw.execute(statement)
        if found := self._raw.execute("PRAGMA foreign_key_check").fetchone():
            raise refused(found[0], self, "it refers to a row that is not there")
        go_on_behind(self._raw, numbers.items())
        count_anew(self._connection)
        index_anew(self._connection)
        self._raw.execute(
            "UPDATE commits SET at = (SELECT COALESCE(MAX(updated_at), 0) FROM threads)"
        )
        self._raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    @contextmanager
    def transaction(self, table: str = "") -> Generator[None]:
        """A transaction of the owner; see Tables."""
        try:
            with self._translated(table):
                self._raw.execute("BEGIN IMMEDIATE")
                yield
                self._raw.execute("COMMIT")
        finally:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")

    @contextmanager
    def _translated(self, table: str = "") -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            translated = translate(error, self._path)
            if translated is not error:
                raise translated from error
            if isinstance(error, sqlite3.IntegrityError):
                raise refused(table, self, str(error)) from error
            # Not in its words: they have the text that can't be read.
            what = f"A row of {table!r} in {self.name}" if table else self.name
            raise StoreCorrupt(f"{what} can't be read.") from error


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
            claim(path, lock)
            await _prepare(path)
            with closing(_connected(path)) as raw:
                yield SqliteTables(path, raw)
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        lock.release()


def _connected(path: Path) -> sqlite3.Connection:
    """A connection that workers may use in turn."""
    raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    # A power cut may undo the last commits: their rows are copied again.
    pragmas = ("journal_mode = WAL", "synchronous = NORMAL", "busy_timeout = 5000")
    return prepare(raw, *pragmas, "foreign_keys = OFF")


async def _prepare(path: Path) -> None:
    """Make the tables, unless there is a copy that was begun."""
    with closing(sqlite3.connect(path)) as raw:
        version, application, _ = raw.execute(VERSION).fetchone()
    if application != BEGUN_COPY_ID:
        noted = read_note(path.parent)
        await bring_up_to_date(path, upgrades(), commits=noted.commits if noted else 0)
    elif version != newest_format():
        raise StoreError(
            f"The copy in {str(path.parent)!r} was begun by another version of Parley. Remove it"
            " and begin anew."
        )


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
