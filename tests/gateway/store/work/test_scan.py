"""Differences between a folder and its stored entries."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.store.work.contents import WorkLimits
from gateway.store.work.entries import Entry, Spool, hash_of
from gateway.store.work.scan import FolderDiff, find_changes

LIMITS = WorkLimits(file_mb=0.001, work_mb=0.0015)
LATER = time.time_ns() + 10**12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / "in").mkdir(parents=True)
    (made / "in" / "a.txt").write_text("A")
    return made


def changes(folder: Path, known: dict[str, Entry] | None = None) -> FolderDiff:
    return find_changes(folder, known or {}, LATER, LIMITS, Spool(folder.parent))


def test_a_new_folder_is_stored_with_its_contents(folder: Path) -> None:
    (folder / "link").symlink_to("in/a.txt")
    diff = changes(folder)
    assert [*diff.put] == ["in", "in/a.txt", "link"]
    assert diff.entries == diff.put
    assert (diff.put["in"].is_folder, diff.put["link"].is_link) == (True, True)
    assert isinstance(diff.spool, Spool)
    assert diff.spool.content(diff.put["in/a.txt"].sha256) == b"A"
    assert diff.spool.content(hash_of(b"in/a.txt")) == b"in/a.txt"
    assert not diff.is_empty


def test_what_is_known_is_not_read_again(folder: Path) -> None:
    known = dict(changes(folder).entries)
    known["in/a.txt"] = replace(known["in/a.txt"], sha256="as it was")
    diff = changes(folder, known)
    assert (diff.is_empty, diff.entries, diff.spool.sizes) == (True, known, {})


def test_a_file_that_has_changed_or_gone_is_told(folder: Path) -> None:
    known = dict(changes(folder).entries)
    (folder / "in" / "a.txt").write_text("longer")
    assert [*changes(folder, known).put] == ["in/a.txt"]
    (folder / "in" / "a.txt").unlink()
    diff = changes(folder, known)
    assert (diff.removed, diff.is_empty) == (("in/a.txt",), False)


def test_a_folder_that_is_not_there_has_no_entries(tmp_path: Path) -> None:
    diff = changes(tmp_path / "none", {"a": Entry(mode=0)})
    assert (diff.entries, diff.removed) == ({}, ("a",))


def test_what_can_not_be_stored_is_named_with_the_reason(folder: Path) -> None:
    (folder / "large").write_bytes(b"x" * 1001)
    (folder / "one").write_bytes(b"1" * 900)
    (folder / "two").write_bytes(b"2" * 950)
    (folder / "first").write_text("")
    os.link(folder / "first", folder / "second")
    os.mkfifo(folder / "pipe")
    assert changes(folder).left_out == {
        "large": "it is larger than 0.001 MB",
        "two": "the folder is larger than 0.0015 MB",
        "first": "it has a second name",
        "second": "it has a second name",
        "pipe": "it is neither a file nor a folder",
    }
