"""`parley serve`, `reload` and `status`."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import config_option, configured_store, say, say_json


@click.command()
@config_option
@click.option(
    "--watch",
    is_flag=True,
    help="Take changes of the config, its files and its Python modules by itself.",
)
@click.pass_context
def serve(ctx: click.Context, config: Path | None, watch: bool) -> None:
    """Serve the teams on the configured chat platforms until stopped.

    SIGINT and SIGTERM let running turns reach a safe point first, and so does closing the terminal
    in which it runs. Any other SIGHUP reloads the config, as `parley reload` does. If a platform
    lacks a route or its keys, it ends at once with exit code 2.
    """
    from gateway.app.load import load_config
    from gateway.app.serve import serve_config

    ctx.exit(serve_config(load_config(config), watch=watch))


@click.command()
@config_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def reload(config: Path | None, dry_run: bool) -> None:
    """Reload the config of the running `parley serve`.

    Shows what differs. The whole config is checked; if it has a mistake, the last good one stays in
    use. Running turns keep their team. Some settings need a restart. With several nodes, each reads
    its own file, and all of them change or none.
    """
    from gateway.app import operator

    # The running process may be asked although the config is broken: it says what is wrong.
    store, _ = configured_store(config)
    say(asyncio.run(operator.reload(store, dry_run=dry_run)))


@click.command()
@config_option
@click.option("--json", "as_json", is_flag=True, help="Write the figures as a line of JSON.")
@click.pass_context
def status(ctx: click.Context, config: Path | None, as_json: bool) -> None:
    """Show whether Parley runs and what it does.

    With a store in a database it lists all nodes, from any machine. Exit code 1: none runs.
    """
    from gateway.app.operator import owner_status, status_json

    store, settings = configured_store(config)
    if as_json:
        running, text = asyncio.run(status_json(store))
        say_json(text)
    else:
        running, text = asyncio.run(owner_status(store, settings.policies.timezone))
        say(text)
    ctx.exit(ExitCode.DONE if running else ExitCode.FAILED)
