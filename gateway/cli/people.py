"""`parley pair`: let in people whom no route lets in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import config_option


@click.command()
@config_option
@click.argument("code", required=False)
@click.option("--list", "list_", is_flag=True, help="List the people who were let in.")
@click.option("--remove", metavar="PERSON", help="Shut out PERSON, an id from the list.")
@click.pass_context
def pair(
    ctx: click.Context, config: Path | None, code: str | None, list_: bool, remove: str | None
) -> None:
    """Let in the person whom the bot has told this CODE.

    A route with `pairing = true` gives codes to unknown people in direct messages. A code is good
    for an hour, and void after five wrong ones.
    """
    if sum((code is not None, list_, remove is not None)) != 1:
        raise click.UsageError("Give a code, --list, or --remove.")

    from gateway.app import operator
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config

    store = store_of(load_config(config, references=False))
    if list_:
        click.echo(asyncio.run(operator.people_table(store)))
    elif remove is not None:
        gone = asyncio.run(operator.unpair(store, remove))
        click.echo(f"{remove} is shut out." if gone else f"{remove} was not let in with a code.")
        ctx.exit(ExitCode.DONE if gone else ExitCode.FAILED)
    else:
        person = asyncio.run(operator.pair(store, code or ""))
        if person is None:
            click.echo("parley: the code is wrong, expired or already used.", err=True)
            ctx.exit(ExitCode.FAILED)
        click.echo(operator.let_in(person))
