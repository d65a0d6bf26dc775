"""Public names for files of a folder that untrusted code shares."""

from __future__ import annotations

from pathlib import Path

import pytest

import teams.safe_files
from teams.safe_files import UnsafePathError, read_file, write_file


def test_a_file_is_written_and_read_below_its_folder(tmp_path: Path):
    write_file(tmp_path, "a/b.txt", b"x")
    assert read_file(tmp_path, "a/b.txt", longest=10) == b"x"
    with pytest.raises(UnsafePathError):
        read_file(tmp_path, "../b.txt", longest=10)


def test_each_name_is_there():
    assert all(hasattr(teams.safe_files, name) for name in teams.safe_files.__all__)
