"""A run's PostgreSQL server, with databases for each test.

They are copies of a template. The server is the one of `PARLEY_TEST_POSTGRES`, or one that the
first test in need of it starts; that one ends with the run. Variables tell workers, and processes
that tests start, where it is.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.fakes.postgres_guard import RUNNING
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
NUMBERS = count()
GUARDS: list[subprocess.Popen[str]] = []
"""Guard of the server that this process started; nobody here waits for its end."""

NewDatabase = Callable[[str], str]


def add_option(parser: pytest.Parser) -> None:
    """Add the option for the kind of all stores of a run."""
    parser.addoption(
        "--store", choices=("sqlite", "postgres"), default="sqlite", help="database of new stores"
    )


def register(config: pytest.Config) -> None:
    """Add the fixtures, and the server's end in the run's first process."""
    store = str(config.getoption("store"))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RunDatabases(store), "parley-run-databases")
    config.pluginmanager.register(Fixtures(store), "parley-databases")


class RunDatabases:
    """Server and databases of a run, until it ends."""

    def __init__(self, store: str) -> None:
        self._folder = OwnedFolder()
        self._given = os.environ.get(GIVEN, "")
        if self._given:
            (self._folder.path / GIVEN).touch(mode=0o600)
            (self._folder.path / GIVEN).write_text(self._given)
        mine = {STORE: store, FOLDER: str(self._folder.path)}
        self._before = {name: os.environ.get(name) for name in mine}
        os.environ |= mine

    def pytest_unconfigure(self) -> None:
        """Drop the databases of a given server, or end the own one."""
        known = self._folder.path / ADDRESS
        if self._given and known.exists():
            drop_databases(known.read_text(), _beginning())
        for name, value in self._before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        try:
            running = (self._folder.path / RUNNING).open()
        except FileNotFoundError:
            self._folder.remove()
            return
        with running:
            self._folder.release()
            fcntl.flock(running, fcntl.LOCK_EX)  # until the guard has ended the server


class Fixtures:
    """Fixtures for databases of one test."""

    def __init__(self, store: str) -> None:
        self._store = store

    @pytest.fixture(autouse=True)
    def databases_first(self, request: pytest.FixtureRequest) -> None:
        """Make what is dropped last; a run on PostgreSQL has it for all tests."""
        if self._store == "postgres" or "new_database" in request.fixturenames:
            request.getfixturevalue("new_database")

    @pytest.fixture
    def new_database(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewDatabase]:
        """Databases without tables, by name; they live as long as the test."""
        prefix = f"{_beginning()}{os.getpid()}_{next(NUMBERS)}_"
        monkeypatch.setenv(PREFIX, prefix)
        url = address()  # its start does not count as the test's time
        yield lambda name: make_database(name, "template0")
        drop_databases(url, prefix)

    @pytest.fixture
    def postgres_url(self, new_database: NewDatabase) -> str:
        """Address of a new database with the store's tables."""
        return make_database("url")

    @pytest.fixture(params=["sqlite", "postgres"])
    def database(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
        """Let `new_store` make stores of each kind, one test each."""
        if request.param == "postgres":
            request.getfixturevalue("new_database")
        monkeypatch.setenv(STORE, request.param)
        return request.param


def database_of(folder: Path) -> str:
    """Address of the folder's database, made if need be."""
    place = os.path.realpath(folder)
    return make_database(hashlib.sha256(place.encode()).hexdigest()[:12])


def make_database(name: str, template: str = "") -> str:
    """Address of the test's database of that name, made if need be."""
    url, beginning = address(), _beginning()
    wanted = os.environ.get(PREFIX, beginning) + name
    _create(url, wanted, template or beginning + TEMPLATE)
    return _named(url, wanted)


def databases_now() -> list[str]:
    """Addresses of the databases that this test has so far."""
    if PREFIX not in os.environ:
        return []
    url = address()
    with _connected(url) as connection:
        return [_named(url, name) for name in _names(connection, os.environ[PREFIX])]


def _names(connection: Connection[tuple[Any, ...]], prefix: str) -> list[str]:
    query = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
    return [name for (name,) in connection.execute(query, [prefix])]


def drop_databases(url: str, prefix: str) -> None:
    """Drop the databases whose names begin like this."""
    from psycopg import sql

    # FORCE would also end a vacuum of the system's, which this user may not; a drop alone may.
    end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"
    drop = sql.SQL("DROP DATABASE IF EXISTS {}")
    with _connected(url) as connection:
        for name in _names(connection, prefix):
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
    """Start the server and make the template, once: later callers get its failure."""
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
    GUARDS.append(files.start(SETTINGS))
    files.add_role()
    return files.url


def _make_template(url: str) -> None:
    """Make a database with the store's tables."""
    from gateway.store.postgres.database import Database
    from gateway.store.postgres.store import PostgresStore

    async def make(folder: Path) -> None:
        async with PostgresStore(Database(url=_named(url, name)), folder).own():
            pass

    name = _beginning() + TEMPLATE
    _create(url, name, "template0")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, make(Path(folder))).result()  # no test's loop is used


def _create(url: str, name: str, template: str) -> None:
    from psycopg import errors, sql  # here, as only tests with PostgreSQL need it

    query = "SELECT 1 FROM pg_database WHERE datname = %s"
    # A copy of files in memory is quicker; of files on a disk it waits until they are written.
    strategy = sql.SQL("WAL_LOG" if (_folder() / GIVEN).exists() else "FILE_COPY")
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY {}").format(
        sql.Identifier(name), sql.Identifier(template), strategy
    )
    with _connected(url) as connection:
        if connection.execute(query, [name]).fetchone() is None:
            with suppress(errors.DuplicateDatabase, errors.UniqueViolation):  # by another process
                connection.execute(create)


def _connected(url: str) -> Connection[tuple[Any, ...]]:
    from psycopg import connect

    return connect(url, autocommit=True)


def _folder() -> Path:
    return Path(os.environ[FOLDER])


def _beginning() -> str:
    """Beginning of the names of all databases of this run."""
    return f"parley_test_{_folder().name.removeprefix(OwnedFolder.PREFIX)}_"


def _named(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()
