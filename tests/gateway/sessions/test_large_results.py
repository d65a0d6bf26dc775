"""Results too large for a model are files of the thread."""

from typing import Any

import pytest

from gateway.access.authority import Access
from gateway.base.redaction import REDACTION
from gateway.conversation import Author, ConversationKey, InboundMessage
from gateway.events import FileMade, TurnFinished
from gateway.gateway import Gateway, Limits
from tests.fakes.new_store import new_store
from tests.fakes.tested_store import rows_in
from tests.gateway.scripted import ScriptedTeams, calls, ends, model, of, solo, until

ANN = Author(id="chat:ann", name="Ann")
KEY = ConversationKey(platform="chat", channel="C", root="1")


async def run(tmp_path, found: str, **limits: Any):
    """Events of a turn whose tool returns this, and its model's part."""

    async def search() -> str:
        """Search."""
        return found

    client = model(calls("search"), "done")
    teams = ScriptedTeams(lambda: solo(client, tools=[search]))
    async with Gateway(
        new_store(tmp_path), teams, access=Access([ANN.id]), limits=Limits(**limits)
    ) as gateway:
        receipt = await gateway.accept(InboundMessage(key=KEY, author=ANN, text="go"))
        events = await until(gateway, receipt.thread, ends)
    assert of(TurnFinished, events)[-1].outcome == "done"
    [folder] = teams.workdirs
    return events, client.create_calls[-1]["messages"][-1].content[0].content, folder


@pytest.mark.parametrize("found", ["word " * 200_000, "ü" * 100_000, "a\n" * 60_000 + "\ud83c"])
async def test_the_whole_of_a_large_result_is_a_file_of_the_thread(tmp_path, found):
    events, given, folder = await run(tmp_path, found)
    [file] = of(FileMade, events)
    assert len(given.encode()) <= 100_001
    whole = found.replace("\ud83c", "\ufffd").encode()
    assert f"All of it is in the file {file.path} ({len(whole):,} bytes)." in given
    assert file.size == len(whole)
    if folder.exists():  # a database has taken it over
        assert (folder / file.path).read_bytes() == whole
    [(stored,)] = rows_in(tmp_path, "SELECT result FROM tool_calls")
    assert len(stored) < 210_000


async def test_how_much_a_model_is_given_is_a_setting(tmp_path):
    _, given, _ = await run(tmp_path, "word " * 1000, largest_result=1000)
    assert 900 < len(given) <= 1001


async def test_a_result_that_fits_is_no_file(tmp_path):
    events, given, _ = await run(tmp_path, "x" * 100_000)
    assert given == "x" * 100_000
    assert of(FileMade, events) == []


async def test_no_secret_gets_into_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(REDACTION, "_secrets", frozenset())
    monkeypatch.setattr(REDACTION, "_forms", frozenset())
    secret = "sk-of-the-config-0123456789"
    REDACTION.add([secret])
    _, given, folder = await run(tmp_path, f"{secret} " * 10_000)
    assert secret not in given
    for path in folder.rglob("*.txt"):
        assert secret not in path.read_text()
