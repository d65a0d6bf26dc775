"""`parley plugins`: what installed packages add."""

from __future__ import annotations

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import say


@click.command()
@click.pass_context
def plugins(ctx: click.Context) -> None:
    """List the kinds and platforms that installed packages add.

    Each has its package and version. It is imported to see whether that works: one that fails is
    listed with the reason, and troubles no config that does not name it.

    Exit code 1: a plugin can't be used.
    """
    from gateway.app.plugins import list_plugins

    text, good = list_plugins()
    say(text)
    ctx.exit(ExitCode.DONE if good else ExitCode.FAILED)
