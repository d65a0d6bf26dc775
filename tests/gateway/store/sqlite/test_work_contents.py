"""Contents of work folders as files."""

from __future__ import annotations

from pathlib import Path

from gateway.store.connection import NoConnection
from gateway.store.sqlite.work_contents import ContentFiles
from gateway.store.work.entries import hash_of


def test_a_content_is_one_private_file(tmp_path: Path) -> None:
    contents = ContentFiles(tmp_path / "versions")
    taken = contents.taken("t")
    assert [taken.take(each) for each in (b"one", b"", b"one")] == [
        hash_of(b"one"),
        "",
        hash_of(b"one"),
    ]
    assert taken.sizes == {hash_of(b"one"): 3}
    file = tmp_path / "versions" / "t" / hash_of(b"one")
    assert [*file.parent.iterdir()] == [file]
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_content_that_a_power_cut_damaged_is_written_anew(tmp_path: Path) -> None:
    contents = ContentFiles(tmp_path / "versions")
    sha256 = contents.taken("t").take(b"one")
    (tmp_path / "versions" / "t" / sha256).write_bytes(b"\0\0\0")
    contents.taken("t").take(b"one")
    assert [*contents.read(NoConnection(), "t", {sha256: 3, "gone": 1})] == [(sha256, b"one")]


def test_what_nothing_names_is_dropped(tmp_path: Path) -> None:
    contents = ContentFiles(tmp_path / "versions")
    contents.taken("t").take(b"one")
    contents.drop(NoConnection(), "t")
    assert [*(tmp_path / "versions" / "t").iterdir()] == []
    contents.sweep(NoConnection())
    assert [*(tmp_path / "versions").iterdir()] == []
