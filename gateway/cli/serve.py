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
    """Serve the teams on the configured chat platforms until stopped.

    SIGINT and SIGTERM let running turns reach a safe point first. SIGHUP reloads the config, as
    `parley reload` does. A platform without a route or without its keys ends it at once with exit
    code 2.
    """
    from gateway.app.load import load_config
    from gateway.app.serve import serve_config

    ctx.exit(serve_config(load_config(config)))


@click.command()
@config_option
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
def reload(config: Path | None, dry_run: bool) -> None:
    """Reload the config of the running `parley serve`.

    Shows what differs. The whole config is checked; if it has a mistake, the last good one stays in
    use. Running turns keep their team. Some settings need a restart.
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
    """Replace the store by the backup at PATH.

    The whole backup is checked before anything changes. A running `parley serve` lets its turns
    reach a safe point, then restarts on the backup by itself. The old store is kept beside it.
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
    """Show whether Parley runs and what it does.

    Exit code 1: it does not run.
    """
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config
    from gateway.app.operator import owner_status

    loaded = load_config(config, references=False)
    zone = loaded.config.policies.timezone
    running, text = asyncio.run(owner_status(store_of(loaded), zone))
    click.echo(text)
    ctx.exit(ExitCode.DONE if running else ExitCode.FAILED)
