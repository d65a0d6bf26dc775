"""`parley chat`: the terminal."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.base.own_packages import import_own
from gateway.cli.group import trusted_config_option
from gateway.cli.values import complete_teams, complete_threads

if TYPE_CHECKING:
    from gateway.client import Client
    from gateway.config.powers import Power


@click.command()
@click.argument("message", required=False)
@trusted_config_option
@click.option(
    "--team",
    default="",
    metavar="NAME",
    help="Start a new thread with this team.",
    shell_complete=complete_teams,
)
@click.option(
    "--session",
    metavar="ID",
    help="Open this thread instead of the config's last one.",
    shell_complete=complete_threads,
)
@click.option("--new", "opening", flag_value="new", help="Start a new thread.")
@click.option(
    "--resume",
    "opening",
    flag_value="resume",
    help="List the threads, this config's first, to open one.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Take changes of the config, its files and its Python modules from the next turn on.",
)
@click.option(
    "--plain", "shown", flag_value="plain", help="Line by line, for screen readers and pipes."
)
@click.option("--in-browser", "shown", flag_value="browser", hidden=True)  # for `parley web`
@click.option("--no-mouse", is_flag=True, help="Do not capture the mouse.")
def chat(
    message: str | None,
    config: Path | None,
    team: str,
    session: str | None,
    opening: str | None,
    watch: bool,
    shown: str | None,
    no_mouse: bool,
) -> None:
    """Open a terminal in which you talk to the team.

    With a MESSAGE, a new thread begins with it, or the thread of --session goes on with it. With
    "-", or in a pipe, each line of standard input is a message, and a MESSAGE comes before them.
    The answers are then printed line by line.

    \b
    parley chat "What changed since yesterday?" --team reviewers
    """
    new, resume = opening == "new", opening == "resume"
    if session is not None and (team or new):
        given = "--team" if team else "--new"
        raise click.UsageError(
            f"--session opens a thread that is there, with its own team; {given} starts a new "
            "one. Leave out one of them."
        )
    if resume and (session is not None or team or message not in (None, "-")):
        raise click.UsageError(
            "--resume lists the threads, of which you open one. Leave out the message, --session "
            "and --team."
        )
    if message is not None and not message.strip():
        raise click.UsageError("The message is empty.")
    if message == "-":
        message, shown = None, "plain"

    from gateway.base.paths import find_config, first_screen

    source = config or find_config()
    if team:
        from gateway.app.config_names import check_team

        check_team(team, source)
    first = first_screen(source)
    # The terminal is an adapter like the others: the gateway knows none of them when it is read.
    terminal = import_own("adapters.terminal")

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client]:
        from gateway.base.background import import_in_background

        await import_in_background("gateway.app.assemble")
        from gateway.app.assemble import any_gateway, load, store_of

        loaded = await load(config)
        settings.origin = loaded.origin
        if watch:
            await import_in_background("gateway.app.watched_chat")
            from gateway.app.trust import check_powers
            from gateway.app.watched_chat import watched_gateway

            allow = partial(check_powers, agreed)
            opened = watched_gateway(loaded, store_of(loaded), settings.tell, allow)
        else:
            opened = any_gateway(loaded, store_of(loaded))
        async with opened as client:
            yield client

    agreed = _powers(config) if watch else None
    settings = terminal.Settings(
        data_dir=first.store,
        operator=first.operator,
        thread=session,
        new=new or (message is not None and session is None),
        resume=resume,
        team=team,
        keys=first.keys,
        first=(message or "").strip(),
        files_below=first.folder if shown == "browser" else None,
    )
    mouse = first.mouse and not no_mouse
    code = terminal.run_chat(
        connect, settings, plain=shown == "plain", mouse=mouse, theme=first.theme
    )
    click.get_current_context().exit(code)


def _powers(config: Path | None) -> frozenset[Power] | None:
    from gateway.app.trust import powers_here  # only here: it costs start-up time

    return powers_here(config)
