"""`parley sessions`: the threads in the store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from gateway.store.records import Checkpoint
from gateway.store.units import forks
from tests.fakes.new_store import new_store
from tests.gateway.store.talk import ANN, begun, end


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, whose store has a thread that has failed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text("[store]\nfolder = 'store'\n")

    async def fill() -> None:
        store = new_store(tmp_path / "store")
        async with store.own():
            await end(store, await begun(store, "What is for lunch?"), "failed")

    asyncio.run(fill())
    return tmp_path


def run(*args: str, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["sessions", *args], input=given)


def test_threads_are_listed_by_words_and_platform() -> None:
    heading, row = run("list").stdout.splitlines()
    assert heading.split()[:2] == ["ID", "USED"]
    assert row.split()[0] == "t"
    assert run("list", "--search", "dinner").stdout == "There are no threads.\n"
    assert run("list", "--platform", "x").stdout.splitlines()[1] == row


def test_a_thread_is_shown_as_markdown() -> None:
    assert "## Ann\n\nWhat is for lunch?" in run("show", "t").stdout


def test_a_thread_is_exported_as_lines_and_replayed_with_its_timing() -> None:
    exported = run("export", "t").stdout.splitlines()
    assert {json.loads(line)["thread"] for line in exported} == {"t"}
    assert run("export", "t", "--old-states").stdout == ""
    replayed = run("replay", "t").stdout.splitlines()
    assert len(replayed) == len(exported) > 0
    assert "lunch" in "".join(replayed)


def test_decisions_of_a_thread_are_listed() -> None:
    assert run("audit", "t").stdout == "This thread has no questions or decisions.\n"


def test_a_failed_turn_is_tried_again() -> None:
    assert run("retry", "t").stdout.startswith("Trying again from where it stopped.")


def test_a_thread_is_deleted_after_asking(folder: Path) -> None:
    assert run("delete").exit_code == 2
    assert run("delete", "t", given="n\n").exit_code == 1
    assert run("delete", "t", given="y\n").stdout == "Deleted t.\n"
    assert run("list").stdout == "There are no threads.\n"


def test_forks_that_are_deleted_with_their_thread_are_listed_before(folder: Path) -> None:
    async def fork() -> None:
        store = new_store(folder / "store")
        async with store.own():
            work = await begun(store, "And for dinner?")
            await end(store, work, checkpoints=(Checkpoint(kind="snapshot", data=b"1"),))
            n = await store.run(forks.fork_point, "t", 0)
            for new in ("f", "g"):
                await store.run(forks.fork, "t", n, new, folder=True)

    asyncio.run(fork())
    asked = run("delete", "--person", ANN.id, given="n\n").stderr
    assert "Delete 3 threads and all else" in asked
    asked = run("delete", "t", given="n\n").stderr
    assert {line.split()[0] for line in asked.splitlines()[1:3]} == {"f", "g"}
    assert "Delete 'What is for lunch?' and its 2 forks for good?" in asked
    assert run("delete", "g", "--yes").stdout == "Deleted g.\n"
    assert run("delete", "t", "--yes").stdout == "Deleted t and its fork.\n"
    assert run("list").stdout == "There are no threads.\n"


def test_threads_of_a_person_are_deleted() -> None:
    assert run("delete", "--person", ANN.id, "--yes").stdout == "Deleted 1 threads.\n"


def test_the_group_lists_what_it_does() -> None:
    assert "try again and delete threads" in run("--help").stdout
