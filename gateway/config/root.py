"""The whole of config.toml as one type."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gateway.config.budgets import Budget, Price
from gateway.config.models import ModelConfig
from gateway.config.policies import Policies
from gateway.config.routes import Route
from gateway.config.settings import (
    Attachments,
    HealthConfig,
    LimitsConfig,
    LoggingConfig,
    StoreConfig,
    TerminalConfig,
)
from gateway.config.table import Section
from gateway.config.teams import DemoTeam, TeamConfig

OPENAI_MODEL = "gpt-4.1-mini"


def _built_in_models() -> dict[str, ModelConfig]:
    return {"auto": ModelConfig(provider="auto", model=OPENAI_MODEL)}


def _built_in_teams() -> dict[str, TeamConfig]:
    return {"demo": DemoTeam(type="demo")}


class Config(Section):
    """Everything that can be set. Without a config file, exactly what this class has as defaults.

    A config with its own [models] or [teams] replaces the built-in ones.
    """

    default_team: str = ""
    """Name of the team for new threads; the first of [teams] if not given."""

    default_model: str = ""
    """Name of the model for agents that name none; the first of [models] if not given."""

    models: dict[str, ModelConfig] = Field(default_factory=_built_in_models, min_length=1)
    """The language models, each as [models.NAME]."""

    teams: dict[str, TeamConfig] = Field(default_factory=_built_in_teams, min_length=1)
    """The teams, each as [teams.NAME]."""

    adapters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """The chat platforms that `parley serve` connects to, each as [adapters.NAME]."""

    routes: list[Route] = Field(default_factory=list)
    """Who may reach which team, and where, each as [[routes]]."""

    policies: Policies = Policies()
    """Who may do what."""

    limits: LimitsConfig = LimitsConfig()
    """How much may happen at once."""

    budgets: list[Budget] = Field(default_factory=list)
    """How much may be used over time, each as [[budgets]]."""

    prices: dict[str, Price] = Field(default_factory=dict)
    """What models cost, by their names at the provider."""

    attachments: Attachments = Attachments()
    """Which files are taken."""

    store: StoreConfig = StoreConfig()
    """Where threads are kept."""

    terminal: TerminalConfig = TerminalConfig()
    """How the terminal looks."""

    health: HealthConfig = HealthConfig()
    """Where health and metrics are served."""

    logging: LoggingConfig = LoggingConfig()
    """What is logged, and where."""

    def team_name(self, name: str = "") -> str:
        """The name, or that of the default team."""
        return name or self.default_team or next(iter(self.teams))

    def model_name(self, name: str = "") -> str:
        """The name, or that of the default model."""
        return name or self.default_model or next(iter(self.models))
