"""Threads of other configs: nothing goes on before a person agrees."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.access.authority import Access
from gateway.client import Answer
from gateway.errors import LeaseLost, NotFound, OtherConfig
from gateway.events import InputRequested, InputResolved, MessageFinished, ToolStarted
from gateway.gateway import Gateway, Limits
from gateway.inbound.commands import command_infos
from gateway.registry import TeamInfo, ToolRule
from gateway.store.units import audit
from gateway.values import NO_ORIGIN, Origin
from tests.fakes.new_store import new_store
from tests.gateway.scripted import Door, ScriptedTeams, calls, ends, model, of, solo, turn, until

A = Origin(path="/a/config.toml", digest="aa")
B = Origin(path="/b/config.toml", digest="bb")
ASK = {"act": ToolRule(action="ask")}


def answering(*answers: Any, **more: Any) -> ScriptedTeams:
    shared = model(*(answers or ("One.", "Two.", "Three.")))
    return ScriptedTeams(lambda: solo(shared, **more))


@asynccontextmanager
async def at(
    folder: Path, origin: Origin, teams: ScriptedTeams | None = None, **more: Any
) -> AsyncGenerator[Gateway]:
    """A chat's gateway with the config of this origin."""
    teams = teams or answering()
    teams.origin = origin
    options: dict[str, Any] = {"platforms": (), "limits": Limits(shutdown=0.0)} | more
    async with Gateway(new_store(folder), teams, **options) as gateway:
        yield gateway


async def begun(folder: Path, origin: Origin = A, **more: Any) -> str:
    """A thread of a config, with one turn."""
    async with at(folder, origin) as gateway:
        thread = (await gateway.client.create_thread(**more)).id
        await turn(gateway, thread, "hello")
    return thread


async def test_a_message_to_another_config_s_thread_says_what_is_sent_where(tmp_path):
    thread = await begun(tmp_path)
    async with at(tmp_path, B) as gateway:
        before = (await gateway.client.thread(thread)).last_seq
        with pytest.raises(OtherConfig) as refused:
            await gateway.client.send(thread, "go on")
        assert "begun with '/a/config.toml'" in str(refused.value)
        assert "'/b/config.toml', all of it is sent to replay (models.example)" in str(
            refused.value
        )
        assert (await gateway.client.thread(thread)).last_seq == before


async def test_once_it_is_adopted_it_goes_on_and_belongs_to_this_config(tmp_path):
    thread = await begun(tmp_path)
    async with at(tmp_path, B) as gateway:
        assert (await gateway.client.thread(thread)).foreign
        await gateway.client.adopt_thread(thread)
        assert not (await gateway.client.thread(thread)).foreign
        said = of(MessageFinished, await turn(gateway, thread, "go on"))
        assert [each.text for each in said] == ["One."]
        newest = await gateway.client.newest_thread()
        assert newest is not None
        assert newest.id == thread
        everything: dict[str, Any] = {
            "after": 0,
            "since": 0.0,
            "until": 9e12,
            "limit": 99,
            "longest": 99,
        }
        rows = await gateway.store.run(audit.whole_audit, **everything)
        assert ("thread.adopted", B.path) in [(row.what, row.object) for row in rows]
    async with at(tmp_path, A) as gateway:
        with pytest.raises(OtherConfig):
            await gateway.client.send(thread, "back")


@pytest.mark.parametrize(
    ("here", "found"),
    [
        (A, "a"),
        (B, None),
        (Origin(path="/c/config.toml", digest="aa"), "a"),
        (Origin(path="/a/config.toml", digest="changed"), "a"),
        (Origin(path="built-in"), None),
        (NO_ORIGIN, None),
    ],
    ids=["its own", "another", "moved", "changed", "built-in", "unknown"],
)
async def test_the_newest_thread_is_one_of_this_config(tmp_path, here, found):
    thread = await begun(tmp_path)
    async with at(tmp_path, here) as gateway:
        newest = await gateway.client.newest_thread()
        assert (newest.id if newest else None) == (thread if found else None)
        if newest:
            await gateway.client.send(thread, "go on")  # and it asks nothing
        else:
            with pytest.raises(OtherConfig):
                await gateway.client.send(thread, "go on")


async def test_two_configs_with_one_team_name_have_their_own_newest_thread(tmp_path):
    first, second = await begun(tmp_path, A), await begun(tmp_path, B)
    for origin, own in ((A, first), (B, second)):
        async with at(tmp_path, origin) as gateway:
            newest = await gateway.client.newest_thread()
            assert newest is not None
            assert newest.id == own
            shown = {
                each.id: (each.config, each.foreign) for each in await gateway.client.threads()
            }
            assert shown == {first: (A.path, origin is B), second: (B.path, origin is A)}


async def test_own_threads_come_first_where_that_is_asked_for(tmp_path):
    threads = [await begun(tmp_path, origin) for origin in (A, B, A, B)]
    for origin, order in ((A, (2, 0, 3, 1)), (B, (3, 1, 2, 0))):
        async with at(tmp_path, origin) as gateway:
            found = [each.id for each in await gateway.client.threads(own_first=True)]
            assert found == [threads[at] for at in order]
            page = await gateway.client.threads(own_first=True, limit=2, offset=1)
            assert [each.id for each in page] == found[1:3]
            newest = [each.id for each in await gateway.client.threads()]
            assert newest == threads[::-1]


async def test_a_thread_from_before_belongs_to_no_config(tmp_path):
    thread = await begun(tmp_path, NO_ORIGIN)
    async with at(tmp_path, A) as gateway:
        assert await gateway.client.newest_thread() is None
        with pytest.raises(OtherConfig, match="not known with which config"):
            await gateway.client.send(thread, "go on")


async def test_a_team_that_this_config_has_not_is_said_before_anything_is_asked(tmp_path):
    thread = await begun(tmp_path, team="other")
    teams = answering()
    teams.names = lambda: ["demo"]
    async with at(tmp_path, B, teams) as gateway:
        for act in (gateway.client.send(thread, "go on"), gateway.client.adopt_thread(thread)):
            with pytest.raises(NotFound, match=r"'/a/config.toml'.*'other'.*/new"):
                await act
        assert await gateway.client.newest_thread() is None


@pytest.mark.parametrize("command", [f"/{each.name}" for each in command_infos()])
async def test_no_command_lets_a_model_read_another_config_s_thread(tmp_path, command):
    async with at(tmp_path, A, answering(RuntimeError("down"))) as gateway:
        thread = (await gateway.client.create_thread()).id
        await turn(gateway, thread, "hello")  # it failed: /retry could go on
    teams = answering()
    async with at(tmp_path, B, teams) as gateway:
        for text in (command, f"{command} 1", f"{command} first 1"):
            try:
                receipt = await gateway.client.send(thread, text)
            except (OtherConfig, NotFound):
                continue
            assert receipt.outcome == "command"
    assert teams.built == 0


async def waiting(folder: Path) -> tuple[str, str]:
    """A thread of A whose team waits for an approval."""

    def act() -> str:
        return "done"

    asking = ScriptedTeams(lambda: solo(model(calls("act"), "Done."), tools=[act]), rules=ASK)
    async with at(folder, A, asking) as gateway:
        thread = (await gateway.client.create_thread()).id
        events = await turn(gateway, thread, "act")
        [asked] = of(InputRequested, events)
    return thread, asked.request


async def test_an_answer_asks_like_a_message(tmp_path):
    thread, request = await waiting(tmp_path)
    async with at(tmp_path, B) as gateway:
        with pytest.raises(OtherConfig):
            await gateway.client.answer(request, Answer(kind="approve"))
        assert (await gateway.delivery.request(request)).open
        unknown = await gateway.client.answer("f" * 12, Answer(kind="approve"))
        assert unknown == "There is no such request."
        await gateway.client.adopt_thread(thread)
        assert await gateway.client.answer(request, Answer(kind="deny")) is None


async def test_no_answer_is_taken_for_a_team_that_this_config_has_not(tmp_path):
    _, request = await waiting(tmp_path)
    teams = answering()
    teams.names = lambda: ["another"]
    async with at(tmp_path, B, teams) as gateway:
        with pytest.raises(NotFound, match=r"'/a/config.toml'.*'demo'.*/new"):
            await gateway.client.answer(request, Answer(kind="approve"))
        assert (await gateway.delivery.request(request)).open


class Others(ScriptedTeams):
    """Has a team of the same name that could not go on."""

    def info(self, name: str, *, model: str = "") -> TeamInfo:
        return replace(super().info(name, model=model), definition="2")


async def test_another_config_withdraws_no_questions(tmp_path):
    thread, request = await waiting(tmp_path)
    teams = Others(lambda: solo("Hello."), participants=("somebody", "else"))
    async with at(tmp_path, B, teams) as gateway:
        assert (await gateway.delivery.request(request)).open
        assert (await gateway.client.thread(thread)).state == "waiting"
    async with at(tmp_path, A, teams) as gateway:
        await until(gateway, thread, lambda event: isinstance(event, InputResolved))
        assert not (await gateway.delivery.request(request)).open


async def interrupted(folder: Path) -> str:
    """A thread of A whose process was killed amid a call."""
    door = Door()
    working = ScriptedTeams(lambda: solo(model(calls("wait")), tools=[wait_at(door)]))
    async with at(folder, A, working) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await until(gateway, thread, lambda event: isinstance(event, ToolStarted))
        await door.reached.wait()

        async def refused(lease: Any, record: Any) -> None:
            raise LeaseLost(thread)

        gateway.store.record = refused  # pyright: ignore[reportAttributeAccessIssue]
    return thread


def wait_at(door: Door) -> Any:
    async def wait() -> str:
        await door.pass_through()
        return "waited"

    return wait


async def test_an_interrupted_turn_waits_for_its_own_config(tmp_path):
    thread = await interrupted(tmp_path)
    other = answering("Not yours.")
    async with at(tmp_path, B, other) as gateway:
        own = (await gateway.client.create_thread()).id
        await turn(gateway, own, "hello")
        assert (await gateway.client.thread(thread)).foreign
    assert other.built == 1
    async with at(tmp_path, A, answering("Here it is.")) as gateway:
        assert of(MessageFinished, await until(gateway, thread, ends))[-1].text == "Here it is."


async def test_an_interrupted_turn_goes_on_once_it_is_adopted(tmp_path):
    thread = await interrupted(tmp_path)
    async with at(tmp_path, B, answering("Here it is.")) as gateway:
        with pytest.raises(OtherConfig):
            await gateway.client.send(thread, "/retry")
        await gateway.client.adopt_thread(thread)
        assert of(MessageFinished, await until(gateway, thread, ends))[-1].text == "Here it is."


async def test_an_interrupted_turn_of_another_config_can_be_stopped(tmp_path):
    thread = await interrupted(tmp_path)
    async with at(tmp_path, B, answering("Never.")) as gateway:
        assert await gateway.client.stop(thread)
        events = await until(gateway, thread, ends)
        assert (events[-1].outcome, of(MessageFinished, events)) == ("stopped", [])


async def test_a_server_goes_on_with_every_thread(tmp_path):
    thread = await interrupted(tmp_path)
    served = {"platforms": ("slack",), "access": Access()}
    async with at(tmp_path, B, answering("Here it is."), **served) as gateway:
        assert of(MessageFinished, await until(gateway, thread, ends))[-1].text == "Here it is."
