"""Threads as the operator's commands list, read and change them."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path

from gateway.access.authority import Access
from gateway.app.stores import AnyStore
from gateway.base.calendar import local_time
from gateway.client import ThreadInfo
from gateway.control.socket_client import SocketClient
from gateway.conversation import LOCAL, LOCAL_OPERATOR, InboundMessage
from gateway.errors import GatewayClosed, NotFound
from gateway.events import SessionEvent
from gateway.inbound.policy import usual_rules
from gateway.render.sanitize import sanitize
from gateway.store.decisions import AcceptedMessage, NewThread
from gateway.store.ids import next_id
from gateway.store.nodes import NodeRow
from gateway.store.protocols import SessionReader
from gateway.store.records import AuditRow, OldState, Thread
from gateway.store.rulebook import JudgedMessage
from gateway.store.sqlite.store import SqliteStore
from gateway.store.units import audit as audit_units
from gateway.store.units import deletion, inbox, nodes, people
from gateway.store.units import events as event_units
from gateway.store.units import threads as thread_units
from gateway.transcript import markdown
from gateway.values import NO_ORIGIN, Origin, config_folder

TERMINAL = "terminal"
"""The platform of threads that live in the store alone, for people."""
OWN_MODELS = "-"
"""Each agent of the thread has its own model."""
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def thread_table(
    threads: Sequence[Thread], now: float | None = None, *, origin: Origin = NO_ORIGIN
) -> str:
    """The threads in columns: id, age, state, team, model, place, title.

    `origin`: the config whose own threads need no folder.
    """
    at = time.time() if now is None else now
    rows = [
        (
            each.id,
            age(at - each.updated_at),
            each.state,
            each.team,
            each.model or OWN_MODELS,
            f"{place_of(each)}{_folder_of(each, origin)}",
            each.title or each.preview,
        )
        for each in threads
    ]
    rows.insert(0, ("ID", "USED", "STATE", "TEAM", "MODEL", "WHERE", "TITLE"))
    return columns(rows)


def _folder_of(thread: Thread, origin: Origin) -> str:
    """The folder of another config's thread."""
    return f", {config_folder(thread.config)}" if thread.is_foreign(origin) else ""


def place_of(thread: ThreadInfo) -> str:
    """The platform and the channel of a thread."""
    if thread.platform == LOCAL:
        return TERMINAL
    where = "direct message" if thread.direct else thread.place or thread.channel
    return f"{thread.platform} {where}"


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Lines with a column for each cell, as wide as needed."""
    cells = [[" ".join(sanitize(cell).split()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


async def found_threads(
    store: SessionReader, search: str, platform: str, limit: int
) -> list[Thread]:
    """The threads last used that `search` finds, of a platform."""
    platform = LOCAL if platform == TERMINAL else platform
    return await store.run(thread_units.threads, search=search, platform=platform, limit=limit)


async def threads_of(store: SessionReader, person: str) -> list[Thread]:
    """The threads in which this person has written, asked or answered.

    Those that are deleted with them come last.
    """
    found = await store.run(thread_units.threads_of, person)
    return found + await store.run(deletion.deleted_with, [each.id for each in found])


async def forks_with(store: SessionReader, thread: str) -> list[Thread]:
    """The forks that are deleted with a thread. Raises NotFound."""
    return await store.run(deletion.deleted_with, [thread])


async def find_thread(store: SessionReader, session: str) -> ThreadInfo:
    """The thread with this id or title. Raises NotFound."""
    with suppress(NotFound):
        return await store.run(thread_units.thread, session)
    for thread in await store.run(thread_units.threads, search=session, limit=1000):
        if thread.title == session:
            return thread
    raise NotFound(f"No thread has the id or title {session!r}.")


async def stored_events(store: SessionReader, thread: str) -> AsyncGenerator[SessionEvent]:
    """Everything that happened in the thread so far."""
    after = 0
    while page := await store.run(event_units.events, thread, after=after):
        for event in page:
            yield event
        after = page[-1].seq


async def old_states_of(store: SessionReader, thread: str) -> list[str]:
    """Memories of a thread's replaced teams, as lines of JSON."""
    return [_old_state(each) for each in await store.run(event_units.old_states, thread)]


def _old_state(state: OldState) -> str:
    parts = [checkpoint.data.decode() for checkpoint in state.checkpoints]
    return json.dumps(
        {"definition": state.definition, "replaced_at": state.replaced_at, "parts": parts},
        ensure_ascii=False,
    )


async def transcript(store: SessionReader, thread: ThreadInfo) -> str:
    """The thread as Markdown for people to read."""
    events = [event async for event in stored_events(store, thread.id)]
    return sanitize(markdown(thread, events, await store.run(people.feedback, thread.id)))


async def audited(store: SessionReader, thread: str) -> list[AuditRow]:
    """Decisions about a thread's requests and grants, in order."""
    return await store.run(audit_units.audit, thread)


def audit_table(rows: Sequence[AuditRow], zone: str = "") -> str:
    """Decisions about a thread's requests and grants, one per line.

    Times are in the zone ("": this machine's).
    """
    lines = [
        (
            f"{local_time(row.at, zone):%Y-%m-%d %H:%M:%S}",
            row.what,
            row.person or "-",
            row.request or "-",
            row.tool or row.kind,
            row.arguments_hash[:12],
            row.outcome,
        )
        for row in rows
    ]
    lines.insert(0, ("TIME", "WHAT", "WHO", "REQUEST", "TOOL", "ARGUMENTS", "OUTCOME"))
    return columns(lines)


async def retry(store: AnyStore, thread: str) -> str:
    """Let the thread's failed or parked turn be tried again; the result."""
    if owner := await owner_of(store):
        return (await owner.send(thread, "/retry")).reply
    async with store.own():
        accepted = await _accept(store, await store.run(thread_units.thread, thread), "/retry")
    if not accepted.wake or any(each.serves for each in await stored_nodes(store)):
        return accepted.reply  # a node finds the thread's job
    return f"{accepted.reply} Parley is not running; it continues when Parley starts."


async def owner_of(store: AnyStore) -> SocketClient | None:
    """The gateway that owns the store; None if none runs."""
    return await owner_at(store.folder)


async def owner_at(folder: Path) -> SocketClient | None:
    """The gateway that owns the store with this folder, if any."""
    with suppress(GatewayClosed):
        return await SocketClient.connect(folder)
    return None


async def _accept(store: AnyStore, thread: Thread, command: str) -> AcceptedMessage:
    new = NewThread(id=next_id(), team=thread.team, definition=thread.definition)
    message = InboundMessage(key=thread.key, thread=thread.id, author=LOCAL_OPERATOR, text=command)
    rules = usual_rules(message, Access(), now=time.time())
    return await store.run(
        inbox.accept, JudgedMessage(message=message, rulebook=rules, new=new, kind="command")
    )


async def stored_nodes(store: AnyStore) -> list[NodeRow]:
    """The nodes as the database knows them; none for files."""
    return [] if isinstance(store, SqliteStore) else await store.run(nodes.nodes)


def age(seconds: float) -> str:
    """A length of time in its largest unit."""
    for unit, length in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit} ago"
    return "now"
