"""Conversion of rows to values, and statements shared by units of work."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import lru_cache
from typing import Any, NamedTuple

from gateway.conversation import LOCAL_OPERATOR, Author, AuthorKind, ConversationKey, Quote
from gateway.errors import NotFound
from gateway.store.connection import NO_PARAMETERS, Connection, Parameters, Row
from gateway.store.decisions import NewThread
from gateway.store.operations import reads, writes
from gateway.store.records import CallRow, OpenMessage, Request, Thread
from gateway.store.units.audit import note
from gateway.store.value_rows import put, rows_as

OPEN_STATUSES = "('running', 'paused', 'waiting')"

SUPERSEDED = "a newer message came"
"""Reason of a turn that a newer message ended."""

UNSYNCED = "/*pg SET LOCAL synchronous_commit = off*/"
"""Lets the end of a transaction not wait for PostgreSQL's disk.

A crash of its server may undo the last of them: for what is done again then, or was only a note.
"""

FREE = "free"
"""The owner of a thread that any node may take."""

NEW_THREAD = "a new thread began"
"""Reason of a message that waited when its conversation got another thread."""

MUTED = "muted "
"""Stands before the mode in a muted thread's row."""

THREAD_COLUMNS = """
    t.id, t.title, t.team, t.state, t.updated_at, t.last_seq, t.preview, t.key, t.current,
    t.definition, t.participants, t.mode, t.epoch, t.handoff_from, t.attached, t.files_at,
    t.model, t.config, t.config_digest
"""
THREAD_WIDTH = THREAD_COLUMNS.count(",") + 1
"""Number of these columns: further columns follow them."""

THREADS = f"SELECT {THREAD_COLUMNS} FROM threads t"

MESSAGE_COLUMNS = """
    i.id, i.author, i.author_name, i.timezone, i.author_kind, i.author_groups, i.text,
    i.message_id, i.link, i.untrusted, i.joined, i.quotes, i.received_at, i.awaits, i.awaits_until,
    i.missed, EXISTS (SELECT 1 FROM attachments a WHERE a.inbox = i.id) AS has_files, i.edits,
    i.reason = 'gone' AS gone
"""

GONE_MARK = "gone "
"""Name, before a thread's id, of the mark that a message is deleted which its team has heard."""
GONE_SINCE = (
    f"(SELECT value FROM marks WHERE platform = 'gateway' AND name = '{GONE_MARK}' || t.id) AS gone"
)
"""Column of a thread `t`: the number of the last deletion of which its team does not know."""

REQUEST_COLUMNS = """
    r.id, r.engine_id, r.thread, r.turn, r.kind, r.agent, r.prompt, r.options, r.tool, r.arguments,
    r.arguments_hash, r.call, r.state, r.answer_kind, r.answer_text, r.answered_by, r.outcome,
    r.approvers, r.always, r.below, r.diff, r.meant, r.created_at AS asked_at, r.expires_at,
    r.quorum, t.author AS asker,
    (SELECT json_group_array(person) FROM supports WHERE request = r.id) AS supporters,
    (SELECT json_group_array(CASE WHEN always THEN kind ELSE 'approve' END) FROM supports
     WHERE request = r.id) AS support_kinds
    FROM requests r JOIN turns t ON t.id = r.turn
"""


def first(connection: Connection, query: str, parameters: Parameters = NO_PARAMETERS) -> Row | None:
    """The first row of a query, None where there is none."""
    rows = connection.fetch(query, parameters)
    return rows[0] if rows else None


def scalar(connection: Connection, query: str, parameters: Parameters = NO_PARAMETERS) -> Any:
    """The first value of a query's first row; None without one."""
    rows = connection.fetch(query, parameters)
    return rows[0][0] if rows else None


def listed(name: str, values: Collection[Any]) -> tuple[str, dict[str, Any]]:
    """A list of values for `IN`: its text, and its named parameters."""
    found = {f"{name}{n}": each for n, each in enumerate(values)}
    if not found:
        return "(NULL)", {}
    return f"({', '.join(f':{each}' for each in found)})", found


@lru_cache(maxsize=256)
def _names(text: str) -> tuple[str, ...]:
    """Names in a row; nearly all rows have the same few."""
    return tuple(json.loads(text))


_key = lru_cache(maxsize=64)(ConversationKey.parse)


def thread_of(row: Row, *, begun: bool = False) -> Thread:
    """The thread in a row that begins with THREAD_COLUMNS.

    With `begun`, it is the thread once a turn has begun: one more claim and one more event.
    """
    id_, title, team, state, updated_at, last_seq, preview, key, *others = row[:THREAD_WIDTH]
    current, definition, participants, mode, epoch, handoff_from, attached, *rest = others
    files_at, model, config, config_digest = rest
    place = _key(key)
    return Thread(
        id=id_,
        title=title,
        team=team,
        state="working" if begun else state,
        updated_at=updated_at,
        last_seq=last_seq + begun,
        preview=preview,
        key=place,
        platform=place.platform,
        channel=place.channel,
        current=bool(current),
        definition=definition,
        participants=_names(participants),
        mode=mode.removeprefix(MUTED),
        muted=mode.startswith(MUTED),
        epoch=epoch + begun,
        handoff_from=handoff_from,
        attached=attached,
        files_at=files_at,
        model=model,
        config=config,
        config_digest=config_digest,
    )


class MessageRow(NamedTuple):
    """A message of the inbox, by MESSAGE_COLUMNS."""

    id: int
    author: str
    author_name: str
    timezone: str
    author_kind: AuthorKind
    author_groups: str
    text: str
    message_id: str
    link: str
    untrusted: int
    joined: int
    quotes: str
    received_at: float
    awaits: str | None
    awaits_until: float | None
    missed: int
    has_files: int
    edits: int | None
    gone: int


request_of = rows_as(Request, without=("awaited",))
"""A row with REQUEST_COLUMNS."""


def author_of(row: Row) -> Author:
    """The author in a row of inbox, as they were then."""
    return author(
        row["author"], row["author_name"], row["timezone"], row["author_kind"], row["author_groups"]
    )


@lru_cache(maxsize=64)
def author(id_: str, name: str, timezone: str, kind: AuthorKind, groups: str) -> Author:
    """An author by the columns of inbox that say who it is."""
    return Author(id=id_, name=name, timezone=timezone, kind=kind, groups=frozenset(_names(groups)))


def quotes_of(quotes: str) -> tuple[Quote, ...]:
    """Foreign text of a message, from its column of inbox."""
    return () if quotes == "[]" else tuple(Quote(**quote) for quote in json.loads(quotes))


call_of = rows_as(CallRow, without=("outcome",))
"""A row of tool_calls."""


@reads
def open_messages(connection: Connection, thread: str) -> tuple[OpenMessage, ...]:
    """The text shown so far of messages that are not finished."""
    rows = connection.fetch(
        "SELECT * FROM open_messages WHERE thread = :thread ORDER BY rowid", {"thread": thread}
    )
    return tuple(map(rows_as(OpenMessage), rows))


def find_thread(connection: Connection, thread: str) -> Thread:
    """Raises NotFound."""
    row = first(connection, f"{THREADS} WHERE t.id = :thread", {"thread": thread})
    if row is None:
        raise NotFound(f"There is no thread {thread!r}.")
    return thread_of(row)


@writes
def create_thread(
    connection: Connection,
    new: NewThread,
    *,
    key: ConversationKey,
    title: str = "",
    by: str = LOCAL_OPERATOR.id,
) -> Thread:
    """Make a thread; the audit has it if `by` names somebody."""
    if by:
        note(connection, "thread.created", thread=new.id, person=by, object=new.team)
    same: dict[str, Any] = {
        "id": new.id,
        "title": title,
        "team": new.team,
        "definition": new.definition,
        "mode": new.mode,
        "config": new.origin.path,
        "config_digest": new.origin.digest,
        "state": "idle",
        "updated_at": connection.now,
    }
    names = json.dumps(new.participants)
    put(connection, "threads", **same, key=str(key), participants=names, created_at=connection.now)
    return Thread(
        **same,
        key=key,
        platform=key.platform,
        channel=key.channel,
        participants=new.participants,
    )


def fence(connection: Connection, thread: str, boot: str) -> int:
    """Let nobody before this boot write the thread's turns; its new epoch."""
    connection.execute(
        "UPDATE threads SET epoch = epoch + 1, owner = :boot, held = '' WHERE id = :thread",
        {"boot": boot, "thread": thread},
    )
    return find_thread(connection, thread).epoch


def find_request(connection: Connection, request: str) -> Request | None:
    """The request, None if there is none."""
    row = first(connection, f"SELECT {REQUEST_COLUMNS} WHERE r.id = :request", {"request": request})
    return None if row is None else request_of(row)
