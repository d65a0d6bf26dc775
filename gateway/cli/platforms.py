"""The commands of chat platforms.

An adapter's module has a click group as `commands`, which is read only when it is asked for.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.group import ParleyGroup, ask_about, config_parameter, global_parameters

if TYPE_CHECKING:
    from gateway.adapter import TrustedSettings, WrittenSettings
    from gateway.config.root import Config

_ACCOUNT = "parley.account"


class PlatformsGroup(ParleyGroup):
    """A group that has the platforms' groups among its commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Those of its own and the platforms'."""
        from gateway.app.find_adapters import adapter_names  # only here: it costs start-up time

        return sorted({*super().list_commands(ctx), *filter(_has_commands, adapter_names())})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command of its own, or a platform's. Raises AdapterError."""
        return super().get_command(ctx, cmd_name) or _commands_of(cmd_name)


def _has_commands(name: str) -> bool:
    from gateway.app.find_adapters import AdapterError  # as above

    try:
        return _commands_of(name) is not None
    except AdapterError:  # it is said once it is asked for
        return False


def _commands_of(name: str) -> click.Command | None:
    from gateway.app.find_adapters import AdapterNotFound, find_adapter  # as above

    try:
        commands = getattr(find_adapter(name), "commands", None)
    except AdapterNotFound:
        return None
    return _with_config(commands, name) if isinstance(commands, click.Command) else None


def _with_config(command: click.Command, name: str) -> click.Command:
    """The command, or a group's commands, with --config and its reader."""
    command = copy(command)
    if isinstance(command, click.Group):
        command.commands = {
            each: _with_config(inner, name) for each, inner in command.commands.items()
        }
        command.params = [*global_parameters(), *command.params]
        return command

    def keep(ctx: click.Context, _: click.Parameter, account: str | None) -> None:
        ctx.meta[_ACCOUNT] = account

    def given(ctx: click.Context, path: Path | None, trust: bool) -> None:
        ctx.obj = _Reader(name, path, trust, ctx.meta.get(_ACCOUNT))

    account = click.Option(
        ["--account"],
        metavar="NAME",
        expose_value=False,
        is_eager=True,
        callback=keep,
        help="The account's name in [adapters], where there are several.",
    )
    command.params = [config_parameter(given), account, *command.params]
    return command


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the config at a path for a platform's command."""

    name: str
    path: Path | None
    trust: bool
    """As said before the command."""

    account: str | None

    def __call__(self) -> WrittenSettings:
        from gateway.adapter import WrittenSettings  # only for commands that read the config
        from gateway.app.load import load_config

        config = load_config(self.path, references=False, secrets=False).config
        account = self._account_in(config)
        routes = tuple(route for route in config.routes if route.adapter == account)
        return WrittenSettings(table=config.adapters.get(account, {}), routes=routes)

    def trusted(self, *, trust: bool) -> TrustedSettings | None:
        from gateway.adapter import TrustedSettings  # as above
        from gateway.app.assemble import address_of, require_network
        from gateway.app.load import load_config
        from gateway.inbound.commands import command_infos

        ask_about(self.path, trust=trust or self.trust)
        loaded = load_config(self.path)
        found = loaded.adapters.get(self._account_in(loaded.config))
        if found is None:
            return None
        require_network(loaded, [address_of(found)])
        return TrustedSettings(settings=found.config, commands=tuple(command_infos()))

    def _account_in(self, config: Config) -> str:
        """The named account, or the only one; else the platform's own name."""
        accounts = [name for name, platform in config.platforms.items() if platform == self.name]
        if self.account not in (None, *accounts):
            raise click.BadParameter(
                f"[adapters.{self.account}] is no account on {self.name}; there are: "
                f"{', '.join(accounts) or 'none'}",
                param_hint="--account",
            )
        if self.account is None and len(accounts) > 1 and self.name not in accounts:
            raise click.UsageError(f"Say which account, with --account: {', '.join(accounts)}.")
        return self.account or (accounts[0] if len(accounts) == 1 else self.name)
