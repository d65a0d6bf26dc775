"""Membership of a node: a session, a row, and its heartbeat.

All nodes share an advisory lock, which a copy and processes of earlier versions take alone. The row
in `nodes` says that a node lives: each of its transactions reads it under a lock that those who
declare it dead have to wait for, so that a process which was cut off writes nothing any more.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from time import monotonic
from typing import Any

import psycopg
from psycopg import RawCursor
from psycopg.errors import UndefinedTable

from gateway.base.describe import describe
from gateway.errors import StoreInUse
from gateway.store.formats import newest_format
from gateway.store.nodes import Node
from gateway.store.postgres.connection import LOCK, PostgresConnection
from gateway.store.postgres.database import OF_SCHEMA, Database
from gateway.store.postgres.errors import place_of
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.pool import connect
from gateway.store.postgres.transactions import STORE, Work
from gateway.store.product import load_product
from gateway.store.tables import NOT_COPIED

LOG = logging.getLogger("gateway.store")

_OWNER_LOCK = f"hashtextextended('parley owner', {OF_SCHEMA})"
_SHARE = f"SELECT pg_try_advisory_lock_shared({_OWNER_LOCK})"
_TAKE = f"SELECT pg_try_advisory_lock({_OWNER_LOCK})"
_OWNER = "SELECT name FROM owner"
_LIVING = "SELECT COALESCE(string_agg(name, ', ' ORDER BY since), '') FROM nodes"
_KEEP_OUT = "UPDATE owner SET boot = $1, name = $2, since = now() WHERE boot <> $1"
_JOIN = """
    INSERT INTO nodes (boot, name, version, platforms, digest, since, beat, patience)
    VALUES ($1, $2, $3, $4, $5, server_time(), server_time(), $6)
    RETURNING CAST(tableoid AS BIGINT)
"""
PRODUCT = "SELECT value FROM marks WHERE platform = 'gateway' AND name = 'product'"
"""Whose database it is."""
_KEEP_PRODUCT = """
    INSERT INTO marks (platform, name, value) VALUES ('gateway', 'product', $1)
    ON CONFLICT (platform, name) DO UPDATE SET value = excluded.value
"""
_OWN = "CAST(xmin AS TEXT) || ' ' || CAST(tableoid AS TEXT)"
"""The transaction that wrote a row, and the table in which it is."""
IS_SIGNATURE = NOT_COPIED["marks"]
"""The mark by which a database knows itself."""
IS_ORIGINAL = f"(SELECT value = {_OWN} FROM marks WHERE {IS_SIGNATURE})"
"""False in a database that was restored from a dump: another transaction wrote its rows.

NULL where no transaction has signed. A copy of the server's own files is as it was.
"""
SIGN = """
    INSERT INTO marks (platform, name, value) VALUES ('gateway', 'written',
     mod(CAST(CAST(pg_current_xact_id() AS TEXT) AS NUMERIC), 4294967296) || ' ' ||
     CAST(CAST('marks' AS REGCLASS) AS OID))
    ON CONFLICT (platform, name) DO UPDATE SET value = excluded.value
"""
"""Lets the database tell itself from a restored one: the transaction writes down its own number."""
_TIDY = "DELETE FROM session_marks c WHERE NOT EXISTS (SELECT 1 FROM nodes WHERE boot = c.boot)"
_FORGET = "DELETE FROM nodes WHERE beat + patience < server_time()"
_HEARTBEAT = f"""
    UPDATE nodes SET beat = server_time(), figures = $2 WHERE boot = $1 AND tableoid = $3
    RETURNING (SELECT COUNT(*) FROM nodes), (SELECT version FROM store), server_time(),
     {IS_ORIGINAL}
"""
_END_DEAD = """
    SELECT pg_terminate_backend(a.pid) FROM nodes n JOIN pg_stat_activity a
     ON a.datname = current_database()
     AND right(a.application_name, length(n.boot) + 1) = ' ' || n.boot
    WHERE n.boot <> $1 AND n.beat + n.patience < server_time()
"""
_LEAVE = "DELETE FROM nodes WHERE boot = $1"

NODES = "nodes"
"""The boot in `owner`, which no process of an earlier version has."""
SPEAKS = 0.6
"""Part of a node's patience for which it speaks after a heartbeat."""
HEARTBEATS = 4
"""Heartbeats in a node's patience."""


class Membership:
    """The session by which this node is one of the store's.

    `unreachable_since` is a time of the monotonic clock while the database does not answer. With
    `alone` there is no other node.
    """

    def __init__(
        self,
        database: Database,
        node: Node,
        clock: Callable[[], float] = time.time,
        *,
        alone: bool = False,
    ) -> None:
        self._database = database
        self._clock = clock
        self._ahead = 0.0
        """Seconds by which the clock was ahead of the database's at the last heartbeat."""
        self._alone = alone
        self._ended = Event()
        self._late = Event()
        # A daemon: a process that ends without `release` is not held by it.
        self._worker = Thread(target=self._keep, name="parley-node", daemon=True)
        self._sent_at = monotonic()
        self.node = node
        self.table = 0
        """The table with its row; that of a restored database is another one."""
        self.session = Work(0)
        """It can be interrupted, as it may wait for a database that says nothing."""
        self.unreachable_since: float | None = None
        self.is_lost = False
        """It was declared dead, or the store is another process's alone."""
        self.is_steady = True
        """It was not held up itself: then it would take others for dead that were, too."""
        self.is_outdated = False
        """A newer version of Parley has changed the tables."""
        self.nodes = 1
        """Number of nodes, as of the last heartbeat."""
        self.figures: Callable[[], dict[str, Any]] = dict
        """The load of this node; asked in this worker."""

    @property
    def boot(self) -> str:
        """The id of this node."""
        return self.node.boot

    @property
    def speaks(self) -> bool:
        """True while no other node can have declared this one dead."""
        return not self.is_lost and monotonic() - self._sent_at < SPEAKS * self._database.failover

    def enter(self, raw: Raw) -> None:
        """Keep out who wants the store alone. Raises StoreInUse.

        There may be no tables yet, or older ones.
        """
        self._hold(raw)  # so that who is cancelled here can interrupt it
        until = monotonic() + self._database.patience.owner
        while not self._locks(raw):
            if self._ended.is_set() or monotonic() > until:
                raise self._in_use(_first(raw, _LIVING) or _first(raw, _OWNER))
            self._ended.wait(0.1)

    def join(self, raw: Raw) -> None:
        """Become a node by this session, until `release`. Raises StoreInUse."""
        # One that was killed counts as living until its time is over.
        until = monotonic() + self._database.patience.owner + self._database.failover
        while other := self._joins(raw):
            if self._ended.is_set() or monotonic() > until:
                raise self._in_use(other)
            self._ended.wait(0.1)
        self._hold(raw)
        self._worker.start()

    def _joins(self, raw: Raw) -> str:
        """Add the row; otherwise the name of a node in the way."""
        self._sent_at = monotonic()
        with raw.transaction():
            cursor = RawCursor(raw)
            cursor.execute(LOCK, [STORE])
            if self._alone:
                cursor.execute(_FORGET)
                if other := _first(raw, _LIVING):
                    return other
            cursor.execute(_KEEP_OUT, [NODES, self.node.name])
            platforms = json.dumps(sorted(self.node.platforms))
            self._claim(cursor)
            cursor.execute(_TIDY)
            node, patience = self.node, self._database.failover
            row = [node.boot, node.name, node.version, platforms, node.digest, patience]
            [[self.table]] = cursor.execute(_JOIN, row).fetchall()
        return ""

    def _claim(self, cursor: RawCursor[Any]) -> None:
        """Let the database be that of this product. Raises OtherProduct."""
        if (own := self._database.product) is None:
            return
        found = cursor.execute(PRODUCT).fetchall()
        kept = load_product(found[0][0] if found else "")
        product = own.joined(kept, place_of(self._database.url))
        if product != kept:
            cursor.execute(_KEEP_PRODUCT, [product.dump()])

    def _in_use(self, name: str) -> StoreInUse:
        return StoreInUse(place_of(self._database.url), None, name)

    def _locks(self, raw: Raw) -> bool:
        return raw.execute((_TAKE if self._alone else _SHARE).encode()).fetchall()[0][0]

    def _keep(self) -> None:
        """Send heartbeats on the session, or make a new one, until `release`."""
        while not self._ended.wait(self._database.failover / HEARTBEATS) and not self.is_lost:
            try:
                self._look()
            except psycopg.Error as error:
                self._lose(error)
            except Exception:  # without a heartbeat this node would be taken for dead
                LOG.exception("a heartbeat of this node failed: it is retried")
        self._leave()

    def _look(self) -> None:
        if self.session.connection is None:
            self._come_back()
        if (connection := self.session.connection) is not None:
            self._heartbeat(connection)
        if self.unreachable_since is not None:
            LOG.info("the database %s answers again", place_of(self._database.url))
            self.unreachable_since = None

    def _heartbeat(self, connection: PostgresConnection) -> None:
        began, pipeline = monotonic(), connection.pipeline
        figures = {**self.figures(), "clock": self._ahead}
        sent = pipeline.send(_HEARTBEAT, [self.boot, json.dumps(figures), self.table])
        asked_at = self._clock()
        rows = pipeline.rows(sent, tuple)
        if not rows or rows[0][3] is False:  # or the tables' rows were replaced by a copy's
            self.is_lost = True
            return
        self.nodes, version, server_time, _ = rows[0]
        self._ahead = round((asked_at + self._clock()) / 2 - server_time, 1)
        self.is_steady = began - self._sent_at < self._database.failover / 2
        self._sent_at = began
        if self.is_steady:  # on a session of its own: the dead may hold up all others
            pipeline.send(_END_DEAD, [self.boot])
            pipeline.wait()
        self.is_outdated = version > newest_format()

    def _come_back(self) -> None:
        """Make a new session, and say that this node lives."""
        raw = connect(self._database, self.boot)
        self._hold(raw)
        if not self._locks(raw):
            # Another process tries to have it alone, and finds that this one lives.
            self._heartbeat(PostgresConnection(raw))
            self._close()

    def _lose(self, error: psycopg.Error) -> None:
        self._close()
        if self.unreachable_since is None:
            self.unreachable_since = monotonic()
            place = place_of(self._database.url)
            LOG.error("the database %s does not answer: %s", place, describe(error))

    def _hold(self, raw: Raw) -> None:
        self.session.holds(PostgresConnection(raw))

    def _leave(self) -> None:
        """Take the row away, by a new session if need be."""
        while not (self._late.is_set() or self.is_lost):
            try:
                if self.session.connection is None:
                    self._late.set()  # it is tried once more
                    self._hold(connect(self._database, self.boot))
                if (connection := self.session.connection) is not None:
                    connection.pipeline.send(_LEAVE, [self.boot])
                    connection.pipeline.wait()
                    break
            except psycopg.Error:
                self._close()
        self._close()

    def _close(self) -> None:
        if (connection := self.session.connection) is not None:
            self.session.holds(None)
            with suppress(psycopg.Error):
                connection.pipeline.raw.close()

    def release(self, seconds: float = 1.0) -> None:
        """Be a node no more; its worker is interrupted after so long."""
        self._ended.set()
        if self._worker.ident is None:
            self.session.interrupt()
            return
        self._worker.join(seconds)
        self._late.set()
        self.session.interrupt()
        self._worker.join(seconds)


def _first(raw: Raw, query: str) -> str:
    """The first name that is found; the table may be missing."""
    try:
        with raw.transaction():
            rows = raw.execute(query.encode()).fetchall()
    except UndefinedTable:
        return ""
    return rows[0][0] if rows else ""
