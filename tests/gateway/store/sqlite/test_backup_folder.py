"""The folder of scheduled backups: what counts there, and what is deleted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateway.base.clock import JUMP
from gateway.store.sqlite.backup_folder import (
    ID_FILE,
    BackupFolder,
    folder_problem,
    folder_warning,
)
from gateway.store.sqlite.store import SqliteStore

NOW = 1_800_000_000.0


@pytest.fixture
async def store(tmp_path: Path) -> SqliteStore:
    made = SqliteStore(tmp_path / "store")
    async with made.own():
        pass
    (tmp_path / "backups").mkdir(mode=0o700)
    return made


async def test_backups_are_known_by_name_and_header_newest_first(tmp_path, store):
    folder = BackupFolder(tmp_path / "backups", store.path)
    for at in (NOW, NOW + 60, NOW - 60):
        await store.backup(folder.path_at(at))
    good = folder.good(NOW + 60)
    assert [each.at for each in good] == [NOW + 60, NOW, NOW - 60]
    assert good[0].size == store.path.stat().st_size
    assert good[0].path.name.endswith("-20270115T080100Z.db")
    folder.delete(good[2:])
    assert [each.at for each in folder.good(NOW + 60)] == [NOW + 60, NOW]


async def test_what_is_not_this_stores_own_is_neither_counted_nor_deleted(tmp_path, store):
    folder, there = BackupFolder(tmp_path / "backups", store.path), tmp_path / "backups"
    await store.backup(folder.path_at(NOW))
    copy = folder.path_at(NOW)
    other = SqliteStore(tmp_path / "other")
    async with other.own():
        pass
    await other.backup(BackupFolder(there, other.path).path_at(NOW))
    shutil.copyfile(copy, there / "copy.db")
    shutil.copyfile(copy, there / f"{copy.name}.old")
    folder.path_at(NOW - 1).symlink_to(copy)
    folder.path_at(NOW - 2).write_text("no database")
    folder.path_at(NOW - 3).write_bytes(copy.read_bytes()[:70])
    folder.path_at(NOW - 4).mkdir()
    impossible = copy.with_name(copy.name.replace("20270115", "20279915"))
    shutil.copyfile(copy, impossible)
    (there / f".{copy.name}.1.part").touch()
    (there / f".{copy.name}.1.part-journal").touch()
    (there / ".copy.db.1.part").touch()
    names = {path.name for path in there.iterdir()}
    assert [each.path for each in folder.good(NOW)] == [copy]
    folder.clear()
    folder.delete(folder.good(NOW))
    gone = {copy.name, f".{copy.name}.1.part", f".{copy.name}.1.part-journal"}
    assert {path.name for path in there.iterdir()} == names - gone


async def test_a_backup_that_a_wrong_clock_dated_ahead_does_not_count(tmp_path, store):
    folder = BackupFolder(tmp_path / "backups", store.path)
    for at in (NOW, NOW + JUMP, NOW + 2 * JUMP):
        await store.backup(folder.path_at(at))
    assert [each.at for each in folder.good(NOW)] == [NOW + JUMP, NOW]


async def test_a_stores_backups_stay_its_own_after_a_move_of_the_store(tmp_path, store):
    await store.backup(BackupFolder(tmp_path / "backups", store.path).path_at(NOW))
    note = store.folder / ID_FILE
    assert oct(note.stat().st_mode) == oct(0o100600)
    store.folder.rename(tmp_path / "moved")
    moved = SqliteStore(tmp_path / "moved")
    assert len(BackupFolder(tmp_path / "backups", moved.path).good(NOW)) == 1
    (moved.folder / ID_FILE).write_text("3f")  # cut short by a crash
    assert BackupFolder(tmp_path / "backups", moved.path).good(NOW) == []
    assert len((moved.folder / ID_FILE).read_text()) == 8


def test_a_folder_that_takes_no_backup_is_told_with_what_to_do(tmp_path, store, monkeypatch):
    there = tmp_path / "backups"
    assert folder_problem(there, store.path) == ""
    assert "there is no folder" in folder_problem(tmp_path / "missing", store.path)
    assert "`mkdir -m 700`" in folder_problem(tmp_path / "missing", store.path)
    disk = SimpleNamespace(total=10_000_000_000, free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: disk)
    assert "make space, or keep fewer" in folder_problem(there, store.path)
    assert folder_problem(there, tmp_path / "not made yet.db") == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cant_be_written_is_told(tmp_path, store):
    (tmp_path / "backups").chmod(0o500)
    assert "Permission denied; choose a folder" in folder_problem(tmp_path / "backups", store.path)


def test_a_folder_on_the_stores_disk_or_open_to_others_is_warned_of(tmp_path, store):
    there = tmp_path / "backups"
    assert "on the same disk as the store" in folder_warning(there, store.path)
    assert "on the same disk" in folder_warning(there, tmp_path / "new" / "parley.db")
    there.chmod(0o770)
    assert "others than Parley's user can write" in folder_warning(there, store.path)
    assert folder_warning(tmp_path / "missing", store.path) == ""
