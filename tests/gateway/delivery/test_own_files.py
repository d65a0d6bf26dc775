"""Only files of the thread's own folder are sent on."""

import os
from pathlib import Path

import pytest

from gateway.delivery.own_files import ForeignFile, read_own_file


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("mine")
    (tmp_path / "secret.txt").write_text("theirs")
    (folder / "out").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    (folder / "in").symlink_to(folder / "sub" / "a.txt")
    os.link(tmp_path / "secret.txt", folder / "hard")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize("path", ["sub/a.txt", "./sub/../sub/a.txt", "in"])
def test_a_file_of_the_folder_is_read(work, path):
    assert read_own_file(work, path, longest=10) == b"mine"
    assert read_own_file(work, str(work / "sub" / "a.txt"), longest=10) == b"mine"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "out",
        "up/secret.txt",
        "hard",
        "pipe",
        "sub",
        ".",
        "",
        "none",
        "/etc/passwd",
        "a\0b",
    ],
)
def test_nothing_else_is(work, path):
    with pytest.raises(ForeignFile):
        read_own_file(work, path, longest=10)


def test_nor_is_a_file_that_is_too_large(work):
    with pytest.raises(ForeignFile, match="larger than 3 bytes"):
        read_own_file(work, "sub/a.txt", longest=3)


def test_a_folder_that_is_a_link_itself_is_fine(work, tmp_path):
    (tmp_path / "linked").symlink_to(work)
    assert read_own_file(tmp_path / "linked", "sub/a.txt", longest=10) == b"mine"
