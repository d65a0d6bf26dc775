"""Files of a shared folder, without following a link."""

import os
from pathlib import Path

import pytest

from teams.safe_files import (
    UnsafePathError,
    folder_size,
    list_folder,
    open_file,
    read_file,
    remove_file,
    walk_files,
    write_file,
)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("theirs")
    return folder


@pytest.fixture
def work(tmp_path: Path, outside: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("mine")
    (folder / "up").symlink_to(outside)
    (folder / "sub" / "up.txt").symlink_to(outside / "a.txt")
    return folder


@pytest.mark.parametrize("path", ["b.txt", "sub/b.txt", "new/deep/b.txt", "sub/../b.txt"])
def test_a_file_is_written_with_the_folders_above_it(work, path):
    write_file(work, path, b"ours")
    assert (work / path.replace("sub/../", "")).read_bytes() == b"ours"
    assert [each.name for each in work.rglob(".*")] == []


def test_an_absolute_path_in_the_folder_is_one_of_the_folder(work):
    write_file(work, str(work / "sub" / "b.txt"), b"ours")
    assert read_file(work, "sub/b.txt", longest=4) == b"ours"


def test_a_link_that_stands_there_is_replaced(work, outside):
    write_file(work, "sub/up.txt", b"ours")
    assert not (work / "sub" / "up.txt").is_symlink()
    assert (outside / "a.txt").read_text() == "theirs"


@pytest.mark.parametrize(
    "path", ["up/b.txt", "up/new/b.txt", "../b.txt", "/b.txt", "", ".", "a\0b"]
)
def test_nothing_is_written_elsewhere(work, outside, path):
    with pytest.raises(UnsafePathError):
        write_file(work, path, b"ours")
    assert [each.name for each in outside.iterdir()] == ["a.txt"]


def test_a_folder_is_not_replaced_and_nothing_is_left_behind(work):
    with pytest.raises(OSError, match="directory"):
        write_file(work, "sub", b"ours")
    assert sorted(os.listdir(work)) == ["sub", "up"]


@pytest.mark.parametrize("path", ["up/a.txt", "sub/up.txt", "sub", "pipe", "hard.txt", "../work"])
def test_only_ordinary_files_of_the_folder_are_read(work, outside, path):
    os.mkfifo(work / "pipe")
    os.link(outside / "a.txt", work / "hard.txt")
    with pytest.raises(UnsafePathError):
        read_file(work, path, longest=100)


def test_a_file_that_is_too_long_is_not_read(work):
    assert read_file(work, "sub/a.txt", longest=4) == b"mine"
    with pytest.raises(UnsafePathError, match="larger than 3 bytes"):
        read_file(work, "sub/a.txt", longest=3)


def test_a_missing_file_is_told_from_an_unsafe_path(work):
    with pytest.raises(FileNotFoundError):
        read_file(work, "sub/none.txt", longest=100)


def test_removing_takes_the_link_and_not_the_file_behind_it(work, outside):
    remove_file(work, "sub/up.txt")
    remove_file(work, "sub/none.txt")
    remove_file(work, "none/none.txt")
    with pytest.raises(UnsafePathError):
        remove_file(work, "up/a.txt")
    assert os.listdir(work / "sub") == ["a.txt"]
    assert (outside / "a.txt").exists()


def test_ordinary_files_are_listed_with_their_facts(work):
    [found] = walk_files(work, most=100)
    assert (found.path, found.size) == ("sub/a.txt", 4)
    assert found.changed == (work / "sub" / "a.txt").stat().st_ctime_ns
    assert folder_size(work, most=100) == 4
    assert list(walk_files(work, most=1)) == []
    assert list(walk_files(work, most=100, skip=lambda name: name == "sub")) == []


def test_a_folder_is_listed_without_its_links(work):
    (work / "b.txt").write_text("four")
    found = [(each.path, each.size) for each in list_folder(work, most=100)]
    assert found == [("b.txt", 4), ("sub/", 0)]
    assert [each.path for each in list_folder(work, "sub/../sub", most=100)] == ["a.txt"]
    assert [each.path for each in list_folder(work, str(work / "sub"), most=100)] == ["a.txt"]
    assert len(list_folder(work, ".", most=1)) <= 1


@pytest.mark.parametrize("path", ["..", "up", "sub/up.txt", "sub/a.txt", "sub/../..", "/", "a\0"])
def test_only_folders_of_the_folder_are_listed(work, path):
    with pytest.raises(UnsafePathError):
        list_folder(work, path, most=100)


def test_a_file_can_be_read_bit_by_bit(work):
    with open_file(work, "sub/a.txt") as file:
        assert (file.read(2), file.seek(0), file.read()) == (b"mi", 0, b"mine")
    with pytest.raises(UnsafePathError), open_file(work, "sub/up.txt"):
        pass
