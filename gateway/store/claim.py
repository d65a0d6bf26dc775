"""Units of work that claim a thread's next turn, with everything its earlier attempts left, and
that take messages into the one that runs.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import takewhile

from gateway.conversation import Author
from gateway.errors import Fenced
from gateway.events import HumanText, MessageJoined, SessionEvent, TurnStarted
from gateway.store import attachments, awaited, usage
from gateway.store.inbox import SUPERSEDED
from gateway.store.queue import IN_ORDER
from gateway.store.records import NOTHING_USED
from gateway.store.rows import (
    REQUEST_COLUMNS,
    THREAD_COLUMNS,
    add_events,
    author_of,
    call_of,
    new_id,
    open_messages,
    quotes_of,
    request_of,
    thread_of,
)
from gateway.store.work import Joined, Later, Lease, QueuedMessage, Work

SINCE = "t.n > COALESCE((SELECT MAX(n) FROM turns WHERE thread = :thread AND status = 'done'), 0)"
"""The turns whose run the team may still be in: a new message joins a run that failed."""

_REQUESTS = f"SELECT {REQUEST_COLUMNS} WHERE t.thread = :thread AND {SINCE} ORDER BY t.n"
_CALLS = f"""
    SELECT c.* FROM tool_calls c JOIN turns t ON t.id = c.turn
    WHERE t.thread = :thread AND {SINCE}
"""

OPEN = ("running", "paused", "waiting")


@dataclass(frozen=True, slots=True)
class _Turn:
    id: str
    author: str
    delivered: bool = False
    stop: bool = False
    resumed: bool = False
    alone: bool = False
    """Its first message, as it was stored, is all it has: the turn before it, if any, was done."""


_STANDS = f"""
    SELECT {THREAD_COLUMNS}, u.id AS turn, u.n AS turn_n, u.status AS turn_status,
     u.author AS turn_author, u.delivered AS turn_delivered, u.ready AS turn_ready,
     u.stop_requested AS turn_stop,
     (SELECT MIN(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused') AS first_author,
     (SELECT MAX(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused') AS last_author,
     (SELECT MAX(taken_at) FROM inbox WHERE thread = t.id AND untrusted) AS untrusted_at,
     EXISTS (SELECT 1 FROM grants WHERE thread = t.id) AS grants,
     EXISTS (SELECT 1 FROM open_messages WHERE thread = t.id) AS shown,
     EXISTS (SELECT 1 FROM checkpoints WHERE thread = t.id) AS saved
    FROM threads t LEFT JOIN turns u
     ON u.thread = t.id AND u.n = (SELECT MAX(n) FROM turns WHERE thread = t.id)
    WHERE t.id = ?
"""
"""A thread with its newest turn: no other one can be open."""


def begin(
    connection: sqlite3.Connection, thread: str, boot: str, now: float, quiet: float
) -> Work | Later | None:
    """Claim the thread's next turn: the open one if it can go on, else the first message's."""
    stands = connection.execute(_STANDS, (thread,)).fetchone()
    if stands is None or (stands["turn_status"] == "waiting" and not stands["turn_ready"]):
        return None
    first: sqlite3.Row | None = None
    late: tuple[SessionEvent, ...] = ()
    if stands["turn_status"] in OPEN:
        turn = _go_on(connection, stands)
    elif (wait := _still_collecting(connection, stands, now, quiet)) > 0:
        return Later(seconds=wait)
    elif (first := _first(connection, thread)) is not None:
        if (wait := awaited.wait(connection, first, now, together=_together(stands))) > 0:
            return Later(seconds=wait)
        turn = _open(connection, stands, first, now)
        if not turn.alone:
            late = awaited.give_up(connection, turn.id, now)
    else:
        return None
    if first is not None and turn.alone:
        messages, asked_at = _queued(connection, [first]), first["received_at"]
        told: tuple[HumanText, ...] = (_human_text(messages[0]),)
    else:
        messages, asked_at = _messages(connection, thread, turn.id), _asked_at(connection, turn.id)
        told = () if turn.resumed else _told(connection, turn.id)
    started = TurnStarted(
        thread=thread,
        turn=turn.id,
        messages=told,
        resumed=turn.resumed,
        asker=turn.author,
        asked_at=asked_at or now,
    )
    if turn.stop:
        connection.execute(
            "UPDATE threads SET epoch = epoch + 1, owner = ?, state = 'working' WHERE id = ?",
            (boot, thread),
        )
        return _work(connection, turn, stands, messages, late)
    events = late + add_events(connection, thread, [started], now, state="working", owner=boot)
    return _work(connection, turn, stands, messages, events)


def _asked_at(connection: sqlite3.Connection, turn: str) -> float | None:
    query = "SELECT MIN(received_at) FROM inbox WHERE turn = ?"
    return connection.execute(query, (turn,)).fetchone()[0]


def _go_on(connection: sqlite3.Connection, stands: sqlite3.Row) -> _Turn:
    turn = stands["turn"]
    connection.execute("UPDATE turns SET status = 'running', ready = 0 WHERE id = ?", (turn,))
    connection.execute("UPDATE requests SET taken = 1 WHERE turn = ? AND state <> 'open'", (turn,))
    return _Turn(
        turn,
        stands["turn_author"],
        delivered=bool(stands["turn_delivered"]),
        stop=bool(stands["turn_stop"]),
        resumed=True,
    )


def _first(connection: sqlite3.Connection, thread: str) -> sqlite3.Row | None:
    return connection.execute(
        f"SELECT * FROM inbox WHERE thread = ? AND outcome = 'queued' {IN_ORDER} LIMIT 1",
        (thread,),
    ).fetchone()


def _open(
    connection: sqlite3.Connection, stands: sqlite3.Row, first: sqlite3.Row, now: float
) -> _Turn:
    turn = new_id()
    connection.execute(
        "INSERT INTO turns (id, thread, n, status, author, destination, started_at)"
        " VALUES (?, ?, ?, 'running', ?, ?, ?)",
        (turn, stands["id"], (stands["turn_n"] or 0) + 1, first["author"], stands["key"], now),
    )
    connection.execute(
        "UPDATE inbox SET outcome = 'turn', turn = ?, taken_at = ? WHERE id = ?",
        (turn, now, first["id"]),
    )
    together = _together(stands)
    if together:
        # Messages are collected, or each takes the place of those before it: all are one turn's.
        connection.execute(
            "UPDATE inbox SET outcome = 'merged', turn = ?, taken_at = ?"
            " WHERE thread = ? AND outcome = 'queued'",
            (turn, now, stands["id"]),
        )
    here = first["awaits"] is None
    alone = here and not together and stands["turn_status"] in (None, "done")
    return _Turn(turn, first["author"], alone=alone)


def _together(stands: sqlite3.Row) -> bool:
    """Whether all that waits is one turn's."""
    return stands["mode"] in ("collect", "interrupt")


def _messages(connection: sqlite3.Connection, thread: str, turn: str) -> tuple[QueuedMessage, ...]:
    """The turn's messages, after those of earlier ones that came to their end before the team got
    them.
    """
    rows = connection.execute(
        "SELECT i.* FROM inbox i JOIN turns t ON t.id = i.turn"
        " WHERE i.outcome IN ('turn', 'merged')"
        " AND (t.id = :turn OR t.thread = :thread AND NOT i.joined"
        " AND (t.status IN ('failed', 'interrupted')"
        " OR t.status = 'stopped' AND (t.reason = :newer OR i.outcome = 'merged'))"
        f" AND {SINCE}) ORDER BY t.n, i.taken_at, i.place, i.order_key, i.id",
        {"thread": thread, "turn": turn, "newer": SUPERSEDED},
    )
    return _queued(connection, rows.fetchall())


def _queued(
    connection: sqlite3.Connection, rows: Iterable[sqlite3.Row]
) -> tuple[QueuedMessage, ...]:
    return tuple(
        QueuedMessage(
            inbox=row["id"],
            author=author_of(row),
            text=row["text"],
            message_id=row["message_id"],
            link=row["link"],
            images=attachments.images(connection, row["id"]) if row["untrusted"] else (),
            quotes=(*quotes_of(row), *attachments.text_files(connection, row["id"]))
            if row["untrusted"]
            else (),
            untrusted=bool(row["untrusted"]),
            joined=bool(row["joined"]),
        )
        for row in rows
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
    connection: sqlite3.Connection, stands: sqlite3.Row, now: float, quiet: float
) -> float:
    """Seconds until nobody has written for long enough; 0 where messages are not collected."""
    if stands["mode"] != "collect":
        return 0.0
    newest = connection.execute(
        "SELECT MAX(received_at) FROM inbox WHERE thread = ? AND outcome = 'queued'",
        (stands["id"],),
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
        f"SELECT * FROM inbox WHERE thread = ? AND outcome = 'queued' AND edits IS NULL {IN_ORDER}",
        (lease.thread,),
    ).fetchall()
    rows = list(takewhile(lambda row: row["awaits"] is None, rows))  # none overtakes another
    connection.executemany(
        "UPDATE inbox SET outcome = 'merged', turn = ?, taken_at = ? WHERE id = ?",
        [(lease.turn, now, row["id"]) for row in rows],
    )
    messages = _queued(connection, rows)
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
    stands: sqlite3.Row,
    messages: tuple[QueuedMessage, ...],
    events: tuple[SessionEvent, ...],
) -> Work:
    thread = replace(
        thread_of(stands),
        epoch=stands["epoch"] + 1,
        state="working",
        last_seq=events[-1].seq if events else stands["last_seq"],
    )
    untrusted = stands["untrusted_at"]
    if not turn.alone or any(message.untrusted for message in messages):
        untrusted = _untrusted(connection, thread.id)
    asker, others = _people(messages, turn.author)
    of_run = {"thread": thread.id}
    return Work(
        lease=Lease(thread=thread.id, turn=turn.id, epoch=thread.epoch),
        thread=thread,
        messages=messages,
        resumed=turn.resumed,
        delivered=turn.delivered,
        saved=bool(stands["saved"]),
        stop=turn.stop,
        shared=stands["first_author"] != stands["last_author"],
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
        if stands["grants"]
        else frozenset(),
        open_messages=open_messages(connection, thread.id) if stands["shown"] else (),
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
