"""A connection to PostgreSQL, as units of work see it."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.store.connection import NO_PARAMETERS, Parameters, Row
from gateway.store.jobs import LaneJob
from gateway.store.postgres.contents import contents, put_contents
from gateway.store.postgres.database import OF_SCHEMA
from gateway.store.postgres.dialect import translated
from gateway.store.postgres.jobs import defer, hasten
from gateway.store.postgres.pipeline import Pipeline, Raw, Sent
from gateway.store.postgres.rows import PlainRow, row_type

LOCK = f"SELECT pg_advisory_xact_lock(hashtextextended($1, {OF_SCHEMA}))"

_LOCK_FOUND = (
    f"SELECT pg_advisory_xact_lock(hashtextextended(name, {OF_SCHEMA}))"
    " FROM ({} ORDER BY 1) AS found (name) WHERE name IS NOT NULL"
)

_MOST_QUERIES = 2_000
_kinds: dict[str, type[PlainRow]] = {}
"""Types of the rows of queries: to ask for their columns' names takes longer than most queries."""


class PostgresConnection:
    """A Connection; `pipeline` is for what only PostgreSQL can do.

    Statements are sent when one of them is asked for what it returns. An error of one is raised
    then, or at the end of the transaction.
    """

    __slots__ = ("_locked", "now", "pipeline")

    def __init__(self, raw: Raw, now: float = 0.0) -> None:
        self.now = now
        self.pipeline = Pipeline(raw)
        self._locked = set[str]()

    def execute(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> None:
        """Carry out a statement, some time before the transaction ends."""
        self._send(statement, parameters)

    def change(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> int:
        """Carry out a statement; how many rows it has changed."""
        return self._asked(statement, parameters).result.command_tuples or 0

    def fetch(self, query: str, parameters: Parameters = NO_PARAMETERS, /) -> Sequence[Row]:
        """All rows of a query, or of a statement that returns some."""
        return self._rows(query, self._asked(query, parameters))

    def fetch_each(self, *queries: tuple[str, Parameters]) -> Sequence[Sequence[Row]]:
        """All rows of each query; the server is waited for once."""
        sent = [self._send(*each) for each in queries]
        self.pipeline.wait()
        return [self._rows(query, each) for (query, _), each in zip(queries, sent, strict=True)]

    def _rows(self, query: str, sent: Sent) -> Sequence[Row]:
        if not sent.result.ntuples:
            return ()
        if (kind := _kinds.get(query)) is None:
            kind = row_type(_columns(sent))
            if len(_kinds) < _MOST_QUERIES:
                _kinds[query] = kind
        return self.pipeline.rows(sent, kind)

    def insert(self, statement: str, parameters: Parameters, /) -> int:
        """Add a row to a numbered table; the row's number."""
        sent = self._asked(f"{statement} RETURNING id", parameters)
        return self.pipeline.rows(sent, tuple)[0][0]

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
        if name not in self._locked:
            self._locked.add(name)
            self.pipeline.send(LOCK, [name])

    def lock_found(self, query: str, parameters: Parameters, /) -> None:
        """Do so for all names that a query finds, in their order."""
        self._send(_LOCK_FOUND.format(query), parameters)

    def defer(self, job: LaneJob, /) -> bool:
        """Let a node run the thread; see Connection."""
        defer(self.pipeline, job)
        return True

    def hasten(self, thread: str | None = None, /, *, person: str = "") -> None:
        """Let some that are to run later run now; see Connection."""
        hasten(self.pipeline, thread, person)

    def _send(self, statement: str, parameters: Parameters) -> Sent:
        text, names = translated(statement)
        return self.pipeline.send(text, [parameters[name] for name in names])

    def _asked(self, statement: str, parameters: Parameters) -> Sent:
        """A statement with its result."""
        sent = self._send(statement, parameters)
        self.pipeline.wait()
        return sent


def _columns(sent: Sent) -> tuple[str, ...]:
    result = sent.result
    return tuple(result.fname(n).decode() for n in range(result.nfields))
