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

    Paste it at https://api.slack.com/apps under "Create New App", "From a manifest". Without
    [adapters.slack] in the config it is the one to begin with, for Socket Mode.
    """
    from adapters.slack.config import Config
    from adapters.slack.manifest import manifest_of, manifest_text
    from gateway.config import load_config

    loaded = load_config(config, references=False)
    found = loaded.adapters.get("slack")
    settings = found.config if found is not None else None
    used = settings if isinstance(settings, Config) else Config.model_construct()
    groups = any(route.groups for route in loaded.config.routes if route.adapter == "slack")
    click.echo(manifest_text(manifest_of(used, name=name, description=description, groups=groups)))
