"""The prompt history: kept over restarts, private, never in the way."""

import os
import stat
from pathlib import Path

import pytest

from adapters.terminal.history import MOST, History


def walk_up(history: History) -> list[str]:
    found: list[str] = []
    while (older := history.older("")) is not None:
        found.append(older)
    return found


def test_prompts_survive_a_restart_and_only_their_owner_reads_them(tmp_path: Path):
    path = tmp_path / "data" / "prompts.jsonl"
    history = History(path)
    for prompt in ("one", "two\nlines", "ünï\u2028code", "  ", "one", "one"):
        history.add(prompt)
    assert walk_up(History(path)) == ["one", "ünï\u2028code", "two\nlines", "one"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_walking_comes_back_to_the_draft(tmp_path: Path):
    history = History(tmp_path / "p")
    assert history.older("draft") is None
    assert history.newer() is None
    history.add("one")
    assert history.older("draft") == "one"
    assert history.older("one") is None
    assert history.newer() == "draft"
    assert history.newer() is None


def test_the_file_stays_bounded(tmp_path: Path):
    path = tmp_path / "p"
    history = History(path)
    for number in range(2 * MOST + 1):
        history.add(str(number))
    assert len(path.read_text().splitlines()) < 2 * MOST
    assert walk_up(History(path))[0] == str(2 * MOST)


@pytest.mark.parametrize("content", [b"\xff\xfe\n", b"{}\nnull\n", b'"half', b""])
def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path: Path, content: bytes):
    path = tmp_path / "p"
    path.write_bytes(content + b'\n"good"\n')
    assert walk_up(History(path)) == ["good"]


def test_a_history_that_cannot_be_written_is_one_of_this_run(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    history = History(blocked / "prompts")
    history.add("one")
    assert history.older("") == "one"
    assert os.listdir(tmp_path) == ["file"]
