"""Connections to PostgreSQL: how they are made, and how many."""

from __future__ import annotations

import re
from contextlib import closing
from threading import Event, Timer
from typing import Any, LiteralString

from psycopg import OperationalError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from gateway.store.postgres.database import Database
from gateway.store.postgres.errors import alone, lent
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.rows import adapt
from gateway.store.postgres.transactions import hang_up

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
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
"""Settings of a session, unless the `options` of the URL have their own."""
LONGEST_NAME = 30
"""Characters of an application's name; PostgreSQL keeps 63, with the boot."""
SECOND = 5.0
"""Seconds in which a pooler gives a second session while one is open."""
RECONNECT = 2.0
"""Seconds in which the pool tries to replace a lost connection.

Its pauses would grow with an outage. Whoever needs a connection afterwards has it try again.
"""


_OPTION = re.compile(r"(?:-c\s*|--)([\w.-]+)=")
_SET = """
    SELECT pg_backend_pid(), array_agg(set_config(name, value, FALSE))
    FROM unnest(%s::text[], %s::text[]) AS given (name, value)
"""
_STAND = """
    SELECT pg_backend_pid(), array_agg(current_setting(name, TRUE))
    FROM unnest(%s::text[]) AS given (name)
"""
_BACKEND = "SELECT pg_backend_pid()"


def conninfo(database: Database) -> str:
    """Parameters of a connection; a password may be among them.

    A pooler such as PgBouncer takes no settings of a session among them.
    """
    return make_conninfo("", **{**DEFAULTS, **conninfo_to_dict(database.url)})


def setting(database: Database, boot: str = "") -> tuple[LiteralString, list[list[str]]]:
    """The statement that sets a new session up, with its parameters.

    The names of sessions of a node end with its `boot`: others can end them once it is dead.
    """
    given, patience = conninfo_to_dict(database.url), database.patience
    settings = {
        **SETTINGS,
        "statement_timeout": _ms(patience.statement),
        "lock_timeout": _ms(patience.lock),
        "idle_in_transaction_session_timeout": _ms(patience.idle),
    }
    for name in _OPTION.findall(str(given.get("options") or "")):
        settings.pop(name.replace("-", "_").lower(), None)
    if database.schema:
        settings |= {"search_path": database.schema, "parley.schema": database.schema}
    if boot:
        name = str(given.get("application_name") or DEFAULTS["application_name"])[:LONGEST_NAME]
        settings |= {"application_name": f"{name} {boot}", "parley.boot": boot}
    return _SET, [[*settings], [*settings.values()]]


def _ms(seconds: float) -> str:
    return str(round(seconds * 1000))


def set_up(raw: Raw, database: Database, boot: str = "") -> bool:
    """Set up a new connection; True if a pooler is between.

    Raises StoreUnwritable if the next statement does not find the same session with its settings.
    """
    raw.autocommit = True
    adapt(raw)
    statement, parameters = setting(database, boot)
    made = raw.execute(statement, parameters).fetchall()
    if raw.execute(_STAND, parameters[:1]).fetchall() != made:
        raise lent(database.url)
    return made[0][0] != raw.info.backend_pid  # a pooler has numbers of its own


def refuse_lent(raw: Raw, database: Database) -> None:
    """Refuse sessions that are lent for a transaction each. Raises StoreError.

    The one used last is lent again, or the one unused for longest: then the first connection gets
    that of the second one, or two.
    """
    with closing(Raw.connect(conninfo(database), autocommit=True)) as other:
        late = Event()

        def give_up() -> None:
            late.set()
            hang_up(other.fileno)

        timer = Timer(SECOND, give_up)
        timer.start()
        try:
            first, second = ({_backend(each) for _ in range(3)} for each in (raw, other))
        except OperationalError as error:
            if late.is_set():
                raise alone(database.url) from error
            raise
        finally:
            timer.cancel()
    if len(first) > 1 or len(second) > 1 or first & second:
        raise lent(database.url)


def _backend(raw: Raw) -> int:
    return raw.execute(_BACKEND).fetchall()[0][0]


def connect(database: Database, boot: str = "") -> Raw:
    """One connection of its own, for the caller to close. Raises StoreError."""
    raw = Raw.connect(conninfo(database), autocommit=True)
    try:
        if set_up(raw, database, boot):
            refuse_lent(raw, database)
    except BaseException:
        raw.close()
        raise
    return raw


def open_pool(database: Database, boot: str) -> ConnectionPool[Raw]:
    """A pool of connections, the first of which are being made."""

    def configure(raw: Raw) -> None:
        set_up(raw, database, boot)

    return ConnectionPool(
        conninfo(database),
        connection_class=Raw,
        min_size=1,
        max_size=database.pool_size,
        configure=configure,
        reconnect_timeout=RECONNECT,
        max_idle=120.0,
        open=True,
    )
