"""`parley feedback`: rated answers as lines of JSON."""

import asyncio
import json
from pathlib import Path
from typing import cast

import pytest
from click.testing import CliRunner

from gateway.app.audit import audit_lines
from gateway.app.feedback import WORDS
from gateway.cli import main
from gateway.store.units import deletion, people
from gateway.store.units.losses import add_loss
from tests.fakes.new_store import new_store
from tests.fakes.scripted_surface import Board, Surface
from tests.fakes.tested_store import UnitStore, at
from tests.gateway.delivery.delivered import all_told, say, served
from tests.gateway.scripted import ScriptedTeams, solo
from tests.gateway.store.talk import ANN, begun, end

pytestmark = pytest.mark.usefixtures("fresh_imports")


def feedback(folder: Path, *, deleted: bool) -> tuple[list[str], str, list[str]]:
    """Its lines, its words for people, and what the audit has then."""

    async def rate() -> None:
        store = new_store(folder / "store")
        async with store.own():
            await end(store, await begun(store, "What is for lunch?"))
            reason = "\u202esk-no secret\n"
            await store.run(people.rate, "t", "part", ANN.id, good=False, reason=reason)
            if deleted:
                await store.run(deletion.delete_thread, "t")

    async def noted() -> list[str]:
        lines = audit_lines(new_store(folder / "store"))
        return [json.loads(line)["action"] async for line in lines]

    asyncio.run(rate())
    shown = CliRunner().invoke(main, ["feedback"])
    assert shown.exit_code == 0, shown.output
    return shown.stdout.splitlines(), shown.stderr, asyncio.run(noted())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.toml").write_text("store.folder = 'store'\n")
    return tmp_path


def test_it_says_first_that_it_holds_words_and_the_audit_has_it(folder: Path) -> None:
    (line,), told, noted = feedback(folder, deleted=False)
    assert told == f"{WORDS}\n"
    found = json.loads(line)
    assert (found["thread"], found["verdict"], found["answer"]) == ("t", "bad", None)
    assert "secret" in found["reason"]
    assert noted[-1] == "thread.exported"


def test_deleted_threads_are_left_out(folder: Path) -> None:
    lines, _, noted = feedback(folder, deleted=True)
    assert lines == []
    assert "thread.exported" not in noted


def test_an_answer_after_a_restore_is_found(folder: Path) -> None:
    async def answer() -> None:
        teams = ScriptedTeams(lambda: solo("Soup."))
        board = Board()
        async with served(folder / "store", Surface(board), teams) as gateway:
            await say(gateway, "lunch?")
            await all_told(gateway)
            store = cast("UnitStore", gateway.store)
            await store.write(lambda c: add_loss(at(c, 5e9), "damaged", since=1.0, commits=1))
        async with served(folder / "store", Surface(board), teams) as gateway:
            thread = await say(gateway, "dinner?")
            await all_told(gateway)
            for posted in board.posted:
                await gateway.store.run(people.rate, thread, posted.part.key, ANN.id, good=True)

    asyncio.run(answer())
    lines = CliRunner().invoke(main, ["feedback"]).stdout.splitlines()
    told = [json.loads(line)["answer"]["text"] for line in lines]
    assert told == ["Soup.", "Soup."]
