"""Units of work around turns: claiming the next one, adding to it, and judging what a crash left
behind.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from gateway.conversation import Author, ConversationKey
from gateway.errors import Fenced
from gateway.events import (
    HumanText,
    MessageFinished,
    MessageJoined,
    Notice,
    SessionEvent,
    TurnFinished,
    TurnStarted,
)
from gateway.store import attachments, usage
from gateway.store import requests as asked
from gateway.store.inbox import SUPERSEDED
from gateway.store.protocols import (
    MAX_RESUMES,
    NOTHING_USED,
    CallRow,
    Checkpoint,
    Joined,
    Later,
    Lease,
    OpenMessage,
    QueuedMessage,
    Record,
    Recorded,
    Recovered,
    TurnEnd,
    Work,
)
from gateway.store.queue import IN_ORDER
from gateway.store.rows import (
    OPEN_STATUSES,
    REQUEST_COLUMNS,
    add_events,
    author_of,
    call_of,
    crowds_of,
    find_thread,
    new_id,
    open_message_of,
    quotes_of,
    request_of,
)

INTERRUPTED = "The answer was interrupted; it goes on where it stood."
PARKED = (
    f"The answer was interrupted {MAX_RESUMES + 1} times, so it is not tried again. "
    "Your next message goes on from there."
)

SINCE = "t.n > COALESCE((SELECT MAX(n) FROM turns WHERE thread = :thread AND status = 'done'), 0)"
"""The turns whose run the team may still be in: a new message joins a run that failed."""


@dataclass(frozen=True, slots=True)
class _Turn:
    id: str
    status: str
    author: str
    delivered: bool
    stop: bool


def begin(
    connection: sqlite3.Connection, thread: str, boot: str, now: float, quiet: float
) -> Work | Later | None:
    """Claim the thread's next turn: the open one if it can go on, else the first message's."""
    row = connection.execute(
        f"SELECT * FROM turns WHERE thread = ? AND status IN {OPEN_STATUSES}", (thread,)
    ).fetchone()
    if row is not None and row["status"] == "waiting" and not row["ready"]:
        return None
    if row is not None:
        turn = _go_on(connection, row)
    elif (wait := _still_collecting(connection, thread, now, quiet)) > 0:
        return Later(seconds=wait)
    elif (opened := _open(connection, thread, now)) is not None:
        turn = opened
    else:
        return None
    connection.execute(
        "UPDATE threads SET epoch = epoch + 1, owner = ?, state = 'working' WHERE id = ?",
        (boot, thread),
    )
    messages = _messages(connection, thread, turn.id)
    resumed = row is not None
    told = () if resumed else _told(connection, turn.id)
    started = TurnStarted(
        thread=thread,
        turn=turn.id,
        messages=told,
        resumed=resumed,
        asker=turn.author,
        asked_at=_asked_at(connection, turn.id, now),
    )
    events = () if turn.stop else add_events(connection, thread, [started], now)
    return _work(connection, turn, find_thread(connection, thread).id, messages, resumed, events)


def _asked_at(connection: sqlite3.Connection, turn: str, now: float) -> float:
    query = "SELECT MIN(received_at) FROM inbox WHERE turn = ?"
    return connection.execute(query, (turn,)).fetchone()[0] or now


def _go_on(connection: sqlite3.Connection, row: sqlite3.Row) -> _Turn:
    connection.execute("UPDATE turns SET status = 'running', ready = 0 WHERE id = ?", (row["id"],))
    connection.execute(
        "UPDATE requests SET taken = 1 WHERE turn = ? AND state <> 'open'", (row["id"],)
    )
    return _Turn(
        row["id"], row["status"], row["author"], bool(row["delivered"]), bool(row["stop_requested"])
    )


def _open(connection: sqlite3.Connection, thread: str, now: float) -> _Turn | None:
    first = connection.execute(
        f"SELECT id, author FROM inbox WHERE thread = ? AND outcome = 'queued' {IN_ORDER} LIMIT 1",
        (thread,),
    ).fetchone()
    if first is None:
        return None
    turn = new_id()
    connection.execute(
        "INSERT INTO turns (id, thread, n, status, author, destination, started_at) VALUES (?, ?,"
        " (SELECT COALESCE(MAX(n), 0) + 1 FROM turns WHERE thread = ?), 'running', ?,"
        " (SELECT key FROM threads WHERE id = ?), ?)",
        (turn, thread, thread, first["author"], thread, now),
    )
    connection.execute(
        "UPDATE inbox SET outcome = 'turn', turn = ?, taken_at = ? WHERE id = ?",
        (turn, now, first["id"]),
    )
    # Where messages are collected, or each takes the place of those before it, all are one turn's.
    connection.execute(
        "UPDATE inbox SET outcome = 'merged', turn = ?, taken_at = ? WHERE thread = ?"
        " AND outcome = 'queued' AND (SELECT mode FROM threads WHERE id = ?)"
        " IN ('collect', 'interrupt')",
        (turn, now, thread, thread),
    )
    return _Turn(turn, "running", first["author"], delivered=False, stop=False)


def _messages(connection: sqlite3.Connection, thread: str, turn: str) -> tuple[QueuedMessage, ...]:
    """The turn's messages, after those of earlier ones that came to their end before the team got
    them.
    """
    rows = connection.execute(
        "SELECT i.* FROM inbox i JOIN turns t ON t.id = i.turn"
        " WHERE i.outcome IN ('turn', 'merged')"
        " AND (t.id = :turn OR t.thread = :thread AND NOT i.joined"
        " AND (t.status IN ('failed', 'interrupted') OR t.status = 'stopped' AND t.reason = :newer)"
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
            images=attachments.images(connection, row["id"]),
            quotes=(*quotes_of(row), *attachments.text_files(connection, row["id"])),
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
    connection: sqlite3.Connection, thread: str, now: float, quiet: float
) -> float:
    """Seconds until nobody has written for long enough; 0 where messages are not collected."""
    newest = connection.execute(
        "SELECT MAX(i.received_at) FROM inbox i JOIN threads t ON t.id = i.thread"
        " WHERE i.thread = ? AND i.outcome = 'queued' AND t.mode = 'collect'",
        (thread,),
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
    thread: str,
    messages: tuple[QueuedMessage, ...],
    resumed: bool,
    events: tuple[SessionEvent, ...],
) -> Work:
    found = find_thread(connection, thread)
    first, last = (
        connection.execute(
            f"SELECT {which}(author) FROM inbox WHERE thread = ? AND outcome <> 'refused'",
            (thread,),
        ).fetchone()[0]
        for which in ("MIN", "MAX")
    )
    untrusted = _untrusted(connection, thread)
    asker, others = _people(messages, turn.author)
    return Work(
        lease=Lease(thread=thread, turn=turn.id, epoch=found.epoch),
        thread=found,
        messages=messages,
        resumed=resumed,
        delivered=turn.delivered,
        stop=turn.stop,
        shared=first != last,
        asker=asker,
        others=others,
        untrusted=untrusted is not None,
        requests=tuple(
            request_of(row)
            for row in connection.execute(
                f"SELECT {REQUEST_COLUMNS} WHERE t.thread = :thread AND {SINCE} ORDER BY t.n",
                {"thread": thread},
            )
        ),
        calls=tuple(
            call_of(row)
            for row in connection.execute(
                "SELECT c.* FROM tool_calls c JOIN turns t ON t.id = c.turn"
                f" WHERE t.thread = :thread AND {SINCE}",
                {"thread": thread},
            )
        ),
        grants=_grants(connection, thread, [asker, *others], untrusted or 0.0),
        open_messages=_open_messages(connection, thread),
        events=events,
        used=usage.of_turn(connection, thread, turn.id) if resumed else NOTHING_USED,
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


def record(connection: sqlite3.Connection, lease: Lease, record: Record, now: float) -> Recorded:
    """Add to a turn that runs, all of it or nothing. Raises Fenced."""
    current = connection.execute(
        "SELECT 1 FROM threads t JOIN turns u ON u.id = ? AND u.status = 'running'"
        " WHERE t.id = ? AND t.epoch = ?",
        (lease.turn, lease.thread, lease.epoch),
    ).fetchone()
    if current is None:
        raise Fenced(lease.thread)
    if record.checkpoint is not None:
        _add_checkpoint(connection, lease, record.checkpoint)
    for message in record.shown:
        _show(connection, lease.thread, message)
    connection.executemany(
        "DELETE FROM open_messages WHERE thread = ? AND message = ?",
        [(lease.thread, message) for message in record.sealed],
    )
    connection.executemany(
        "UPDATE inbox SET joined = 1 WHERE id = ?", [(inbox,) for inbox in record.joined]
    )
    for call in record.calls:
        _write_call(connection, lease, call, now)
    for request in record.requests:
        asked.ask(connection, request, now)
    if record.files_at is not None:
        connection.execute(
            "UPDATE threads SET files_at = ? WHERE id = ?", (record.files_at, lease.thread)
        )
    if record.uses:
        usage.add(connection, lease, record.uses, now)
    if record.handoff_from is not None:
        connection.execute(
            "UPDATE threads SET handoff_from = ? WHERE id = ?", (record.handoff_from, lease.thread)
        )
    events = add_events(connection, lease.thread, record.events, now, epoch=lease.epoch)
    if record.end is None:
        return Recorded(events=events)
    ended, again = _end(connection, lease, record.end, now)
    return Recorded(events=events + ended, again=again)


def _add_checkpoint(connection: sqlite3.Connection, lease: Lease, checkpoint: Checkpoint) -> None:
    n = connection.execute(
        "SELECT COALESCE(MAX(n), 0) + 1 FROM checkpoints WHERE thread = ?", (lease.thread,)
    ).fetchone()[0]
    if checkpoint.kind == "snapshot":
        connection.execute("DELETE FROM checkpoints WHERE thread = ?", (lease.thread,))
    if checkpoint.data:
        connection.execute(
            "INSERT INTO checkpoints (thread, n, kind, data) VALUES (?, ?, ?, ?)",
            (lease.thread, n, checkpoint.kind, checkpoint.data),
        )
    connection.execute("UPDATE turns SET delivered = 1 WHERE id = ?", (lease.turn,))


def _show(connection: sqlite3.Connection, thread: str, message: OpenMessage) -> None:
    connection.execute(
        "INSERT INTO open_messages (thread, message, turn, agent, text) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (thread, message) DO UPDATE SET text = excluded.text, turn = excluded.turn",
        (thread, message.message, message.turn, message.agent, message.text),
    )


def _write_call(connection: sqlite3.Connection, lease: Lease, call: CallRow, now: float) -> None:
    ended = now if call.status in ("finished", "unknown") else None
    connection.execute(
        "INSERT INTO tool_calls (key, thread, turn, agent, tool, arguments_hash, status, result,"
        " started_at, finished_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET status = excluded.status, result = excluded.result,"
        " tool = excluded.tool, arguments_hash = excluded.arguments_hash, agent = excluded.agent,"
        " finished_at = excluded.finished_at",
        (
            call.key,
            lease.thread,
            lease.turn,
            json.dumps(call.agent),
            call.tool,
            call.arguments_hash,
            call.status,
            call.result,
            now,
            ended,
        ),
    )


def _end(
    connection: sqlite3.Connection, lease: Lease, end: TurnEnd, now: float
) -> tuple[tuple[SessionEvent, ...], bool]:
    """Take the turn off its lane; says whether the lane has something to do next."""
    over = end.status not in ("paused", "waiting")
    reason = end.reason
    if end.status in ("stopped", "paused", "waiting"):
        asked_to_stop = connection.execute(
            "SELECT reason FROM turns WHERE id = ? AND stop_requested", (lease.turn,)
        ).fetchone()
        reason = (asked_to_stop and asked_to_stop["reason"]) or reason
    connection.execute(
        "UPDATE turns SET status = ?, reason = ?, finished_at = ?,"
        " attempts = CASE WHEN ? THEN 0 ELSE attempts END WHERE id = ?",
        (end.status, reason, now if over else None, end.status == "waiting", lease.turn),
    )
    state = "working" if end.status == "paused" else "idle" if over else "waiting"
    connection.execute("UPDATE threads SET state = ? WHERE id = ?", (state, lease.thread))
    if end.status == "paused":
        return (), False
    events = _close_requests(connection, lease, reason, now) if over else ()
    outcome = "waiting" if end.status == "waiting" else end.status
    finished = TurnFinished(thread=lease.thread, turn=lease.turn, outcome=outcome, reason=reason)
    events += add_events(connection, lease.thread, [finished], now)
    if not over:
        return events, asked.mark_ready(connection, lease.turn)
    return events, _has_queued(connection, lease.thread)


def _has_queued(connection: sqlite3.Connection, thread: str) -> bool:
    query = "SELECT 1 FROM inbox WHERE thread = ? AND outcome = 'queued' LIMIT 1"
    return connection.execute(query, (thread,)).fetchone() is not None


def _close_requests(
    connection: sqlite3.Connection, lease: Lease, reason: str, now: float
) -> tuple[SessionEvent, ...]:
    """Nobody waits for the answers any more."""
    outcome = f"closed: {reason}" if reason else "closed"
    closed = asked.close(connection, lease.turn, outcome, now)
    return add_events(connection, lease.thread, closed, now)


def recover(connection: sqlite3.Connection, boot: str, now: float) -> list[Recovered]:
    """Count the attempt of each turn that an earlier boot left running, and park what failed too
    often.
    """
    left = connection.execute(
        "SELECT id, thread, attempts FROM turns WHERE status = 'running'"
    ).fetchall()
    for row in left:
        lease = Lease(thread=row["thread"], turn=row["id"], epoch=_fence(connection, row, boot))
        if row["attempts"] < MAX_RESUMES:
            connection.execute(
                "UPDATE turns SET attempts = attempts + 1 WHERE id = ?", (row["id"],)
            )
            notice = Notice(thread=lease.thread, turn=lease.turn, text=INTERRUPTED, level="warning")
            add_events(connection, lease.thread, [notice], now)
        else:
            _park(connection, lease, now)
    rows = connection.execute(
        "SELECT w.thread, w.author, t.team, t.key FROM ("
        "SELECT thread, author FROM turns WHERE status IN ('running', 'paused')"
        " OR status = 'waiting' AND ready"
        " UNION SELECT thread, author FROM inbox AS i WHERE outcome = 'queued' AND NOT EXISTS"
        f" (SELECT 1 FROM turns WHERE thread = i.thread AND status IN {OPEN_STATUSES})"
        ") AS w JOIN threads t ON t.id = w.thread"
    )
    return [
        Recovered(
            thread=row["thread"],
            person=row["author"],
            crowds=crowds_of(row["team"], ConversationKey.parse(row["key"])),
            open_messages=_open_messages(connection, row["thread"]),
        )
        for row in rows.fetchall()
    ]


def _open_messages(connection: sqlite3.Connection, thread: str) -> tuple[OpenMessage, ...]:
    rows = connection.execute(
        "SELECT * FROM open_messages WHERE thread = ? ORDER BY rowid", (thread,)
    )
    return tuple(map(open_message_of, rows))


def _fence(connection: sqlite3.Connection, turn: sqlite3.Row, boot: str) -> int:
    connection.execute(
        "UPDATE threads SET epoch = epoch + 1, owner = ? WHERE id = ?", (boot, turn["thread"])
    )
    return find_thread(connection, turn["thread"]).epoch


def _park(connection: sqlite3.Connection, lease: Lease, now: float) -> None:
    """End the turn as it stands: what was shown of its open messages is all there will be."""
    events: list[SessionEvent] = [
        MessageFinished(
            thread=lease.thread,
            turn=lease.turn,
            agent=shown.agent,
            message=shown.message,
            text=shown.text,
        )
        for shown in _open_messages(connection, lease.thread)
    ]
    events.append(Notice(thread=lease.thread, turn=lease.turn, text=PARKED, level="error"))
    connection.execute("DELETE FROM open_messages WHERE thread = ?", (lease.thread,))
    connection.execute(
        "UPDATE turns SET status = 'interrupted', reason = 'interrupted too often',"
        " finished_at = ? WHERE id = ?",
        (now, lease.turn),
    )
    connection.execute("UPDATE threads SET state = 'parked' WHERE id = ?", (lease.thread,))
    add_events(connection, lease.thread, events, now)
    _close_requests(connection, lease, "the turn was interrupted too often", now)
    finished = TurnFinished(
        thread=lease.thread,
        turn=lease.turn,
        outcome="interrupted",
        reason="interrupted too often",
    )
    add_events(connection, lease.thread, [finished], now)
