"""`parley chat`: the terminal."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.group import trusted_config_option

if TYPE_CHECKING:
    from gateway.client import Client


@click.command()
@trusted_config_option
@click.option("--session", metavar="ID", help="Open this thread instead of the last one.")
@click.option("--new", is_flag=True, help="Start a new thread.")
@click.option("--plain", is_flag=True, help="Line by line, for screen readers and pipes.")
@click.option("--no-mouse", is_flag=True, help="Do not capture the mouse.")
@click.pass_context
def chat(
    ctx: click.Context,
    config: Path | None,
    session: str | None,
    new: bool,
    plain: bool,
    no_mouse: bool,
) -> None:
    """Open a terminal in which you talk to the team."""
    from gateway.base.paths import find_config, first_screen

    first = first_screen(config or find_config())
    # The terminal is an adapter like the others: the gateway knows none of them when it is read.
    terminal = importlib.import_module("adapters.terminal")

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client]:
        from gateway.base.background import import_in_background

        await import_in_background("gateway.app.assemble")
        from gateway.app.assemble import any_gateway, load, store_of

        loaded = await load(config)
        store = store_of(loaded)
        async with any_gateway(loaded, store) as client:
            yield client

    ctx.exit(
        terminal.run_chat(
            connect,
            data_dir=first.store,
            plain=plain,
            thread=session,
            new=new,
            mouse=first.mouse and not no_mouse,
            theme=first.theme,
            operator=first.operator,
        )
    )
