"""Tables of a store in PostgreSQL, as a copy uses them."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TypeVar

import psycopg
from psycopg import RawCursor, errors, sql

from gateway.errors import StoreError, StoreTaken
from gateway.store.connection import Connection, Unit
from gateway.store.formats import newest_format, tables
from gateway.store.nodes import Node
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.errors import place_of, translate
from gateway.store.postgres.jobs import TABLES
from gateway.store.postgres.membership import Membership
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.pool import connect
from gateway.store.postgres.upgrade import bring_up_to_date, version_of
from gateway.store.tables import ROW_NUMBER, StoredRow, copied, refused
from gateway.store.units.counts import FIGURES, USED_DAYS
from gateway.store.units.search_index import index_anew

_DROP_UNNAMED = """
    DELETE FROM contents WHERE sha256 NOT IN (SELECT sha256 FROM attachments UNION
     SELECT sha256 FROM work_files WHERE sha256 IS NOT NULL)
"""
_LIVES = "SELECT 1 FROM nodes WHERE boot = $1 FOR KEY SHARE"  # its heartbeat goes on
_PLACE = "ctid"
"""The place of a row: nobody moves rows while the store is owned."""
_READ = {
    "BOOLEAN": ('"{}"::int::bigint', "int8"),
    "INTEGER": ('"{}"', "int8"),
    "REAL": ('"{}" + 0.0::float8', "float8"),  # SQLite has no zero below zero
    "TEXT": ('"{}"::text', "text"),
    "BLOB": ('"{}"', "bytea"),
}
"""Expression and type of a column, as SQLite would have it."""
_OURS = f"relnamespace = current_schema()::regnamespace AND relname NOT LIKE '{TABLES}'"
_NUMBERED = f"""
    SELECT relname, attname, pg_get_serial_sequence(c.oid::regclass::text, attname)
    FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid
    WHERE {_OURS} AND attidentity <> '' UNION ALL SELECT 'audit', 'id', 'audit_positions'
"""
_INDEXES = f"""
    SELECT 'DROP INDEX ' || c.oid::regclass, pg_get_indexdef(c.oid)
    FROM pg_class c JOIN pg_index i ON indexrelid = c.oid
    WHERE {_OURS} AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = c.oid) ORDER BY 1
"""
_REFERENCES = f"""
    SELECT 'ALTER TABLE ' || c.oid::regclass || ' DROP CONSTRAINT ' || conname,
     'ALTER TABLE ' || c.oid::regclass || ' ADD CONSTRAINT ' || conname || ' '
     || pg_get_constraintdef(f.oid)
    FROM pg_class c JOIN pg_constraint f ON conrelid = c.oid
    WHERE {_OURS} AND contype = 'f' ORDER BY 1
"""
_TRIGGERS = f"""
    SELECT DISTINCT 'ALTER TABLE ' || c.oid::regclass || ' DISABLE TRIGGER USER',
     'ALTER TABLE ' || c.oid::regclass || ' ENABLE TRIGGER USER'
    FROM pg_class c JOIN pg_trigger ON tgrelid = c.oid WHERE {_OURS} AND NOT tgisinternal
"""

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

    def read(
        self, table: str, columns: Sequence[str], after: StoredRow | None = None
    ) -> Generator[StoredRow]:
        """Rows, streamed; see Tables."""
        read = [_as_read(table, column) for column in columns]
        order = ""
        if after is not None:
            key = f"{table}.{ROW_NUMBER if tables()[table].numbered else _PLACE}"
            read.insert(0, (f"{key}::text", "text"))
            order = f" ORDER BY {key}"  # not by its text
            if after:
                kind = "bigint" if tables()[table].numbered else "tid"
                order = f" AND {key} > {sql.quote(after[0])}::{kind}{order}"
        selected, types = zip(*read, strict=True)
        query = f"SELECT {', '.join(selected)} FROM {table} WHERE {copied(table)}{order}"
        command = f"COPY ({query}) TO STDOUT (FORMAT BINARY)".encode()
        with self._translated(table), self._raw.cursor().copy(command) as found:
            found.set_types(types)
            yield from found.rows()

    def last_numbers(self) -> Mapping[str, int]:
        """The highest number that each numbered table has given."""
        return {
            table: number
            for table, column, sequence in self._raw.execute(_NUMBERED).fetchall()
            if column == "id"
            for (number,) in self._raw.execute(
                f"SELECT last_value FROM {sequence} WHERE is_called".encode()
            )
        }

    def interrupt(self) -> None:
        """Let a statement that another worker waits for fail."""
        self._raw.cancel_safe(timeout=5.0)

    def is_begun(self) -> bool:
        """True if a copy was begun here, and is not complete."""
        return version_of(self._raw) < 0

    def begin(self) -> Sequence[str]:
        """Put triggers, indexes and references aside; see Tables."""
        restoring: list[str] = []
        for found in (_TRIGGERS, _REFERENCES, _INDEXES):
            for removes, restores in self._raw.execute(found).fetchall():
                self._carry_out(removes)
                restoring.append(restores)
        self._raw.execute("UPDATE store SET version = -version")
        return restoring[::-1]

    def add(self, table: str, columns: Sequence[str], rows: Iterable[StoredRow]) -> None:
        """Add rows."""
        names = ", ".join(f'"{column}"' for column in columns)
        with self._raw.cursor().copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copied:
            for row in rows:
                copied.write_row(row)

    def complete(self, aside: Sequence[str], numbers: Mapping[str, int]) -> None:
        """Make a store of the tables; see Tables."""
        for statement in aside:
            self._carry_out(statement)
        for table, column, sequence in self._raw.execute(_NUMBERED).fetchall():
            last = f'GREATEST(MAX("{column}"), $2)'
            query = f"SELECT setval($1, {last}) FROM {table} HAVING {last} > 0"
            RawCursor(self._raw).execute(query.encode(), [sequence, numbers.get(table, 0)])
        self.run(_settle)
        self._raw.execute("ANALYZE")
        self._raw.execute("UPDATE store SET version = -version")

    def _carry_out(self, change: str) -> None:
        self._raw.execute(change.encode())
        self._raw.statements.clear()  # psycopg makes the server forget all after such a change

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
            raise refused(found, self, "it refers to a row that is not there") from error
        except (errors.DataError, errors.IntegrityError) as error:
            # Not in its words, which have the values.
            raise refused(error.diag.table_name or table, self, type(error).__name__) from error


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


def _as_read(table: str, column: str) -> tuple[str, str]:
    kind = tables()[table].kinds.get(column, "INTEGER")  # it is the row's number
    expression, read_as = _READ[kind]
    return expression.format(column), read_as


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
