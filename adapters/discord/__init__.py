"""Discord, as `[adapters.discord]`.

People write in its channels, and the team answers in threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.discord.cli import commands
from adapters.discord.config import Config

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from gateway.adapter import Adapter, CheckResult, Simulation
    from gateway.config.routes import Route

__all__ = ["Config", "build", "check", "commands", "people_named", "simulate"]


def build(config: Config) -> Adapter:
    """The adapter for these settings; nothing is connected yet."""
    from adapters.discord.adapter import DiscordAdapter  # it loads the SDK

    return DiscordAdapter(config)


async def check(config: Config, routes: Sequence[Route]) -> CheckResult:
    """The findings of `parley check` about these settings."""
    from adapters.discord.settings_check import check  # it loads what it asks Discord with

    return await check(config, routes)


async def people_named(config: Config, names: Sequence[str]) -> Sequence[str]:
    """Names of people there, for `parley check`."""
    from adapters.discord.settings_check import people_named  # it loads the SDK

    return await people_named(config, names)


def simulate(port: int = 0) -> AbstractAsyncContextManager[Simulation]:
    """A Discord on this machine, for `parley simulate discord`."""
    from adapters.discord.console.command import simulate  # it loads a web server

    return simulate(port)
