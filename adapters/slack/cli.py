"""`parley slack`: what one needs to set the app up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gateway.adapter import SettingsReader


@click.group("slack")
def commands() -> None:
    """Set the Slack app up."""


@commands.command()
@click.option("--name", default="Parley", show_default=True, help="What the bot is called.")
@click.option("--description", default="", help="What people read about it.")
@click.pass_obj
def manifest(read: SettingsReader, name: str, description: str) -> None:
    """Print the app's manifest, for exactly what the config uses.

    Paste it at https://api.slack.com/apps under "Create New App", "From a manifest". It needs no
    tokens yet; without [adapters.slack] in the config it is the one to begin with.
    """
    from adapters.slack.config import without_tokens  # imported late: a chat paints before
    from adapters.slack.manifest import manifest_of, manifest_text

    written = read()
    try:
        used = without_tokens(dict(written.table))
    except ValueError as error:
        raise click.ClickException(
            f"[adapters.slack] has mistakes; `parley check` lists them: {error}"
        ) from error
    groups = any(route.groups for route in written.routes)
    click.echo(manifest_text(manifest_of(used, name=name, description=description, groups=groups)))
