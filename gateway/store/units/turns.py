"""Units of work around turns: adding to one that was claimed, and judging what a crash left
behind.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from gateway.client import ThreadState
from gateway.conversation import ConversationKey
from gateway.errors import Fenced
from gateway.events import (
    MessageFinished,
    Notice,
    SessionEvent,
    TurnFinished,
)
from gateway.store.records import CallRow, Checkpoint, OpenMessage
from gateway.store.turn_records import MAX_RESUMES, Lease, Record, Recorded, Recovered, TurnEnd
from gateway.store.units import awaited_files as awaited
from gateway.store.units import requests as asked
from gateway.store.units import usage
from gateway.store.units.rows import (
    OPEN_STATUSES,
    add_events,
    crowds_of,
    find_thread,
    open_messages,
)

INTERRUPTED = "The answer was interrupted; it goes on where it stood."
PARKED = (
    f"The answer was interrupted {MAX_RESUMES + 1} times, so it is not tried again. "
    "Your next message goes on from there."
)


def record(connection: sqlite3.Connection, lease: Lease, record: Record, now: float) -> Recorded:
    """Add to a turn that runs, all of it or nothing. Raises Fenced."""
    row = connection.execute(_STANDS, (lease.turn, lease.thread, lease.epoch)).fetchone()
    if row is None:
        raise Fenced(lease.thread)
    stands = _Stands._make(row)
    for checkpoint in record.checkpoints:
        add_checkpoint(connection, lease, checkpoint)
    if record.checkpoints and not stands.delivered and record.end is None:
        connection.execute("UPDATE turns SET delivered = 1 WHERE id = ?", (lease.turn,))
    for message in record.shown:
        _show(connection, lease.thread, message)
    if stands.shown or record.shown:
        connection.executemany(
            "DELETE FROM open_messages WHERE thread = ? AND message = ?",
            [(lease.thread, message) for message in record.sealed],
        )
    for inbox in record.joined:
        connection.execute("UPDATE inbox SET joined = 1 WHERE id = ?", (inbox,))
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
    if record.end is None:
        return Recorded(events=_add(connection, lease, record.events, stands, now))
    return _end(connection, lease, record, record.end, stands, now)


class _Stands(NamedTuple):
    """How a turn stands, and what is in its thread."""

    delivered: int
    stop_requested: int
    reason: str
    last_seq: int
    asks: int
    waits: int
    shown: int


_STANDS = """
    SELECT u.delivered, u.stop_requested, u.reason, t.last_seq,
     EXISTS (SELECT 1 FROM requests WHERE turn = u.id AND state = 'open'),
     EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued'),
     EXISTS (SELECT 1 FROM open_messages WHERE thread = t.id)
    FROM threads t JOIN turns u ON u.id = ? AND u.status = 'running'
    WHERE t.id = ? AND t.epoch = ?
"""
"""A turn that runs, for who holds its lease."""


def _add(
    connection: sqlite3.Connection,
    lease: Lease,
    events: Sequence[SessionEvent],
    stands: _Stands,
    now: float,
    *,
    state: ThreadState | None = None,
) -> tuple[SessionEvent, ...]:
    after = stands.last_seq
    return add_events(connection, lease.thread, events, now, after=after, state=state)


def add_checkpoint(connection: sqlite3.Connection, lease: Lease, checkpoint: Checkpoint) -> None:
    """Add to the chain that the thread's team is loaded from, or begin a new one."""
    if checkpoint.kind == "snapshot":
        connection.execute("DELETE FROM checkpoints WHERE thread = ?", (lease.thread,))
    if checkpoint.data:
        connection.execute(
            "INSERT INTO checkpoints (thread, n, kind, data) VALUES (?1,"
            " COALESCE((SELECT MAX(n) FROM checkpoints WHERE thread = ?1), 0) + 1, ?2, ?3)",
            (lease.thread, checkpoint.kind, checkpoint.data),
        )


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
    connection: sqlite3.Connection,
    lease: Lease,
    record: Record,
    end: TurnEnd,
    stands: _Stands,
    now: float,
) -> Recorded:
    """Take the turn off its lane; says whether the lane has something to do next."""
    over = end.status not in ("paused", "waiting")
    reason = end.reason
    if end.status in ("stopped", "paused", "waiting") and stands.stop_requested:
        reason = stands.reason or reason
    connection.execute(
        "UPDATE turns SET status = ?, reason = ?, finished_at = ?, delivered = ?,"
        " attempts = CASE WHEN ? THEN 0 ELSE attempts END WHERE id = ?",
        (
            end.status,
            reason,
            now if over else None,
            bool(stands.delivered or record.checkpoints),
            end.status == "waiting",
            lease.turn,
        ),
    )
    if end.status == "paused":
        return Recorded(events=_add(connection, lease, record.events, stands, now))
    asks = bool(stands.asks or record.requests)
    closed = _close_requests(connection, lease, reason, now) if over and asks else []
    outcome = "waiting" if end.status == "waiting" else end.status
    finished = TurnFinished(thread=lease.thread, turn=lease.turn, outcome=outcome, reason=reason)
    added = [*record.events, *closed, finished]
    state = "idle" if over else "waiting"
    events = _add(connection, lease, added, stands, now, state=state)
    again = bool(stands.waits) if over else asked.mark_ready(connection, lease.turn)
    return Recorded(events=events, again=again)


def _close_requests(
    connection: sqlite3.Connection, lease: Lease, reason: str, now: float
) -> list[SessionEvent]:
    """Nobody waits for the answers any more."""
    outcome = f"closed: {reason}" if reason else "closed"
    return asked.close(connection, lease.turn, outcome, now)


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
    awaited.expect_anew(connection, now)
    asked.date_anew(connection, now)
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
            open_messages=open_messages(connection, row["thread"]),
        )
        for row in rows.fetchall()
    ]


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
        for shown in open_messages(connection, lease.thread)
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
    closed = _close_requests(connection, lease, "the turn was interrupted too often", now)
    add_events(connection, lease.thread, closed, now)
    finished = TurnFinished(
        thread=lease.thread,
        turn=lease.turn,
        outcome="interrupted",
        reason="interrupted too often",
    )
    add_events(connection, lease.thread, [finished], now)
