"""A backup is checked whole, then replaces the database."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.errors import BackupCorrupt, NotFound
from gateway.store.sqlite import restore
from gateway.store.sqlite.store import FILE, SqliteStore
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import place, take

pytestmark = pytest.mark.sqlite


async def filled(folder: Path, *threads: str) -> Path:
    """The database of a store with these threads."""
    store = new_store(folder)
    async with store.own():
        for thread in threads:
            await take(store, thread=thread, key=place(thread))
    return folder / FILE


def threads_in(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as raw:
        return [row[0] for row in raw.execute("SELECT id FROM threads ORDER BY id")]


async def test_a_checked_backup_takes_the_stores_place(tmp_path: Path) -> None:
    backup = await filled(tmp_path / "a", "old")
    store = await filled(tmp_path / "b", "new")
    await restore.stage(backup, store)
    assert threads_in(restore.staged_path(store)) == ["old"]
    assert threads_in(store) == ["new"]
    await restore.put_staged(store, commits=3)
    assert threads_in(store) == ["old"]
    assert threads_in(restore.kept(store)) == ["new"]
    assert not restore.staged_path(store).exists()
    async with SqliteStore(store.parent).own():  # it knows that it was restored
        pass


async def test_a_backup_that_is_no_good_is_refused(tmp_path: Path) -> None:
    store = await filled(tmp_path / "b", "new")
    with pytest.raises(NotFound):
        await restore.stage(tmp_path / "none.db", store)
    spoilt = tmp_path / "spoilt.db"
    for content in (b"", b"nothing" * 1000):
        spoilt.write_bytes(content)
        with pytest.raises(BackupCorrupt):
            await restore.stage(spoilt, store)
    assert not restore.staged_path(store).exists()
    with closing(sqlite3.connect(":memory:")) as copy:
        spoilt.write_bytes(b"something")
        with pytest.raises(BackupCorrupt, match="has no tables"):
            restore.check_copy(copy, spoilt)


async def test_what_is_deleted_is_deleted_from_a_copy_or_with_it(tmp_path: Path) -> None:
    copy = await filled(tmp_path, "a", "b")
    restore.delete_from_copy(copy, ["a"], [])
    assert threads_in(copy) == ["b"]
    copy.write_bytes(b"nothing" * 1000)
    restore.delete_from_copy(copy, ["b"], [])
    assert not copy.exists()


def test_a_file_is_put_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    (tmp_path / "a").touch()
    restore.sync(tmp_path / "a")
    restore.sync(tmp_path)
    assert len(synced) == 2
    with pytest.raises(FileNotFoundError):
        restore.sync(tmp_path / "b")
