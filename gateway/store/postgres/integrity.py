"""The check of a store's rows in PostgreSQL, as of one moment."""

from __future__ import annotations

from contextlib import closing

from gateway.errors import NotFound
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.migrate import known_version
from gateway.store.postgres.pool import connect
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
        return broken_laws(PostgresConnection(raw))
