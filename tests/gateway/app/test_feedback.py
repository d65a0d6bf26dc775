"""`parley feedback`: rated answers as lines of JSON."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gateway.app.audit import audit_lines
from gateway.app.feedback import WORDS
from gateway.cli import main
from gateway.store.units import deletion, people
from tests.fakes.new_store import new_store
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
