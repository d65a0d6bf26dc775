"""Slack, as `[adapters.slack]`: teams answer in its threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.slack.cli import commands
from adapters.slack.config import Config

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from gateway.adapter import Adapter, CheckResult, Simulation
    from gateway.config.routes import Route

__all__ = ["Config", "build", "check", "commands", "people_named", "simulate"]


def build(config: Config) -> Adapter:
    """The adapter for these settings; nothing is connected yet."""
    from adapters.slack.adapter import SlackAdapter  # it loads the SDK

    return SlackAdapter(config)


async def check(config: Config, routes: Sequence[Route]) -> CheckResult:
    """Check these settings for `parley check`."""
    from adapters.slack.settings_check import check  # it loads the SDK

    return await check(config, routes)


async def people_named(config: Config, names: Sequence[str]) -> Sequence[str]:
    """Names of people there, for `parley check`."""
    from adapters.slack.settings_check import people_named  # it loads the SDK

    return await people_named(config, names)


def simulate(port: int = 0) -> AbstractAsyncContextManager[Simulation]:
    """A Slack workspace on this machine, for `parley simulate slack`."""
    from adapters.slack.console.command import simulate  # it loads a web server

    return simulate(port)
