"""`parley doctor`: the state of the installation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import say, trusted_config_option


@click.command()
@trusted_config_option
@click.pass_context
def doctor(ctx: click.Context, config: Path | None) -> None:
    """Examine the installation, and say what to do.

    Looks at Python, at packages that have put files among Parley's, at extras and plugins. Then it
    looks at SQLite, the clock, the config, its store and its ports. It writes no file and uses no
    network: `parley check` asks models, platforms and servers.

    Exit code 1: something is not well.
    """
    from gateway.app.doctor import examine
    from gateway.app.findings import table

    found = asyncio.run(examine(config))
    say(table(found))
    ctx.exit(ExitCode.DONE if all(each.good for each in found) else ExitCode.FAILED)
