"""`parley pair`: let in people whom no route lets in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from gateway.base.exit_codes import ExitCode
from gateway.cli.group import config_option, configured_store, say


@click.command()
@config_option
@click.argument("code", required=False)
@click.option("--list", "list_", is_flag=True, help="List the people who were let in.")
@click.option("--remove", metavar="PERSON", help="Remove PERSON, an id from the list.")
@click.pass_context
def pair(
    ctx: click.Context, config: Path | None, code: str | None, list_: bool, remove: str | None
) -> None:
    """Let in the person who got this CODE from the bot.

    A route with `pairing = true` gives codes to unknown people in direct messages. A code is
    valid for an hour; five wrong codes make it invalid.
    """
    if sum((code is not None, list_, remove is not None)) != 1:
        raise click.UsageError("Give a code, --list, or --remove.")

    from gateway.app import operator

    store, _ = configured_store(config)
    if list_:
        say(asyncio.run(operator.people_table(store)))
    elif remove is not None:
        gone = asyncio.run(operator.unpair(store, remove))
        say(f"{remove} may no longer write." if gone else f"{remove} was not let in with a code.")
        ctx.exit(ExitCode.DONE if gone else ExitCode.FAILED)
    else:
        person = asyncio.run(operator.pair(store, code or ""))
        if person is None:
            say("parley: The code is wrong, expired or already used.", err=True)
            ctx.exit(ExitCode.FAILED)
        say(operator.paired_sentence(person))
