"""Names in agents' tables: models, teams, other agents, Python."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import urlsplit

from gateway.base.suggest import did_you_mean
from gateway.config.agents import (
    AgentConfig,
    AssistantConfig,
    CodeExecutorConfig,
    CoderConfig,
    FileSurferConfig,
    MessageFilterConfig,
    OpenAIConfig,
    SocietyOfMindConfig,
    UserProxyConfig,
    WebSurferConfig,
)
from gateway.config.conversable import ConversableTeam
from gateway.config.problems import Problem
from gateway.config.toml import KeyPath
from gateway.factory.http_tools import http_refusal
from gateway.references.lookup import Lookup, check_name
from teams.kinds import ImportPath, Named, Part, Reaches, Tool, Use, tables_in, uses_of

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

    def check(self, path: KeyPath, name: str, agent: AgentConfig) -> Iterator[Problem]:
        """Mistakes of the agent whose table is at the path."""
        lookup = self._lookup
        match agent:
            case AssistantConfig():
                yield from self._assistant(path, name, agent)
            case OpenAIConfig():
                yield from self._model_and_tools(path, name, agent)
            case UserProxyConfig():
                yield from lookup.function((*path, "input_func"), agent.input_func)
            case CodeExecutorConfig():
                yield from self._code(path, agent)
            case SocietyOfMindConfig():
                yield from lookup.team((*path, "team"), agent.team)
                yield from lookup.model((*path, "model"), agent.model)
                yield from self.part((*path, "model_context"), "", agent.model_context)
            case FileSurferConfig() | CoderConfig():
                yield from lookup.model((*path, "model"), agent.model)
                if (folder := getattr(agent, "folder", None)) and not folder.is_dir():
                    text = f"found {str(folder)!r}, expected a folder"
                    yield Problem(path=(*path, "folder"), text=text)
            case WebSurferConfig():
                yield from lookup.model((*path, "model"), agent.model)
                policy, host = (
                    lookup.config.policies.http,
                    urlsplit(agent.start_page).hostname or "",
                )
                if said := http_refusal(policy, name, host, "GET"):
                    yield Problem(path=(*path, "start_page"), text=said)
            case MessageFilterConfig():
                yield from self.check((*path, "agent"), name, agent.agent)
                sources = (each.source for each in agent.per_source)
                yield from self._speakers((*path, "per_source"), sources)
            case _:
                assert_never(agent)

    def _code(self, path: KeyPath, agent: CodeExecutorConfig) -> Iterator[Problem]:
        yield from self._lookup.model((*path, "model"), agent.model or "")
        yield from self._lookup.function((*path, "approval_func"), agent.approval_func)
        yield from self.part((*path, "executor"), "", agent.executor)
        yield from self._speakers((*path, "sources"), agent.sources or ())
        yield from self.part((*path, "model_context"), "", agent.model_context)

    def _speakers(self, path: KeyPath, names: Iterable[str]) -> Iterator[Problem]:
        for at, name in enumerate(names):
            yield from check_name((*path, at), name, self._roster.speakers, A_SPEAKER)

    def part(self, path: KeyPath, name: str, part: Part | None) -> Iterator[Problem]:
        """Mistakes of a part of the agent `name`, at any depth."""
        if part is None:
            return
        for use in uses_of(part, path):
            yield from self._use(name, use)
        for place, table in tables_in(part, path):
            if isinstance(table, Part):
                for key, text in table.mistakes(self._lookup.imports.load):
                    yield Problem(path=(*place, *key), text=text)
        for use in uses_of(part, path):
            if use.meaning == Named("teams") and isinstance(use.by, Tool):
                yield from self._team_tool(use.place, use.by, use.value)

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
            case ImportPath():
                yield from lookup.function(place, value)
            case Reaches():
                host, method = urlsplit(value).hostname or "", getattr(use.by, "method", "GET")
                tool = getattr(use.by, "name", name)
                if said := http_refusal(lookup.config.policies.http, tool, host, method):
                    yield Problem(path=place, text=said)
            case _:
                pass

    def _assistant(self, path: KeyPath, name: str, agent: AssistantConfig) -> Iterator[Problem]:
        lookup = self._lookup
        yield from self._model_and_tools(path, name, agent)
        for at, workbench in enumerate(agent.workbench):
            yield from lookup.function((*path, "workbench", at), workbench)
        for at, server in enumerate(agent.mcp):
            yield from lookup.server((*path, "mcp", at), server)
        for at, memory in enumerate(agent.memory):
            yield from self.part((*path, "memory", at), name, memory)
        for at, known in enumerate(agent.knowledge):
            names = lookup.names("knowledge")
            yield from check_name((*path, "knowledge", at), known, names, "a name in [knowledge]")
        for key in ("tool_call_summary_formatter", "output_content_type"):
            yield from lookup.function((*path, key), getattr(agent, key))
        yield from self.part((*path, "model_context"), "", agent.model_context)
        for at, handoff in enumerate(agent.handoffs):
            if problem := self._roster.unreachable(handoff.target, me=name):
                yield Problem(path=(*path, "handoffs", at), text=problem)

    def _model_and_tools(
        self, path: KeyPath, name: str, agent: AssistantConfig | OpenAIConfig
    ) -> Iterator[Problem]:
        yield from self._lookup.model((*path, "model"), agent.model)
        for at, tool in enumerate(agent.tools):
            yield from self.part((*path, "tools", at), name, tool)

    def _team_tool(self, path: KeyPath, tool: Tool, name: str) -> Iterator[Problem]:
        team = self._lookup.config.teams.get(name)
        if isinstance(team, ConversableTeam):
            text = f"found {name!r}, a chat of two agents, expected a team of another type"
            yield Problem(path=path, text=text)
        described = getattr(tool, "description", "") or getattr(team, "description", "")
        if team and not described:
            text = "is missing: tell the model what the team is for, here or in the team's table"
            yield Problem(path=(*path, "description"), text=text)
