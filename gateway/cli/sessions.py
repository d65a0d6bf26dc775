"""`parley sessions`: the threads in the store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.group import config_option

if TYPE_CHECKING:
    from gateway.store.sqlite import SqliteStore


@click.group()
def sessions() -> None:
    """List, read, export and delete threads."""


@sessions.command(name="list")
@config_option
@click.option("--search", default="", metavar="TEXT", help="Only threads with this text.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), metavar="N")
def list_(config: Path | None, search: str, limit: int) -> None:
    """List threads, the last used first."""
    from gateway.overview import thread_table

    threads = asyncio.run(_store(config).threads(search=search, limit=limit))
    click.echo(thread_table(threads) if threads else "There are no threads.")


@sessions.command()
@config_option
@click.argument("session")
def show(config: Path | None, session: str) -> None:
    """Show the thread with this id or title, as Markdown."""
    from gateway.overview import find_thread, transcript

    async def shown() -> str:
        store = _store(config)
        return await transcript(store, await find_thread(store, session))

    click.echo(asyncio.run(shown()), nl=False)


@sessions.command()
@config_option
@click.argument("session")
def export(config: Path | None, session: str) -> None:
    """Write every event of the thread with this id or title as a line of JSON."""
    from gateway.events import dump_event
    from gateway.overview import find_thread, stored_events

    async def write() -> None:
        store = _store(config)
        thread = await find_thread(store, session)
        async for event in stored_events(store, thread.id):
            click.echo(dump_event(event))

    asyncio.run(write())


@sessions.command()
@config_option
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete(config: Path | None, session: str, yes: bool) -> None:
    """Delete the thread with this id or title, and everything it has."""
    from gateway.overview import delete_thread, find_thread

    store = _store(config)
    thread = asyncio.run(find_thread(store, session))
    if not yes:
        click.confirm(f"Delete {thread.title or thread.id!r} for good?", abort=True, err=True)
    asyncio.run(delete_thread(store, thread.id))
    click.echo(f"Deleted {thread.id}.")


def _store(config: Path | None) -> SqliteStore:
    from gateway.app import store_of
    from gateway.config import load_config

    return store_of(load_config(config, references=False))
