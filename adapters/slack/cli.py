"""`parley slack`: commands that set up the app."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gateway.adapter import SettingsReader


def _at_most(length: int) -> Callable[[click.Context, click.Parameter, str], str]:
    """Let an option have so many characters: Slack's "App manifest reference"."""

    def check(_: click.Context, __: click.Parameter, text: str) -> str:
        if len(text) > length:
            raise click.BadParameter(
                f"has {len(text)} characters, but Slack takes {length}; shorten it"
            )
        return text

    return check


@click.group("slack")
def commands() -> None:
    """Set up the Slack app."""


@commands.command()
@click.option(
    "--name",
    default="Parley",
    show_default=True,
    callback=_at_most(35),
    help="The bot's name, of at most 35 characters.",
)
@click.option(
    "--description",
    default="",
    callback=_at_most(140),
    help="The bot's description, of at most 140 characters.",
)
@click.pass_obj
def manifest(read: SettingsReader, name: str, description: str) -> None:
    """Print the app's manifest for this config.

    It has the scopes and events that the routes need. Paste it at https://api.slack.com/apps
    under "Create New App", "From a manifest", or open the link below it, on standard error. You
    need no tokens and no keys yet. Without [adapters.slack] in the config, this is a manifest to
    start with.
    """
    from adapters.slack.config import without_tokens  # imported late: a chat paints before
    from adapters.slack.manifest import link_of, manifest_of, manifest_text, reach_of
    from gateway.render.sanitize import sanitize_json

    written = read()
    try:
        used = without_tokens(dict(written.table))
    except ValueError as error:
        raise click.ClickException(
            f"[adapters.slack] has mistakes; `parley check` lists them: {error}"
        ) from error
    reach = reach_of(used, written.routes)
    made = manifest_of(used, reach, name=name, description=description)
    click.echo(sanitize_json(manifest_text(made)))
    click.echo(f"Or create the app with one click: {link_of(made)}", err=True)
