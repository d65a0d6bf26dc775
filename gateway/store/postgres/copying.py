"""Tables of a store in PostgreSQL, as a copy uses them."""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import Any, TypeVar

import psycopg
from psycopg import RawCursor, errors, sql

from gateway.errors import StoreError, StoreTaken
from gateway.store.connection import Connection, Unit
from gateway.store.formats import newest_format
from gateway.store.nodes import Node
from gateway.store.postgres.catalog import PLACE, Column, carry_out, columns_of, put_aside
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.contents import PART
from gateway.store.postgres.database import Database
from gateway.store.postgres.errors import place_of, translate
from gateway.store.postgres.membership import IS_SIGNATURE, Membership
from gateway.store.postgres.migrate import bring_up_to_date, version_of
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.pool import connect
from gateway.store.tables import NOTES, ROW_NUMBER, SOURCE, StoredRow
from gateway.store.units.counts import FIGURES, USED_DAYS
from gateway.store.units.search_index import index_anew

FILES = "blobs"
"""The table that other drivers have instead of contents in parts."""
OWN_TABLES = (
    *("store", "owner", "counted", "used", "session_marks", NOTES),
    *("contents", "content_parts", "work_folders", "work_files"),
)
"""Tables that no other driver has."""
_DROP_UNNAMED = """
    DELETE FROM contents WHERE sha256 NOT IN (SELECT sha256 FROM attachments UNION
     SELECT sha256 FROM work_files WHERE sha256 IS NOT NULL)
"""
_LIVES = "SELECT 1 FROM nodes WHERE boot = $1 FOR KEY SHARE"  # its beat goes on
_ASIDE = "aside"
"""The note with the statements that make again what was put aside."""
_RELATIONS = {
    FILES: """(
        SELECT sha256, COALESCE((SELECT string_agg(data, '' ORDER BY n) FROM content_parts
         WHERE sha256 = c.sha256), '') AS data FROM contents c
        WHERE sha256 IN (SELECT sha256 FROM attachments)
    ) AS blobs""",
    "marks": f"(SELECT {PLACE}, * FROM marks WHERE NOT ({IS_SIGNATURE})) AS marks",
}

T = TypeVar("T")


class PostgresTables:
    """The tables of a database, over a connection of their own.

    `boot` is that of the owner who writes them.
    """

    keeps_nul = False

    def __init__(self, database: Database, raw: Raw, boot: str = "") -> None:
        self._url = database.url
        self._raw = raw
        self._boot = boot

    @property
    def name(self) -> str:
        """The database and its server."""
        return place_of(self._url)

    def run(self, unit: Unit[T]) -> T:
        """Run a unit, while no rows are read."""
        connection = PostgresConnection(self._raw)
        try:
            result = unit(connection)
            connection.pipeline.wait()
        finally:
            connection.pipeline.leave()
        return result

    @cached_property
    def _tables(self) -> Mapping[str, Mapping[str, Column]]:
        own = [table for table in columns_of(self._raw).items() if table[0] not in OWN_TABLES]
        return dict(own) | {
            FILES: {"sha256": Column("sha256", "text"), "data": Column("data", "bytea")}
        }

    def columns(self) -> Mapping[str, Sequence[str]]:
        """The columns of each table; see Tables."""
        return {table: tuple(columns) for table, columns in self._tables.items()}

    def key(self, table: str) -> Sequence[str]:
        """The columns by which the table's rows are read in order."""
        if table == FILES:
            return ("sha256",)
        return (ROW_NUMBER,) if ROW_NUMBER in self._tables[table] else (PLACE,)

    def count(self, table: str) -> int:
        """The number of rows; see Tables."""
        query = f"SELECT COUNT(*) FROM {_RELATIONS.get(table, table)}"
        return self._raw.execute(query.encode()).fetchall()[0][0]

    def read(
        self,
        table: str,
        columns: Sequence[str],
        *,
        by: Sequence[str] = (),
        after: Sequence[Any] = (),
    ) -> Generator[StoredRow]:
        """Rows, streamed; see Tables."""
        selected, types = zip(*(self._as_read(table, column) for column in columns), strict=True)
        query = f"SELECT {', '.join(selected)} FROM {_RELATIONS.get(table, table)}"
        if after:
            query += f" WHERE {table}.{by[0]} > {sql.Literal(after[0]).as_string(self._raw)}"
        if by:
            query += f" ORDER BY {table}.{by[0]}"  # not by the text of the place
        copied = f"COPY ({query}) TO STDOUT (FORMAT BINARY)".encode()
        with self._translated(table), self._raw.cursor().copy(copied) as found:
            found.set_types(types)
            yield from found.rows()

    def _as_read(self, table: str, column: str) -> tuple[str, str]:
        if column == PLACE:
            return f"{PLACE}::text", "text"
        return self._tables[table][column].as_read()

    def last_numbers(self) -> Mapping[str, int]:
        """The highest number that each numbered table has given."""
        found: dict[str, int] = {}
        for table, columns in self._tables.items():
            if "id" in columns and (sequence := columns["id"].sequence):
                query = f"SELECT last_value FROM {sequence} WHERE is_called"
                for (number,) in self._raw.execute(query.encode()):
                    found[table] = number
        return found

    def interrupt(self) -> None:
        """Let a statement that another thread waits for fail."""
        self._raw.cancel_safe(timeout=5.0)

    def notes(self) -> Mapping[str, str]:
        """The notes of a copy that was begun."""
        if version_of(self._raw) >= 0:
            return {}
        return dict(self._raw.execute(f"SELECT name, value FROM {NOTES}".encode()).fetchall())

    def begin(self, source: str) -> None:
        """Begin a copy; see NewTables."""
        with self.transaction():
            aside = put_aside(self._raw)
            self._raw.execute(
                f"CREATE TABLE {NOTES} (name TEXT PRIMARY KEY, value TEXT NOT NULL)".encode()
            )
            self._raw.execute("UPDATE store SET version = -version")
            self._note(SOURCE, source)
            self._note(_ASIDE, json.dumps(aside))

    def put(self, table: str, columns: Sequence[str], rows: Sequence[StoredRow], note: str) -> None:
        """Add rows and change the table's note, in one commit; see NewTables."""
        with self.transaction(table):
            if table == FILES:
                files = [dict(zip(columns, row, strict=True)) for row in rows]
                sizes = ((each["sha256"], len(each["data"])) for each in files)
                self._add("contents", ("sha256", "size"), sizes)
                parts = (part for each in files for part in _parts(**each))
                self._add("content_parts", ("sha256", "n", "data"), parts)
            else:
                self._add(table, columns, rows)
            self._note(table, note)

    def _add(self, table: str, columns: Iterable[str], rows: Iterable[StoredRow]) -> None:
        names = ", ".join(f'"{column}"' for column in columns)
        with self._raw.cursor().copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copied:
            for row in rows:
                copied.write_row(row)

    @contextmanager
    def completion(self, numbers: Mapping[str, int]) -> Generator[None]:
        """A transaction that makes a store of the tables; see NewTables."""
        with self.transaction():
            carry_out(self._raw, json.loads(self.notes()[_ASIDE]))
            for table, columns in self._tables.items():
                for column in columns.values():
                    self._go_on(table, column, numbers.get(table, 0))
            self.run(_settle)
            self._raw.execute("ANALYZE")
            yield
            self._raw.execute(f"DROP TABLE {NOTES}".encode())
            self._raw.execute("UPDATE store SET version = -version")

    def _go_on(self, table: str, column: Column, number: int) -> None:
        """Let the column's numbers go on behind this one."""
        if column.sequence is None:
            return
        last = f'GREATEST(MAX("{column.name}"), $2)'
        query = f"SELECT setval($1, {last}) FROM {table} HAVING {last} > 0"
        RawCursor(self._raw).execute(query.encode(), [column.sequence, number])

    def _note(self, name: str, text: str) -> None:
        change = "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        statement = f"INSERT INTO {NOTES} VALUES ($1, $2) {change}"
        RawCursor(self._raw).execute(statement.encode(), [name, text])

    @contextmanager
    def transaction(self, table: str = "") -> Generator[None]:
        """A transaction of the owner.

        Raises StoreTaken where that is another one.
        """
        with self._translated(table), self._raw.transaction():
            if not RawCursor(self._raw).execute(_LIVES, [self._boot]).fetchall():
                raise StoreTaken
            yield

    @contextmanager
    def _translated(self, table: str) -> Generator[None]:
        try:
            yield
        except errors.ForeignKeyViolation as error:
            found = error.diag.table_name or table
            raise self._refused(found, "it refers to a row that is not there") from error
        except (errors.DataError, errors.IntegrityError) as error:
            # Not in its words, which have the values.
            raise self._refused(error.diag.table_name or table, type(error).__name__) from error

    def _refused(self, table: str, why: str) -> StoreError:
        return StoreError(f"A row of {table!r} can't be stored in {self.name}: {why}.")


@contextmanager
def tables_of(database: Database) -> Generator[PostgresTables]:
    """The tables of a store that is owned. Raises StoreError."""
    with _connected(database) as raw:
        raw.execute("SET default_transaction_read_only = on")
        yield PostgresTables(database, raw)


@contextmanager
def new_tables(database: Database) -> Generator[PostgresTables]:
    """The tables of a new store, or of a begun copy.

    Nobody else can own it meanwhile. Raises StoreError.
    """
    name = f"the copy, process {os.getpid()} on {socket.gethostname()}"
    node = Node(boot=secrets.token_hex(8), name=name)
    membership = Membership(database, node, alone=True)
    with _connected(database) as raw:
        session = connect(database, node.boot)
        try:
            membership.enter(session)
            _prepare(raw, database)  # only now: somebody may have used older tables
            membership.join(session)
        except BaseException:
            session.close()
            raise
        try:
            yield PostgresTables(database, raw, node.boot)
        finally:
            membership.release()


def _settle(connection: Connection) -> None:
    """Make anew what follows from the rows."""
    connection.execute(_DROP_UNNAMED)
    index_anew(connection)
    connection.execute(f"INSERT INTO counted SELECT 0, * FROM ({FIGURES}) AS found")
    connection.execute(f"INSERT INTO used SELECT 0, * FROM ({USED_DAYS}) AS found")


def _parts(sha256: str, data: bytes) -> Iterator[StoredRow]:
    for n, start in enumerate(range(0, len(data), PART)):
        yield sha256, n, data[start : start + PART]


@contextmanager
def _connected(database: Database) -> Generator[Raw]:
    """A connection for statements that may take long.

    PostgreSQL's errors become the gateway's.
    """
    try:
        with closing(connect(database)) as raw:
            # To read a table, or make an index, takes as long as it is large.
            raw.execute("SET statement_timeout = 0")
            raw.execute("SET idle_in_transaction_session_timeout = 0")
            yield raw
    except psycopg.Error as error:
        raise translate(error, database.url) from error


def _prepare(raw: Raw, database: Database) -> None:
    """Make the tables, unless there is a copy that was begun."""
    version = version_of(raw)
    if version >= 0:
        bring_up_to_date(raw, database.url)
    elif -version != newest_format():
        raise StoreError(
            f"The copy in {place_of(database.url)} was begun by another version of Parley. Remove"
            " its tables and begin anew."
        )
