"""MessageFilterAgent: another agent that is shown only some of the messages."""

import asyncio
import json
from typing import Any

import pytest

from teams import DiGraphBuilder, GraphFlow, RoundRobinGroupChat
from teams.agents import (
    AssistantAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    UserProxyAgent,
)
from teams.base import InputRequired
from teams.core import CancellationToken
from teams.messages import StructuredMessage, TextMessage
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import everything, take, texts
from tests.teams.test_safe_points import Words


def rules(*entries: tuple[Any, ...]) -> MessageFilterConfig:
    """Source, position, count of each."""
    fields = ("source", "position", "count")
    return MessageFilterConfig(
        per_source=[PerSourceFilter(**dict(zip(fields, entry, strict=False))) for entry in entries]
    )


def messages(text: str) -> list[TextMessage]:
    """`"a1 b2"`: what a and b said."""
    return [TextMessage(content=word, source=word[0]) for word in text.split()]


@pytest.mark.parametrize(
    ("entries", "shown"),
    [
        ([("a",)], "a1 a3 a5"),
        ([("a", "first", 1)], "a1"),
        ([("a", "last", 2)], "a3 a5"),
        ([("a", "last", 9)], "a1 a3 a5"),
        ([("a", "first", 0)], ""),
        ([("a", "last", 0)], ""),
        ([("a", "last")], "a1 a3 a5"),
        ([("a", None, 1)], "a1 a3 a5"),
        ([("a", "first", 1), ("a", "last", 1)], "a1 a5"),
        ([("b", "last", 1), ("a", "first", 1)], "b4 a1"),
        ([("a", "last", 1), ("a",)], "a5 a1 a3"),
        ([("x",)], ""),
        ([], ""),
    ],
)
async def test_the_agent_inside_is_shown_what_the_rules_let_through(entries: Any, shown: str):
    inner = Talker("inner", "yes")
    agent = MessageFilterAgent("inner", inner, rules(*entries))
    given = messages("a1 b2 a3 b4 a5 c6")
    await agent.on_messages(given, CancellationToken())
    await everything(agent.on_messages_stream(given, CancellationToken()))
    assert inner.given == [shown.split(), shown.split()]


async def test_it_answers_as_the_agent_inside():
    inner = Talker("inner", "yes", description="says yes")
    agent = MessageFilterAgent("outer", inner, rules(("user",)))
    assert agent.description == "says yes"
    assert agent.produced_message_types == inner.produced_message_types
    (message,) = (await agent.run(task="hi")).messages[1:]
    assert (message.source, message.to_text()) == ("inner", "yes")


async def test_what_was_not_shown_does_not_come_again():
    """Agents get no filtered message again, with or without a turn record."""
    model = ScriptedModel("x", "y")
    takes = AssistantAgent("inner", model, system_message=None)
    for inner in (takes, Talker("inner", "x", "y")):
        agent = MessageFilterAgent("inner", inner, rules(("user",), ("b", "last", 1)))
        team = RoundRobinGroupChat([Talker("b", "b1", "b2"), agent], max_turns=2)
        await team.run(task="hi")
        await team.run()
        if isinstance(inner, Talker):
            assert inner.given == [["hi", "b1"], ["b2"]]
    assert model.texts() == ["hi", "b1", "x", "b2"]


async def test_in_a_loop_the_summary_is_made_of_the_task_and_the_last_review_alone():
    reviews = ["no", "no", "APPROVE"]
    writer, critic = Talker("writer", "1", "2", "3"), Talker("critic", *reviews)
    summary = Talker("summary", "done")
    shown = rules(("user", "first", 1), ("critic", "last", 1))
    filtered = MessageFilterAgent("summary", summary, shown)
    builder = DiGraphBuilder().add_node(writer).add_node(critic).add_node(filtered)
    builder.add_edge(writer, critic)
    builder.add_conditional_edges(critic, {"APPROVE": filtered, "no": writer})
    builder.set_entry_point(writer)
    flow = GraphFlow(builder.get_participants(), builder.build(), max_turns=20)
    assert texts(await flow.run(task="hi"))[-1] == "done"
    assert summary.given == [["hi", "APPROVE"]]


async def test_a_message_that_comes_during_the_turn_is_filtered_like_the_others():
    """A message that is too late for this turn comes next."""
    model = ScriptedModel(calls(("look", {})), "first", "second")

    def look() -> str:
        """Look."""
        return "seen"

    inner = AssistantAgent("inner", model, tools=[look], max_tool_iterations=2, system_message=None)
    agent = MessageFilterAgent("inner", inner, rules(("user",)))
    team = RoundRobinGroupChat([agent], max_turns=1)
    stream = team.run_stream(task="hi")
    await take(stream, 2)  # the call is requested
    team.add_messages(messages("x-secret"))
    team.add_messages([TextMessage(content="hurry", source="user")])
    await take(stream, 1)  # it was executed
    rest = await everything(stream)
    assert rest[0].content == "first"
    assert model.texts(1) == ["hi", "hurry"]
    await team.run(task="more")
    assert model.texts(2) == ["hi", "hurry", "first", "more"]


async def test_message_types_of_the_agent_inside_are_known_outside():
    model = ScriptedModel('{"text": "w"}')
    inner = AssistantAgent("inner", model, output_content_type=Words)
    agent = MessageFilterAgent("inner", inner, rules(("user",)))
    result = await RoundRobinGroupChat([agent], max_turns=1).run(task="hi")
    assert isinstance(result.messages[-1], StructuredMessage)


async def test_life_of_the_agent_inside_is_that_of_the_agent():
    inner = Talker("inner", "x")
    agent = MessageFilterAgent("inner", inner, rules(("user",)))
    team = RoundRobinGroupChat([agent], max_turns=1)
    await team.run(task="hi")
    await team.pause()
    await team.resume()
    await team.reset()
    await agent.close()
    assert inner.calls == ["pause", "resume", "reset"]


@pytest.mark.parametrize("way", ["same", "state", "snapshot"])
async def test_an_agent_inside_that_waits_goes_on_with_the_answer(way: str):
    answers: list[str] = []

    async def ask(prompt: str, token: CancellationToken | None) -> str:
        if not answers:
            raise InputRequired(prompt)
        return answers[0]

    def build(name: str) -> RoundRobinGroupChat:
        inner = UserProxyAgent("boss", input_func=ask)
        agent = MessageFilterAgent(name, inner, rules(("user",)))
        return RoundRobinGroupChat([Talker("a", "x"), agent], max_turns=2)

    for name, path in (("boss", ("boss",)), ("outer", ("outer", "boss"))):
        answers.clear()
        team = build(name)
        (request,) = (await team.run(task="hi")).pending
        assert request.agent == path
        old, team = team, team if way == "same" else build(name)
        if way == "state":
            await team.load_state(json.loads(json.dumps(await old.save_state())))
        elif way == "snapshot":
            await team.load_snapshot([await old.save_snapshot()])
        assert list((await team.run()).pending) == [request]
        answers.append("go")
        assert texts(await team.run()) == ["go"]


async def test_the_messages_of_a_cancelled_turn_that_were_not_taken_come_again():
    asked = asyncio.Event()
    inner = Talker("inner", asked.wait(), "yes")
    agent = MessageFilterAgent("inner", inner, rules(("user",)))
    team = RoundRobinGroupChat([agent], max_turns=1)
    token = CancellationToken()
    stream = team.run_stream(task="hi", cancellation_token=token)
    await take(stream, 1)
    pull = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pull
    await team.run(task="on")
    assert inner.given == [["hi"], ["hi", "on"]]


async def test_its_state_holds_that_of_the_agent_inside_where_autogen_saves_nothing():
    def build(*answers: str) -> MessageFilterAgent:
        inner = AssistantAgent("inner", ScriptedModel(*answers), system_message=None)
        return MessageFilterAgent("inner", inner, rules(("user",)))

    agent, fresh = build("yes"), build("more")
    await agent.run(task="hi")
    state = json.loads(json.dumps(await agent.save_state()))
    assert (state["type"], state["version"]) == ("BaseState", "1.0.0")
    await fresh.load_state(state)
    assert await fresh.save_state() == state
    await fresh.load_state({"type": "BaseState", "version": "1.0.0"})
    assert await fresh.save_state() == state


def test_it_dumps_and_loads():
    agent = MessageFilterAgent(
        "boss", UserProxyAgent("boss"), rules(("user", "first", 1), ("critic",))
    )
    dumped = agent.dump_component().model_dump()
    assert dumped["provider"] == "teams.agents.MessageFilterAgent"
    assert dumped["config"]["filter"] == {
        "per_source": [{"source": "user", "position": "first", "count": 1}, {"source": "critic"}]
    }
    for provider in (dumped["provider"], "autogen_agentchat.agents.MessageFilterAgent"):
        loaded = MessageFilterAgent.load_component(
            json.loads(json.dumps({**dumped, "provider": provider}))
        )
        assert loaded.dump_component().model_dump() == dumped
