"""Units of work around a changed config: a thread's team under a new definition, or in the place of
another.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from gateway.errors import Fenced
from gateway.events import Notice, SessionEvent, TurnFinished
from gateway.store.turn_records import Lease, Succession
from gateway.store.units.requests import close
from gateway.store.units.rows import add_events
from gateway.store.units.turns import add_checkpoint

WITHDRAWN = (
    "The team was changed, and its question is withdrawn. Your next message goes to the new team, "
    "which knows what was said here."
)
REASON = "the team was changed"


def succeed(
    connection: sqlite3.Connection, lease: Lease, succession: Succession, now: float
) -> tuple[SessionEvent, ...]:
    """Note under which definition the thread's team goes on, or that a new one begins.

    Raises Fenced.
    """
    changed = connection.execute(
        "UPDATE threads SET definition = ?, participants = ? WHERE id = ? AND epoch = ?",
        (
            succession.definition,
            json.dumps(succession.participants),
            lease.thread,
            lease.epoch,
        ),
    )
    if changed.rowcount == 0:
        raise Fenced(lease.thread)
    events: list[SessionEvent] = []
    if succession.replaces:
        _put_away(connection, lease.thread, succession.replaces, now)
        if succession.stands is not None:
            add_checkpoint(connection, lease, succession.stands)
        connection.execute("UPDATE turns SET delivered = 0 WHERE id = ?", (lease.turn,))
        # The new team knows nothing of what this turn is about.
        connection.execute("UPDATE inbox SET joined = 0 WHERE turn = ?", (lease.turn,))
        events += close(connection, lease.turn, f"closed: {REASON}", now)
    if succession.notice:
        events.append(Notice(thread=lease.thread, turn=lease.turn, text=succession.notice))
    return add_events(connection, lease.thread, events, now)


def withdraw_questions(
    connection: sqlite3.Connection, threads: Collection[str], now: float
) -> dict[str, tuple[SessionEvent, ...]]:
    """End the turns of these threads that wait for answers, whose team is no more.

    Returns what this adds to each.
    """
    added: dict[str, tuple[SessionEvent, ...]] = {}
    for thread in threads:
        turn = connection.execute(
            "SELECT id FROM turns WHERE thread = ? AND status = 'waiting'", (thread,)
        ).fetchone()
        if turn is None:
            continue
        connection.execute(
            "UPDATE turns SET status = 'stopped', reason = ?, finished_at = ? WHERE id = ?",
            (REASON, now, turn["id"]),
        )
        connection.execute(
            "UPDATE threads SET state = 'idle', epoch = epoch + 1 WHERE id = ?", (thread,)
        )
        events = [
            *close(connection, turn["id"], f"closed: {REASON}", now),
            Notice(thread=thread, turn=turn["id"], text=WITHDRAWN, level="warning"),
            TurnFinished(thread=thread, turn=turn["id"], outcome="stopped", reason=REASON),
        ]
        added[thread] = add_events(connection, thread, events, now)
    return added


def _put_away(connection: sqlite3.Connection, thread: str, definition: str, now: float) -> None:
    connection.execute(
        "INSERT INTO old_states (thread, definition, n, kind, data, replaced_at)"
        " SELECT thread, ?, n, kind, data, ? FROM checkpoints WHERE thread = ? ORDER BY n",
        (definition, now, thread),
    )
    connection.execute("DELETE FROM checkpoints WHERE thread = ?", (thread,))
    connection.execute("UPDATE threads SET handoff_from = '' WHERE id = ?", (thread,))
