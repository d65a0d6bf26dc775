"""The record of `make nightly`, and the second run of failed tests."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_house import git, write

ROOT = Path(__file__).resolve().parent.parent
PARTS = [
    *("seeds", "browser", "clients", "autogen", "extras", "redteam", "release"),
    *("python3.12", "python3.13"),
]


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with `.ci` and a small Makefile, made once."""
    root = tmp_path_factory.mktemp("checkout")
    git(root, "init", "--quiet", "--initial-branch=main")
    shutil.copytree(
        ROOT / ".ci", root / ".ci", ignore=shutil.ignore_patterns("*.json", "__pycache__")
    )
    write(
        root,
        {
            "Makefile": "browser:\n\t@echo fine\nclients:\n\t@echo SKIPPED: no npm.\n"
            "autogen:\n\t@false\n"
        },
    )
    git(root, "commit", "--quiet", "-m", "Begin")
    return root


@pytest.fixture
def checkout(committed: Path, tmp_path: Path) -> Path:
    """A copy of the repository, to be changed."""
    return shutil.copytree(committed, tmp_path, dirs_exist_ok=True)


def script(checkout: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(checkout / ".ci" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_record_says_of_each_part_how_it_ended_with_which_commit(checkout: Path):
    ended = script(checkout, "nightly.py", "browser", "clients", "autogen")
    record = json.loads((checkout / ".ci/nightly.json").read_text())
    results = {name: each["result"] for name, each in record.items()}
    assert results == {"browser": "passed", "clients": "skipped", "autogen": "failed"}
    assert {each["commit"] for each in record.values()} == {git(checkout, "rev-parse", "HEAD")}
    assert "SKIPPED: no npm." in ended.stdout
    assert ended.returncode == 1


def test_parts_that_make_names_are_no_options_of_their_own_make(checkout: Path):
    python = f"nightly:\n\t@{sys.executable} .ci/nightly.py $(ARGS)\n"
    makefile = f"ARGS ?=\n{python}browser clients:\n\t@echo '[$(ARGS)]'\n"
    write(checkout, {"Makefile": makefile})
    git(checkout, "commit", "--quiet", "-m", "Parts")
    command = ["make", "-C", str(checkout), "nightly", "ARGS=browser clients"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line for line in ran.stdout.splitlines() if "[" in line] == ["[]", "[]"]


def test_a_part_that_nobody_knows_and_a_dirty_tree_are_refused(checkout: Path):
    assert (
        "No part is called brwoser: there are seeds, browser"
        in script(checkout, "nightly.py", "brwoser").stderr
    )
    (checkout / "Makefile").write_text("")
    assert "Commit first" in script(checkout, "nightly.py", "browser").stderr
    assert not (checkout / ".ci/nightly.json").exists()


@pytest.mark.parametrize(
    ("changed", "found", "code"),
    [
        ({}, "passed 1 commits ago", 0),
        ({"clients": {"result": "failed"}}, "clients failed at", 1),
        ({"clients": None}, "clients never ran", 1),
        ({"clients": {"commit": "0" * 40}}, "clients ran at 00000000, which this clone", 1),
    ],
    ids=["young", "failed", "missing", "foreign"],
)
def test_the_age_has_no_hole(
    checkout: Path, changed: dict[str, dict[str, str] | None], found: str, code: int
):
    entry = {"commit": git(checkout, "rev-parse", "HEAD"), "result": "passed"}
    record = dict.fromkeys(PARTS, entry)
    for name, change in changed.items():
        record[name] = entry | change if change else {}
    kept = {name: each for name, each in record.items() if each}
    write(checkout, {".ci/nightly.json": json.dumps(kept)})
    git(checkout, "commit", "--quiet", "-m", "Nightly")
    told = script(checkout, "nightly.py", "--age")
    assert found in told.stdout
    assert told.returncode == code


def test_an_old_record_fails(checkout: Path):
    entry = {"commit": git(checkout, "rev-parse", "HEAD"), "result": "passed"}
    write(checkout, {".ci/nightly.json": json.dumps(dict.fromkeys(PARTS, entry))})
    git(checkout, "commit", "--quiet", "-m", "Nightly")
    commit = "commit refs/heads/main\ncommitter Ada <ada@example.org> 0 +0000\ndata 0\n"
    first = f"{commit}from refs/heads/main^0\n"
    imported = ["git", "-C", str(checkout), "fast-import", "--quiet"]
    subprocess.run(imported, input=first + commit * 199, text=True, check=True)
    told = script(checkout, "nightly.py", "--age")
    assert "browser passed 201 commits ago" in told.stdout
    assert "Run `make nightly ARGS=browser`" in told.stdout
    assert told.returncode == 1


# The target stands for pytest: it notes each run's test, and fails when it is told to.
AGAIN = """
test:
\t@file=$(lastword $(subst @, ,$(ARGS))); cat "$$file" >> ran; echo >> ran; \\
\t  test ! -e fails || [ $$(wc -l < ran) -lt $$(cat fails) ]
"""


@pytest.mark.parametrize(
    ("failed", "fails_at", "ran", "code"),
    [
        (["a::b[x y]"], None, ["a::b[x y]"] * 3, 0),
        (["a", "b"], None, ["a", "a", "a", "b", "b", "b"], 0),
        (["a"], 3, ["a", "a", "a"], 1),
        (["a", "b", "c"], None, [], 1),
        ([], None, [], 1),
        (None, None, [], 1),
    ],
    ids=["one", "two", "fails the third time", "three are too many", "none", "no run"],
)
def test_failed_tests_are_run_again_alone_three_times(
    checkout: Path, failed: list[str] | None, fails_at: int | None, ran: list[str], code: int
):
    cache = checkout / ".pytest_cache/v/cache/lastfailed"
    write(checkout, {"Makefile": AGAIN})
    if failed is not None:
        write(checkout, {str(cache.relative_to(checkout)): json.dumps(dict.fromkeys(failed, True))})
    if fails_at is not None:
        write(checkout, {"fails": str(fails_at)})
    ended = script(checkout, "again.py", "test")
    runs = checkout / "ran"
    assert (runs.read_text().splitlines() if runs.exists() else []) == ran
    named = [line for line in ended.stdout.splitlines() if line.startswith("UNSTABLE")]
    assert named == [f"UNSTABLE, OR BROKEN: {test}" for test in failed or []]
    assert ended.returncode == code
    assert not cache.exists()


@pytest.mark.parametrize("target", ["test", "test-postgres", "chaos", "long"])
def test_a_failed_test_runs_again_without_the_others_of_its_target(target: str):
    """Its name is in a file, all that pytest is given."""
    command = ["make", "-C", str(ROOT), "--dry-run", target, "ARGS=-n 0 @/elsewhere/failed.txt"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "tests/" not in ran.stdout.split(".venv/bin/pytest")[1]
