"""Ownership of a store on PostgreSQL by one process.

A session holds an advisory lock, which falls with its connection. The row `owner` names the boot:
each transaction reads it under a lock that a new owner has to wait for, so that a process which was
cut off, and comes back, writes nothing any more.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from threading import Event, Thread
from time import monotonic

import psycopg
from psycopg import RawCursor

from gateway.base.describe import describe
from gateway.errors import StoreInUse
from gateway.store.postgres.connection import LOCK, PostgresConnection
from gateway.store.postgres.database import Database
from gateway.store.postgres.errors import place_of
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.pool import connect
from gateway.store.postgres.transactions import STORE, Work

LOG = logging.getLogger("gateway.store")

_TRY = "SELECT pg_try_advisory_lock(hashtextextended('parley owner', 0))"
_OWNER = "SELECT boot, name FROM owner"
_TAKE = "UPDATE owner SET boot = $1, name = $2, since = now()"

END = 1.0
"""Seconds that the thread has to end in by itself."""


class Ownership:
    """The session by which this boot owns the store.

    `unreachable_since` is a time of the monotonic clock while the database does not answer.
    """

    def __init__(self, database: Database, boot: str, name: str) -> None:
        self._database = database
        self._boot = boot
        self._name = name
        self._ended = Event()
        # A daemon: a process that ends without `release` is not held by it.
        self._thread = Thread(target=self._keep, name="parley-owner", daemon=True)
        self.session = Work(0)
        """It can be interrupted, as it may wait for a database that says nothing."""
        self.unreachable_since: float | None = None
        self.is_taken = False
        """Another process owns the store."""

    def take(self, raw: Raw) -> None:
        """Become the owner by this session, until `release`. Raises StoreInUse."""
        try:
            self._wait(raw)
            with raw.transaction():
                RawCursor(raw).execute(LOCK, [STORE])
                RawCursor(raw).execute(_TAKE, [self._boot, self._name])
        except BaseException:
            raw.close()
            raise
        self._hold(raw)
        self._thread.start()

    def _wait(self, raw: Raw) -> None:
        until = monotonic() + self._database.patience.owner
        while not _locks(raw):
            if monotonic() > until:
                raise StoreInUse(place_of(self._database.url), None, _owner(raw)[1])
            self._ended.wait(0.1)

    def _keep(self) -> None:
        """Hold the session, or make a new one, until `release`."""
        while not self._ended.wait(self._database.patience.beat) and not self.is_taken:
            try:
                self._look()
            except psycopg.Error as error:
                self._lose(error)
        self._leave()

    def _look(self) -> None:
        if (connection := self.session.connection) is None:
            self._come_back()
        else:
            connection.fetch("SELECT 1")
        if self.unreachable_since is not None:
            LOG.info("the database %s answers again", place_of(self._database.url))
            self.unreachable_since = None

    def _come_back(self) -> None:
        """Make a new session, unless there is another owner."""
        raw = connect(self._database)
        self._hold(raw)
        locked = _locks(raw)
        self.is_taken = _owner(raw)[0] != self._boot
        if not locked:
            # A new owner has it, or our lost session, of whose end the server does not know yet.
            self._leave()

    def _lose(self, error: psycopg.Error) -> None:
        self._leave()
        if self.unreachable_since is None:
            self.unreachable_since = monotonic()
            place = place_of(self._database.url)
            LOG.error("the database %s does not answer: %s", place, describe(error))

    def _hold(self, raw: Raw) -> None:
        self.session.holds(PostgresConnection(raw))

    def _leave(self) -> None:
        if (connection := self.session.connection) is not None:
            self.session.holds(None)
            with suppress(psycopg.Error):
                connection.pipeline.raw.close()

    def release(self) -> None:
        """Let the next owner in."""
        self._ended.set()
        if self._thread.ident is None:
            return
        self._thread.join(END)
        self.session.interrupt()
        self._thread.join(END)


def _locks(raw: Raw) -> bool:
    return raw.execute(_TRY).fetchall()[0][0]


def _owner(raw: Raw) -> tuple[str, str]:
    """Boot and name of the owner."""
    rows = raw.execute(_OWNER).fetchall()
    return rows[0] if rows else ("", "")
