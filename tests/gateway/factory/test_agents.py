"""Agents, their tools and their teams, made from their tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.app.load import load_config
from gateway.base.imports import ImportPathError
from gateway.config.root import Config
from gateway.config.teams import GraphTeam
from gateway.factory.agents import FOR_CHATS, AgentFactory, make_graph, message_type
from gateway.factory.teams import TeamFactory
from teams.agents import AssistantAgent
from teams.base import Team
from teams.messages import TextMessage

TEAM = """
[teams.t]
type = "round_robin"
max_turns = 2
[teams.t.agents.a]
[teams.t.agents.b]
system_message = "Be brief."
"""
GRAPH = {
    "type": "graph",
    "agents": {"a": {}, "b": {}},
    "edges": [{"source": "a", "target": "b", "condition": "go"}],
    "nodes": {"b": {"activation": "any"}},
}


def test_a_graph_has_its_nodes_edges_and_activations() -> None:
    config = Config.model_validate({"teams": {"g": GRAPH}}).teams["g"]
    assert isinstance(config, GraphTeam)
    graph = make_graph(config, lambda path: path)
    assert sorted(graph.nodes) == ["a", "b"]
    assert [(each.target, each.condition) for each in graph.nodes["a"].edges] == [("b", "go")]
    assert graph.nodes["b"].activation == "any"


def test_a_message_type_is_somebodys_class() -> None:
    assert message_type("x:Y", lambda path: TextMessage) is TextMessage
    with pytest.raises(ImportPathError, match="'x:Y' is not a message type"):
        message_type("x:Y", lambda path: str)


async def test_a_team_is_made_with_its_agents(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(TEAM)
    loaded = load_config(path)
    source = TeamFactory(loaded.config, loaded.imports, start_folder=tmp_path)
    built: Any = (await source.build("t", workdir=tmp_path)).team
    first, second = built._participants
    assert [first.name, second.name] == ["a", "b"]
    assert isinstance(first, AssistantAgent)
    messages = [each.content for agent in (first, second) for each in agent._system_messages]
    assert messages == [FOR_CHATS, "Be brief."]
    await source.aclose()


class Table:
    """The table of an agent of one's own."""

    async def build(self, maker: AgentFactory, *, name: str) -> str:
        return f"{name} of {maker.name}"


async def test_agents_and_other_teams_are_made_by_their_names() -> None:
    async def other(name: str) -> Team:
        return cast("Team", f"the team {name}")

    means = cast("Any", SimpleNamespace(folder=None, work_mb=1.0))
    agents = cast("Any", {"own": Table()})
    factory = AgentFactory(means, "t", servers={}, agents=agents, team=other)
    assert await factory.agent("own") == "own of t"
    assert await factory.team("inner") == "the team inner"
    with pytest.raises(NotImplementedError):
        await factory.make("no table")
