"""Units of work that claim a thread's next turn, with everything its earlier attempts left, and
that take messages into the one that runs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import NamedTuple

from gateway.conversation import Author, Quote
from gateway.errors import Fenced
from gateway.events import HumanText, MessageJoined, SessionEvent, TurnStarted
from gateway.store.ids import next_id
from gateway.store.records import NOTHING_USED, Thread, TurnStatus
from gateway.store.turn_records import Joined, Later, Lease, QueuedMessage, Work
from gateway.store.units import attachments, usage
from gateway.store.units import awaited_files as awaited
from gateway.store.units.inbox import SUPERSEDED
from gateway.store.units.queue import IN_ORDER
from gateway.store.units.rows import (
    MESSAGE_COLUMNS,
    REQUEST_COLUMNS,
    THREAD_COLUMNS,
    THREAD_WIDTH,
    MessageRow,
    add_events,
    author,
    call_of,
    open_messages,
    quotes_of,
    request_of,
    thread_of,
)

SINCE = "t.n > COALESCE((SELECT MAX(n) FROM turns WHERE thread = :thread AND status = 'done'), 0)"
"""The turns whose run the team may still be in: a new message joins a run that failed."""

_REQUESTS = f"SELECT {REQUEST_COLUMNS} WHERE t.thread = :thread AND {SINCE} ORDER BY t.n"
_CALLS = f"""
    SELECT c.* FROM tool_calls c JOIN turns t ON t.id = c.turn
    WHERE t.thread = :thread AND {SINCE}
"""

OPEN = ("running", "paused", "waiting")


class _Stands(NamedTuple):
    """How a thread stands: its newest turn (no other one can be open), and what is in it."""

    turn: str | None
    n: int | None
    status: TurnStatus | None
    author: str
    delivered: int
    ready: int
    stop: int
    first_author: str | None
    last_author: str | None
    untrusted_at: float | None
    grants: int
    shown: int
    saved: int


_STANDS = f"""
    SELECT {THREAD_COLUMNS},
     u.id, u.n, u.status, u.author, u.delivered, u.ready, u.stop_requested,
     (SELECT MIN(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused'),
     (SELECT MAX(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused'),
     (SELECT MAX(taken_at) FROM inbox WHERE thread = t.id AND untrusted),
     EXISTS (SELECT 1 FROM grants WHERE thread = t.id),
     EXISTS (SELECT 1 FROM open_messages WHERE thread = t.id),
     EXISTS (SELECT 1 FROM checkpoints WHERE thread = t.id),
     {MESSAGE_COLUMNS}
    FROM threads t
    LEFT JOIN turns u ON u.thread = t.id AND u.n = (SELECT MAX(n) FROM turns WHERE thread = t.id)
    LEFT JOIN inbox i ON i.id = (SELECT id FROM inbox
     WHERE thread = t.id AND outcome = 'queued' {IN_ORDER} LIMIT 1)
    WHERE t.id = ?
"""
"""A thread, a _Stands, and the message that waits first."""


@dataclass(frozen=True, slots=True)
class _Turn:
    id: str
    author: str
    resumed: bool = False
    alone: bool = False
    """Its first message, as it was stored, is all it has: the turn before it, if any, was done."""


def begin(
    connection: sqlite3.Connection, thread: str, boot: str, now: float, quiet: float
) -> Work | Later | None:
    """Claim the thread's next turn: the open one if it can go on, else the first message's."""
    row = connection.execute(_STANDS, (thread,)).fetchone()
    if row is None:
        return None
    stands = _Stands._make(row[THREAD_WIDTH:_FIRST])
    begun = thread_of(row, begun=True)
    if stands.status in OPEN:
        goes_on = stands.status != "waiting" or stands.ready
        return _resume(connection, begun, stands, boot, now) if goes_on else None
    if row[_FIRST] is None:
        return None
    first = MessageRow._make(row[_FIRST:])
    wait = _still_collecting(connection, begun, now, quiet)
    wait = max(wait, awaited.wait(connection, first, begun, now))
    if wait > 0:
        return Later(seconds=wait)
    return _start(connection, begun, stands, first, boot, now)


_FIRST = THREAD_WIDTH + len(_Stands._fields)


def _resume(
    connection: sqlite3.Connection, thread: Thread, stands: _Stands, boot: str, now: float
) -> Work:
    assert stands.turn is not None  # it is open
    turn = _Turn(stands.turn, stands.author, resumed=True)
    connection.execute("UPDATE turns SET status = 'running', ready = 0 WHERE id = ?", (turn.id,))
    connection.execute(
        "UPDATE requests SET taken = 1 WHERE turn = ? AND state <> 'open'", (turn.id,)
    )
    messages = _messages(connection, thread.id, turn.id)
    if stands.stop:
        connection.execute(
            "UPDATE threads SET epoch = epoch + 1, owner = ?, state = 'working' WHERE id = ?",
            (boot, thread.id),
        )
        thread = replace(thread, last_seq=thread.last_seq - 1)
        return _work(connection, turn, thread, stands, messages, ())
    started = TurnStarted(
        thread=thread.id,
        turn=turn.id,
        resumed=True,
        asker=turn.author,
        asked_at=_asked_at(connection, turn.id) or now,
    )
    events = _tell_of(connection, thread, started, boot, now)
    return _work(connection, turn, thread, stands, messages, events)


def _start(
    connection: sqlite3.Connection,
    thread: Thread,
    stands: _Stands,
    first: MessageRow,
    boot: str,
    now: float,
) -> Work:
    turn = _open(connection, thread, stands, first, now)
    late: tuple[SessionEvent, ...] = ()
    if turn.alone:
        messages, asked_at = (_queued(connection, first),), first.received_at
        told: tuple[HumanText, ...] = (_human_text(messages[0]),)
    else:
        late = awaited.give_up(connection, turn.id, now)
        messages = _messages(connection, thread.id, turn.id)
        told, asked_at = _told(connection, turn.id), _asked_at(connection, turn.id) or now
    started = TurnStarted(
        thread=thread.id, turn=turn.id, messages=told, asker=turn.author, asked_at=asked_at
    )
    if late:
        thread = replace(thread, last_seq=late[-1].seq + 1)
    events = late + _tell_of(connection, thread, started, boot, now)
    return _work(connection, turn, thread, stands, messages, events)


def _tell_of(
    connection: sqlite3.Connection, thread: Thread, started: TurnStarted, boot: str, now: float
) -> tuple[SessionEvent, ...]:
    """Claim the thread with the event that says so, its last one."""
    after = thread.last_seq - 1
    return add_events(
        connection, thread.id, [started], now, after=after, state="working", owner=boot
    )


def _asked_at(connection: sqlite3.Connection, turn: str) -> float | None:
    query = "SELECT MIN(received_at) FROM inbox WHERE turn = ?"
    return connection.execute(query, (turn,)).fetchone()[0]


def _open(
    connection: sqlite3.Connection, thread: Thread, stands: _Stands, first: MessageRow, now: float
) -> _Turn:
    turn = next_id()
    connection.execute(
        "INSERT INTO turns (id, thread, n, status, author, destination, started_at)"
        " VALUES (?, ?, ?, 'running', ?, ?, ?)",
        (turn, thread.id, (stands.n or 0) + 1, first.author, str(thread.key), now),
    )
    connection.execute(
        "UPDATE inbox SET outcome = 'turn', turn = ?, taken_at = ? WHERE id = ?",
        (turn, now, first.id),
    )
    if thread.takes_all:
        connection.execute(
            "UPDATE inbox SET outcome = 'merged', turn = ?, taken_at = ?"
            " WHERE thread = ? AND outcome = 'queued'",
            (turn, now, thread.id),
        )
    here = first.awaits is None
    alone = here and not thread.takes_all and stands.status in (None, "done")
    return _Turn(turn, first.author, alone=alone)


def _messages(connection: sqlite3.Connection, thread: str, turn: str) -> tuple[QueuedMessage, ...]:
    """The turn's messages, after those of earlier ones that came to their end before the team got
    them.
    """
    rows = connection.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM inbox i JOIN turns t ON t.id = i.turn"
        " WHERE i.outcome IN ('turn', 'merged')"
        " AND (t.id = :turn OR t.thread = :thread AND NOT i.joined"
        " AND (t.status IN ('failed', 'interrupted')"
        " OR t.status = 'stopped' AND (t.reason = :newer OR i.outcome = 'merged'))"
        f" AND {SINCE}) ORDER BY t.n, i.taken_at, i.place, i.order_key, i.id",
        {"thread": thread, "turn": turn, "newer": SUPERSEDED},
    )
    return tuple(_queued(connection, MessageRow._make(row)) for row in rows.fetchall())


def _queued(connection: sqlite3.Connection, row: MessageRow) -> QueuedMessage:
    images: tuple[tuple[str, bytes], ...] = ()
    quotes: tuple[Quote, ...] = ()
    if row.untrusted:
        images = attachments.images(connection, row.id)
        quotes = (*quotes_of(row.quotes), *attachments.text_files(connection, row.id))
    return QueuedMessage(
        inbox=row.id,
        author=author(
            row.author, row.author_name, row.timezone, row.author_kind, row.author_groups
        ),
        text=row.text,
        message_id=row.message_id,
        link=row.link,
        images=images,
        quotes=quotes,
        untrusted=bool(row.untrusted),
        joined=bool(row.joined),
    )


def _told(connection: sqlite3.Connection, turn: str) -> tuple[HumanText, ...]:
    """The messages that the turn is about."""
    rows = connection.execute(
        "SELECT id, author_name, text FROM inbox WHERE turn = ? AND outcome IN ('turn', 'merged')"
        f" {IN_ORDER}",
        (turn,),
    )
    return tuple(
        HumanText(inbox=row["id"], author=row["author_name"], text=row["text"])
        for row in rows.fetchall()
    )


def _still_collecting(
    connection: sqlite3.Connection, thread: Thread, now: float, quiet: float
) -> float:
    """Seconds until nobody has written for long enough; 0 where messages are not collected."""
    if thread.mode != "collect":
        return 0.0
    newest = connection.execute(
        "SELECT MAX(received_at) FROM inbox WHERE thread = ? AND outcome = 'queued'",
        (thread.id,),
    ).fetchone()[0]
    # A clock that was set back must not hold a turn up for longer than it was meant to wait.
    return 0.0 if newest is None else min(quiet, newest + quiet - now)


def join(connection: sqlite3.Connection, lease: Lease, now: float) -> Joined:
    """Take what waits into the turn, where messages join the turn that runs. Raises Fenced.

    What is to be run again on its own stays.
    """
    mode = connection.execute(
        "SELECT mode FROM threads WHERE id = ? AND epoch = ?", (lease.thread, lease.epoch)
    ).fetchone()
    if mode is None:
        raise Fenced(lease.thread)
    if mode["mode"] != "steer":
        return Joined(messages=(), events=())
    rows = connection.execute(
        f"SELECT {MESSAGE_COLUMNS} FROM inbox i"
        f" WHERE i.thread = ? AND i.outcome = 'queued' AND i.edits IS NULL {IN_ORDER}",
        (lease.thread,),
    ).fetchall()
    # None overtakes another.
    found = [*takewhile(lambda row: row.awaits is None, map(MessageRow._make, rows))]
    connection.executemany(
        "UPDATE inbox SET outcome = 'merged', turn = ?, taken_at = ? WHERE id = ?",
        [(lease.turn, now, row.id) for row in found],
    )
    messages = tuple(_queued(connection, row) for row in found)
    shown = [
        MessageJoined(thread=lease.thread, turn=lease.turn, message=_human_text(message))
        for message in messages
    ]
    return Joined(messages=messages, events=add_events(connection, lease.thread, shown, now))


def _untrusted(connection: sqlite3.Connection, thread: str) -> float | None:
    """When the team was last shown foreign text."""
    query = "SELECT MAX(taken_at) FROM inbox WHERE thread = ? AND untrusted"
    return connection.execute(query, (thread,)).fetchone()[0]


def _human_text(message: QueuedMessage) -> HumanText:
    return HumanText(inbox=message.inbox, author=message.author.name, text=message.text)


def _work(
    connection: sqlite3.Connection,
    turn: _Turn,
    thread: Thread,
    stands: _Stands,
    messages: tuple[QueuedMessage, ...],
    events: tuple[SessionEvent, ...],
) -> Work:
    untrusted = stands.untrusted_at
    if not turn.alone or messages[0].untrusted:
        untrusted = _untrusted(connection, thread.id)
    asker, others = _people(messages, turn.author)
    of_run = {"thread": thread.id}
    return Work(
        lease=Lease(thread=thread.id, turn=turn.id, epoch=thread.epoch),
        thread=thread,
        messages=messages,
        resumed=turn.resumed,
        delivered=bool(stands.delivered and turn.resumed),
        saved=bool(stands.saved),
        stop=bool(stands.stop and turn.resumed),
        shared=stands.first_author != stands.last_author,
        asker=asker,
        others=others,
        untrusted=untrusted is not None,
        requests=()
        if turn.alone
        else tuple(map(request_of, connection.execute(_REQUESTS, of_run).fetchall())),
        calls=()
        if turn.alone
        else tuple(map(call_of, connection.execute(_CALLS, of_run).fetchall())),
        grants=_grants(connection, thread.id, [asker, *others], untrusted or 0.0)
        if stands.grants
        else frozenset(),
        open_messages=open_messages(connection, thread.id) if stands.shown else (),
        events=events,
        used=usage.of_turn(connection, thread.id, turn.id) if turn.resumed else NOTHING_USED,
    )


def _people(messages: tuple[QueuedMessage, ...], author: str) -> tuple[Author, tuple[Author, ...]]:
    """On whose behalf the team works, and who else has a message in it."""
    found = {message.author.id: message.author for message in reversed(messages)}
    asker = found.pop(author, Author(id=author))
    return asker, tuple(found.values())


def _grants(
    connection: sqlite3.Connection, thread: str, people: Collection[Author], since: float
) -> frozenset[str]:
    """The tools that were approved for the rest of the thread, on behalf of each of the people.

    Who approved a tool before foreign text came did not know what it would do now.
    """
    rows = connection.execute(
        "SELECT tool FROM grants WHERE thread = ? AND granted_at > ?"
        " AND person IN (SELECT value FROM json_each(?)) GROUP BY tool HAVING COUNT(*) = ?",
        (thread, since, json.dumps([person.id for person in people]), len(people)),
    )
    return frozenset(row["tool"] for row in rows.fetchall())
