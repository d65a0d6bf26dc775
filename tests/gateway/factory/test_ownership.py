"""Parts of teams: whose they are, and what releases them."""

import sys
from pathlib import Path

import pytest

from gateway.factory.ownership import (
    OwnedParts,
    all_parts,
    holdings_of,
    local_executors,
    model_clients,
    own_parts,
    tools_of,
)
from teams import RoundRobinGroupChat
from teams.agents import AssistantAgent, CodeExecutorAgent
from teams.agents.openai import OpenAIAgent
from teams.base import Team
from teams.code_executors.local import LocalCommandLineCodeExecutor
from teams.memory import ListMemory
from teams.memory.redis import RedisMemory, RedisMemoryConfig
from teams.models.replay import ReplayChatCompletionClient
from teams.tools import FunctionTool
from tests.gateway.scripted import model as replaying


def test_a_memorys_store_is_closed_with_its_team_and_makes_no_files():
    store = RedisMemory(RedisMemoryConfig(sequential=True))
    model = ReplayChatCompletionClient(["hi"])
    agent = AssistantAgent("solo", model, memory=[ListMemory(), store])
    holds = holdings_of(RoundRobinGroupChat([agent]))
    assert (holds.closes, holds.acts) == ((store.close,), False)


async def test_the_client_that_a_component_makes_is_closed_with_its_team(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    config = {"name": "a", "description": "d", "model": "gpt-4o", "instructions": "i"}
    agent = OpenAIAgent.load_component(
        {
            "provider": "autogen_ext.agents.openai.OpenAIAgent",
            "component_type": "agent",
            "config": config,
        }
    )
    assert agent.close in holdings_of(RoundRobinGroupChat([agent])).closes
    await agent.close()


@pytest.mark.parametrize("kind", ["local", "jupyter"])
def test_no_executor_is_imported_to_look_for_one(monkeypatch: pytest.MonkeyPatch, kind: str):
    module = f"teams.code_executors.{kind}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    agent = AssistantAgent("a", ReplayChatCompletionClient(["a"]))
    assert local_executors(RoundRobinGroupChat([agent], max_turns=1)) == []
    assert module not in sys.modules


def look(place: str) -> str:
    """Look somewhere."""
    return place


def made() -> tuple[Team, AssistantAgent, ReplayChatCompletionClient, FunctionTool]:
    model = replaying("hi")
    tool = FunctionTool(look, description="Look.")
    agent = AssistantAgent("solo", model, tools=[tool])
    return RoundRobinGroupChat([agent], max_turns=1), agent, model, tool


def test_parts_are_found_at_any_depth_and_own_ones_apart() -> None:
    team, agent, model, tool = made()
    found = [*all_parts(team)]
    assert found[0] is team
    assert all(any(each is part for each in found) for part in (agent, model, tool))
    left = [*all_parts(team, but=(AssistantAgent,))]
    assert not any(each is model for each in left)
    own = [*own_parts(team)]
    assert any(each is agent for each in own)
    assert not any(each is model for each in own)
    assert [*model_clients(team)] == [model]


def test_tools_of_a_team_are_named_with_their_arguments() -> None:
    found = tools_of(made()[0])
    assert (found.own, found.servers, found.has_others) == ({"look"}, frozenset(), False)
    arguments = found.arguments["look"]
    assert arguments is not None
    assert [*arguments] == ["place"]


def test_a_teams_own_parts_are_not_shared_with_another_one() -> None:
    owned = OwnedParts()
    team, agent, _, _ = made()
    owned.refuse_shared("parts:team", team)
    again = RoundRobinGroupChat([agent], max_turns=1)
    with pytest.raises(ValueError, match="returned the same"):
        owned.refuse_shared("parts:team", again)
    owned.refuse_shared("parts:team", made()[0])


def test_code_that_runs_on_this_machine_is_named(tmp_path: Path) -> None:
    executor = LocalCommandLineCodeExecutor(work_dir=tmp_path)
    team = RoundRobinGroupChat([CodeExecutorAgent("runs", executor)], max_turns=1)
    assert local_executors(team) == ["LocalCommandLineCodeExecutor"]
    assert holdings_of(team).acts
