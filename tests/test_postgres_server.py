"""Crash, failure and end of a test's own PostgreSQL server."""

import fcntl
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.fakes.postgres_server import PostgresServer

pytestmark = pytest.mark.chaos

CHILD = """
import sys
from tests.fakes.postgres_server import PostgresServer
with PostgresServer() as server:
    print(server.folder, server.url, flush=True)
    sys.stdin.read()
"""


def test_what_was_committed_outlives_a_crash_of_the_server():
    with PostgresServer() as server:
        with psycopg.connect(server.url) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
            connection.commit()
            server.restart(immediate=True)
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        with psycopg.connect(server.socket_url) as connection:
            assert connection.execute("SELECT a FROM t").fetchall() == [(1,)]
        assert "automatic recovery in progress" in server.log_text()
        server.stop()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(server.url)
    assert not server.folder.exists()


def test_a_server_that_does_not_start_tells_why():
    server = PostgresServer({"shared_buffers": "many"})
    with pytest.raises(RuntimeError, match='invalid value for parameter "shared_buffers"'):
        server.__enter__()
    assert not server.folder.exists()


def test_a_server_ends_when_its_owner_is_killed():
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        folder, url = owner.stdout.readline().split()
        with psycopg.connect(url):
            pass
        with Path(folder, "running").open() as running:
            owner.kill()
            fcntl.flock(running, fcntl.LOCK_EX)  # the guard has it until the server has ended
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    assert not Path(folder).exists()
