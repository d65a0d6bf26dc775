"""Paths to choose from: without what is ignored, hidden, or a key."""

import os
import subprocess
from pathlib import Path

import pytest

from adapters.terminal import paths
from adapters.terminal.paths import list_below, list_in, matching_paths

FILES = ("README.md", "src/queue.py", "src/deep/a.py", "build.log", "id_rsa", "server.pem", ".env")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src/deep").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    for name in (*FILES, ".hidden/a.txt"):
        (tmp_path / name).write_text(name)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def test_without_git_all_but_hidden_files_and_keys_is_offered(folder: Path):
    (folder / "node_modules").mkdir()
    (folder / "node_modules/x.js").write_text("")
    assert list_below(folder) == ["build.log", "README.md", "src/queue.py", "src/deep/a.py"]


@pytest.mark.parametrize("with_git", [True, False])
def test_a_name_that_no_terminal_can_show_is_left_out(tmp_path: Path, *, with_git: bool):
    if with_git:
        git(tmp_path, "init", "-q")
    for name in (
        b"\xff.txt",
        b"a\x1b[2J.txt",
        b"two\nlines",
        b"\xe2\x80\xaetxt.exe",
        "ü.md".encode(),
    ):
        (tmp_path / os.fsdecode(name)).write_text("")
    assert list_below(tmp_path) == ["ü.md"]
    assert list_in("./", tmp_path) == ["./ü.md"]


def test_what_git_ignores_is_left_out(folder: Path):
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", "README.md", "id_rsa")
    assert list_below(folder) == ["README.md", "src/queue.py", "src/deep/a.py"]
    assert list_below(folder / "src") == ["queue.py", "deep/a.py"]


def test_a_program_that_a_repository_names_does_not_run(folder: Path):
    git(folder, "init", "-q")
    hook = folder / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    hook.chmod(0o755)
    git(folder, "config", "core.fsmonitor", str(hook))
    assert "README.md" in list_below(folder)
    assert not (folder / "ran").exists()


def test_a_named_folder_has_its_folders_and_files(folder: Path, monkeypatch):
    assert list_in("./", folder) == ["./build.log", "./README.md", "./src/"]
    assert list_in("./.", folder)[0] == "./.hidden/"
    assert list_in(f"{folder}/src/q", Path("/")) == [
        f"{folder}/src/deep/",
        f"{folder}/src/queue.py",
    ]
    monkeypatch.setenv("HOME", str(folder))
    assert list_in("~/src/", Path("/")) == ["~/src/deep/", "~/src/queue.py"]
    assert list_in("./nothing/", folder) == []
    assert list_in("./a\0/", folder) == []


def test_names_that_begin_with_what_was_typed_come_first(monkeypatch):
    listed = ["my-queue.txt", "src/queue.py", "queue/a.py", "other.py"]
    assert matching_paths(listed, "Que") == ["queue/a.py", "src/queue.py", "my-queue.txt"]
    monkeypatch.setattr(paths, "MOST_OFFERED", 2)
    assert matching_paths(listed, "") == listed[:2]


def test_nothing_outside_of_a_fence_is_listed(folder: Path, monkeypatch):
    fence = folder / "src"
    (fence / "way").symlink_to(folder)
    monkeypatch.setenv("HOME", str(folder))
    assert list_in("./", fence, fence) == ["./deep/", "./queue.py", "./way/"]
    for typed in ("../", "./../", "/", "~/", "./way/", f"{folder}/"):
        assert list_in(typed, fence, fence) == []
