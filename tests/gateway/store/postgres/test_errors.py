"""Errors of PostgreSQL, as the gateway's."""

import pytest
from psycopg import OperationalError, errors
from psycopg_pool import PoolTimeout

from gateway.errors import StatementRefused, StoreFull, StoreUnreachable, StoreUnwritable
from gateway.store.postgres.errors import is_gone, translate

URL = "postgresql://ann:secret@db.example.com/parley"


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("server closed the connection unexpectedly"),
        PoolTimeout("no connection"),
        errors.AdminShutdown("terminating connection"),
        errors.CannotConnectNow("starting up"),
        errors.TooManyConnections("sorry"),
        errors.ConnectionFailure("gone"),
        errors.IdleInTransactionSessionTimeout("ended"),
    ],
)
def test_a_lost_connection_is_told_from_a_refusal(error):
    assert is_gone(error)
    assert isinstance(translate(error, URL), StoreUnreachable)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.DiskFull("no space left"), StoreFull),
        (errors.InsufficientPrivilege("denied"), StoreUnwritable),
        (errors.ObjectNotInPrerequisiteState("not yet"), StatementRefused),
        (errors.UndefinedTable("no such table"), StatementRefused),
        (errors.QueryCanceled("statement timeout"), StoreUnreachable),
    ],
)
def test_a_refusal_is_not_tried_for_long(error, kind):
    assert not is_gone(error)
    translated = translate(error, URL)
    assert type(translated) is kind
    assert translated.__cause__ is error
    assert "ann" not in str(translated)
    assert "secret" not in str(translated)
