"""Errors of PostgreSQL, as the gateway's."""

from __future__ import annotations

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from gateway.errors import GatewayError, StoreError, StoreFull, StoreUnreachable, StoreUnwritable

AGAIN = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.UniqueViolation,
    errors.ForeignKeyViolation,
)
"""A unit that met one of these has changed nothing and may be run again.

A row that another transaction has added or removed meanwhile is found when it is.
"""


def is_gone(error: BaseException) -> bool:
    """True if the connection is lost, or the server takes none now."""
    if isinstance(error, (errors.DiskFull, errors.OutOfMemory, *AGAIN)):
        return False
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def place_of(url: str) -> str:
    """The database that a URL names, without a password or a person."""
    found = conninfo_to_dict(url)
    host = found.get("host") or found.get("hostaddr") or "this machine"
    return f"{found.get('dbname') or 'postgres'} at {host}:{found.get('port') or 5432}"


def translate(error: BaseException, url: str) -> BaseException:
    """An error of PostgreSQL's as one of the gateway's, if it is."""
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
        case psycopg.Error() if is_gone(error) or isinstance(error, AGAIN):
            what = "is too busy" if isinstance(error, AGAIN) else "can't be reached"
            return StoreUnreachable(f"{database} {what}: {_said(error)}.")
        case psycopg.Error():
            return StoreError(f"{database} refused a statement: {_said(error)}.")
        case _:
            return error


def _said(error: BaseException) -> str:
    """The first line of an error, without its end."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
