"""Names in agents' tables: models, teams, other agents, Python."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gateway.base.imports import ImportPathError
from gateway.base.suggest import did_you_mean
from gateway.config.conversable import ConversableTeam
from gateway.config.mcp import McpConfig, McpReference
from gateway.config.problems import Problem
from gateway.config.toml import KeyPath
from gateway.factory.http_tools import http_refusal
from gateway.references.lookup import Lookup, check_name
from teams.kinds import (
    Chatter,
    Folder,
    ImportPath,
    KindsOf,
    Named,
    Part,
    Reaches,
    Section,
    TextOrPath,
    Tool,
    Use,
    is_import_path,
    is_others,
    tables_in,
    uses_of,
)

A_SPEAKER = "somebody who speaks in this team"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """A team's agents, its participants, and outside targets of hand-offs.

    `speakers` are all whose messages its agents may see.
    """

    agents: Sequence[str]
    members: Sequence[str]
    outside: Container[str]
    speakers: Sequence[str]

    def unreachable(self, target: str, *, me: str) -> str:
        """Why `me` can't hand over to the target; empty if it can."""
        others = [name for name in self.members if name != me]
        if target in others or target in self.outside:
            return ""
        if target == me:
            return f"found {target!r}, expected another agent than itself"
        if target in self.agents:
            return f"found {target!r}, expected a participant; add it to participants"
        hint = did_you_mean(target, others)
        return f"found {target!r}, expected another participant; " + (
            hint or f"add Handoff({target!r}) to termination if the run should end there"
        )


class AgentChecker:
    """Finds the names in the agents of one team that lead nowhere."""

    def __init__(self, lookup: Lookup, roster: Roster) -> None:
        self._lookup = lookup
        self._roster = roster

    def part(self, path: KeyPath, name: str, part: Section) -> Iterator[Problem]:
        """Mistakes of a part of the agent `name`, at any depth."""
        yield from self._mistakes(name, uses_of(part, path), tables_in(part, path))

    def own(self, path: KeyPath, team: Part) -> Iterator[Problem]:
        """Mistakes of a team's own settings, without its agents."""

        def is_own(place: KeyPath) -> bool:
            return place[len(path) :][:1] != ("agents",)

        uses = (use for use in uses_of(team, path) if is_own(use.place))
        yield from self._mistakes("", uses, (e for e in tables_in(team, path) if is_own(e[0])))

    def _mistakes(
        self, name: str, uses: Iterable[Use], tables: Iterable[tuple[KeyPath, Section]]
    ) -> Iterator[Problem]:
        uses = [e for e in uses if e.meaning != TextOrPath() or is_import_path(e.value)]
        for use in uses:
            yield from self._use(name, use)
        for place, table in tables:
            if isinstance(table, McpReference | McpConfig):
                yield from self._lookup.server(place, table)
            if isinstance(table, Part):
                yield from self._class(place, table)
                for key, text in table.mistakes(self._lookup.imports.load):
                    yield Problem(path=(*place, *key), text=text)
        for use in uses:
            if use.meaning == Named("teams") and isinstance(use.by, Tool):
                yield from self._team_tool(use.place, use.by, use.value)

    def _class(self, place: KeyPath, table: Part) -> Iterator[Problem]:
        """A mistake if its class, or a package of it, is missing."""
        key = KindsOf(table.kind.family).key
        try:
            table.require()
            if is_others(table):
                self._lookup.imports.load_callable(table.kind.made_by)
        except (ImportPathError, ImportError) as error:
            shown = (*place, key) if key in type(table).model_fields else place
            yield Problem(path=shown, text=str(error))

    def _use(self, name: str, use: Use) -> Iterator[Problem]:
        """Mistakes of one setting that names something."""
        lookup, place, value = self._lookup, use.place, use.value
        match use.meaning:
            case Named("models"):
                yield from lookup.model(place, value)
            case Named("teams"):
                yield from lookup.team(place, value)
            case Named("agents") if value != name:  # that is a cycle
                others = [each for each in self._roster.agents if each != name]
                yield from check_name(place, value, others, "another agent of this team")
            case Chatter():
                yield from check_name(place, value, self._roster.agents, "an agent of this team")
            case ImportPath() | TextOrPath():
                yield from lookup.function(place, value)
            case Named("knowledge"):
                known = lookup.names("knowledge")
                yield from check_name(place, value, known, "a name in [knowledge]")
            case Named("speakers"):
                yield from check_name(place, value, self._roster.speakers, A_SPEAKER)
            case Named("handoffs"):
                if problem := self._roster.unreachable(value, me=name):
                    yield Problem(path=place, text=problem)
            case Folder() | Reaches():
                yield from self._outside(name, use)
            case _:
                pass

    def _outside(self, name: str, use: Use) -> Iterator[Problem]:
        """A folder that is missing, or a host that is refused."""
        policy, value = self._lookup.config.policies.http, use.value
        if use.meaning == Reaches():
            host, method = urlsplit(value).hostname or "", getattr(use.by, "method", "GET")
            if said := http_refusal(policy, getattr(use.by, "name", name), host, method):
                yield Problem(path=use.place, text=said)
        elif not Path(value).is_dir():
            yield Problem(path=use.place, text=f"found {value!r}, expected a folder")

    def _team_tool(self, path: KeyPath, tool: Tool, name: str) -> Iterator[Problem]:
        team = self._lookup.config.teams.get(name)
        if isinstance(team, ConversableTeam):
            text = f"found {name!r}, a chat of two agents, expected a team of another type"
            yield Problem(path=path, text=text)
        described = getattr(tool, "description", "") or getattr(team, "description", "")
        if team and not described:
            text = "is missing: tell the model what the team is for, here or in the team's table"
            yield Problem(path=(*path, "description"), text=text)
