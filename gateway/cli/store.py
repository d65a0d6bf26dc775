"""`parley store`: copies of the store, its check and its repair."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import config_option, configured_store, global_parameters, say


@click.group(params=global_parameters())
def store() -> None:
    """Back up, restore, check and repair the store."""


@click.command()
@config_option
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
def backup(config: Path | None, path: Path) -> None:
    """Copy the store to PATH, whether Parley runs or not.

    The copy is one database file that only you can read; it replaces an
    older file at PATH once it is complete and was checked. A store in
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

    Reads everything: the structure of the database, its references, and what always holds in a
    store, such as that no event of a thread is missing. Changes nothing. Of a store in PostgreSQL,
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


for command in (backup, restore, check, repair):
    store.add_command(command)
