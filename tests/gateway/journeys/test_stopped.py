"""The next speaker and the pending work after a person's stop."""

from collections.abc import Sequence

import pytest

from gateway.events import InputRequested, MessageFinished, ToolFinished
from gateway.items import ToolItem
from gateway.registry import ToolRule
from teams import RoundRobinGroupChat, Swarm
from teams.agents import AssistantAgent, UserProxyAgent
from teams.conditions import (
    HandoffTermination,
    MaxMessageTermination,
    TextMessageTermination,
)
from teams.models.replay import ReplayChatCompletionClient
from tests.fakes.news import news_of
from tests.gateway.scripted import (
    CAN_CALL,
    Door,
    ScriptedTeams,
    calls,
    ends,
    model,
    of,
    opened,
    solo,
    turn,
    until,
)

ASK = ToolRule(action="ask")


class Held(ReplayChatCompletionClient):
    """A model that keeps its first answer until its door is opened."""

    def __init__(self, *answers) -> None:
        super().__init__([*answers], model_info=CAN_CALL)
        self.door = Door()

    async def create(self, *arguments, **options):
        if not self.door.reached.is_set():
            await self.door.pass_through()
        return await super().create(*arguments, **options)


def desk_and_expert(desk, expert, tools: Sequence = ()) -> ScriptedTeams:
    def make() -> Swarm:
        return Swarm(
            [
                AssistantAgent("desk", desk, handoffs=["expert", "user"]),
                AssistantAgent("expert", expert, tools=[*tools], handoffs=["desk", "user"]),
            ],
            termination_condition=HandoffTermination("user")
            | TextMessageTermination("desk")
            | TextMessageTermination("expert"),
        )

    return ScriptedTeams(make, participants=("desk", "expert"), rules={"delete": ASK})


def delete() -> str:
    return "deleted"


async def stop(gateway, thread: str) -> list:
    after = (await gateway.client.thread(thread)).last_seq
    await gateway.client.send(thread, "/stop")
    return await until(gateway, thread, ends, after)


def said(events) -> list[tuple[str, str]]:
    return [(event.agent, event.text) for event in of(MessageFinished, events)]


@pytest.mark.parametrize("restart", [False, True], ids=["same-process", "next-process"])
async def test_whoever_had_the_work_when_a_swarm_was_stopped_goes_on_with_it(tmp_path, restart):
    expert = Held("About both.")
    teams = desk_and_expert(model(calls("transfer_to_expert")), expert)
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "one")
        await expert.door.reached.wait()
        events = await stop(gateway, thread)
        if not restart:
            events = await turn(gateway, thread, "two")
    if restart:
        async with opened(tmp_path, teams) as gateway:
            events = await turn(gateway, thread, "two")
    assert said(events) == [("expert", "About both.")]
    heard = [message.content for message in expert.create_calls[-1]["messages"]]
    assert [text for text in ("one", "two") if text in heard] == ["one", "two"]


async def test_a_tool_that_is_stopped_says_so_with_its_time(tmp_path):
    door = Door()

    async def wait() -> str:
        """Wait."""
        await door.pass_through()
        return "never"

    async with opened(
        tmp_path, ScriptedTeams(lambda: solo(calls("wait"), tools=[wait]))
    ) as gateway:
        thread = (await gateway.client.create_thread()).id
        await gateway.client.send(thread, "go")
        await door.reached.wait()
        events = await stop(gateway, thread)
    [ended] = [item for item in news_of(events) if isinstance(item, ToolItem)]
    assert ended.state == "stopped"
    assert ended.ending == f"stopped after {ended.duration:.3g} s"


@pytest.mark.parametrize("restart", [False, True], ids=["same-process", "next-process"])
async def test_what_is_stopped_while_an_approval_is_open_is_over(tmp_path, restart):
    expert = model(calls("delete"), "Then not.")
    teams = desk_and_expert(model(calls("transfer_to_expert")), expert, [delete])
    async with opened(tmp_path, teams) as gateway:
        thread = (await gateway.client.create_thread()).id
        [_] = of(InputRequested, await turn(gateway, thread, "one"))
        events = await stop(gateway, thread)
        assert [event.result for event in of(ToolFinished, events)] == ["Not run."]
        assert [item.ending for item in news_of(events) if isinstance(item, ToolItem)] == [
            "stopped"
        ]
        if not restart:
            events = await turn(gateway, thread, "two")
    if restart:
        async with opened(tmp_path, teams) as gateway:
            events = await turn(gateway, thread, "two")
    assert said(events) == [("expert", "Then not.")]


async def test_a_run_that_was_stopped_while_it_waited_counts_no_more_for_the_condition(tmp_path):
    client = model(calls("delete"), "Then not.", "Fine.")

    def make():
        agents = [
            AssistantAgent("solo", client, tools=[delete], max_tool_iterations=2),
            AssistantAgent("critic", client),
        ]
        return RoundRobinGroupChat(agents, termination_condition=MaxMessageTermination(3))

    teams = ScriptedTeams(make, participants=("solo", "critic"), rules={"delete": ASK})
    async with opened(tmp_path, teams) as person:
        thread = (await person.client.create_thread()).id
        await turn(person, thread, "one")
        await stop(person, thread)
        events = await turn(person, thread, "two")
    assert said(events) == [("solo", "Then not."), ("critic", "Fine.")]


async def test_a_newer_message_ends_a_run_that_waits_and_its_count(tmp_path):
    client = model(calls("delete"), "About two.")
    teams = ScriptedTeams(lambda: solo(client, tools=[delete]), rules={"delete": ASK})
    async with opened(tmp_path, teams) as person:
        thread = (await person.client.create_thread()).id
        await person.client.send(thread, "/queue mode interrupt")
        await turn(person, thread, "one")
        await person.client.send(thread, "two")
        events = await until(person, thread, lambda e: ends(e) and e.outcome == "done")
    assert said(events) == [("solo", "About two.")]


async def test_a_person_whose_question_was_stopped_is_asked_again_in_their_turn(tmp_path):
    client = model("Which?", "So be it.")

    def make():
        return RoundRobinGroupChat(
            [AssistantAgent("desk", client), UserProxyAgent("person")],
            termination_condition=MaxMessageTermination(4),
        )

    teams = ScriptedTeams(make, participants=("desk", "person"))
    async with opened(tmp_path, teams) as person:
        thread = (await person.client.create_thread()).id
        await turn(person, thread, "one")
        await stop(person, thread)
        events = await turn(person, thread, "two")
        assert len(of(InputRequested, events)) == 1
        events = await turn(person, thread, "three")
    heard = [message.content for message in client.create_calls[-1]["messages"]]
    assert heard[1:] == ["one", "Which?", "two", "three"]
