"""Runs can also stop at any item inside of agents and selections.

A model or a graph chooses the speakers; agents hold teams, filters, or tools that are agents.
"""

import json
from collections.abc import Callable, Sequence
from itertools import cycle, repeat

import pytest

from teams import BaseGroupChat, DiGraphBuilder, GraphFlow, RoundRobinGroupChat, SelectorGroupChat
from teams.agents import (
    AssistantAgent,
    MessageFilterAgent,
    MessageFilterConfig,
    PerSourceFilter,
    SocietyOfMindAgent,
)
from teams.conditions import MaxMessageTermination
from teams.models import LLMMessage
from teams.tools import AgentTool, TeamTool
from tests.fakes.interrupted_runs import (
    WAYS,
    Build,
    Interrupted,
    Models,
    Way,
    assert_same,
    build_snapshot,
    settled,
    stop_at_every_item,
    uninterrupted,
)
from tests.fakes.scripted_model import Answer, ScriptedModel, calls
from tests.teams.test_safe_points import Words, add


class Answering(ScriptedModel):
    """Answers by a function of the request."""

    def __init__(self, answer: Callable[[Sequence[LLMMessage]], Answer]) -> None:
        super().__init__()
        self._function = answer

    def _answer(self, messages: Sequence[LLMMessage]) -> Answer:
        return self._function(messages)


def chooser(models: Models, *names: str) -> Answering:
    """Name the speakers in order by history length, after one nonsense answer."""

    def answer(messages: Sequence[LLMMessage]) -> Answer:
        if len(messages) == 1:
            return "well, let me see"
        _, history = str(messages[0].content).split("so far:")
        return "it is " + names[history.count("\n\n") - 2]

    model = Answering(answer)
    models.of["chooser"] = model
    return model


def trio(models: Models) -> list[AssistantAgent]:
    return [models.agent(name, f"{name} one", f"{name} two") for name in ("ann", "bob", "cid")]


def selector(models: Models) -> BaseGroupChat:
    return SelectorGroupChat(
        list(trio(models)),
        chooser(models, "ann", "cid", "bob", "ann"),
        max_turns=4,
        emit_team_events=True,
    )


def selector_aloud(models: Models) -> BaseGroupChat:
    return SelectorGroupChat(
        list(trio(models)),
        chooser(models, "cid", "ann", "cid"),
        termination_condition=MaxMessageTermination(4),
        emit_team_events=True,
        model_client_streaming=True,
    )


def selector_of_teams(models: Models) -> BaseGroupChat:
    pair = RoundRobinGroupChat(
        [models.agent("one", "a", "c"), models.agent("two", "b", "d")],
        name="pair",
        description="two of them",
        max_turns=2,
    )
    return SelectorGroupChat(
        [*trio(models), pair], chooser(models, "pair", "?", "cid", "pair"), max_turns=3
    )


def loop(models: Models) -> BaseGroupChat:
    author = models.agent("author", "draft", "second draft", model_client_stream=True)
    critic = models.agent("critic", "REVISE", "APPROVE")
    editor = models.agent("editor", calls(("add", {"a": 1, "b": 2})), tools=[add])
    graph = (
        DiGraphBuilder()
        .add_node(author)
        .add_node(critic)
        .add_node(editor)
        .add_edge(author, critic)
        .add_conditional_edges(critic, {"REVISE": author, "APPROVE": editor})
        .set_entry_point(author)
        .build()
    )
    return GraphFlow([author, critic, editor], graph, max_turns=20)


def fan_out(models: Models) -> BaseGroupChat:
    start = models.agent("start", "begin")
    left = models.agent("left", calls(("add", {"a": 1, "b": 2})), tools=[add])
    right = models.agent("right", "r one", model_client_stream=True)
    end = models.agent("end", "all")
    graph = (
        DiGraphBuilder()
        .add_node(start)
        .add_node(left)
        .add_node(right)
        .add_node(end)
        .add_edge(start, left)
        .add_edge(start, right)
        .add_edge(left, end)
        .add_edge(right, end)
        .build()
    )
    return GraphFlow([start, left, right, end], graph)


def society(models: Models) -> BaseGroupChat:
    inner = RoundRobinGroupChat(
        [
            models.agent("one", "a", "c", model_client_stream=True),
            models.agent("two", calls(("add", {"a": 1, "b": 2})), tools=[add]),
        ],
        termination_condition=MaxMessageTermination(3),
    )
    voice = Answering(lambda messages: f"sum of {len(messages)}")
    models.of["voice"] = voice
    mind = SocietyOfMindAgent("mind", inner, voice)
    return RoundRobinGroupChat([mind, models.agent("outer", "and now", "fine")], max_turns=4)


def filtered(models: Models) -> BaseGroupChat:
    writer = models.agent("writer", "one", "two", "three")
    critic = models.agent("critic", calls(("add", {"a": 1, "b": 2})), "so", "ok", tools=[add])
    rules = [
        PerSourceFilter(source="user", position="first", count=1),
        PerSourceFilter(source="writer", position="last", count=1),
    ]
    narrow = MessageFilterAgent("critic", critic, MessageFilterConfig(per_source=rules))
    return RoundRobinGroupChat([writer, models.agent("other", "x", "y"), narrow], max_turns=6)


def agent_tool(models: Models) -> BaseGroupChat:
    helper = models.agent(
        "helper",
        calls(("add", {"a": 1, "b": 2})),
        "it is three",
        "again",
        tools=[add],
        max_tool_iterations=3,
        model_client_stream=True,
    )
    chief = models.agent(
        "chief",
        calls(("helper", {"task": "count"}), ("add", {"a": 5, "b": 5}), ("helper", {"task": "x"})),
        "done",
        tools=[AgentTool(helper, return_value_as_last_message=True), add],
        max_tool_iterations=2,
    )
    return RoundRobinGroupChat([chief], max_turns=1)


def team_tool(models: Models) -> BaseGroupChat:
    desk = RoundRobinGroupChat(
        [
            models.agent("one", "a", "c", "e"),
            models.agent(
                "two",
                calls(("add", {"a": 1, "b": 2})),
                '{"text": "d"}',
                '{"text": "f"}',
                '{"text": "h"}',
                tools=[add],
                output_content_type=Words,
            ),
        ],
        termination_condition=MaxMessageTermination(3),
    )
    chief = models.agent(
        "chief",
        calls(("desk", {"task": "first"})),
        calls(("desk", {"task": "second"}), ("desk", {"task": "third"})),
        tools=[TeamTool(desk, "desk", "Works.")],
        max_tool_iterations=2,
    )
    return RoundRobinGroupChat([chief, models.agent("other", "thanks")], max_turns=2)


SCENARIOS: list[Build] = [
    selector,
    selector_aloud,
    selector_of_teams,
    loop,
    society,
    filtered,
    agent_tool,
    team_tool,
]

every_scenario = pytest.mark.parametrize("build", SCENARIOS, ids=lambda build: build.__name__)
every_way = pytest.mark.parametrize("way", WAYS)


@every_scenario
async def test_a_run_stopped_at_any_item_goes_on_as_if_it_had_not_stopped(build: Build):
    await stop_at_every_item(build, cycle(WAYS))


@pytest.mark.chaos
@every_scenario
@every_way
async def test_a_run_stopped_in_any_way_goes_on_as_if_it_had_not_stopped(build: Build, way: Way):
    await stop_at_every_item(build, repeat(way))


@every_scenario
async def test_a_run_that_stops_at_every_item_goes_on_as_if_it_had_not_stopped(build: Build):
    whole = await uninterrupted(build)
    part = Interrupted(build)
    for number in range(len(whole.items) + 40):  # chunks come again
        if part.run.result is None:
            await part.take(1 + number % 7, WAYS[number % len(WAYS)])
    assert_same(part.run, whole)


@pytest.mark.parametrize("build", [*SCENARIOS, fan_out], ids=lambda build: build.__name__)
async def test_at_every_item_snapshot_and_deltas_load_to_the_state_that_is_saved(build: Build):
    team = build(Models())
    parts: list[bytes] = []
    async for _ in team.run_stream(task="go"):
        parts.append(await (team.save_delta() if parts else team.save_snapshot()))
        state = json.loads(json.dumps(await team.save_state()))
        assert await team.save_delta() == b""
        for loaded_from in (parts, [await build_snapshot(build, parts)]):
            fresh = build(Models())
            await fresh.load_snapshot(loaded_from)
            assert json.loads(json.dumps(await fresh.save_state())) == state
            assert await fresh.save_delta() == b""


@every_way
async def test_a_fan_out_stopped_at_any_item_loses_and_repeats_nothing(way: Way):
    whole = await uninterrupted(fan_out)
    for count in range(1, len(whole.items) + 1):
        part = Interrupted(fan_out)
        await part.take(count, way)
        await part.take(10_000, way)
        assert sorted(settled(part.run.items)) == sorted(settled(whole.items))
        assert settled(part.run.items)[-1] == settled(whole.items)[-1]
        assert part.run.requests["right"] == whole.requests["right"]
        assert part.run.requests["left"] == whole.requests["left"]
        assert part.run.result is not None
        assert part.run.result.stop_reason == "Digraph execution is complete"
