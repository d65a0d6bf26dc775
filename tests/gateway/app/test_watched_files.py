"""Files that a config names, and whether they have changed."""

import os
from pathlib import Path

import pytest

from gateway.app.watched_files import LARGEST, named_files, read_states, shared_digest

CONFIG = """
[models.m]
api_key_file = "key.txt"
[teams.a]
component = "studio/team.json"
tool_overrides = { read = "tools:read" }
[teams.b]
factory = "pack:team"
options = { prompt = "prompt.md", absent = "none.md", long = "LONG", deep = { also = "more.md" } }
[teams.c.agents.x]
tools = [{ path = "deep.tools:find" }, "json:loads"]
[logging]
file = "parley.log"
[store]
keys_file = "keys"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("config.toml", "prompt.md", "more.md", "parley.log", "keys", "pack/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def test_files_are_known_from_the_text_there_or_not(folder):
    text = CONFIG.replace("LONG", "word " * 2000)
    named = named_files(folder / "config.toml", text)
    assert {str(path.relative_to(folder)) for path in named} == {
        "config.toml",
        "key.txt",
        "studio/team.json",
        "tools.py",
        "pack/__init__.py",
        "prompt.md",
        "more.md",
        "deep/tools.py",
        "json.py",  # it would come after the standard library's, and is not there
    }


@pytest.mark.parametrize("text", ["[teams", "", "teams = 1"])
def test_a_text_that_names_nothing_leaves_the_config(folder, text):
    assert named_files(folder / "config.toml", text) == {folder / "config.toml"}


def test_the_same_content_is_the_same_digest(folder):
    path = folder / "prompt.md"
    before = read_states([path, folder / "none"], {})
    assert before[folder / "none"] is None
    assert read_states([path, folder / "none"], before) == before
    os.utime(path, ns=(1, 1))
    touched = read_states([path], before)[path]
    first = before[path]
    assert touched is not None
    assert first is not None
    assert (touched == first, touched.digest == first.digest) == (False, True)
    path.write_text("y")
    changed = read_states([path], before)[path]
    assert changed is not None
    assert changed.digest != first.digest


def test_a_huge_file_is_not_read(folder):
    with (folder / "huge").open("wb") as file:
        file.truncate(LARGEST + 1)
    (state,) = read_states([folder / "huge"], {}).values()
    assert state is not None
    assert state.digest == str(state.stamp)


def test_nodes_with_the_same_files_in_other_folders_have_one_digest(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    for at in (folder, other):
        (at / "studio").mkdir()
        (at / "studio/team.json").write_text("{}")
    for name in ("prompt.md", "more.md", "pack/__init__.py"):
        (other / name).parent.mkdir(exist_ok=True)
        (other / name).write_text("x")

    def digest(at: Path, text: str = CONFIG) -> str:
        return shared_digest(at / "config.toml", text)

    first = digest(folder)
    assert digest(other) == first
    (other / "key.txt").write_text("a secret")
    assert digest(other) == first
    assert digest(other, f"{CONFIG}# more") == first
    for name in ("prompt.md", "studio/team.json", "tools.py"):
        before = digest(other)
        (other / name).write_text("y")
        assert digest(other) != before
