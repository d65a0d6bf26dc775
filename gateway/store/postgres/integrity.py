"""The check of a store's rows in PostgreSQL, as of one moment."""

from __future__ import annotations

from contextlib import closing
from hashlib import sha256

from gateway.errors import NotFound
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.pool import connect
from gateway.store.postgres.upgrade import known_version
from gateway.store.records import StoreFault
from gateway.store.units.invariants import broken_laws


def check_rows(database: Database) -> list[StoreFault]:
    """Faults that PostgreSQL can't see. Raises NotFound and StoreTooNew.

    It reads everything, for as long as that takes.
    """
    with closing(connect(database)) as raw:
        if not known_version(raw, database.url):
            raise NotFound(f"There is no store in {database.place} yet.")
        raw.execute("SET statement_timeout = 0")
        raw.execute("SET idle_in_transaction_session_timeout = 0")
        raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        connection = PostgresConnection(raw)
        return [*broken_laws(connection), *_faulty_contents(connection)]


def _faulty_contents(connection: PostgresConnection) -> list[StoreFault]:
    """Contents that nothing names, and files of work folders that were changed."""
    unused = connection.fetch(
        "SELECT 1 FROM contents c WHERE NOT EXISTS"
        " (SELECT 1 FROM attachments WHERE sha256 = c.sha256)"
        " AND NOT EXISTS (SELECT 1 FROM work_files WHERE sha256 = c.sha256)"
        " AND NOT EXISTS (SELECT 1 FROM work_versions WHERE sha256 = c.sha256)"
    )
    files = connection.fetch(
        "SELECT sha256, MIN(thread) AS thread, MIN(path) AS path FROM work_files"
        " WHERE sha256 IS NOT NULL GROUP BY sha256"
    )
    return [
        *(StoreFault(thread="", text="a file's content belongs to no message") for _ in unused),
        *(
            StoreFault(thread=row["thread"], text=f"the file {row['path']!r} was changed")
            for row in files
            if sha256(connection.contents(row["sha256"])).hexdigest() != row["sha256"]
        ),
    ]
