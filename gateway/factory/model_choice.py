"""Fitness of a config's models for its teams, as far as known.

A model that was chosen for a thread takes the place of all that its team would use by itself.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from gateway.base.imports import Imports
from gateway.config.agents import AgentConfig, AssistantConfig
from gateway.config.conversable import ConversableTeam
from gateway.config.mcp import McpConfig, McpReference
from gateway.config.nesting import teams_inside
from gateway.config.root import Config
from gateway.config.teams import ComponentTeam, DemoTeam, FactoryTeam, GroupTeam
from gateway.factory.model_clients import ModelClients
from gateway.factory.preparation import sections
from gateway.registry import ModelChoice
from teams.agents.kinds import HandoffConfig
from teams.kinds import Agent, tables_in
from teams.memory.kinds import StoreKind

BY_FILE = "the models of {team!r} stand in its component file"
BY_PROVIDER = "{agent!r} asks {provider} over an API that other models do not have"
BY_FUNCTION = "the function of {team!r} makes its own model clients, without a `model_client`"
NO_TOOLS = "{agent!r} has {parts}, and this model calls no functions"


class ModelChoices:
    """The models of a config, as choices for its teams."""

    def __init__(self, config: Config, models: ModelClients, imports: Imports) -> None:
        self._config = config
        self._models = models
        self._imports = imports

    def of(self, team: str) -> tuple[ModelChoice, ...]:
        """Each model, with why the team can't use it. Raises KeyError."""
        fixed = next(self._fixed(team), "")
        needs = next(self._needs(team), "")
        can = self._models.can
        return tuple(
            ModelChoice(
                name=name,
                label=self._models.label(name),
                problem=fixed or (needs if can(name, "function_calling") is False else ""),
                is_blind=can(name, "vision") is False,
            )
            for name in self._config.models
        )

    def readers(self, team: str, model: str = "") -> Iterator[str]:
        """Models that read the team's threads, each once. Raises KeyError."""
        tables = list(sections(self._config, team))
        named = [model] if model else [getattr(table, "model", None) for table in tables]
        named += filter(None, [self._config.title_model])
        chains = [self._chain(name) for name in named if isinstance(name, str)]
        yield from dict.fromkeys(self._reader(name) for chain in chains for name in chain)
        for table in tables:
            if isinstance(table, Agent) and (own := table.own_model()) != ("", ""):
                yield "{} ({})".format(*own)
            if isinstance(table, ComponentTeam):
                yield "the models of its component file"
            elif isinstance(table, FactoryTeam) and not self.takes_model(table):
                yield "the models of its Python function"

    def _chain(self, name: str) -> list[str]:
        """A table's model, and those that answer in its place."""
        name = name or self._config.model_name()
        return self._models.chain(name) if name in self._config.models else []

    def _reader(self, name: str) -> str:
        """A model's name at its provider, and its server's host."""
        model = self._config.models[name].resolved()
        host = urlsplit(model.address).hostname or model.provider
        return f"{self._models.label(name)} ({host})"

    def _fixed(self, team: str) -> Iterator[str]:
        """Reasons why nothing can give the team another model."""
        match config := self._config.teams[team]:
            case ComponentTeam():
                yield BY_FILE.format(team=team)
            case FactoryTeam() if not self.takes_model(config):
                yield BY_FUNCTION.format(team=team)
            case _:
                if isinstance(config, GroupTeam):
                    for name, agent in config.agents.items():
                        if provider := agent.speaker.provider:
                            yield BY_PROVIDER.format(agent=name, provider=provider)
                for inner in teams_inside(config):
                    yield from self._fixed(inner)

    def takes_model(self, team: FactoryTeam) -> bool:
        """False if its function is known to take no model client.

        Nothing is imported for that: it is known once the team was built.
        """
        if team.factory.partition(":")[0] not in sys.modules:
            return True
        with suppress(Exception):  # whoever builds the team is told what is wrong
            function = self._imports.load_callable(team.factory)
            return "model_client" in inspect.signature(function).parameters
        return True

    def _needs(self, team: str) -> Iterator[str]:
        """Reasons why the team's models have to call functions."""
        match config := self._config.teams[team]:
            case DemoTeam():
                yield NO_TOOLS.format(agent=team, parts="tools")
            case GroupTeam() | ConversableTeam():
                remembers = isinstance(config, GroupTeam) and config.memory is not None
                for name, agent in config.agents.items():
                    if parts := _calling_parts(agent, remembers=remembers):
                        yield NO_TOOLS.format(agent=name, parts=parts)
            case _:
                pass
        for inner in teams_inside(config):
            yield from self._needs(inner)


def _calling_parts(agent: AgentConfig, *, remembers: bool) -> str:
    """Parts of an agent that its model calls, or ""."""
    speaker = agent.speaker
    called, tables = speaker.called(), [each for _, each in tables_in(speaker)]
    has_servers = any(isinstance(each, McpReference | McpConfig) for each in tables)
    if called is None or called or has_servers or speaker.built_in():
        return "tools"
    is_told = remembers and isinstance(speaker, AssistantConfig)
    if is_told or any(isinstance(each, StoreKind) for each in tables):
        return "a memory"
    return "hand-offs" if any(isinstance(each, HandoffConfig) for each in tables) else ""
