"""Options and fixtures for a run's databases, see tests/fakes/postgres_databases.py."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from tests.fakes.postgres_databases import (
    ADDRESS,
    FOLDER,
    GIVEN,
    PREFIX,
    STORE,
    address,
    beginning,
    drop_databases,
    make_database,
)
from tests.fakes.postgres_guard import RUNNING
from tests.fakes.postgres_server import OwnedFolder

NUMBERS = count()

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
            drop_databases(known.read_text(), beginning())
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
        """Make databases before what uses them, so that they go last."""
        if self._store == "postgres" or "new_database" in request.fixturenames:
            request.getfixturevalue("new_database")

    @pytest.fixture(scope="session")
    def postgres_run(self) -> None:
        """Skip what is about servers and programs beside PostgreSQL in other runs."""
        if self._store != "postgres":
            pytest.skip("runs in `make test-postgres`")

    @pytest.fixture
    def new_database(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[NewDatabase]:
        """Databases without tables, by name; they live as long as the test."""
        prefix = f"{beginning()}{os.getpid()}_{next(NUMBERS)}_"
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
