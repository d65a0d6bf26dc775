"""Teams and agents inside of others, and none inside of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gateway.config.agents import AgentConfig, AssistantConfig
from gateway.config.mcp import McpConfig, McpReference
from gateway.config.problems import Problem
from gateway.config.teams import GroupTeam, TeamConfig
from gateway.config.toml import KeyPath
from teams.kinds import Named, uses_of

Node: TypeAlias = "tuple[str] | tuple[str, str]"
"""A team, or an agent of a team."""


@dataclass(frozen=True, slots=True)
class _Use:
    """The use of a team or agent, and its place."""

    path: KeyPath
    node: Node


def teams_inside(team: TeamConfig) -> Iterator[str]:
    """Names of the teams directly inside a team."""
    if isinstance(team, GroupTeam):
        uses = [*_members((), "", team)]
        for agent in team.agents.values():
            uses += _of_agent((), "", agent)
        yield from dict.fromkeys(use.node[0] for use in uses if len(use.node) == 1)


def with_inner(
    name: str, teams: Mapping[str, TeamConfig]
) -> Iterator[tuple[str, TeamConfig | None]]:
    """A team with all inside, each once; None for an unknown one."""
    names = [name]
    for each in names:  # it grows meanwhile
        yield each, (team := teams.get(each))
        inside = teams_inside(team) if team is not None else ()
        names += [inner for inner in inside if inner not in names]


def groups_inside(name: str, teams: Mapping[str, TeamConfig]) -> Iterator[tuple[str, GroupTeam]]:
    """Those of the same teams whose agents the config describes."""
    for each, team in with_inner(name, teams):
        if isinstance(team, GroupTeam):
            yield each, team


def servers_of(team: GroupTeam) -> Iterator[McpReference | McpConfig]:
    """The MCP servers of a team's own agents."""
    for agent in team.agents.values():
        inner = agent.speaker
        if isinstance(inner, AssistantConfig):
            yield from inner.mcp


def cycles(teams: Mapping[str, TeamConfig]) -> Iterator[Problem]:
    """A mistake for each team or agent inside of itself."""
    done: set[Node] = set()
    nodes: list[Node] = [(name,) for name in teams]
    for name, team in teams.items():
        nodes += [(name, agent) for agent in team.agents] if isinstance(team, GroupTeam) else []
    for node in nodes:
        yield from _visit(node, teams, [], done)


def _visit(
    node: Node, teams: Mapping[str, TeamConfig], around: list[Node], done: set[Node]
) -> Iterator[Problem]:
    if node in done:
        return
    inside = [*around, node]
    for use in _uses(node, teams):
        if use.node in inside:
            way = [*inside[inside.index(use.node) :], use.node]
            shown = " -> ".join(each[-1] for each in way)
            yield Problem(path=use.path, text=f"found {shown}, expected no circle")
        else:
            yield from _visit(use.node, teams, inside, done)
    done.add(node)


def _uses(node: Node, teams: Mapping[str, TeamConfig]) -> Iterator[_Use]:
    name = node[0]
    path: KeyPath = ("teams", name)
    team = teams.get(name)
    if not isinstance(team, GroupTeam):
        return
    match node:
        case (_, agent):
            if agent in team.agents:
                yield from _of_agent((*path, "agents", agent), name, team.agents[agent])
        case _:
            yield from _members(path, name, team)


def _members(path: KeyPath, name: str, team: GroupTeam) -> Iterator[_Use]:
    for at, member in enumerate(team.members):
        node: Node = (name, member) if member in team.agents else (member,)
        yield _Use((*path, "participants", at), node)


def _of_agent(path: KeyPath, team: str, agent: AgentConfig) -> Iterator[_Use]:
    for use in uses_of(agent, path):
        match use.meaning:
            case Named("teams"):
                yield _Use(use.place, (use.value,))
            case Named("agents"):
                yield _Use(use.place, (team, use.value))
            case _:
                pass
