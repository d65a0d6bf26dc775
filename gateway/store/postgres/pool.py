"""Connections to PostgreSQL: how they are made, and how many."""

from __future__ import annotations

from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from gateway.store.postgres.database import Database
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.rows import adapt

DEFAULTS: dict[str, Any] = {
    "application_name": "parley",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Parameters of libpq, unless the URL has its own."""
SETTINGS = {
    # PostgreSQL guesses that a recursion brings very much: it would compile such a query for longer
    # than the query takes.
    "jit": "off",
    # The server ends sessions of a machine that is gone, with their locks, within half a minute. By
    # default it takes two hours.
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""Settings of a session, unless the URL has its own."""
LONGEST_NAME = 30
"""Characters of an application's name; PostgreSQL keeps 63, with the boot."""
RECONNECT = 2.0
"""Seconds in which the pool tries to replace a lost connection.

Its pauses would grow with an outage. Whoever needs a connection afterwards has it try again.
"""


def conninfo(database: Database, boot: str = "") -> str:
    """Parameters of a connection; a password may be among them.

    Those of a node end with its `boot`: others can end them once it is dead.
    """
    given = conninfo_to_dict(database.url)
    patience = database.patience
    settings = {
        **SETTINGS,
        "statement_timeout": _ms(patience.statement),
        "lock_timeout": _ms(patience.lock),
        "idle_in_transaction_session_timeout": _ms(patience.idle),
    }
    if boot:
        settings["parley.boot"] = boot
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    options = f"{options} {given.get('options') or ''}".strip()
    if database.schema:
        options += f" -c search_path={database.schema} -c parley.schema={database.schema}"
    parameters = {**DEFAULTS, **given, "options": options}
    if boot:
        name = str(parameters["application_name"])[:LONGEST_NAME]
        parameters["application_name"] = f"{name} {boot}"
    return make_conninfo("", **parameters)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def configure(raw: Raw) -> None:
    """Set a new connection up for units."""
    raw.autocommit = True
    adapt(raw)


def connect(database: Database, boot: str = "") -> Raw:
    """One connection of its own, for the caller to close."""
    raw = Raw.connect(conninfo(database, boot), autocommit=True)
    configure(raw)
    return raw


def open_pool(database: Database, boot: str) -> ConnectionPool[Raw]:
    """A pool of connections, the first of which are being made."""

    return ConnectionPool(
        conninfo(database, boot),
        connection_class=Raw,
        min_size=1,
        max_size=database.pool_size,
        configure=configure,
        reconnect_timeout=RECONNECT,
        max_idle=120.0,
        open=True,
    )
