"""A connection to PostgreSQL, as units of work see it."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any, TypeAlias

import psycopg

from gateway.store.connection import NO_PARAMETERS, Parameters, Row
from gateway.store.postgres.contents import contents, put_contents
from gateway.store.postgres.dialect import translated
from gateway.store.postgres.rows import PlainRow, row_type

Raw: TypeAlias = psycopg.Connection[tuple[Any, ...]]

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"

_LOCK_FOUND = (
    "SELECT pg_advisory_xact_lock(hashtextextended(name, 0))"
    " FROM ({} ORDER BY 1) AS found (name) WHERE name IS NOT NULL"
)

_MOST_QUERIES = 2_000
_kinds: dict[str, type[PlainRow]] = {}
"""Types of the rows of queries: to ask for their columns' names takes longer than most queries."""


class PostgresConnection:
    """A Connection; `raw` is for what only PostgreSQL can do.

    In a pipeline, statements are sent without waiting for each other until one is asked for what it
    returns. An error of one is raised then, or at the end of the transaction.
    """

    __slots__ = ("asked_at", "raw")

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.asked_at = monotonic()

    def execute(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> None:
        """Carry out a statement, some time before the transaction ends."""
        self._send(statement, parameters)

    def change(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> int:
        """Carry out a statement; how many rows it has changed."""
        return len(self._send(f"{statement} RETURNING 1", parameters).fetchall())

    def fetch(self, query: str, parameters: Parameters = NO_PARAMETERS, /) -> Sequence[Row]:
        """All rows of a query, or of a statement that returns some."""
        cursor = self._send(query, parameters)
        rows = cursor.fetchall()
        if not rows:
            return ()
        if (kind := _kinds.get(query)) is None:
            kind = row_type(tuple(column.name for column in cursor.description or ()))
            if len(_kinds) < _MOST_QUERIES:
                _kinds[query] = kind
        return [kind(row) for row in rows]

    def insert(self, statement: str, parameters: Parameters, /) -> int:
        """Add a row to a numbered table; the row's number."""
        (row,) = self._send(f"{statement} RETURNING id", parameters).fetchall()
        return row[0]

    def many(self, statement: str, each: Sequence[Parameters], /) -> None:
        """Carry out a statement once for each set of parameters."""
        for parameters in each:
            self._send(statement, parameters)

    def put_contents(self, sha256: str, data: bytes, /) -> None:
        """Keep the contents of a file, unless they are there."""
        put_contents(self, sha256, data)

    def contents(self, sha256: str, longest: int | None = None, /) -> bytes:
        """The contents of a file, or their beginning, without reading the rest."""
        return contents(self, sha256, longest)

    def lock(self, name: str, /) -> None:
        """Let no other transaction pass that locks the same name."""
        psycopg.RawCursor(self.raw).execute(LOCK, [name])

    def lock_found(self, query: str, parameters: Parameters, /) -> None:
        """Do so for all names that a query finds, in their order."""
        self._send(_LOCK_FOUND.format(query), parameters)

    def _send(self, statement: str, parameters: Parameters) -> psycopg.RawCursor[tuple[Any, ...]]:
        text, names = translated(statement)
        self.asked_at = monotonic()
        cursor = psycopg.RawCursor(self.raw)
        cursor.execute(text.encode(), [parameters[name] for name in names], binary=True)
        return cursor
