"""A run's PostgreSQL server, with databases that are copies of a template.

The server is the one of `PARLEY_TEST_POSTGRES`, or one that the first test in need of it starts and
that ends with the run. Variables tell workers, and processes that tests start, where it is.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import hashlib
import os
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.fakes.postgres_server import SETTINGS, OwnedFolder, ServerFiles

if TYPE_CHECKING:
    from psycopg import Connection

GIVEN = "PARLEY_TEST_POSTGRES"
"""Variable with the URL of a server whose user may create databases."""
STORE = "TESTS_STORE"
"""Variable with the kind of store that `new_store` makes: `sqlite` or `postgres`."""
FOLDER = "TESTS_POSTGRES"
"""Variable with the folder of the run, where its server's address is."""
PREFIX = "TESTS_POSTGRES_PREFIX"
"""Variable with the beginning of the names of this test's databases."""

ADDRESS = "address"
TEMPLATE = "template"


def database_of(folder: Path) -> str:
    """Address of the folder's database, made if need be."""
    place = os.path.realpath(folder)
    return make_database(hashlib.sha256(place.encode()).hexdigest()[:12])


def make_database(name: str, template: str = "") -> str:
    """Address of the test's database of that name, made if need be."""
    url = address()
    wanted = os.environ.get(PREFIX, beginning()) + name
    _create(url, wanted, template or beginning() + TEMPLATE)
    return _named(url, wanted)


def databases_now() -> list[str]:
    """Addresses of the databases that this test has so far."""
    if PREFIX not in os.environ:
        return []
    url = address()
    return [_named(url, name) for name in _names(url, os.environ[PREFIX])]


def _names(url: str, prefix: str) -> list[str]:
    query = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
    return [name for (name,) in _connection(url).execute(query, [prefix])]


def drop_databases(url: str, prefix: str) -> None:
    """Drop the databases whose names begin like this."""
    from psycopg import sql

    # FORCE would also end a vacuum of the system's, which this user may not; a drop alone may.
    end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"
    drop = sql.SQL("DROP DATABASE IF EXISTS {}")
    connection = _connection(url)
    for name in _names(url, prefix):
        connection.execute(f"{end} AND usename = current_user", [name])
        connection.execute(drop.format(sql.Identifier(name)))


def address() -> str:
    """Address of the run's server, started if need be."""
    folder = _folder()
    known = folder / ADDRESS
    with (folder / "start").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not known.exists():
            _make_ready(folder)
        return known.read_text()


def _make_ready(folder: Path) -> None:
    """Start the server and make the template; others get its failure, too."""
    failure = folder / "failure"
    assert not failure.exists(), failure.read_text()
    given, known = folder / GIVEN, folder / ADDRESS
    try:
        url = given.read_text() if given.exists() else _start(folder)
        _make_template(url)
    except Exception:
        failure.write_text(traceback.format_exc())
        raise
    known.touch(mode=0o600)
    known.write_text(url)


def _start(folder: Path) -> str:
    files = ServerFiles(folder)
    files.make()
    guard = files.start(SETTINGS)
    guard.returncode = 0  # it outlives this process: no complaint that nobody waits for it
    files.add_role()
    return files.url


def _make_template(url: str) -> None:
    """Make a database with the store's tables."""
    from gateway.store.postgres.database import Database
    from gateway.store.postgres.store import PostgresStore

    async def make(folder: Path) -> None:
        async with PostgresStore(Database(url=_named(url, name)), folder).own():
            pass

    name = beginning() + TEMPLATE
    _create(url, name, "template0")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, make(Path(folder))).result()  # no test's loop is used


def _create(url: str, name: str, template: str) -> None:
    from psycopg import errors, sql  # here, as only tests with PostgreSQL need it

    query = "SELECT 1 FROM pg_database WHERE datname = %s"
    # A copy of files is quicker in memory; on a disk it waits until all are written.
    how = sql.SQL("" if (_folder() / GIVEN).exists() else "STRATEGY FILE_COPY")
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {} {}").format(
        sql.Identifier(name), sql.Identifier(template), how
    )
    connection = _connection(url)
    if connection.execute(query, [name]).fetchone() is None:
        with suppress(errors.DuplicateDatabase, errors.UniqueViolation):  # by another process
            connection.execute(create)


@cache
def _connection(url: str) -> Connection[tuple[Any, ...]]:
    """Connection of this process: a new one costs half a database."""
    from psycopg import connect

    connection = connect(url, autocommit=True)
    atexit.register(connection.close)
    return connection


def _folder() -> Path:
    return Path(os.environ[FOLDER])


def beginning() -> str:
    """Beginning of the names of all databases of this run."""
    return f"parley_test_{_folder().name.removeprefix(OwnedFolder.PREFIX)}_"


def _named(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()
