"""Ownership of a store on PostgreSQL by one process.

A session holds an advisory lock, which falls with its connection. The row `owner` names the boot:
each transaction reads it under a lock that a new owner has to wait for, so that a process which was
cut off, and comes back, writes nothing any more.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from threading import Event
from time import monotonic

import psycopg
from psycopg import RawCursor

from gateway.base.describe import describe
from gateway.errors import StoreInUse
from gateway.store.postgres.connection import LOCK
from gateway.store.postgres.database import Database
from gateway.store.postgres.errors import is_gone, place_of
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.pool import connect
from gateway.store.postgres.transactions import STORE

LOG = logging.getLogger("gateway.store")

_TRY = "SELECT pg_try_advisory_lock(hashtextextended('parley owner', 0))"
_TAKE = "UPDATE owner SET boot = $1, name = $2, since = now()"

PATIENCE = 5.0
"""Seconds for which a new process waits for the session of one that has just ended."""
BEAT = 2.0
"""Seconds between two looks at the session."""


class Ownership:
    """The session by which this boot owns the store.

    `unreachable_since` is a time of the monotonic clock while the database does not answer.
    """

    def __init__(self, database: Database, boot: str, name: str) -> None:
        self._database = database
        self._boot = boot
        self._name = name
        self._raw: Raw | None = None
        self._ended = Event()
        self.unreachable_since: float | None = None

    def take(self) -> None:
        """Become the owner. Raises StoreInUse."""
        raw = connect(self._database)
        try:
            self._wait(raw)
            with raw.transaction():
                RawCursor(raw).execute(LOCK, [STORE])
                RawCursor(raw).execute(_TAKE, [self._boot, self._name])
        except BaseException:
            raw.close()
            raise
        self._raw = raw

    def _wait(self, raw: Raw) -> None:
        until = monotonic() + PATIENCE
        while not _locks(raw):
            if monotonic() > until:
                raise StoreInUse(place_of(self._database.url), None, _owner(raw))
            self._ended.wait(0.1)

    def keep(self) -> None:
        """Hold the session, or make a new one, until `release`."""
        while not self._ended.wait(BEAT):
            try:
                self._look()
            except psycopg.Error as error:
                if not is_gone(error):
                    raise
                self._lose(error)

    def _look(self) -> None:
        raw = self._raw
        if raw is None or raw.closed:
            raw = connect(self._database)
            if not _locks(raw):
                raw.close()  # a new owner, or our own session, of which the server knows no end yet
                return
            self._raw = raw
        raw.execute("SELECT 1")
        if self.unreachable_since is not None:
            LOG.info("the database %s answers again", place_of(self._database.url))
            self.unreachable_since = None

    def _lose(self, error: psycopg.Error) -> None:
        if self._raw is not None:
            with suppress(psycopg.Error):
                self._raw.close()
        if self.unreachable_since is None:
            self.unreachable_since = monotonic()
            place = place_of(self._database.url)
            LOG.error("the database %s does not answer: %s", place, describe(error))

    def release(self) -> None:
        """Let the next owner in."""
        self._ended.set()
        if self._raw is not None:
            with suppress(psycopg.Error):
                self._raw.close()


def _locks(raw: Raw) -> bool:
    return raw.execute(_TRY).fetchall()[0][0]


def _owner(raw: Raw) -> str:
    rows = raw.execute("SELECT name FROM owner").fetchall()
    return rows[0][0] if rows else ""
