"""config.toml: what can be set, where it comes from, and one report of everything that is wrong."""

from __future__ import annotations

from gateway.config.load import LoadedConfig, load_config
from gateway.config.models import ModelConfig, ModelInfoConfig
from gateway.config.policies import Policies, ToolCase, ToolPolicies, ToolPolicy
from gateway.config.problems import ConfigError, Problem
from gateway.config.root import Config
from gateway.config.routes import Route, RouteLimits
from gateway.config.section import Section
from gateway.config.settings import (
    Limits,
    LoggingConfig,
    StoreConfig,
    TerminalConfig,
)
from gateway.config.teams import (
    AgentConfig,
    AssistantConfig,
    BufferedContextConfig,
    ComponentTeam,
    DemoTeam,
    FactoryTeam,
    GroupTeam,
    HandoffConfig,
    ModelContextConfig,
    RoundRobinTeam,
    SwarmTeam,
    TeamConfig,
    ToolConfig,
    UnboundedContextConfig,
    UserProxyConfig,
)

__all__ = [
    "AgentConfig",
    "AssistantConfig",
    "BufferedContextConfig",
    "ComponentTeam",
    "Config",
    "ConfigError",
    "DemoTeam",
    "FactoryTeam",
    "GroupTeam",
    "HandoffConfig",
    "Limits",
    "LoadedConfig",
    "LoggingConfig",
    "ModelConfig",
    "ModelContextConfig",
    "ModelInfoConfig",
    "Policies",
    "Problem",
    "RoundRobinTeam",
    "Route",
    "RouteLimits",
    "Section",
    "StoreConfig",
    "SwarmTeam",
    "TeamConfig",
    "TerminalConfig",
    "ToolCase",
    "ToolConfig",
    "ToolPolicies",
    "ToolPolicy",
    "UnboundedContextConfig",
    "UserProxyConfig",
    "load_config",
]
