"""`parley store`: copies of the store, its check and its repair."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import config_option, configured_store, global_parameters, say


@click.group(params=global_parameters())
def store() -> None:
    """Back up, restore, check, repair and copy the store."""


@click.command()
@config_option
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
def backup(config: Path | None, path: Path) -> None:
    """Copy the store to PATH, whether Parley runs or not.

    The copy is one database file that only you can read. It replaces an
    older file at PATH once it is complete and checked. A store in
    PostgreSQL is not copied: the command says how PostgreSQL does it.
    """
    from gateway.app import operator

    found, _ = configured_store(config)
    asyncio.run(operator.backup(found, path.absolute()))
    say(f"Wrote {path}.")


@click.command()
@config_option
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
def restore(config: Path | None, path: Path) -> None:
    """Replace the store by the backup at PATH.

    The whole backup is checked before anything changes. A running `parley serve` lets its turns
    reach a safe point, then restarts on the backup by itself. The old store is kept beside it.
    Unfinished work in the backup does not go on by itself.
    """
    from gateway.app import operator

    found, _ = configured_store(config)
    done = asyncio.run(operator.restore(found, path.absolute()))
    say(f"Restored {path}. {done}")


@click.command()
@config_option
@click.pass_context
def check(ctx: click.Context, config: Path | None) -> None:
    """Check the whole store, whether Parley runs or not.

    Reads all of it and changes none. It checks the structure of the database, its references, and
    what always holds in a store: no event of a thread is missing, for example. In PostgreSQL,
    pg_amcheck checks the structure.

    Exit code 4: something is wrong.
    """
    from gateway.app.store_care import check_store

    found, _ = configured_store(config)
    sound, text = asyncio.run(check_store(found))
    say(text)
    ctx.exit(ExitCode.DONE if sound else ExitCode.DAMAGED)


@click.command()
@config_option
def repair(config: Path | None) -> None:
    """Save what is readable of a damaged store to a new store.

    Writes `parley.repaired.db` beside the store, and lists the threads with gaps. The store itself
    stays as it is; Parley must not be running. `parley store restore` puts the new one in its
    place.
    """
    from gateway.app.store_care import repair_store

    found, _ = configured_store(config)
    say(asyncio.run(repair_store(found)))


@click.command()
@config_option
@click.option("--to", metavar="URL|FOLDER", help="Where the copy is made.")
@click.option("--to-env", metavar="NAME", help="An environment variable that says where.")
@click.option(
    "--to-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A file that says where.",
)
@click.pass_context
def copy(
    ctx: click.Context,
    config: Path | None,
    to: str | None,
    to_env: str | None,
    to_file: Path | None,
) -> None:
    """Copy the store to PostgreSQL, or from there to a folder.

    The address is postgresql://USER:PASSWORD@HOST:PORT/NAME. Others on this machine can read a
    password on the command line: --to-env and --to-file keep it secret. The database, or the
    folder, must be empty. Parley must be running on neither store.

    All rows are compared at the end. If the copy is ended before, the same command goes on with it.
    The store itself stays as it is.
    """
    from gateway.app.store_copy import copy_store, copy_target
    from gateway.base.ending import run_until_ended
    from gateway.cli.copy_progress import CopyProgress

    if sum(each is not None for each in (to, to_env, to_file)) != 1:
        raise click.UsageError("Give one of --to, --to-env and --to-file.")
    found, settings = configured_store(config)
    target = copy_target(to, variable=to_env, file=to_file, settings=settings.store)
    if target.shows_password:
        say("Warning: others can read the password on the command line. Use --to-env.", err=True)

    async def run() -> int:
        try:
            with CopyProgress() as progress:
                report = await copy_store(found, target, progress.tell)
        except asyncio.CancelledError:
            say("The copy was ended. The same command goes on with it.", err=True)
            raise
        say(report)
        return ExitCode.DONE

    ctx.exit(run_until_ended(run()))


for command in (backup, restore, check, repair, copy):
    store.add_command(command)
