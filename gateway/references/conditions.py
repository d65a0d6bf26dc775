"""Names inside of a team's termination: speakers, hand-offs and tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gateway.config.nesting import groups_inside, with_inner
from gateway.config.problems import Problem
from gateway.config.teams import MagenticOneTeam
from gateway.config.toml import KeyPath
from gateway.factory.conditions import Name
from gateway.references.agents import A_SPEAKER
from gateway.references.lookup import Lookup, check_name
from gateway.references.tools import called_tools
from teams import MagenticOneGroupChat
from teams.agents.kinds import HandoffConfig, UserProxyKind
from teams.kinds import tables_in

WAITED_FOR = {
    "speakers": A_SPEAKER,
    "targets": "a name that an agent hands over to",
    "calls": "a tool or hand-off of this team",
}
"""The names of conditions in words, by their tables."""
USER = "user"
"""Source of what people say."""


def check_names(
    path: KeyPath, names: Iterable[Name], known: Mapping[str, Sequence[str] | None]
) -> Iterator[Problem]:
    """Check names of a condition against those that are known."""
    for table, name in names:
        if (there := known.get(table)) is not None:
            yield from check_name(path, name, there, WAITED_FOR[table])


class TeamNames:
    """Names that a team's condition may wait for, at any depth."""

    def __init__(self, lookup: Lookup, name: str) -> None:
        self._lookup = lookup
        self._inside = list(with_inner(name, lookup.config.teams))
        self._groups = list(groups_inside(name, lookup.config.teams))

    def known(self) -> Mapping[str, Sequence[str] | None]:
        """Names by their tables; None where only building shows them."""
        known: dict[str, Sequence[str] | None] = {"speakers": self.speakers()}
        if self._are_known():
            calls = called_tools((team for _, team in self._groups), self._lookup.imports)
            known |= {
                "targets": sorted(set(self._targets())),
                "calls": None if calls is None else sorted(calls),
            }
        return known

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
            tables = (each for _, each in tables_in(team.agents))
            yield from (each.target for each in tables if isinstance(each, HandoffConfig))
            if any(isinstance(each.speaker, UserProxyKind) for each in team.agents.values()):
                yield from team.agents
