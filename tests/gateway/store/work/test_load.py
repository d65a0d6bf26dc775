"""Working copies, made of stored entries and an old copy."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from gateway.errors import StoreCorrupt
from gateway.store.work.entries import Entry, hash_of
from gateway.store.work.load import move_entries, refresh, write_copy

FILE, FOLDER = stat.S_IFREG | 0o640, stat.S_IFDIR | 0o700
ENTRIES = {
    "in": Entry(mode=FOLDER),
    "in/a.txt": Entry(mode=FILE, size=1, changed=10**18, sha256=hash_of(b"A")),
    "in/empty": Entry(mode=FILE, changed=10**18),
}


def nothing(_: Mapping[str, int]) -> Iterable[tuple[str, bytes]]:
    return ()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    folder = tmp_path / "old"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.txt").write_text("A")
    return folder


def test_a_copy_is_made_of_the_old_one(old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    write_copy(nothing, ENTRIES, new, old)
    found = (new / "in" / "a.txt").stat()
    assert (new / "in" / "a.txt").read_text() == "A"
    assert (found.st_mode, found.st_mtime_ns) == (FILE, 10**18)
    assert (new / "in" / "empty").read_bytes() == b""


def test_contents_that_are_nowhere_are_damage(old: Path, tmp_path: Path) -> None:
    (old / "in" / "a.txt").write_text("B")
    with pytest.raises(StoreCorrupt, match="are not what was stored"):
        write_copy(nothing, ENTRIES, tmp_path / "new", old)


def test_a_file_counts_as_changed_from_now_on(old: Path) -> None:
    file = old / "in" / "a.txt"
    before = file.stat()
    refresh(old, ["in/a.txt", "in/gone"])
    after = file.stat()
    assert after.st_ctime_ns > before.st_ctime_ns
    assert after.st_mode == before.st_mode


def test_entries_move_unless_something_is_there(old: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    (target / "in").mkdir(parents=True)
    (old / "in" / "b.txt").write_text("mine")
    (target / "in" / "b.txt").write_text("stored")
    move_entries(old, target, ["in/a.txt", "in/b.txt", "in/gone"])
    assert (target / "in" / "a.txt").read_text() == "A"
    assert (target / "in" / "b.txt").read_text() == "stored"
    assert [each.name for each in (old / "in").iterdir()] == ["b.txt"]
