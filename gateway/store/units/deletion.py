"""Units of work of whoever runs the gateway: trying a turn again, and removing what is to be
forgotten.
"""

from __future__ import annotations

import sqlite3

from gateway.errors import NotFound
from gateway.store.records import TurnStatus
from gateway.store.units import usage
from gateway.store.units.rows import OPEN_STATUSES

THREADS_OF = """
    SELECT thread FROM inbox WHERE author = :person AND outcome <> 'refused' AND thread IS NOT NULL
    UNION SELECT thread FROM turns WHERE author = :person
    UNION SELECT thread FROM requests WHERE answered_by = :person
    UNION SELECT thread FROM audit WHERE person = :person
"""
"""In which a person has written, asked or answered."""


def delete_thread(connection: sqlite3.Connection, thread: str, *, goes_on: bool = False) -> None:
    """Remove a thread and every row that hangs on it. Raises NotFound.

    `goes_on`: another thread takes its conversation over, with what adapters keep of that.
    """
    key = connection.execute("SELECT key FROM threads WHERE id = ?", (thread,)).fetchone()
    if key is None:
        raise NotFound(f"There is no thread {thread!r}.")
    connection.execute("DELETE FROM threads WHERE id = ?", (thread,))
    usage.forget_thread(connection, thread)
    if not goes_on:
        connection.execute(
            "DELETE FROM marks WHERE conversation = :key"
            " AND NOT EXISTS (SELECT 1 FROM threads WHERE key = :key)",
            {"key": key["key"]},
        )


def last_status(connection: sqlite3.Connection, thread: str) -> TurnStatus | None:
    """How the thread's newest turn stands; None for a thread without one."""
    row = connection.execute(
        "SELECT status FROM turns WHERE thread = ? ORDER BY n DESC LIMIT 1", (thread,)
    ).fetchone()
    return None if row is None else row["status"]


def retry(connection: sqlite3.Connection, thread: str) -> None:
    """Let the thread's newest turn go on where it stood, with all its attempts before it."""
    turn = connection.execute(
        "SELECT id FROM turns WHERE thread = ? ORDER BY n DESC LIMIT 1", (thread,)
    ).fetchone()["id"]
    # What it asked was closed with it: it asks anew, under the same ids of its own.
    connection.execute(
        "UPDATE requests SET engine_id = engine_id || ' ' || id"
        " WHERE turn = ? AND state = 'closed'",
        (turn,),
    )
    connection.execute(
        "UPDATE turns SET status = 'paused', attempts = 0, stop_requested = 0, reason = '',"
        " finished_at = NULL WHERE id = ?",
        (turn,),
    )
    connection.execute("UPDATE threads SET state = 'working' WHERE id = ?", (thread,))


def delete_person(connection: sqlite3.Connection, person: str) -> list[str]:
    """Remove whatever is known of the person, with the threads they had a part in."""
    rows = connection.execute(THREADS_OF, {"person": person})
    threads = [row["thread"] for row in rows.fetchall()]
    for thread in threads:
        delete_thread(connection, thread)
    for statement in (
        "DELETE FROM inbox WHERE author = ?",
        "DELETE FROM grants WHERE person = ?",
        "DELETE FROM people WHERE person = ?",
        "DELETE FROM feedback WHERE person = ?",
        "DELETE FROM pairing_codes WHERE person = ?",
    ):
        connection.execute(statement, (person,))
    usage.forget_person(connection, person)
    return threads


def expire(connection: sqlite3.Connection, before: float) -> list[str]:
    """Remove the threads that nothing has happened in since `before`, and what belongs to none.

    A thread that has something to do is kept.
    """
    rows = connection.execute(
        "SELECT id FROM threads AS t WHERE updated_at < ? AND NOT EXISTS"
        f" (SELECT 1 FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}"
        " AND (status <> 'waiting' OR ready))"
        " AND NOT EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued'"
        " AND received_at >= ?)",
        (before, before),
    )
    threads = [row["id"] for row in rows.fetchall()]
    for thread in threads:
        delete_thread(connection, thread)
    connection.execute("DELETE FROM inbox WHERE thread IS NULL AND received_at < ?", (before,))
    connection.execute("DELETE FROM pairing_codes WHERE expires_at < ?", (before,))
    usage.merge(connection, before)
    return threads
