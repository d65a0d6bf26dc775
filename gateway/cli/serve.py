"""`parley serve`, `status`, `backup` and `restore`: the gateway, for its operator."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import config_option


@click.command()
@config_option
@click.pass_context
def serve(ctx: click.Context, config: Path | None) -> None:
    """Serve the teams on the configured chat platforms, until it is told to end.

    SIGINT and SIGTERM let the turns reach a safe point first. SIGHUP reads the config anew, as
    `parley reload` does. A platform without a route, or without its keys, ends it at once with exit
    code 2.
    """
    from gateway.app.load import load_config
    from gateway.app.serve import serve_config

    ctx.exit(serve_config(load_config(config)))


@click.command()
@config_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def reload(config: Path | None, dry_run: bool) -> None:
    """Let the running `parley serve` take its changed config into use, and show what differs.

    The config is checked whole; with a mistake in it, the last good one stays in use. Turns that
    run go on with the team they have. Some settings are looked at only at the next start.
    """
    from gateway.app import operator
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config
    from gateway.render.sanitize import sanitize

    # The running process may be asked although the config is broken: it says what is wrong.
    store = store_of(load_config(config, references=False))
    click.echo(sanitize(asyncio.run(operator.reload(store, dry_run=dry_run))))


@click.command()
@config_option
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
def backup(config: Path | None, path: Path) -> None:
    """Copy the store to PATH, whether Parley runs or not.

    The copy is one database file that only you can read; an older one at PATH is replaced once the
    new one is whole.
    """
    from gateway.app import operator
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config

    store = store_of(load_config(config, references=False))
    asyncio.run(operator.backup(store, path.absolute()))
    click.echo(f"Wrote {path}.")


@click.command()
@config_option
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
def restore(config: Path | None, path: Path) -> None:
    """Put the backup at PATH in the place of the store, whether Parley serves or not.

    The backup is checked whole before anything changes. A running `parley serve` lets its turns
    reach a safe point, then begins anew on the backup, by itself. The store that was there is kept
    beside it.
    """
    from gateway.app import operator
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config

    store = store_of(load_config(config, references=False))
    done = asyncio.run(operator.restore(store, path.absolute()))
    click.echo(f"Restored {path}. {done}")


@click.command()
@config_option
@click.pass_context
def status(ctx: click.Context, config: Path | None) -> None:
    """Say whether Parley runs, and what it is doing. Exit code 1 if it does not run."""
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config
    from gateway.app.operator import owner_status

    loaded = load_config(config, references=False)
    zone = loaded.config.policies.timezone
    running, text = asyncio.run(owner_status(store_of(loaded), zone))
    click.echo(text)
    ctx.exit(ExitCode.DONE if running else ExitCode.FAILED)
