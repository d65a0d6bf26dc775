"""AgentTool and TeamTool: agents and teams that agents call like tools."""

import asyncio
import gc
import json
import weakref
from typing import Any

import pytest
from pydantic import BaseModel

from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, UserProxyAgent
from teams.base import TaskResult, ToolCall, run_hooks
from teams.conditions import MaxMessageTermination
from teams.core import CancellationToken
from teams.messages import StructuredMessage
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import (
    AgentTool,
    BaseToolWithState,
    StaticStreamWorkbench,
    StaticWorkbench,
    TeamTool,
    ToolOverride,
    ToolResult,
)
from tests.fakes.agents import Talker
from tests.fakes.scripted_model import ScriptedModel, calls
from tests.fakes.streams import texts
from tests.teams._team_tools.asked_agents import add, ask, chief, helper, moved, results, ways
from tests.teams.test_safe_points import Words

# The tool


def test_an_agents_tool_has_its_name_and_description_and_takes_a_task():
    tool = AgentTool(Talker("helper", description="helps"))
    assert (tool.name, tool.description) == ("helper", "helps")
    parameters: Any = tool.schema.get("parameters")
    assert list(parameters["properties"]) == ["task"]
    assert parameters["required"] == ["task"]
    assert tool.schema.get("strict") is True


def test_a_teams_tool_has_the_name_and_description_it_is_given():
    tool = TeamTool(RoundRobinGroupChat([Talker("a")]), "crew", "works")
    assert (tool.name, tool.description) == ("crew", "works")


@pytest.mark.parametrize(
    ("last", "text"), [(False, "a: one\n\nb: two\n\na: three"), (True, "three")]
)
async def test_the_model_is_given_all_messages_with_sources_or_the_last(last: bool, text: str):
    team = RoundRobinGroupChat([Talker("a", "one", "three"), Talker("b", "two")], max_turns=3)
    tool = TeamTool(team, "crew", "works", return_value_as_last_message=last)
    result = await tool.run_json({"task": "go"}, CancellationToken())
    assert texts(result) == ["go", "one", "two", "three"]
    assert result.stop_reason == "Maximum number of turns 3 reached."
    assert tool.return_value_as_string(result) == text
    assert tool.return_value_as_string(TaskResult(messages=result.messages[:1])) == ""


async def test_messages_of_types_of_ones_own_pass_through_a_team():
    inner = AssistantAgent("helper", ScriptedModel('{"text": "w"}'), output_content_type=Words)
    crew = RoundRobinGroupChat(
        [Talker("x", StructuredMessage[Words](content=Words(text="v"), source="x"))],
        max_turns=1,
        custom_message_types=[StructuredMessage[Words]],
    )
    agent = chief(
        calls(("helper", {"task": "a"}), ("crew", {"task": "b"})),
        tools=[AgentTool(inner), TeamTool(crew, "crew", "works")],
    )
    result = await RoundRobinGroupChat([agent], max_turns=1).run(task="hi")
    assert results(result.messages) == ['helper: {"text":"w"}', 'x: {"text":"v"}']


@pytest.mark.parametrize("workbench", [StaticWorkbench, StaticStreamWorkbench])
async def test_it_can_stand_in_a_workbench_under_another_name(workbench: type[StaticWorkbench]):
    seen: list[tuple[str, ...]] = []

    async def intercept(call: ToolCall, proceed: Any) -> ToolResult:
        seen.append((*call.agent, call.name))
        return await proceed(call)

    inner = helper(calls(("add", {"a": 1, "b": 2})), tools=[add])
    bench = workbench([AgentTool(inner)], {"helper": ToolOverride(name="adder")})
    agent = AssistantAgent("chief", ScriptedModel(ask("adder", "x")), workbench=bench)
    with run_hooks(intercept=intercept):
        assert results((await agent.run(task="hi")).messages) == ["helper: 3"]
    assert seen == [("chief", "adder"), ("chief", "adder", "helper", "add")]


# Called again


# Errors


# Waiting for a human


# Breaks


# Called directly


# State and config


class Tally(BaseModel):
    count: int = 0


class Counting(BaseToolWithState[Tally, Tally, Tally]):
    """Counts its calls."""

    def __init__(self) -> None:
        super().__init__(Tally, Tally, Tally, "counting", "Counts.")
        self.tally = Tally()

    async def run(self, args: Tally, cancellation_token: CancellationToken) -> Tally:
        self.tally = Tally(count=self.tally.count + args.count)
        return self.tally

    def save_state(self) -> Tally:
        return self.tally

    def load_state(self, state: Tally) -> None:
        self.tally = state


@ways
async def test_tools_with_a_state_are_saved_with_their_agent_too(way: str):
    def build() -> RoundRobinGroupChat:
        wanted = calls(("counting", {"count": 2}))
        return RoundRobinGroupChat([chief(wanted, wanted, tools=[Counting()])], max_turns=1)

    team = build()
    await team.run(task="hi")
    team = await moved(team, build(), way)
    assert results((await team.run(task="hi")).messages) == ['{"count": 4}']


def test_agents_and_teams_behind_tools_are_released():
    async def use() -> weakref.ref[Any]:
        inner = helper("x")
        crew = RoundRobinGroupChat([inner], max_turns=1)
        agent = chief(ask("crew", "a"), tools=[TeamTool(crew, "crew", "works")])
        await agent.run(task="hi")
        return weakref.ref(crew)

    reference = asyncio.run(use())
    gc.collect()
    assert reference() is None


def test_the_tools_dump_and_load():
    boss = UserProxyAgent("boss", description="asks")
    crew = RoundRobinGroupChat([boss], termination_condition=MaxMessageTermination(3))
    agent = AssistantAgent(
        "chief",
        ReplayChatCompletionClient(["x"], model_info=ScriptedModel().model_info),
        tools=[
            AgentTool(boss, return_value_as_last_message=True),
            TeamTool(crew, "crew", "works"),
        ],
    )
    dumped = agent.dump_component().model_dump()
    tools = dumped["config"]["workbench"][0]["config"]["tools"]
    assert [tool["provider"] for tool in tools] == ["teams.tools.AgentTool", "teams.tools.TeamTool"]
    assert tools[0]["config"]["return_value_as_last_message"] is True
    assert tools[1]["config"]["name"] == "crew"
    loaded = AssistantAgent.load_component(json.loads(json.dumps(dumped)))
    assert loaded.dump_component().model_dump() == dumped
    for kind, tool in zip((AgentTool, TeamTool), tools, strict=True):
        foreign = {**tool, "provider": f"autogen_agentchat.tools.{kind.__name__}"}
        assert kind.load_component(foreign).dump_component().model_dump() == tool
