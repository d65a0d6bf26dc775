"""Connections to PostgreSQL: how they are made, and how many."""

from __future__ import annotations

from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from gateway.store.postgres.database import Database
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.rows import adapt

STATEMENT_MS, LOCK_MS, IDLE_MS = 20_000, 15_000, 15_000
"""Milliseconds that a statement may take, wait for a lock, and a transaction may stand idle.

A node that is frozen inside a transaction holds its locks no longer than that.
"""
PLANNING = "-c jit=off"
"""PostgreSQL guesses that a recursion brings very much: it would compile such a query, which takes
longer than the query.
"""
DEFAULTS: dict[str, Any] = {
    "application_name": "parley",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Parameters of libpq, unless the URL has its own."""


def conninfo(database: Database) -> str:
    """Parameters of a connection; a password may be among them."""
    given = conninfo_to_dict(database.url)
    limits = (
        f"-c statement_timeout={STATEMENT_MS} -c lock_timeout={LOCK_MS}"
        f" -c idle_in_transaction_session_timeout={IDLE_MS}"
    )
    options = f"{PLANNING} {limits} {given.get('options') or ''}".strip()
    return make_conninfo("", **{**DEFAULTS, **given, "options": options})


def configure(raw: Raw) -> None:
    """Set a new connection up for units."""
    raw.autocommit = True
    adapt(raw)


def connect(database: Database) -> Raw:
    """One connection of its own, for the caller to close."""
    raw = Raw.connect(conninfo(database), autocommit=True)
    configure(raw)
    return raw


def open_pool(database: Database) -> ConnectionPool[Raw]:
    """A pool of connections, the first of which are being made."""
    return ConnectionPool(
        conninfo(database),
        connection_class=Raw,
        min_size=min(2, database.pool_size),
        max_size=database.pool_size,
        configure=configure,
        reconnect_timeout=3600.0,
        max_idle=120.0,
        open=True,
    )
