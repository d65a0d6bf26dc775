"""`parley sessions`: the threads in the store."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.group import config_option

if TYPE_CHECKING:
    from gateway.store.sqlite.store import SqliteStore


@click.group()
def sessions() -> None:
    """List, read, export, try again and delete threads."""


@sessions.command(name="list")
@config_option
@click.option("--search", default="", metavar="TEXT", help="Only threads with this text.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), metavar="N")
def list_(config: Path | None, search: str, limit: int) -> None:
    """List threads, the last used first."""
    from gateway.app.threads import thread_table

    threads = asyncio.run(_store(config).threads(search=search, limit=limit))
    click.echo(thread_table(threads) if threads else "There are no threads.")


@sessions.command()
@config_option
@click.argument("session")
def show(config: Path | None, session: str) -> None:
    """Show the thread with this id or title, as Markdown."""
    from gateway.app.threads import find_thread, transcript

    async def shown() -> str:
        store = _store(config)
        return await transcript(store, await find_thread(store, session))

    click.echo(asyncio.run(shown()), nl=False)


@sessions.command()
@config_option
@click.argument("session")
@click.option(
    "--old-states",
    is_flag=True,
    help="Write the states of replaced teams instead: the parts for load_snapshot.",
)
def export(config: Path | None, session: str, old_states: bool) -> None:
    """Write each event of a thread as a line of JSON.

    SESSION is its id or title.
    """
    from gateway.app.threads import find_thread, old_state, stored_events
    from gateway.events import dump_event

    async def write() -> None:
        store = _store(config)
        thread = await find_thread(store, session)
        if old_states:
            for state in await store.old_states(thread.id):
                click.echo(old_state(state))
            return
        async for event in stored_events(store, thread.id):
            click.echo(dump_event(event))

    asyncio.run(write())


@sessions.command()
@config_option
@click.argument("session")
def replay(config: Path | None, session: str) -> None:
    """Show the events of a thread one by one, with their timing.

    SESSION is its id or title. Each line has the time of day, the seconds since the event before,
    and the event.
    """
    from gateway.app.export import Replay
    from gateway.app.threads import find_thread, stored_events

    async def write() -> None:
        store, zone = _store_and_zone(config)
        thread = await find_thread(store, session)
        lines = Replay(zone)
        async for event in stored_events(store, thread.id):
            click.echo(lines.line(event))

    asyncio.run(write())


@sessions.command()
@config_option
@click.argument("session")
def audit(config: Path | None, session: str) -> None:
    """Show who decided what in a thread: approvals, answers, grants.

    SESSION is its id or title. The hash is the beginning of the hash of the arguments that were
    approved or denied.
    """
    from gateway.app.threads import audit_table, find_thread

    async def shown() -> str:
        store, zone = _store_and_zone(config)
        rows = await store.audit((await find_thread(store, session)).id)
        return audit_table(rows, zone) if rows else "This thread has no questions or decisions."

    click.echo(asyncio.run(shown()))


@sessions.command()
@config_option
@click.argument("session")
def retry(config: Path | None, session: str) -> None:
    """Try the failed turn of a thread again, from where it stopped.

    SESSION is the thread's id or title. A turn that was interrupted too often is not retried
    automatically.
    """
    from gateway.app import threads

    store = _store(config)
    thread = asyncio.run(threads.find_thread(store, session))
    click.echo(asyncio.run(threads.retry(store, thread.id)))


@sessions.command()
@config_option
@click.argument("session", required=False)
@click.option("--person", metavar="ID", help="Delete all threads in which this person took part.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(config: Path | None, session: str | None, person: str | None, yes: bool) -> None:
    """Delete the thread with this id or title, and everything it has.

    With --person, delete every thread in which somebody has written, asked or answered, and what
    else is known of them. Backups are yours to delete.
    """
    if (session is None) == (person is None):
        raise click.UsageError("Name a thread, or a --person.")
    store = _store(config)
    if person is None:
        _delete_thread(store, session or "", yes=yes)
    else:
        _delete_person(store, person, yes=yes)


def _delete_thread(store: SqliteStore, session: str, *, yes: bool) -> None:
    from gateway.app import threads

    thread = asyncio.run(threads.find_thread(store, session))
    if not yes:
        click.confirm(f"Delete {thread.title or thread.id!r} for good?", abort=True, err=True)
    asyncio.run(threads.delete_thread(store, thread.id))
    click.echo(f"Deleted {thread.id}.")


def _delete_person(store: SqliteStore, person: str, *, yes: bool) -> None:
    from gateway.app.operator import delete_person
    from gateway.app.threads import thread_table

    if not yes:
        threads = asyncio.run(store.threads_of(person))
        if threads:
            click.echo(thread_table(threads), err=True)
        question = f"Delete {len(threads)} threads and all else of {person!r} for good?"
        click.confirm(question, abort=True, err=True)
    deleted = asyncio.run(delete_person(store, person))
    click.echo(f"Deleted {len(deleted)} threads.")


def _store(config: Path | None) -> SqliteStore:
    return _store_and_zone(config)[0]


def _store_and_zone(config: Path | None) -> tuple[SqliteStore, str]:
    """The store, and the time zone that times are told in."""
    from gateway.app.assemble import store_of
    from gateway.app.load import load_config

    loaded = load_config(config, references=False)
    return store_of(loaded), loaded.config.policies.timezone
