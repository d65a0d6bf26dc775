"""The folder of scheduled backups: what counts there, and what is deleted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway.base.clock import JUMP
from gateway.errors import StoreUnwritable
from gateway.store.sqlite.backup_folder import (
    ID_FILE,
    BackupFolder,
    folder_problem,
    folder_warning,
)
from gateway.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.sqlite

NOW = 1_800_000_000.0


@pytest.fixture
async def store(tmp_path: Path) -> SqliteStore:
    made = SqliteStore(tmp_path / "store")
    async with made.own():
        pass
    (tmp_path / "backups").mkdir(mode=0o700)
    return made


def folder_of(store: SqliteStore) -> BackupFolder:
    return BackupFolder(store.folder.parent / "backups", store.path)


def times(folder: Path) -> list[str]:
    return sorted(path.name[16:-4] for path in folder.iterdir())


async def test_backups_are_known_by_name_and_header_and_the_newest_stay(tmp_path, store):
    folder = folder_of(store)
    for at in (NOW, NOW + 60, NOW - 60):
        await store.backup(folder.begin(at))
    newest = folder.rotate(3, NOW + 60)
    assert newest is not None
    assert (newest.at, newest.size) == (NOW + 60, store.path.stat().st_size)
    assert times(tmp_path / "backups") == ["20270115T075900", "20270115T080000", "20270115T080100"]
    assert folder.rotate(2, NOW + 60) == newest
    assert times(tmp_path / "backups") == ["20270115T080000", "20270115T080100"]


async def test_what_is_not_this_stores_own_is_neither_counted_nor_deleted(tmp_path, store):
    folder, there = folder_of(store), tmp_path / "backups"
    await store.backup(copy := folder.begin(NOW))
    other = SqliteStore(tmp_path / "other")
    async with other.own():
        pass
    await other.backup(BackupFolder(there, other.path).begin(NOW + 9))
    for name in ("copy.db", f"{copy.name}.old", copy.name.replace("-2027", "-keep-2027")):
        shutil.copyfile(copy, there / name)
    shutil.copyfile(copy, there / copy.name.replace("20270115", "20279915"))
    folder.begin(NOW + 1).symlink_to(copy)
    folder.begin(NOW + 2).write_text("no database")
    folder.begin(NOW + 3).write_bytes(copy.read_bytes()[:70])
    folder.begin(NOW + 4).mkdir()
    names = {path.name for path in there.iterdir()}
    newest = folder.rotate(1, NOW + 10)
    assert newest is not None
    assert newest.path == copy
    assert folder.rotate(0, NOW + 10) == newest
    assert {path.name for path in there.iterdir()} == names - {copy.name}


async def test_only_its_own_remains_are_removed_before_the_next_one(tmp_path, store):
    folder, there = folder_of(store), tmp_path / "backups"
    name = folder.begin(NOW).name
    for part in (f".{name}.1.part", f".{name}.1.part-journal", ".copy.db.1.part"):
        (there / part).touch()
    folder.begin(NOW)
    assert [path.name for path in there.iterdir()] == [".copy.db.1.part"]


async def test_a_backup_that_a_wrong_clock_dated_ahead_does_not_count(tmp_path, store):
    folder = folder_of(store)
    for at in (NOW, NOW + JUMP, NOW + 2 * JUMP):
        await store.backup(folder.begin(at))
    newest = folder.rotate(1, NOW)
    assert newest is not None
    assert newest.at == NOW + JUMP
    assert times(tmp_path / "backups") == ["20270115T080500", "20270115T081000"]


async def test_a_stores_backups_stay_its_own_after_a_move_of_the_store(tmp_path, store):
    await store.backup(folder_of(store).begin(NOW))
    store.folder.rename(tmp_path / "moved")
    moved = SqliteStore(tmp_path / "moved")
    assert folder_of(moved).rotate(1, NOW) is not None
    (moved.folder / ID_FILE).write_text("")  # cut short by a crash
    assert folder_of(moved).rotate(1, NOW) is None
    assert len((moved.folder / ID_FILE).read_text()) == 8


def test_a_folder_that_takes_no_backup_is_told_with_what_to_do(tmp_path, store, monkeypatch):
    there = tmp_path / "backups"
    assert folder_problem(there, store.path) == ""
    with pytest.raises(StoreUnwritable, match=r"there is no folder .*`mkdir -m 700`"):
        BackupFolder(tmp_path / "missing", store.path).begin(NOW)
    disk = SimpleNamespace(total=10_000_000_000, free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk)
    assert "make space, or keep fewer" in folder_problem(there, store.path)
    assert folder_problem(there, tmp_path / "not made yet.db") == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cant_be_written_is_told(tmp_path, store):
    (tmp_path / "backups").chmod(0o500)
    assert "denied" in folder_problem(tmp_path / "backups", store.path)


def test_a_folder_on_the_stores_disk_or_open_to_others_is_warned_of(tmp_path, store):
    there = tmp_path / "backups"
    assert "is on the store's disk" in folder_warning(there, store.path)
    assert "is on the store's disk" in folder_warning(there, tmp_path / "new" / "parley.db")
    there.chmod(0o770)
    assert "others than Parley's user can delete" in folder_warning(there, store.path)
