"""`parley discord`: commands that set up the bot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adapters.discord.config import Config
    from gateway.adapter import SettingsReader
    from gateway.client import CommandInfo


@click.group("discord")
def commands() -> None:
    """Set up the Discord bot."""


@commands.command()
@click.option(
    "--trust-config",
    is_flag=True,
    help="Use the config.toml of this folder without asking, until it changes.",
)
@click.pass_obj
def sync(read: SettingsReader, trust_config: bool) -> None:
    """Let Discord have the bot's commands.

    Compares the commands that Discord has with those of this config and version, and writes them
    only where they differ. `parley serve` does the same at each start.
    """
    from gateway.errors import GatewayError  # imported late: a chat paints before
    from gateway.render.sanitize import sanitize

    found = read.trusted(trust=trust_config)
    if found is None:
        raise click.ClickException("The config has no [adapters.discord].")
    try:
        told = asyncio.run(_sync(found.settings, found.commands))
    except GatewayError as error:
        raise click.ClickException(sanitize(str(error))) from error
    click.echo(sanitize(told))


async def _sync(config: Config, infos: Sequence[CommandInfo]) -> str:
    from adapters.discord.connection.rest import Rest  # it loads what it asks Discord with
    from adapters.discord.outbound.commands import command_payloads, sync_commands

    wanted = command_payloads(config.ask, infos)
    async with Rest(config.token, config.api_url) as rest:
        application = await rest.call("GET", "/oauth2/applications/@me")
        changes = await sync_commands(rest, str(application["id"]), wanted)
    if not changes:
        return f"Discord has these {len(wanted)} commands already."
    return f"Discord has {len(wanted)} commands now: {changes}."
