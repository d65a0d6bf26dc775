"""Forks of threads, and what their teams do next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.control.socket_client import SocketClient
from gateway.errors import NotFound
from gateway.events import Notice, TurnStarted
from gateway.store.units.events import events
from gateway.store.units.invariants import broken_laws
from tests.fakes.scripted_model import ScriptedModel, calls, says
from tests.gateway.scripted import ScriptedTeams, of, opened, solo, turn

pytestmark = pytest.mark.usefixtures("database")


def writes(text: str) -> Any:
    return calls(("write", {"text": text}))


class Writer:
    """A team that writes what its model says to a file."""

    def __init__(self, *answers: Any) -> None:
        self.model = ScriptedModel(*answers)
        self.teams = ScriptedTeams(self.made)

    def made(self) -> Any:
        folder = self.teams.workdirs[-1]

        async def write(text: str) -> str:
            """Write."""
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "note").write_text(text)
            return "written"

        return solo(self.model, tools=[write], reflect_on_tool_use=True)


async def note(gateway: Any, thread: str) -> str:
    folder = await gateway.store.work_folder(thread)
    return (folder / "note").read_text() if (folder / "note").exists() else ""


async def test_a_fork_goes_on_with_memory_and_folder_of_its_turn(tmp_path: Path):
    first, second = (writes("one"), says("A")), (writes("two"), says("B"))
    writer = Writer(*first, *second, says("C"), writes("x"), says("D"))
    async with opened(tmp_path, writer.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "first")
        await turn(gateway, thread, "second")
        fork = await gateway.client.fork_thread(thread, back=1)
        assert await note(gateway, fork.id) == "one"
        await turn(gateway, fork.id, "third")
        heard = " ".join(writer.model.texts())
        assert "first" in heard
        assert "second" not in heard
        await turn(gateway, fork.id, "fourth")
        assert (await note(gateway, thread), await note(gateway, fork.id)) == ("two", "x")
        store: Any = gateway.store
        assert await store.read(broken_laws) == []
    async with opened(tmp_path, Writer(says("E")).teams) as gateway:
        await turn(gateway, fork.id, "fifth")
        assert await note(gateway, fork.id) == "x"


async def test_a_fork_tells_its_origin_and_what_is_not_undone(tmp_path: Path):
    writer = Writer(says("A"), writes("one"), says("B"))
    async with opened(tmp_path, writer.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "first")
        last = (await turn(gateway, thread, "second"))[-1].seq
        client = await SocketClient.connect(tmp_path)
        fork = await client.fork_thread(thread, back=1)
        stored = await gateway.store.run(events, fork.id)
        assert [each.text for each in of(Notice, stored)] == [
            "This thread is a fork of 'first', from the end of its turn 1 of 2. What calls of later"
            " turns did outside of the work folder is not undone:\n- write one"
        ]
        assert (fork.title, await note(gateway, fork.id)) == ("first (fork)", "")
        assert (await client.thread(thread)).last_seq == last


async def test_before_a_message_is_the_end_of_the_turn_before_it(tmp_path: Path):
    writer = Writer(says("A"), says("B"))
    async with opened(tmp_path, writer.teams) as gateway:
        thread = (await gateway.client.create_thread(team="other")).id
        told = [await turn(gateway, thread, text) for text in ("first", "second")]
        begun = [of(TurnStarted, each)[0] for each in told]
        numbers = [each.messages[0].inbox for each in begun]
        before = [await gateway.client.fork_thread(thread, before=each) for each in numbers]
        assert [each.title for each in before] == ["", "first (fork)"]
        assert [each.team for each in before] == ["other", "other"]
        with pytest.raises(NotFound):
            await gateway.client.fork_thread(thread, before=99)
        with pytest.raises(NotFound, match=r"last turns \(2\)"):
            await gateway.client.fork_thread(thread, back=2)


async def test_without_the_folder_of_its_turn_a_fork_takes_that_of_now(tmp_path: Path):
    writer = Writer(writes("one"), says("A"), writes("two"), says("B"))
    async with opened(tmp_path, writer.teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "first")
        await turn(gateway, thread, "second")
        forget = "UPDATE work_folders SET kept_from = 9"
        store: Any = gateway.store
        await store.write(lambda connection: connection.execute(forget))
        fork = await gateway.client.fork_thread(thread, back=1)
        assert await note(gateway, fork.id) == "two"
        (told,) = of(Notice, await gateway.store.run(events, fork.id))
        assert "The work folder of then is not kept: it has that of now." in told.text
