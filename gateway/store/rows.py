"""Rows as values, and the few statements that every unit of work shares."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from gateway.client import ThreadState
from gateway.conversation import Author, ConversationKey, Quote
from gateway.errors import Fenced, NotFound
from gateway.events import (
    MessageFinished,
    MessageJoined,
    SessionEvent,
    TurnStarted,
    dump_event,
)
from gateway.store.records import CallRow, OpenMessage, Request, Thread

PREVIEW = 160
"""Characters of a thread's last message that lists show."""

OPEN_STATUSES = "('running', 'paused', 'waiting')"

REQUEST_COLUMNS = """
    r.id, r.engine_id, r.thread, r.turn, r.kind, r.agent, r.prompt, r.options, r.tool, r.arguments,
    r.arguments_hash, r.call, r.state, r.answer_kind, r.answer_text, r.answered_by, r.outcome,
    r.approvers, r.always, r.expires_at, r.quorum, t.author AS asker,
    (SELECT json_group_array(person) FROM supports WHERE request = r.id) AS supporters,
    (SELECT COALESCE(MIN(always), 1) FROM supports WHERE request = r.id) AS always_so_far
    FROM requests r JOIN turns t ON t.id = r.turn
"""


def crowds_of(team: str, key: ConversationKey) -> tuple[tuple[str, str], ...]:
    """What a thread is one of many of."""
    return (("team", team), ("workspace", key.place))


_IDS: deque[str] = deque()
"""Made in advance: asking the system for each would hand over the interpreter each time."""


def new_id() -> str:
    """A random id, short enough to be typed."""
    try:
        return _IDS.pop()
    except IndexError:
        noise = secrets.token_hex(6 * 256)
        first, *others = (noise[at : at + 12] for at in range(0, len(noise), 12))
        _IDS.extend(others)
        return first


os.register_at_fork(after_in_child=_IDS.clear)


@lru_cache(maxsize=256)
def _names(text: str) -> tuple[str, ...]:
    """Names in a row: the same few are in nearly all of them."""
    return tuple(json.loads(text))


def thread_of(row: sqlite3.Row) -> Thread:
    """A row of threads."""
    return Thread(
        id=row["id"],
        title=row["title"],
        team=row["team"],
        state=row["state"],
        updated_at=row["updated_at"],
        last_seq=row["last_seq"],
        preview=row["preview"],
        key=ConversationKey.parse(row["key"]),
        current=bool(row["current"]),
        definition=row["definition"],
        participants=_names(row["participants"]),
        mode=row["mode"],
        epoch=row["epoch"],
        handoff_from=row["handoff_from"],
        attached=row["attached"],
        files_at=row["files_at"],
    )


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
    return Author(
        id=row["author"],
        name=row["author_name"],
        timezone=row["timezone"],
        kind=row["author_kind"],
        groups=frozenset(_names(row["author_groups"])),
    )


def quotes_of(row: sqlite3.Row) -> tuple[Quote, ...]:
    """The foreign text in a row of inbox."""
    if row["quotes"] == "[]":
        return ()
    return tuple(Quote(**quote) for quote in json.loads(row["quotes"]))


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
    row = connection.execute("SELECT * FROM threads WHERE id = ?", (thread,)).fetchone()
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
    events: Iterable[SessionEvent],
    now: float,
    *,
    state: ThreadState | None = None,
    owner: str | None = None,
) -> tuple[SessionEvent, ...]:
    """Give the events their place in the thread, which is in this `state` with them, and claimed by
    an `owner`. Raises Fenced unless the thread is there; without events nothing is looked at.
    """
    added = list(events)
    if not added:
        return ()
    counted = connection.execute(
        "UPDATE threads SET last_seq = last_seq + :n, updated_at = :now,"
        " preview = COALESCE(:preview, preview), state = COALESCE(:state, state),"
        " owner = COALESCE(:owner, owner), epoch = epoch + (:owner IS NOT NULL)"
        " WHERE id = :thread RETURNING last_seq",
        {
            "n": len(added),
            "now": now,
            "preview": next((said for each in reversed(added) if (said := _preview(each))), None),
            "state": state,
            "owner": owner,
            "thread": thread,
        },
    ).fetchall()
    if not counted:
        raise Fenced(thread)
    first = counted[0]["last_seq"] - len(added) + 1
    placed = tuple(
        replace(event, thread=thread, seq=first + n, at=now) for n, event in enumerate(added)
    )
    connection.executemany(
        "INSERT INTO events (thread, seq, turn, kind, body) VALUES (?, ?, ?, ?, ?)",
        [(thread, event.seq, event.turn, event.kind, dump_event(event)) for event in placed],
    )
    return placed


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
