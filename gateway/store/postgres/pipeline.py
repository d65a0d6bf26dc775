"""Statements that wait for nothing, sent to PostgreSQL in one message.

psycopg's own pipeline sends each statement at once. The server then wakes for every one of them,
which takes it, and this process, longer than the statement itself.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from time import monotonic
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.generators import fetch_many, send
from psycopg.pq import ConnStatus, ExecStatus, Format, PipelineStatus
from psycopg.rows import tuple_row

T = TypeVar("T")

MOST_PREPARED = 500
"""Statements that the server keeps for a connection; the one used longest ago goes first."""
MOST_WAITING = 200
"""Statements that wait to be sent, at most."""
MOST_BYTES = 1 << 20
"""Bytes of their values, about."""

_Key: TypeAlias = tuple[str, tuple[int, ...]]


class Raw(psycopg.Connection[tuple[Any, ...]]):
    """A connection of psycopg's, with the statements that its server has prepared."""

    def __init__(self, pgconn: Any, row_factory: Any = tuple_row) -> None:
        super().__init__(pgconn, row_factory)
        self.statements = OrderedDict[_Key, bytes]()
        self.made = 0
        """Number of statements that were ever prepared."""


class Sent:
    """A statement on its way, and later its result."""

    __slots__ = ("prepares", "result")

    def __init__(self, prepares: _Key | None = None) -> None:
        self.prepares = prepares
        """The statement that this only prepares."""
        self.result: Any = None
        """libpq's, once it was waited for."""


class Pipeline:
    """Sends many statements at once, and waits for their results."""

    __slots__ = ("_bytes", "_sent", "_values", "asked_at", "raw")

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.asked_at = monotonic()
        """When the server was last asked for results."""
        self._values = Transformer(raw)
        self._sent: list[Sent] = []
        self._bytes = 0

    def send(self, statement: str, values: Sequence[Any] = ()) -> Sent:
        """Carry out a statement, once something is waited for."""
        if len(self._sent) >= MOST_WAITING or self._bytes > MOST_BYTES:
            self.wait()
        pgconn = self.raw.pgconn
        if pgconn.pipeline_status == PipelineStatus.OFF:
            pgconn.enter_pipeline_mode()
        dumped: Sequence[Any] = ()
        types: tuple[int, ...] = ()
        formats: Sequence[Format] = ()
        if values:
            dumped = self._values.dump_sequence(values, [PyFormat.BINARY] * len(values))
            types, formats = self._values.types or (), self._values.formats or ()
            self._bytes += sum(len(value) for value in dumped if value is not None)
        name = self._prepared((statement, types))
        pgconn.send_query_prepared(name, dumped, formats, result_format=Format.BINARY)
        sent = Sent()
        self._sent.append(sent)
        return sent

    def _prepared(self, key: _Key) -> bytes:
        """Name of a statement that the server knows."""
        raw, statements = self.raw, self.raw.statements
        if (name := statements.get(key)) is not None:
            statements.move_to_end(key)
            return name
        if len(statements) >= MOST_PREPARED:
            _, old = statements.popitem(last=False)
            raw.pgconn.send_query_params(b"DEALLOCATE " + old, None)
            self._sent.append(Sent())
        raw.made += 1
        name = statements[key] = b"s%d" % raw.made
        raw.pgconn.send_prepare(name, key[0].encode(), key[1])
        self._sent.append(Sent(key))
        return name

    def rows(self, sent: Sent, make: Callable[[Sequence[Any]], T]) -> list[T]:
        """The rows of a statement, each made by `make`."""
        if sent.result is None:
            self.wait()
        result: Any = sent.result
        self._values.set_pgresult(result, format=Format.BINARY)
        return self._values.load_rows(0, result.ntuples, make)

    def wait(self) -> None:
        """Wait for all that was sent. Raises the first error among it."""
        if not self._sent:
            return
        sent, self._sent, self._bytes = self._sent, [], 0
        self.asked_at = monotonic()
        try:
            self.raw.pgconn.pipeline_sync()
            self.raw.wait(self._results(sent))
        except psycopg.Error as error:
            self._check(sent, error)
            raise
        self._check(sent)

    def _results(self, sent: Sequence[Sent]) -> Generator[Any, Any, None]:
        pgconn = self.raw.pgconn
        yield from send(pgconn)
        for each in sent:
            results = yield from fetch_many(pgconn)
            each.result = results[0] if results else None
        yield from fetch_many(pgconn)

    def _check(self, sent: Sequence[Sent], lost: psycopg.Error | None = None) -> None:
        """Raise what the server said, even if it has left since."""
        for each in sent:
            if each.prepares and (
                each.result is None or each.result.status != ExecStatus.COMMAND_OK
            ):
                self.raw.statements.pop(each.prepares, None)
        for each in sent:
            if each.result is not None and each.result.status == ExecStatus.FATAL_ERROR:
                raise error_from_result(each.result) from lost

    def leave(self) -> None:
        """Forget what was sent, and let psycopg have the connection."""
        pgconn = self.raw.pgconn
        try:
            self.wait()
        except psycopg.Error:
            pass  # whoever forgets it knows of an error before
        finally:
            if pgconn.status != ConnStatus.BAD and pgconn.pipeline_status != PipelineStatus.OFF:
                pgconn.exit_pipeline_mode()
