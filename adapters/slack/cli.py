"""`parley slack`: commands that set up the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gateway.adapter import SettingsReader


@click.group("slack")
def commands() -> None:
    """Set up the Slack app."""


@commands.command()
@click.option("--name", default="Parley", show_default=True, help="The bot's name.")
@click.option("--description", default="", help="The bot's description.")
@click.pass_obj
def manifest(read: SettingsReader, name: str, description: str) -> None:
    """Print the app's manifest for this config.

    Paste it at https://api.slack.com/apps under "Create New App", "From a manifest". No tokens
    are needed yet. Without [adapters.slack] in the config, this is a manifest to start with.
    """
    from adapters.slack.config import without_tokens  # imported late: a chat paints before
    from adapters.slack.manifest import manifest_of, manifest_text
    from gateway.render.sanitize import sanitize_json

    written = read()
    try:
        used = without_tokens(dict(written.table))
    except ValueError as error:
        raise click.ClickException(
            f"[adapters.slack] has mistakes; `parley check` lists them: {error}"
        ) from error
    groups = any(route.groups for route in written.routes)
    text = manifest_text(manifest_of(used, name=name, description=description, groups=groups))
    click.echo(sanitize_json(text))
