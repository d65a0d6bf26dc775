"""A copy of a store goes on, whenever its process was killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from gateway.store.sqlite.store import FILE, SqliteStore
from gateway.store.tables import DERIVED
from gateway.store.units import threads
from tests.fakes.full_store import fill_store

pytestmark = pytest.mark.chaos

CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from gateway.app.store_copy import copy_store, copy_target
from gateway.config.settings import StoreConfig
from gateway.store import copying
from gateway.store.postgres.database import Database
from gateway.store.postgres.store import PostgresStore
from gateway.store.sqlite.store import SqliteStore

url, folder, to, left = os.environ["URL"], Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
copying.MOST_ROWS = 3

def kill(step):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

store = PostgresStore(Database(url=url, failover=1.0), folder) if to else SqliteStore(folder)
settings = StoreConfig(failover_seconds=1.0)
target = copy_target(to or url, variable=None, file=None, settings=settings)
print(asyncio.run(copy_store(store, target, kill)))
"""
STEPS = (45, 0)
"""Steps after which a process is killed; the last one is not."""


def copy(url: str, folder: Path, to: str, kill_after: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(folder), to, str(kill_after)],
        env={**os.environ, "URL": url},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def counts(folder: Path) -> dict[str, int]:
    with closing(sqlite3.connect(folder / FILE)) as raw:
        tables = raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: raw.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0]
            for (name,) in tables
            if name not in {"audit", *DERIVED}
        }


async def test_a_killed_copy_goes_on_there_and_back(tmp_path: Path, postgres_url: str):
    await fill_store(tmp_path / "store")
    before = counts(tmp_path / "store")
    for folder, to in (("store", ""), ("node", str(tmp_path / "back"))):
        for steps in STEPS:
            done = await asyncio.to_thread(copy, postgres_url, tmp_path / folder, to, steps)
            assert done.returncode == (-signal.SIGKILL if steps else 0), done.stderr
            assert ("were compared" in done.stdout) == (not steps)
    assert counts(tmp_path / "back") == before
    store = SqliteStore(tmp_path / "back")
    async with store.own():
        assert await store.run(threads.threads)
