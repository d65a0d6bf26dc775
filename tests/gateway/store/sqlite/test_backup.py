"""Backups of a store in use: whole and checked, or not there."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway.errors import StoreCorrupt, StoreUnwritable
from gateway.store.sqlite.backup import STEP
from gateway.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.sqlite

PAGES = 3 * STEP
FSYNC = os.fsync


async def grown(folder: Path) -> SqliteStore:
    """A store that takes more than two steps to copy."""
    store = SqliteStore(folder)
    async with store.own():
        pass
    with closing(sqlite3.connect(store.path)) as raw, raw:
        raw.execute("CREATE TABLE filler (body)")
        raw.execute("INSERT INTO filler VALUES (zeroblob(?))", [PAGES * 4096])
    with closing(sqlite3.connect(store.path)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return store


def at_each_sync(monkeypatch: pytest.MonkeyPatch, do: Callable[[int], None]) -> None:
    def fsync(handle: int) -> None:
        FSYNC(handle)
        do(handle)

    monkeypatch.setattr(os, "fsync", fsync)


def number(path: Path, query: str) -> int:
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute(query).fetchone()[0]


async def test_a_copy_is_of_one_moment_and_does_not_begin_anew_after_commits(tmp_path, monkeypatch):
    store, copy = await grown(tmp_path / "store"), tmp_path / "copy.db"
    pages = number(store.path, "PRAGMA page_count")
    commits = []

    def commit(handle: int) -> None:
        with closing(sqlite3.connect(store.path)) as raw, raw:
            raw.execute("INSERT INTO filler VALUES (randomblob(5000))")
        commits.append(handle)

    at_each_sync(monkeypatch, commit)
    await store.backup(copy)
    assert len(commits) == -(-pages // STEP) + 2  # each step, then the file and its folder
    assert number(copy, "SELECT COUNT(*) FROM filler") == 1
    assert number(copy, "PRAGMA page_count") == pages
    assert oct(copy.stat().st_mode) == oct(0o100600)
    assert {path.name for path in tmp_path.iterdir()} == {"store", "copy.db"}


async def test_who_is_cancelled_leaves_at_once_and_the_copy_is_given_up(tmp_path, monkeypatch):
    store, copy = await grown(tmp_path / "store"), tmp_path / "copy.db"
    copy.write_text("an earlier one")
    began, left = asyncio.Event(), threading.Event()
    loop, steps = asyncio.get_running_loop(), []

    def step(handle: int) -> None:
        steps.append(handle)
        loop.call_soon_threadsafe(began.set)
        left.wait(5)

    at_each_sync(monkeypatch, step)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(store.backup(copy))
        await began.wait()
        task.cancel()
    assert task.cancelled()
    left.set()
    while [*tmp_path.glob(".*")]:  # noqa: ASYNC110 (nobody is told of its end)
        await asyncio.sleep(0.005)
    assert len(steps) <= 2
    assert copy.read_text() == "an earlier one"


async def test_a_copy_of_a_damaged_store_replaces_no_good_one(tmp_path):
    store, copy = await grown(tmp_path / "store"), tmp_path / "copy.db"
    await store.backup(copy)
    good = copy.read_bytes()
    content = bytearray(store.path.read_bytes())
    content[4096 * 1000 : 4096 * 1010] = os.urandom(4096 * 10)
    store.path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match=r"not kept: .* is damaged: .*`parley store check`"):
        await store.backup(copy)
    assert copy.read_bytes() == good
    assert not [*tmp_path.glob(".*")]


async def test_a_copy_that_lacks_something_of_the_store_is_not_kept(tmp_path, monkeypatch):
    store, copy = await grown(tmp_path / "store"), tmp_path / "copy.db"
    async with store.own():
        pass

    def lose(_: int) -> None:
        (part,) = tmp_path.glob(".copy.db.*.part")
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(part, timeout=0)) as raw:
            raw.execute("DROP TABLE filler")  # locked while it is being written
            raw.execute("VACUUM")

    at_each_sync(monkeypatch, lose)
    with pytest.raises(StoreCorrupt, match="it has not all of the store"):
        await store.backup(copy)
    assert not copy.exists()


async def test_a_copy_begins_only_where_it_fits(tmp_path, monkeypatch):
    store, copy = await grown(tmp_path / "store"), tmp_path / "copy.db"
    size = store.path.stat().st_size
    disk = SimpleNamespace(total=10 * size, free=size)  # the store goes on beside it
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk)
    with pytest.raises(StoreUnwritable, match=r"it needs 1\d MB of space, and 1\d MB are free"):
        await store.backup(copy)
    disk.free = 2 * size
    await store.backup(copy)
    disk.total = disk.free = 0  # it does not tell
    await store.backup(copy)
