"""Chats of several configs: each opens its own last thread."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.cli import main

OWN = """
[models.mine]
provider = "demo"
[teams.{team}]
type = "round_robin"
max_turns = 1
agents.writer = {{}}
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch, fresh_imports) -> Path:
    """A computer on which nothing was said so far."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("PARLEY_CONFIG", raising=False)
    return tmp_path


def project(home: Path, name: str, team: str = "", text: str = OWN) -> Path:
    folder = home / name
    folder.mkdir()
    if team:
        (folder / "config.toml").write_text(text.format(team=team))
    return folder


def parley(folder: Path, *words: str, typed: str = "") -> tuple[int, str, str]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(main, words, input=typed)
    finally:
        os.chdir(before)
    return done.exit_code, done.stdout, done.stderr


def chat(folder: Path, *lines: str) -> str:
    typed = "".join(f"{line}\n" for line in lines)
    code, out, err = parley(folder, "chat", "--plain", "--trust-config", typed=typed)
    assert (code, err) == (0, "")
    return out


def knows(folder: Path, words: str) -> bool:
    """True if the thread that a chat opens there has the words."""
    return "No match was found." not in chat(folder, f"/find {words}")


def test_after_the_demo_a_config_of_one_s_own_takes_its_first_message(home):
    demo, own = project(home, "clone"), project(home, "own", "writers")
    assert "front_desk" in chat(demo, "the demo's word")
    assert not knows(own, "word")
    assert "writer: " in chat(own, "my first message")
    assert (knows(own, "first message"), knows(demo, "word")) == (True, True)


def test_projects_whose_teams_have_one_name_do_not_see_each_other_s_conversation(home):
    first, second = project(home, "first", "team"), project(home, "second", "team", OWN + "# 2\n")
    chat(first, "the first one's secret")
    assert "secret" not in chat(second, "hello there")
    assert [knows(folder, "secret") for folder in (first, second)] == [True, False]
    assert [knows(folder, "hello") for folder in (first, second)] == [False, True]
    assert f"of {first}, idle" in chat(second, "/sessions")  # the lists have all
    _, listed, _ = parley(second, "sessions", "list")
    own, others = sorted(listed.splitlines()[1:], key=lambda line: "secret" in line)
    assert f"terminal, of {first}  the first one's secret" in others
    assert own.split()[-3:] == ["terminal", "hello", "there"]


def test_a_project_that_was_moved_or_is_linked_keeps_its_thread(home):
    folder = project(home, "old", "team")
    chat(folder, "before the move")
    moved, linked = folder.rename(home / "new"), project(home, "linked")
    (linked / "config.toml").symlink_to(moved / "config.toml")
    assert knows(moved, "before the move")
    assert knows(linked, "before the move")
