"""The built-in demo: a team, and a model that needs no key."""

from gateway.demo.model import DemoChatCompletionClient
from gateway.demo.team import DEMO_AGENTS, DEMO_TEAM_NAME, build_demo_team, demo_rule

__all__ = [
    "DEMO_AGENTS",
    "DEMO_TEAM_NAME",
    "DemoChatCompletionClient",
    "build_demo_team",
    "demo_rule",
]
