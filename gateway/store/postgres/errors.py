"""Errors of PostgreSQL, as the gateway's."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors

from gateway.base.database_url import database_place
from gateway.errors import (
    GatewayError,
    StatementRefused,
    StoreFull,
    StoreUnreachable,
    StoreUnwritable,
    Unstorable,
)
from gateway.store.connection import NO_COLUMN

_BUSY = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    errors.QueryCanceled,
)
AGAIN = (*_BUSY, errors.UniqueViolation, errors.ForeignKeyViolation)
"""A unit that met one of these has changed nothing and may be run again.

A row that another transaction has added or removed meanwhile is found when it is.
"""

_NEVER = (
    psycopg.DataError,
    psycopg.IntegrityError,
    errors.DatatypeMismatch,
    errors.ProgramLimitExceeded,
    *NO_COLUMN,
)
"""Values for which there is no place in a row."""

_ENDED = frozenset({"25P03", "25P04", "53300", "57P01", "57P02", "57P03", "57P05"})
"""SQLSTATEs of a server that ended the session, or that takes none now."""

_LENT = (errors.DuplicatePreparedStatement, errors.InvalidSqlStatementName)
"""Errors of a session that has the statements of another one, which only a pooler makes."""

LOOK = "Look at the server, and at `url` in [store]."
_NAME = re.compile(r'"[^"]*"')


def is_gone(error: BaseException) -> bool:
    """True if the connection is lost, or the server takes none now."""
    if not isinstance(error, psycopg.Error):
        return False
    if (state := error.sqlstate) is not None:
        return state.startswith("08") or state in _ENDED
    # Without a word of the server's, the connection itself has failed.
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def place_of(url: str) -> str:
    """The database that a URL names, without a password or a person."""
    return str(database_place(url))


def lent(url: str) -> StoreUnwritable:
    """The refusal of a pooler that lends sessions for a transaction each."""
    return StoreUnwritable(
        f"The database {place_of(url)} is behind a pooler that gives each transaction another "
        "session (PgBouncer with pool_mode = transaction or statement), in which no lock, no "
        "setting and no prepared statement lasts. Set pool_mode = session, or name the database "
        "itself in `url` of [store]."
    )


def alone(url: str) -> StoreUnreachable:
    """The refusal of a pooler that gives no second session."""
    return StoreUnreachable(
        f"The database {place_of(url)} is behind a pooler that gives no second session while one "
        "is open (PgBouncer with default_pool_size or max_db_connections = 1, or others have all "
        "of them). Let it keep one for each connection: `pool_size` in [store] and three more."
    )


def translate(error: BaseException, url: str) -> BaseException:
    """An error of PostgreSQL's as one of the gateway's, if it is."""
    if isinstance(error, _NEVER) or _is_no_value(error):
        translated = Unstorable(refusal(error))
    elif isinstance(error, _LENT):
        translated = lent(url)
    else:
        translated = _translate(error, f"The database {place_of(url)}")
    if translated is not error:
        translated.__cause__ = error
    return translated


def _translate(error: BaseException, database: str) -> BaseException:
    match error:
        case GatewayError():
            return error
        case errors.DiskFull():
            return StoreFull()
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            return StoreUnwritable(f"{database} can't be written: {_said(error)}.")
        case psycopg.Error() if is_gone(error) or isinstance(error, _BUSY):
            what = "is too busy" if isinstance(error, _BUSY) else "can't be reached"
            return StoreUnreachable(f"{database} {what}: {refusal(error)}. {LOOK}")
        case psycopg.Error():
            return StatementRefused(f"{database} refused a statement: {_said(error)}.")
        case _:
            return error


def _is_no_value(error: BaseException) -> bool:
    """True where psycopg itself did not know what to send."""
    return isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None


def refusal(error: BaseException) -> str:
    """The reason of a lost or failed connection.

    It is without names, which are those of people and addresses.
    """
    said = _said(error).rpartition("failed: ")[2].removeprefix("FATAL:").strip()
    return _NAME.sub("...", said)


def _said(error: BaseException) -> str:
    """The first line of an error, without its end."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
