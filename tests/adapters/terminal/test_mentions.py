"""Files that a draft names: which are meant, and which stay text."""

from pathlib import Path

import pytest

from adapters.terminal.mentions import BEGUN, mention_of, named_files, pasted_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for name in ("a.txt", "b c.md", "coder", ".env", "src/queue.py"):
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("look at @a.txt and @src/queue.py", ["a.txt", "src/queue.py"]),
        ("@a.txt, twice: @a.txt.", ["a.txt"]),
        ('see @"b c.md"', ["b c.md"]),
        ("what is in (@a.txt)?", []),
        ("mail ann@a.txt", []),
        ("@nothing here, @src neither", []),
        ("@coder please", []),
        ("@Coder, please", []),
        ("read @coder", ["coder"]),
        ("@.env", []),
        ("@src/../.env", []),
        ("@./.env", [".env"]),
        ("@./src/../a.txt", ["src/../a.txt"]),
        ("@" + "x" * 5000, []),
        ("@a\0b", []),
    ],
)
def test_what_exists_is_named_and_anything_else_stays_text(folder: Path, text: str, names):
    assert named_files(text, ["coder"], folder) == [folder / name for name in names]


def test_an_absolute_path_and_the_home_folder_are_named(folder: Path, monkeypatch):
    monkeypatch.setenv("HOME", str(folder / "src"))
    found = named_files(f"@{folder}/a.txt @~/queue.py @~", [], Path("/"))
    assert found == [folder / "a.txt", folder / "src/queue.py"]


@pytest.mark.parametrize("path", ["a.txt", "b c.md", "./src/queue.py"])
def test_a_path_is_written_as_it_is_understood(folder: Path, path: str):
    assert named_files(f"see {mention_of(path)} now", [], folder) == [folder / path]


@pytest.mark.parametrize(
    ("draft", "typed"),
    [("@", ""), ("a @sr", "sr"), ('a @"b c', '"b c'), ("a@b", None), ("@a ", None), ("a", None)],
)
def test_a_name_at_the_end_is_still_being_typed(draft: str, typed: str | None):
    found = BEGUN.search(draft)
    assert (found and found[1]) == typed


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/tmp/a.txt ", "/tmp/a.txt"),
        ("~/my notes.txt", "~/my notes.txt"),
        ("'/tmp/my notes.txt'", "/tmp/my notes.txt"),
        (r"/tmp/my\ notes\(1\).txt", "/tmp/my notes(1).txt"),
        ("file:///tmp/my%20notes.txt", "/tmp/my notes.txt"),
        ("file://other/tmp/a.txt", ""),
        ("a.txt", ""),
        ("/tmp/a.txt\n/tmp/b.txt", ""),
        ("/" * 5000, ""),
        ("", ""),
    ],
)
def test_a_pasted_path_is_read_as_terminals_write_it(text: str, path: str):
    assert pasted_path(text) == path
