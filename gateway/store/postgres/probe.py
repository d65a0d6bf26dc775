"""Facts about a database, before a store relies on it."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any, LiteralString

from psycopg import AsyncConnection, Error

from gateway.errors import StoreUnreachable
from gateway.store.postgres.database import Database
from gateway.store.postgres.errors import LOOK, translate
from gateway.store.postgres.membership import PRODUCT
from gateway.store.postgres.pipeline import Raw
from gateway.store.postgres.pool import connect, conninfo, refuse_lent
from gateway.values import value

_FACTS = """
    SELECT current_setting('server_version') AS version,
        current_setting('server_version_num')::int AS version_number,
        current_setting('server_encoding') AS encoding,
        current_setting('synchronous_commit') AS synchronous_commit,
        current_setting('fsync') = 'on' AS fsync,
        current_setting('default_transaction_isolation') AS isolation,
        pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS read_only,
        COALESCE(current_schema(), '') AS schema,
        CASE WHEN current_schema() IS NULL AND current_setting('parley.schema', true) <> ''
         THEN has_database_privilege(current_database(), 'CREATE')
         ELSE COALESCE(has_schema_privilege(current_schema(), 'CREATE'), false) END AS may_create,
        LEAST(
            current_setting('max_connections')::int
                - current_setting('superuser_reserved_connections')::int
                - COALESCE(current_setting('reserved_connections', true)::int, 0)
                - COUNT(*) FILTER (WHERE usename IS DISTINCT FROM current_user),
            (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
            (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
        )::int AS connections
    FROM pg_stat_activity WHERE usename IS NOT NULL
"""
_OWNED = """
    SELECT pg_has_role(relowner, 'USAGE') FROM pg_class
    WHERE oid = to_regclass('threads') AND relkind = 'r'
"""
_HAS_NODES = "SELECT to_regclass('nodes') IS NOT NULL"
_NODES = """
    SELECT COUNT(*)::int FROM nodes WHERE platforms <> '[]' AND beat + patience >= server_time()
"""
_BACKEND = "SELECT pg_backend_pid()"


@value
class DatabaseFacts:
    """Properties of a database that a store depends on."""

    version: str
    version_number: int
    """Such as 160002 for 16.2."""
    encoding: str
    synchronous_commit: str
    fsync: bool
    isolation: str
    """The isolation that transactions have by default."""
    read_only: bool
    """True for a replica, and where transactions may not write by default."""
    schema: str
    """Where tables are made; "" if there is no such place."""
    may_create: bool
    connections: int
    """Connections that this role can have, those included that it has."""
    nodes: int
    """Nodes that serve platforms now."""
    product: str
    """Whose database it is, as it is stored; "" if nobody's."""
    owned: bool | None
    """True if this role has made the store's tables, False if another has; None without any."""
    pooled: bool
    """True if a pooler is between, which gives each connection a session of its own."""


async def probe(database: Database, seconds: float) -> DatabaseFacts:
    """Ask the database within so many seconds. Raises StoreError."""
    try:
        async with asyncio.timeout(seconds):
            async with await AsyncConnection.connect(conninfo(database)):
                pass  # a server that says nothing can be left here
            return await asyncio.to_thread(_probe, database)
    except TimeoutError as error:
        why = f"can't be reached: no answer within {seconds:.0f} seconds"
        raise StoreUnreachable(f"The database {database.place} {why}. {LOOK}") from error
    except Error as error:
        raise translate(error, database.url) from error


def _probe(database: Database) -> DatabaseFacts:
    with closing(connect(database)) as raw:
        refuse_lent(raw, database)
        cursor = raw.execute(_FACTS)
        [row] = cursor.fetchall()
        names = [column.name for column in cursor.description or ()]
        owned = raw.execute(_OWNED).fetchall()
        readable = bool(owned and owned[0][0]) and _value(raw, _HAS_NODES)
        kept = raw.execute(PRODUCT).fetchall() if readable else []
        return DatabaseFacts(
            **dict(zip(names, row, strict=True)),
            nodes=_value(raw, _NODES) if readable else 0,
            product=kept[0][0] if kept else "",
            owned=owned[0][0] if owned else None,
            pooled=_value(raw, _BACKEND) != raw.info.backend_pid,
        )


def _value(raw: Raw, query: LiteralString) -> Any:
    return raw.execute(query).fetchall()[0][0]
