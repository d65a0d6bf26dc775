"""The gateway for the person at the terminal of its process."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.client import Answer, SentFile
from gateway.conversation import LOCAL_OPERATOR
from gateway.errors import NotFound, OtherConfig
from gateway.events import InputRequested, TurnFinished
from gateway.registry import ToolRule
from gateway.values import Origin
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, of, opened, solo, until

HERE, THERE = Origin(path="/a", digest="a"), Origin(path="/b", digest="b")


def scripted(*answers: str, origin: Origin = HERE) -> ScriptedTeams:
    return ScriptedTeams(lambda: solo(model(*(answers or ("Hello.",)))), origin=origin)


async def test_threads_are_made_listed_renamed_and_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path, scripted()) as gateway:
        client = gateway.client
        assert await client.newest_thread() is None
        made = await client.create_thread(team="other", title="Lunch")
        assert (made.team, made.title) == ("other", "Lunch")
        newest = await client.newest_thread()
        assert newest is not None
        assert newest.id == made.id
        await client.rename_thread(made.id, "Dinner")
        assert [each.title for each in await client.threads()] == ["Dinner"]
        assert await client.threads(search="lunch") == []
        assert (await client.thread(made.id)).title == "Dinner"
        await client.delete_thread(made.id)
        with pytest.raises(NotFound):
            await client.thread(made.id)


async def test_a_message_is_answered_and_a_waiting_one_withdrawn(tmp_path: Path) -> None:
    door = Door()

    async def wait() -> str:
        """Wait."""
        await door.pass_through()
        return "ok"

    teams = ScriptedTeams(lambda: solo(calls("wait"), "Done.", tools=[wait]))
    async with opened(tmp_path, teams) as gateway:
        client = gateway.client
        thread = (await client.create_thread()).id
        assert not await client.stop(thread)
        receipt = await client.send(thread, "go")
        assert receipt.outcome == "turn"
        await door.reached.wait()
        file = SentFile(name="a.txt", media_type="text/plain", data=b"one")
        waiting = await client.send(thread, "never mind", files=[file])
        assert (await client.thread(thread)).attached == 3
        assert await client.withdraw(thread, waiting.inbox) == "never mind"
        assert await client.withdraw(thread, waiting.inbox) is None
        assert await client.stop(thread)
        [end] = of(TurnFinished, await until(gateway, thread, ends))
        assert end.outcome == "stopped"


async def test_a_request_is_answered_once(tmp_path: Path) -> None:
    async def send() -> str:
        """Send."""
        return "sent"

    teams = ScriptedTeams(
        lambda: solo(calls("send"), "Done.", tools=[send]), rules={"send": ToolRule(action="ask")}
    )
    async with opened(tmp_path, teams) as gateway:
        client = gateway.client
        thread = (await client.create_thread()).id
        await client.send(thread, "go")
        events = await until(gateway, thread, ends)
        [asked] = of(InputRequested, events)
        assert await client.answer(asked.request, Answer(kind="approve")) is None
        await until(gateway, thread, ends, events[-1].seq)
        again = await client.answer(asked.request, Answer(kind="deny"))
        assert again == "This is already settled: approved."


async def test_another_configs_thread_goes_on_here_once_it_is_adopted(tmp_path: Path) -> None:
    async with opened(tmp_path, scripted(origin=THERE)) as gateway:
        thread = (await gateway.client.create_thread()).id
    async with opened(tmp_path, scripted()) as gateway:
        client = gateway.client
        assert (await client.thread(thread)).foreign
        assert [each.foreign for each in await client.threads()] == [True]
        with pytest.raises(OtherConfig):
            await client.send(thread, "hi")
        await client.adopt_thread(thread)
        assert not (await client.thread(thread)).foreign
        assert (await client.send(thread, "hi")).outcome == "turn"


async def test_what_can_be_chosen_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path, scripted()) as gateway:
        client = gateway.client
        assert await client.agents() == {"solo": "replay"}
        assert await client.agents("none") == {}
        assert [each.name for each in await client.choices("team")] == ["demo", "other"]
        assert "stop" in {each.name for each in client.commands()}
        assert client.operator() == gateway.policy.operator_name
        assert client.operator() != LOCAL_OPERATOR.id
        assert client.origin() == HERE
        assert client.owner() is None
