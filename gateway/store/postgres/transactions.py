"""Units as transactions of PostgreSQL, run again where that is safe.

A unit changes nothing but rows, so it may be run again whenever its transaction was undone: after a
deadlock, or after the connection was lost before its COMMIT. If it was lost in the COMMIT, the
database is asked what became of it, by the number of the transaction and by a word that it wrote:
nothing is guessed.
"""

from __future__ import annotations

import os
import random
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock
from time import monotonic, perf_counter
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.errors import InFailedSqlTransaction, InvalidParameterValue
from psycopg_pool import ConnectionPool

from gateway.errors import GatewayClosed, StoreTaken, StoreUnreachable
from gateway.store.postgres.connection import LOCK, PostgresConnection
from gateway.store.postgres.database import OF_SCHEMA, Database
from gateway.store.postgres.errors import AGAIN, is_gone, lent
from gateway.store.postgres.pipeline import Pipeline, Raw, Sent

T = TypeVar("T")

TRIES = 12
"""Times that a unit is run because of others in its way."""

STORE = "parley store"
"""Name of the lock that all transactions of a store share, and a few hold alone."""
_SHARED = f"SELECT pg_advisory_xact_lock_shared(hashtextextended($1, {OF_SCHEMA}))"
_STANDS = """
    WITH mark AS (INSERT INTO session_marks (session, boot, word) VALUES ($2, $1, $3)
     ON CONFLICT (session) DO UPDATE SET word = excluded.word)
    SELECT EXISTS (SELECT 1 FROM nodes WHERE boot = $1 AND tableoid = $4),
     pg_current_xact_id()::text, current_setting('parley.boot', TRUE) IS NOT DISTINCT FROM $1
"""
_STATUS = "SELECT pg_xact_status($1::xid8)"
# A server that crashed may have given a lost transaction's number to a later one. A statement of
# its own, as one that began before the commit would not see the word.
_MARKED = "SELECT EXISTS (SELECT 1 FROM session_marks WHERE session = $1 AND word = $2)"


class _Mark(NamedTuple):
    """Proof of a commit: its number, and the session's word."""

    xid: str
    session: str
    word: str


class _OutcomeUnknown(Exception):
    """The connection was lost in the COMMIT of this transaction."""

    def __init__(self, mark: _Mark, result: Any) -> None:
        super().__init__(mark.xid)
        self.mark = mark
        self.result = result


class Work:
    """A unit on its way, and the connection on which it waits."""

    def __init__(self, patience: float, now: float = 0.0) -> None:
        self.now = now
        """The time at which it was asked for."""
        self.until = monotonic() + patience
        self.begun = False
        self.connection: PostgresConnection | None = None
        """The connection on which it is now; `holds` sets it."""
        self._lock = Lock()

    def holds(self, connection: PostgresConnection | None) -> None:
        """Note the connection on which it is now."""
        with self._lock:
            self.connection = connection

    def interrupt(self, silence: float = 0.0) -> bool:
        """Shut down a connection that was silent so long, if any."""
        with self._lock:
            connection = self.connection
            if connection is None or monotonic() - connection.pipeline.asked_at < silence:
                return False
            hang_up(connection.pipeline.raw.fileno)
            return True


class Transactions:
    """Runs units of one node, in any thread."""

    def __init__(
        self, pool: ConnectionPool[Raw], boot: str, table: int, database: Database
    ) -> None:
        self._pool = pool
        self._boot = boot
        self._table = table
        """Where the node's row is: a restored database has it in another table, if at all."""
        self._url = database.url
        self._wait = database.patience.connection
        self._sessions = WeakKeyDictionary[Raw, str]()
        self.closing = Event()
        self.commits = 0
        self.observe: Callable[[float], None] = lambda _: None
        """Called with the seconds of each transaction."""

    def write(self, unit: Callable[[PostgresConnection], T], work: Work, *, alone: bool) -> T:
        """Run a unit as one transaction; its result once it is committed.

        `alone`: no other transaction of the store is open meanwhile.
        """

        def attempt(connection: PostgresConnection) -> T:
            began = perf_counter()
            result = self._transaction(connection, unit, alone=alone)
            self.commits += 1
            self.observe(perf_counter() - began)
            return result

        try:
            return self._patiently(attempt, work)
        except _OutcomeUnknown as unknown:
            if self._is_committed(unknown.mark, work):
                self.commits += 1
                return unknown.result
        return self.write(unit, work, alone=alone)

    def read(self, unit: Callable[[PostgresConnection], T], work: Work) -> T:
        """Run a unit that only reads."""
        return self._patiently(unit, work)

    def _patiently(self, attempt: Callable[[PostgresConnection], T], work: Work) -> T:
        tries, pause = 1, 0.02
        while True:
            try:
                return self._once(attempt, work)
            except _OutcomeUnknown:
                raise
            except Exception as error:
                again = isinstance(error, AGAIN) and tries < TRIES
                if not (again or is_gone(error)) or monotonic() > work.until:
                    raise
            tries += 1
            if self.closing.wait(pause * random.uniform(0.5, 1.5)):
                raise GatewayClosed("The store was closed before its database came back.")
            pause = min(2 * pause, 1.0)

    def _once(self, attempt: Callable[[PostgresConnection], T], work: Work) -> T:
        if self.closing.is_set():
            raise GatewayClosed
        if monotonic() > work.until and not work.begun:
            raise StoreUnreachable("The store was too busy to do this in time.")
        work.begun = True
        raw = self._pool.getconn(min(self._wait, max(0.1, work.until - monotonic())))
        connection = PostgresConnection(raw, work.now)
        work.holds(connection)
        try:
            return attempt(connection)
        finally:
            connection.pipeline.leave()
            work.holds(None)
            if raw.broken:
                self._pool.drain()  # the others are of the same time, and likely to be lost, too
            self._pool.putconn(raw)

    def _transaction(
        self,
        connection: PostgresConnection,
        unit: Callable[[PostgresConnection], T],
        *,
        alone: bool,
    ) -> T:
        pipeline, xid, result = connection.pipeline, "", None
        session, word = self._session_of(pipeline.raw), secrets.token_hex(8)
        try:
            stands = self._begin(pipeline, session, word, alone=alone)
            result = unit(connection)
            lives, number, own = pipeline.rows(stands, tuple)[0]
            if not own:
                raise lent(self._url)  # noqa: TRY301 (it is rolled back like any other)
            if not lives:
                raise StoreTaken  # noqa: TRY301 (likewise)
            xid = number
            commit = pipeline.send("COMMIT")
            pipeline.wait()
            if commit.result.command_status != b"COMMIT":
                raise InFailedSqlTransaction  # noqa: TRY301 (the unit went on after an error)
        except BaseException as error:
            if xid and is_gone(error):
                raise _OutcomeUnknown(_Mark(xid, session, word), result) from error
            pipeline.leave()
            if not pipeline.raw.broken:
                pipeline.raw.rollback()
            raise
        return result

    def _session_of(self, raw: Raw) -> str:
        """The name of a connection, which no other one has."""
        return self._sessions.setdefault(raw, secrets.token_hex(8))

    def _begin(self, pipeline: Pipeline, session: str, word: str, *, alone: bool) -> Sent:
        """Begin a transaction; its number and this node's life follow."""
        pipeline.send("BEGIN")
        pipeline.send(LOCK if alone else _SHARED, [STORE])
        return pipeline.send(_STANDS, [self._boot, session, word, self._table])

    def _is_committed(self, mark: _Mark, work: Work) -> bool:
        """True if the database knows the transaction as committed."""

        def ask(connection: PostgresConnection) -> str | None:
            pipeline = connection.pipeline
            status = pipeline.rows(pipeline.send(_STATUS, mark[:1]), tuple)[0][0]
            if status != "committed":
                return status
            known = pipeline.rows(pipeline.send(_MARKED, mark[1:]), tuple)[0][0]
            return status if known else "aborted"

        while True:
            try:
                status = self._patiently(ask, work)
            except InvalidParameterValue:
                return False  # another server took over, which never heard of it
            if status in ("committed", "aborted"):
                return status == "committed"
            if status is None or monotonic() > work.until or self.closing.wait(0.05):
                raise StoreUnreachable(
                    "The connection was lost in a commit, and the database does not say what"
                    " became of it."
                )


def hang_up(fileno: Callable[[], int]) -> None:
    """Shut down a connection. Whoever waits for it gets an error."""
    with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(fileno())) as link:
        link.shutdown(socket.SHUT_RDWR)
