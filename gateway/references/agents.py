"""Names in agents' tables: models, teams, other agents, Python."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import urlsplit

from gateway.base.suggest import did_you_mean
from gateway.config.agent_parts import (
    AgentToolConfig,
    AnyToolConfig,
    CodeToolConfig,
    DockerExecutorConfig,
    DockerJupyterExecutorConfig,
    ExecutorConfig,
    JupyterExecutorConfig,
    ListMemoryConfig,
    LocalExecutorConfig,
    MemoryConfig,
    ModelContextConfig,
    OwnContextConfig,
    OwnExecutorConfig,
    OwnMemoryConfig,
    StoreMemoryConfig,
    TeamToolConfig,
    TokenLimitedContextConfig,
    ToolConfig,
)
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
from gateway.config.http_tool import HttpConfig
from gateway.config.problems import Problem
from gateway.config.toml import KeyPath
from gateway.factory.http_tools import http_refusal, make_http_tool
from gateway.factory.parts import make_tool
from gateway.references.lookup import Lookup, check_name

A_SPEAKER = "somebody who speaks in this team"
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


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
                yield from self.context((*path, "model_context"), agent.model_context)
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
        yield from self.executor((*path, "executor"), agent.executor)
        yield from self._speakers((*path, "sources"), agent.sources or ())
        yield from self.context((*path, "model_context"), agent.model_context)

    def _speakers(self, path: KeyPath, names: Iterable[str]) -> Iterator[Problem]:
        for at, name in enumerate(names):
            yield from check_name((*path, at), name, self._roster.speakers, A_SPEAKER)

    def context(self, path: KeyPath, context: ModelContextConfig | None) -> Iterator[Problem]:
        """Mistakes of a model context."""
        match context:
            case TokenLimitedContextConfig():
                yield from self._lookup.model((*path, "model"), context.model)
            case OwnContextConfig():
                yield from self._lookup.function((*path, "path"), context.path)
            case _:
                pass

    def tool(self, path: KeyPath, name: str, tool: AnyToolConfig) -> Iterator[Problem]:
        """Mistakes of a tool of the agent `name`."""
        match tool:
            case ToolConfig():
                try:
                    _ = make_tool(tool, self._lookup.imports).schema  # made when asked for
                except (ValueError, TypeError) as error:  # also of functions that fit no schema
                    yield Problem(path=path, text=str(error))
            case AgentToolConfig():
                others = [each for each in self._roster.agents if each != name]
                if tool.agent != name:  # that is a cycle
                    yield from check_name(path, tool.agent, others, "another agent of this team")
            case TeamToolConfig():
                yield from self._team_tool(path, tool)
            case CodeToolConfig():
                yield from self.executor((*path, "executor"), tool.executor)
            case HttpConfig():
                yield from self._http(path, tool)
            case _:
                assert_never(tool)

    def executor(self, path: KeyPath, executor: ExecutorConfig) -> Iterator[Problem]:
        """Mistakes of a code executor."""
        match executor:
            case OwnExecutorConfig():
                yield from self._lookup.function((*path, "path"), executor.path)
            case DockerExecutorConfig():
                yield from self._functions(path, executor.functions)
            case LocalExecutorConfig():
                yield from self._functions(path, executor.functions)
                folder = executor.virtual_env
                if folder and not (folder / "pyvenv.cfg").is_file():
                    text = f"found no pyvenv.cfg in {folder}, expected a virtual environment"
                    yield Problem(path=(*path, "virtual_env"), text=text)
            case JupyterExecutorConfig() | DockerJupyterExecutorConfig():
                pass
            case _:
                assert_never(executor)

    def _assistant(self, path: KeyPath, name: str, agent: AssistantConfig) -> Iterator[Problem]:
        lookup = self._lookup
        yield from self._model_and_tools(path, name, agent)
        for at, workbench in enumerate(agent.workbench):
            yield from lookup.function((*path, "workbench", at), workbench)
        for at, server in enumerate(agent.mcp):
            yield from lookup.server((*path, "mcp", at), server)
        for at, memory in enumerate(agent.memory):
            yield from self._memory((*path, "memory", at), memory)
        for at, known in enumerate(agent.knowledge):
            names = lookup.names("knowledge")
            yield from check_name((*path, "knowledge", at), known, names, "a name in [knowledge]")
        for key in ("tool_call_summary_formatter", "output_content_type"):
            yield from lookup.function((*path, key), getattr(agent, key))
        yield from self.context((*path, "model_context"), agent.model_context)
        for at, handoff in enumerate(agent.handoffs):
            if problem := self._roster.unreachable(handoff.target, me=name):
                yield Problem(path=(*path, "handoffs", at), text=problem)

    def _model_and_tools(
        self, path: KeyPath, name: str, agent: AssistantConfig | OpenAIConfig
    ) -> Iterator[Problem]:
        yield from self._lookup.model((*path, "model"), agent.model)
        for at, tool in enumerate(agent.tools):
            yield from self.tool((*path, "tools", at), name, tool)

    def _http(self, path: KeyPath, tool: HttpConfig) -> Iterator[Problem]:
        policy, host = self._lookup.config.policies.http, tool.address.hostname or ""
        if said := http_refusal(policy, tool.name, host, tool.method):
            yield Problem(path=(*path, "http"), text=said)
        try:
            make_http_tool(tool)
        except (ValueError, TypeError) as error:
            yield Problem(path=path, text=str(error))

    def _team_tool(self, path: KeyPath, tool: TeamToolConfig) -> Iterator[Problem]:
        yield from self._lookup.team(path, tool.team)
        name = tool.name or tool.team
        if not _TOOL_NAME.fullmatch(name):
            text = f"found {name!r}, expected a name of letters, digits, _ and - for the model"
            yield Problem(path=(*path, "name"), text=text)
        team = self._lookup.config.teams.get(tool.team)
        if isinstance(team, ConversableTeam):
            text = f"found {tool.team!r}, a chat of two agents, expected a team of another type"
            yield Problem(path=path, text=text)
        if team and not tool.description and not getattr(team, "description", ""):
            text = "is missing: tell the model what the team is for, here or in the team's table"
            yield Problem(path=(*path, "description"), text=text)

    def _memory(self, path: KeyPath, memory: MemoryConfig) -> Iterator[Problem]:
        match memory:
            case OwnMemoryConfig():
                yield from self._lookup.function(path, memory.path)
            case ListMemoryConfig() | StoreMemoryConfig():
                pass
            case _:
                assert_never(memory)

    def _functions(self, path: KeyPath, functions: Sequence[str]) -> Iterator[Problem]:
        for at, function in enumerate(functions):
            yield from self._lookup.function((*path, "functions", at), function)
