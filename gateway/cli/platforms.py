"""The commands of chat platforms: the click group that the module `adapters.NAME` has as
`commands`, which is read only when it is asked for.
"""

from __future__ import annotations

import importlib
import pkgutil

import click

from gateway.cli.group import ParleyGroup

PACKAGE = "adapters"


class PlatformsGroup(ParleyGroup):
    """A group that has the platforms' groups among its commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Those of its own and the platforms'."""
        found = [name for name in _platforms() if _commands_of(name) is not None]
        return sorted({*super().list_commands(ctx), *found})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command of its own, or a platform's."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in _platforms():
            return own
        return _commands_of(cmd_name)


def _platforms() -> list[str]:
    package = importlib.import_module(PACKAGE)
    return [module.name for module in pkgutil.iter_modules(package.__path__)]


def _commands_of(name: str) -> click.Command | None:
    commands = getattr(importlib.import_module(f"{PACKAGE}.{name}"), "commands", None)
    return commands if isinstance(commands, click.Command) else None
