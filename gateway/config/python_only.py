"""What a team in TOML has from Python, for which component JSON has no place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gateway.config.agent_parts import ToolConfig
from gateway.config.agents import (
    AgentConfig,
    AssistantConfig,
    MessageFilterConfig,
    UserProxyConfig,
)
from gateway.config.nesting import teams_inside
from gateway.config.teams import GraphTeam, GroupTeam, SelectorTeam, TeamConfig
from gateway.config.toml import KeyPath


def python_only(name: str, teams: Mapping[str, TeamConfig]) -> Iterator[KeyPath]:
    """The settings of a team and of those inside it that its JSON leaves out."""
    for inner, team in _groups(name, teams):
        path: KeyPath = ("teams", inner)
        if team.custom_message_types:
            yield (*path, "custom_message_types")
        match team:
            case SelectorTeam():
                keys = ("selector_func", "candidate_func")
                yield from ((*path, key) for key in keys if getattr(team, key))
            case GraphTeam():
                for at, edge in enumerate(team.edges):
                    if edge.condition_function:
                        yield (*path, "edges", at, "condition_function")
            case _:
                pass
        for place, agent in _agents(path, team):
            yield from _of_agent(place, agent)


def source_tools(name: str, teams: Mapping[str, TeamConfig]) -> Iterator[ToolConfig]:
    """The tools that stand as source code in the JSON of a team, which nobody executes."""
    for inner, team in _groups(name, teams):
        for _, agent in _agents(("teams", inner), team):
            if isinstance(agent, AssistantConfig):
                yield from (tool for tool in agent.tools if isinstance(tool, ToolConfig))


def _of_agent(path: KeyPath, agent: AgentConfig) -> Iterator[KeyPath]:
    match agent:
        case AssistantConfig():
            if agent.tool_call_summary_formatter:
                yield (*path, "tool_call_summary_formatter")
            for at, tool in enumerate(agent.tools):
                if isinstance(tool, ToolConfig) and tool.strict:
                    yield (*path, "tools", at, "strict")
        case UserProxyConfig() if agent.input_func:
            yield (*path, "input_func")
        case _:
            pass


def _groups(name: str, teams: Mapping[str, TeamConfig]) -> Iterator[tuple[str, GroupTeam]]:
    team = teams[name]
    if isinstance(team, GroupTeam):
        yield name, team
    for inner in teams_inside(team):
        yield from _groups(inner, teams)


def _agents(path: KeyPath, team: GroupTeam) -> Iterator[tuple[KeyPath, AgentConfig]]:
    for name, agent in team.agents.items():
        place = (*path, "agents", name)
        while isinstance(agent, MessageFilterConfig):
            place, agent = (*place, "agent"), agent.agent
        yield place, agent
