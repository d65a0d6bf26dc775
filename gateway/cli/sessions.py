"""`parley sessions`: the threads in the store."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.group import (
    config_option,
    configured_store,
    global_parameters,
    say,
    say_json,
    stored_config,
)
from gateway.cli.values import complete_platforms, complete_threads

if TYPE_CHECKING:
    from gateway.app.stores import AnyStore


@click.group(params=global_parameters())
def sessions() -> None:
    """List, read, export, fork, try again and delete threads."""


@sessions.command(name="list")
@config_option
@click.option("--search", default="", metavar="TEXT", help="Only threads with all of these words.")
@click.option(
    "--platform",
    default="",
    metavar="NAME",
    help='Only threads of "slack", "terminal", ...',
    shell_complete=complete_platforms,
)
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), metavar="N")
def list_(config: Path | None, search: str, platform: str, limit: int) -> None:
    """List threads, the last used first."""
    from gateway.app.threads import found_threads, thread_table

    store, loaded = stored_config(config)
    threads = asyncio.run(found_threads(store, search, platform, limit))
    say(thread_table(threads, origin=loaded.origin) if threads else "There are no threads.")


@sessions.command()
@config_option
@click.argument("session", shell_complete=complete_threads)
def show(config: Path | None, session: str) -> None:
    """Show the thread with this id or title, as Markdown."""
    from gateway.app.threads import find_thread, transcript

    async def text() -> str:
        store, _ = configured_store(config)
        return await transcript(store, await find_thread(store, session))

    say(asyncio.run(text()), nl=False)


@sessions.command()
@config_option
@click.argument("session", shell_complete=complete_threads)
@click.option(
    "--old-states",
    is_flag=True,
    help="Write the states of replaced teams instead: the parts for load_snapshot.",
)
def export(config: Path | None, session: str, old_states: bool) -> None:
    """Write each event of a thread as a line of JSON.

    SESSION is its id or title.
    """
    from gateway.app.operator import note_export
    from gateway.app.threads import find_thread, old_states_of, stored_events
    from gateway.errors import GatewayError
    from gateway.events import dump_event

    async def write() -> None:
        store, _ = configured_store(config)
        thread = await find_thread(store, session)
        try:
            await note_export(store, thread.id)
        except GatewayError as error:  # who may read may export
            say(f"parley: The audit does not have this export: {error}", err=True)
        if old_states:
            for state in await old_states_of(store, thread.id):
                say_json(state)
            return
        async for event in stored_events(store, thread.id):
            say_json(dump_event(event).decode())

    asyncio.run(write())


@sessions.command()
@config_option
@click.argument("session", shell_complete=complete_threads)
def replay(config: Path | None, session: str) -> None:
    """Show the events of a thread one by one, with their timing.

    SESSION is its id or title. Each line has the time of day, the seconds since the event before,
    and the event.
    """
    from gateway.app.replay import Replay
    from gateway.app.threads import find_thread, stored_events

    async def write() -> None:
        store, settings = configured_store(config)
        thread = await find_thread(store, session)
        lines = Replay(settings.policies.timezone)
        async for event in stored_events(store, thread.id):
            say(lines.line(event))

    asyncio.run(write())


@sessions.command()
@config_option
@click.argument("session", shell_complete=complete_threads)
def audit(config: Path | None, session: str) -> None:
    """Show who decided what in a thread: approvals, answers, grants.

    SESSION is its id or title. ARGUMENTS is the start of a hash of the arguments that were approved
    or denied.
    """
    from gateway.app.threads import audit_table, audited, find_thread

    async def table() -> str:
        store, settings = configured_store(config)
        rows = await audited(store, (await find_thread(store, session)).id)
        if not rows:
            return "This thread has no questions or decisions."
        return audit_table(rows, settings.policies.timezone)

    say(asyncio.run(table()))


@sessions.command()
@config_option
@click.argument("session", shell_complete=complete_threads)
def retry(config: Path | None, session: str) -> None:
    """Try the failed turn of a thread again, from where it stopped.

    SESSION is the thread's id or title. A turn that was interrupted too often is not retried
    automatically.
    """
    from gateway.app import threads

    store, _ = configured_store(config)
    thread = asyncio.run(threads.find_thread(store, session))
    say(asyncio.run(threads.retry(store, thread.id)))


@sessions.command()
@config_option
@click.argument("session", shell_complete=complete_threads)
@click.option(
    "--back",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="Leave the last N turns out; without it, fork from the end of the last turn.",
)
@click.option("--yes", is_flag=True, help="Do not ask before a platform's thread is forked.")
def fork(config: Path | None, session: str, back: int, *, yes: bool) -> None:
    """Begin a thread where a turn of another one ended.

    SESSION is its id or title. The fork is a thread of the terminal. It has the messages, the
    team's memory, the chosen model and the work folder as they were then, but no approval for the
    thread. A thread of Slack or Discord is forked after a question. `fork_turns` in [store]
    says how many turns can be forked from.
    """
    from gateway.app.operator import fork_thread
    from gateway.app.threads import find_thread

    store, _ = configured_store(config)
    thread = asyncio.run(find_thread(store, session))
    if (asks := thread.fork_asks) and not yes:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise click.UsageError(f"{asks} There is no terminal to ask at: give --yes to fork it.")
        click.confirm(f"{asks} Fork it?", abort=True, err=True)
    forked = asyncio.run(fork_thread(store, thread.id, back))
    say(f"Forked {thread.id}: the new thread is {forked.id}.")


@sessions.command()
@config_option
@click.argument("session", required=False, shell_complete=complete_threads)
@click.option("--person", metavar="ID", help="Delete all threads in which this person took part.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(config: Path | None, session: str | None, person: str | None, yes: bool) -> None:
    """Delete the thread with this id or title, and everything it has.

    The forks of a thread of Slack or Discord have words from there, and go with it.
    With --person, delete every thread in which this person has written, asked or answered. What
    teams remember for them, and all else about them, goes, too. Delete backups yourself.
    """
    if (session is None) == (person is None):
        raise click.UsageError("Name a thread, or a --person.")
    store, _ = configured_store(config)
    if person is None:
        _delete_thread(store, session or "", yes=yes)
    else:
        _delete_person(store, person, yes=yes)


def _delete_thread(store: AnyStore, session: str, *, yes: bool) -> None:
    from gateway.app.operator import delete_thread
    from gateway.app.threads import find_thread, forks_with, thread_table
    from gateway.inbound.replies import with_forks

    thread = asyncio.run(find_thread(store, session))
    forks = asyncio.run(forks_with(store, thread.id))
    if not yes:
        if forks:
            say(thread_table(forks), err=True)
        what = f"{thread.title or thread.id!r}{with_forks(len(forks))}"
        click.confirm(f"Delete {what} for good?", abort=True, err=True)
    asyncio.run(delete_thread(store, thread.id))
    say(f"Deleted {thread.id}{with_forks(len(forks))}.")


def _delete_person(store: AnyStore, person: str, *, yes: bool) -> None:
    from gateway.app.operator import delete_person
    from gateway.app.threads import thread_table, threads_of

    if not yes:
        threads = asyncio.run(threads_of(store, person))
        if threads:
            say(thread_table(threads), err=True)
        question = f"Delete {len(threads)} threads and all else of {person!r} for good?"
        click.confirm(question, abort=True, err=True)
    deleted = asyncio.run(delete_person(store, person))
    say(f"Deleted {len(deleted)} threads.")
