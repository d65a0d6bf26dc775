"""One PostgreSQL server for a run, and databases for each test."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.databases import RunDatabases
from tests.fakes.new_store import is_on_postgres, store_table
from tests.fakes.postgres_databases import (
    FOLDER,
    GIVEN,
    PREFIX,
    address,
    database_of,
    drop_databases,
    make_database,
)

pytestmark = pytest.mark.chaos

IN_A_CHILD = """
from pathlib import Path
from tests.fakes.postgres_databases import address, database_of
print({})
"""


def child(expression: str) -> "subprocess.Popen[str]":
    """Another process, which prints the value of the expression."""
    command = [sys.executable, "-c", IN_A_CHILD.format(expression)]
    root = Path(__file__).parents[1]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)


def printed(process: "subprocess.Popen[str]") -> str:
    return process.communicate(timeout=60)[0].strip()


def names_like(url: str, beginning: str) -> list[str]:
    query = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"
    with psycopg.connect(url) as connection:
        return [name for (name,) in connection.execute(query, [beginning])]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, new_database: object) -> RunDatabases:
    """The first process of another run; its test ends it."""
    monkeypatch.delenv(PREFIX)
    return RunDatabases("sqlite")


def test_processes_that_need_the_server_at_once_share_it_until_the_run_ends(run: RunDatabases):
    folder = Path(os.environ[FOLDER])
    first, second = child("address()"), child("address()")
    url = printed(first)
    assert printed(second) == url
    with psycopg.connect(url) as connection:
        run.pytest_unconfigure()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert not folder.exists()


def test_a_run_without_need_of_a_server_leaves_no_folder(run: RunDatabases):
    folder = Path(os.environ[FOLDER])
    run.pytest_unconfigure()
    assert not folder.exists()
    assert folder != Path(os.environ[FOLDER])


def test_a_given_server_is_used_and_left_without_databases_of_the_run(
    monkeypatch: pytest.MonkeyPatch, new_database: object
):
    given = address()
    monkeypatch.delenv(PREFIX)
    monkeypatch.setenv(GIVEN, given)
    run = RunDatabases("sqlite")
    try:
        assert address() == given
        with psycopg.connect(make_database("mine")) as connection:
            row = connection.execute("SELECT current_database()").fetchone()
        assert row is not None
        beginning = row[0].removesuffix("mine")
        assert len(names_like(given, beginning)) == 2  # with the template
    finally:
        run.pytest_unconfigure()
    assert names_like(given, beginning) == []


def test_a_folder_has_one_database_in_each_process(tmp_path: Path, new_database: object):
    url = database_of(tmp_path / "store")
    assert printed(child(f"database_of(Path({str(tmp_path)!r}, 'x', '..', 'store'))")) == url
    assert database_of(tmp_path / "other") != url


def test_databases_are_dropped_though_they_are_in_use(tmp_path: Path, new_database: object):
    with psycopg.connect(database_of(tmp_path)) as connection:
        drop_databases(address(), os.environ[PREFIX])
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert names_like(address(), os.environ[PREFIX]) == []


def test_a_new_database_has_no_tables(new_database):
    with psycopg.connect(new_database("empty")) as connection:
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert found.fetchall() == []


def test_a_config_names_the_store_of_its_folder(database: str, tmp_path: Path):
    lines = store_table(tmp_path).splitlines()
    assert lines[:2] == ["[store]", f'folder = "{tmp_path}"']
    assert lines[2:] == ([f'url = "{database_of(tmp_path)}"'] if is_on_postgres() else [])
    assert is_on_postgres() == (database == "postgres")
