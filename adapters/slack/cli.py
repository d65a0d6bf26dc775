"""`parley slack`: what one needs to set the app up."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.cli.group import config_option


@click.group("slack")
def commands() -> None:
    """Set the Slack app up."""


@commands.command()
@config_option
@click.option("--name", default="Parley", show_default=True, help="What the bot is called.")
@click.option("--description", default="", help="What people read about it.")
def manifest(config: Path | None, name: str, description: str) -> None:
    """Print the app's manifest, for exactly what the config uses.

    Paste it at https://api.slack.com/apps under "Create New App", "From a manifest". It needs no
    tokens yet; without [adapters.slack] in the config it is the one to begin with.
    """
    from adapters.slack.config import without_tokens
    from adapters.slack.manifest import manifest_of, manifest_text
    from gateway.app.load import load_config

    found = load_config(config, references=False).config
    try:
        used = without_tokens(found.adapters.get("slack", {}))
    except ValueError as error:
        raise click.ClickException(
            f"[adapters.slack] has mistakes; `parley check` lists them: {error}"
        ) from error
    groups = any(route.groups for route in found.routes if route.adapter == "slack")
    click.echo(manifest_text(manifest_of(used, name=name, description=description, groups=groups)))
