"""Names inside of a team's termination: speakers, hand-offs and tools."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.config.agents import AssistantConfig
from gateway.config.nesting import groups_inside, with_inner
from gateway.config.problems import Problem
from gateway.config.teams import MagenticOneTeam
from gateway.config.toml import KeyPath
from gateway.factory.conditions import named_in
from gateway.references.agents import A_SPEAKER
from gateway.references.lookup import Lookup, check_name
from gateway.references.tools import called_tools
from teams import MagenticOneGroupChat
from teams.agents.kinds import UserProxyKind

A_TARGET = "a name that an agent hands over to"
A_CALL = "a tool or hand-off of this team"
USER = "user"
"""Source of what people say."""


class ConditionChecker:
    """Finds the names in a team's condition that nobody in it has."""

    def __init__(self, lookup: Lookup, name: str) -> None:
        self._lookup = lookup
        self._inside = list(with_inner(name, lookup.config.teams))
        self._groups = list(groups_inside(name, lookup.config.teams))

    def check(self, path: KeyPath, condition: str) -> Iterator[Problem]:
        """Mistakes of a sound condition, which stands at `path`."""
        for name in named_in(condition, ("source", "sources")):
            yield from check_name(path, name, self.speakers(), A_SPEAKER)
        if not self._are_known():
            return
        for name in named_in(condition, ("target",)):
            yield from check_name(path, name, sorted(set(self._targets())), A_TARGET)
        calls = called_tools((team for _, team in self._groups), self._lookup.imports)
        for name in named_in(condition, ("function_name",)) if calls is not None else ():
            yield from check_name(path, name, sorted(calls or ()), A_CALL)

    def speakers(self) -> list[str]:
        """Names of people, agents and inner teams, at any depth."""
        names = [USER, *(name for name, _ in self._inside[1:])]
        for name, _ in self._inside:
            names += self._lookup.names("teams", name, "agents")
        for _, team in self._groups:
            names += team.agents
            names += (
                [MagenticOneGroupChat.manager_name] if isinstance(team, MagenticOneTeam) else []
            )
        return names

    def _are_known(self) -> bool:
        """True if the config shows all agents, and each is sound."""
        written = (self._lookup.names("teams", name, "agents") for name, _ in self._groups)
        sound = all(
            len(each) == len(team.agents)
            for each, (_, team) in zip(written, self._groups, strict=True)
        )
        return sound and len(self._groups) == len(self._inside)

    def _targets(self) -> Iterator[str]:
        """Names to which an agent hands over; a person hands back."""
        for _, team in self._groups:
            for agent in (each.speaker for each in team.agents.values()):
                if isinstance(agent, AssistantConfig):
                    yield from (handoff.target for handoff in agent.handoffs)
                if isinstance(agent, UserProxyKind):
                    yield from team.agents
