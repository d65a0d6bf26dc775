"""The whole of config.toml as one type."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gateway.config.budgets import Budget, Price
from gateway.config.faces import FaceConfig
from gateway.config.knowledge import KnowledgeConfig
from gateway.config.mcp import McpServer
from gateway.config.models import MODELS, ModelConfig
from gateway.config.policies import Policies
from gateway.config.powers import platform_of
from gateway.config.routes import Route
from gateway.config.settings import (
    Attachments,
    BackupConfig,
    HealthConfig,
    LimitsConfig,
    LoggingConfig,
    NetworkConfig,
    StoreConfig,
    TerminalConfig,
    WebConfig,
)
from gateway.config.teams import DemoTeam, TeamConfig
from gateway.config.tracing import TracingConfig
from teams.kinds import ModelKind, Section

OPENAI_MODEL = "gpt-4.1-mini"


def _built_in_models() -> dict[str, ModelKind]:
    return {"auto": MODELS.table(provider="auto", model=OPENAI_MODEL)}


def _built_in_teams() -> dict[str, TeamConfig]:
    return {"demo": DemoTeam(type="demo")}


class Config(Section):
    """All settings; the defaults apply without a config file.

    A config with its own [models] or [teams] replaces the built-in ones.
    """

    default_team: str = ""
    """Name of the team for new threads; the first of [teams] if not given."""

    default_model: str = ""
    """Name of the model for agents that name none; the first of [models] if not given."""

    title_model: str = ""
    """Name of the model that titles each thread after its first answer, such as a cheap one.

    If not given, a thread is titled with its first message. A title that a person gives stays.
    """

    models: dict[str, ModelConfig] = Field(default_factory=_built_in_models, min_length=1)
    """The language models, each as [models.NAME]."""

    teams: dict[str, TeamConfig] = Field(default_factory=_built_in_teams, min_length=1)
    """The teams, each as [teams.NAME]."""

    mcp: dict[str, McpServer] = Field(default_factory=dict)
    """MCP servers that agents name in their `mcp`, each as [mcp.NAME]."""

    knowledge: dict[str, KnowledgeConfig] = Field(default_factory=dict)
    """Folders and pages that agents name in their `knowledge`, each as [knowledge.NAME]."""

    adapters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """The accounts on chat platforms that `parley serve` connects to, each as [adapters.NAME].

    NAME is the platform's name, or the table has `platform`.
    """

    routes: list[Route] = Field(default_factory=list)
    """People, places and teams that answer there, each as [[routes]]."""

    faces: dict[str, dict[str, FaceConfig]] = Field(default_factory=dict)
    """Looks of agents on chat platforms, each as [faces.TEAM.AGENT]."""

    policies: Policies = Policies()
    """Operators, approvals and tools."""

    limits: LimitsConfig = LimitsConfig()
    """Limits on work at the same time."""

    budgets: list[Budget] = Field(default_factory=list)
    """Limits on use over time, each as [[budgets]]."""

    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices of models, by their names at the provider."""

    attachments: Attachments = Attachments()
    """Files that are taken."""

    store: StoreConfig = StoreConfig()
    """Place of the threads."""

    backup: BackupConfig | None = None
    """Scheduled backups; none if not given."""

    terminal: TerminalConfig = TerminalConfig()
    """Look of the terminal."""

    web: WebConfig = WebConfig()
    """The terminal in a browser."""

    health: HealthConfig = HealthConfig()
    """Address of health and metrics."""

    network: NetworkConfig = NetworkConfig()
    """The way to the network."""

    logging: LoggingConfig = LoggingConfig()
    """Level and place of the log."""

    tracing: TracingConfig | None = None
    """Place of traces."""

    @property
    def platforms(self) -> dict[str, str]:
        """The platform of each account in [adapters]."""
        return {name: platform_of(name, table) for name, table in self.adapters.items()}

    def team_name(self, name: str = "") -> str:
        """The name, or that of the default team."""
        return name or self.default_team or next(iter(self.teams))

    def model_name(self, name: str = "") -> str:
        """The name, or that of the default model."""
        return name or self.default_model or next(iter(self.models))
