"""Rows as values, and the few statements that every unit of work shares."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from gateway.client import ThreadState
from gateway.conversation import Author, AuthorKind, ConversationKey, Quote
from gateway.errors import Fenced, NotFound
from gateway.events import (
    MessageFinished,
    MessageJoined,
    SessionEvent,
    TurnStarted,
    dump_event,
)
from gateway.store.records import CallRow, OpenMessage, Request, Thread

TOGETHER = 100
"""Events that one statement stores: SQLite may have been built to take 999 values in one."""

PREVIEW = 160
"""Characters of a thread's last message that lists show."""

OPEN_STATUSES = "('running', 'paused', 'waiting')"

THREAD_COLUMNS = """
    t.id, t.title, t.team, t.state, t.updated_at, t.last_seq, t.preview, t.key, t.current,
    t.definition, t.participants, t.mode, t.epoch, t.handoff_from, t.attached, t.files_at
"""
THREAD_WIDTH = 16
"""How many these are: whoever reads more columns finds them behind."""

THREADS = f"SELECT {THREAD_COLUMNS} FROM threads t"

MESSAGE_COLUMNS = """
    i.id, i.author, i.author_name, i.timezone, i.author_kind, i.author_groups, i.text,
    i.message_id, i.link, i.untrusted, i.joined, i.quotes, i.received_at, i.awaits, i.awaits_until
"""

REQUEST_COLUMNS = """
    r.id, r.engine_id, r.thread, r.turn, r.kind, r.agent, r.prompt, r.options, r.tool, r.arguments,
    r.arguments_hash, r.call, r.state, r.answer_kind, r.answer_text, r.answered_by, r.outcome,
    r.approvers, r.always, r.created_at AS asked_at, r.expires_at, r.quorum,
    t.author AS asker,
    (SELECT json_group_array(person) FROM supports WHERE request = r.id) AS supporters,
    (SELECT COALESCE(MIN(always), 1) FROM supports WHERE request = r.id) AS always_so_far
    FROM requests r JOIN turns t ON t.id = r.turn
"""


def crowds_of(team: str, key: ConversationKey) -> tuple[tuple[str, str], ...]:
    """What a thread is one of many of."""
    return (("team", team), ("workspace", key.place))


@lru_cache(maxsize=256)
def _names(text: str) -> tuple[str, ...]:
    """Names in a row: the same few are in nearly all of them."""
    return tuple(json.loads(text))


_key = lru_cache(maxsize=64)(ConversationKey.parse)


def thread_of(row: sqlite3.Row, *, begun: bool = False) -> Thread:
    """A row that begins with THREAD_COLUMNS; as it is once a turn has `begun`, which is one more
    claim and one more event.
    """
    id_, title, team, state, updated_at, last_seq, preview, key, *others = row[:THREAD_WIDTH]
    current, definition, participants, mode, epoch, handoff_from, attached, files_at = others
    return Thread(
        id=id_,
        title=title,
        team=team,
        state="working" if begun else state,
        updated_at=updated_at,
        last_seq=last_seq + begun,
        preview=preview,
        key=_key(key),
        current=bool(current),
        definition=definition,
        participants=_names(participants),
        mode=mode,
        epoch=epoch + begun,
        handoff_from=handoff_from,
        attached=attached,
        files_at=files_at,
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


def request_of(row: sqlite3.Row) -> Request:
    """A row with REQUEST_COLUMNS."""
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118 (a Row iterates over its values)
    values["agent"] = tuple(json.loads(values["agent"]))
    values["options"] = tuple(json.loads(values["options"]))
    values["approvers"] = tuple(json.loads(values["approvers"]))
    values["always"] = bool(values["always"])
    values["supporters"] = tuple(json.loads(values["supporters"]))
    values["always_so_far"] = bool(values["always_so_far"])
    return Request(**values)


def author_of(row: sqlite3.Row) -> Author:
    """The author in a row of inbox, as they were when they wrote."""
    return author(
        row["author"], row["author_name"], row["timezone"], row["author_kind"], row["author_groups"]
    )


@lru_cache(maxsize=64)
def author(id_: str, name: str, timezone: str, kind: AuthorKind, groups: str) -> Author:
    """An author by the columns of inbox that say who it is."""
    return Author(id=id_, name=name, timezone=timezone, kind=kind, groups=frozenset(_names(groups)))


def quotes_of(quotes: str) -> tuple[Quote, ...]:
    """The foreign text that came with a message, from its column of inbox."""
    return () if quotes == "[]" else tuple(Quote(**quote) for quote in json.loads(quotes))


def call_of(row: sqlite3.Row) -> CallRow:
    """A row of tool_calls."""
    return CallRow(
        key=row["key"],
        agent=tuple(json.loads(row["agent"])),
        tool=row["tool"],
        arguments_hash=row["arguments_hash"],
        status=row["status"],
        result=row["result"],
    )


def open_message_of(row: sqlite3.Row) -> OpenMessage:
    """A row of open_messages."""
    return OpenMessage(
        message=row["message"], turn=row["turn"], agent=row["agent"], text=row["text"]
    )


def open_messages(connection: sqlite3.Connection, thread: str) -> tuple[OpenMessage, ...]:
    """What was shown of messages that are not finished."""
    rows = connection.execute(
        "SELECT * FROM open_messages WHERE thread = ? ORDER BY rowid", (thread,)
    )
    return tuple(map(open_message_of, rows.fetchall()))


def find_thread(connection: sqlite3.Connection, thread: str) -> Thread:
    """Raises NotFound."""
    row = connection.execute(f"{THREADS} WHERE t.id = ?", (thread,)).fetchone()
    if row is None:
        raise NotFound(f"There is no thread {thread!r}.")
    return thread_of(row)


def find_request(connection: sqlite3.Connection, request: str) -> Request | None:
    """The request, None if there is none."""
    row = connection.execute(f"SELECT {REQUEST_COLUMNS} WHERE r.id = ?", (request,)).fetchone()
    return None if row is None else request_of(row)


def add_events(
    connection: sqlite3.Connection,
    thread: str,
    events: Sequence[SessionEvent],
    now: float,
    *,
    after: int | None = None,
    state: ThreadState | None = None,
    owner: str | None = None,
) -> tuple[SessionEvent, ...]:
    """Give the events their place in the thread, which is in this `state` with them, and claimed by
    an `owner`. Raises Fenced unless the thread is there; without events nothing is looked at.

    `after`: the thread's last seq, where it was read in the same unit of work.
    """
    if not events:
        return ()
    if after is None:
        after = _last_seq(connection, thread)
    placed = tuple(_placed(event, thread, after + n, now) for n, event in enumerate(events, 1))
    preview = next((said for each in reversed(placed) if (said := _preview(each))), None)
    counted = connection.execute(
        "UPDATE threads SET last_seq = ?, updated_at = ?, preview = COALESCE(?, preview),"
        " state = COALESCE(?, state), owner = COALESCE(?, owner), epoch = epoch + ? WHERE id = ?",
        (after + len(placed), now, preview, state, owner, owner is not None, thread),
    )
    if not counted.rowcount:
        raise Fenced(thread)
    for first in range(0, len(placed), TOGETHER):
        some = placed[first : first + TOGETHER]
        connection.execute(
            _insert_events(len(some)),
            [
                value
                for event in some
                for value in (thread, event.seq, event.turn, event.kind, dump_event(event))
            ],
        )
    return placed


def _last_seq(connection: sqlite3.Connection, thread: str) -> int:
    row = connection.execute("SELECT last_seq FROM threads WHERE id = ?", (thread,)).fetchone()
    if row is None:
        raise Fenced(thread)
    return row[0]


@lru_cache(maxsize=16)
def _insert_events(count: int) -> str:
    """One statement for all of them: each has its price, however little it does."""
    rows = ", ".join(["(?, ?, ?, ?, ?)"] * count)
    return f"INSERT INTO events (thread, seq, turn, kind, body) VALUES {rows}"


def _placed(event: SessionEvent, thread: str, seq: int, at: float) -> SessionEvent:
    """The event where it stands; what `replace` does, without asking for its fields each time."""
    names, values = _others(type(event))
    others = zip(names, values(event), strict=True)
    return type(event)(thread=thread, seq=seq, at=at, **dict(others))


@lru_cache(maxsize=64)
def _others(kind: type[SessionEvent]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """What an event of a kind has besides its place: the names, and what reads their values."""
    names = {each.name for each in fields(kind)} - {"thread", "seq", "at"}
    return (*names,), attrgetter(*names)


def _preview(event: SessionEvent) -> str:
    match event:
        case MessageFinished(text=text):
            pass
        case TurnStarted(messages=(*_, last)):
            text = last.text
        case MessageJoined(message=joined):
            text = joined.text
        case _:
            return ""
    return " ".join(text[: 4 * PREVIEW].split())[:PREVIEW]
