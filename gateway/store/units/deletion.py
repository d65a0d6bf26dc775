"""Units of work for operators: retrying a turn, and deleting."""

from __future__ import annotations

from gateway.errors import NotFound
from gateway.store.connection import Connection
from gateway.store.units import usage
from gateway.store.units.rows import OPEN_STATUSES, first
from gateway.store.units.threads import THREADS_OF


def delete_thread(connection: Connection, thread: str, *, goes_on: bool = False) -> None:
    """Remove a thread and every row that hangs on it. Raises NotFound.

    `goes_on`: another thread takes its conversation over, with what adapters keep of that.
    """
    row = first(connection, "SELECT key FROM threads WHERE id = :thread", {"thread": thread})
    if row is None:
        raise NotFound(f"There is no thread {thread!r}.")
    connection.execute("DELETE FROM threads WHERE id = :thread", {"thread": thread})
    usage.forget_thread(connection, thread)
    if not goes_on:
        connection.execute(
            "DELETE FROM marks WHERE conversation = :key"
            " AND NOT EXISTS (SELECT 1 FROM threads WHERE key = :key)",
            {"key": row["key"]},
        )


def retry(connection: Connection, thread: str) -> None:
    """Let the thread's newest turn go on, with all its attempts again."""
    (row,) = connection.fetch(
        "SELECT id FROM turns WHERE thread = :thread ORDER BY n DESC LIMIT 1", {"thread": thread}
    )
    of_turn = {"turn": row["id"]}
    # What it asked was closed with it: it asks anew, under the same ids of its own.
    connection.execute(
        "UPDATE requests SET engine_id = engine_id || ' ' || id"
        " WHERE turn = :turn AND state = 'closed'",
        of_turn,
    )
    connection.execute(
        "UPDATE turns SET status = 'paused', attempts = 0, stop_requested = FALSE, reason = '',"
        " finished_at = NULL WHERE id = :turn",
        of_turn,
    )
    connection.execute(
        "UPDATE threads SET state = 'working' WHERE id = :thread", {"thread": thread}
    )


def delete_person(connection: Connection, person: str) -> list[str]:
    """Remove everything about the person, their threads included.

    The ids of these threads.
    """
    of_person = {"person": person}
    threads = [row["thread"] for row in connection.fetch(THREADS_OF, of_person)]
    for thread in threads:
        delete_thread(connection, thread)
    for statement in (
        "DELETE FROM inbox WHERE author = :person",
        "DELETE FROM grants WHERE person = :person",
        "DELETE FROM people WHERE person = :person",
        "DELETE FROM feedback WHERE person = :person",
        "DELETE FROM pairing_codes WHERE person = :person",
    ):
        connection.execute(statement, of_person)
    usage.forget_person(connection, person)
    return threads


def expire(connection: Connection, before: float) -> list[str]:
    """Remove threads without events since `before`, and orphaned rows.

    A thread that has something to do is kept.
    """
    until = {"before": before}
    rows = connection.fetch(
        "SELECT id FROM threads AS t WHERE updated_at < :before AND NOT EXISTS"
        f" (SELECT 1 FROM turns WHERE thread = t.id AND status IN {OPEN_STATUSES}"
        " AND (status <> 'waiting' OR ready))"
        " AND NOT EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued'"
        " AND received_at >= :before)",
        until,
    )
    threads = [row["id"] for row in rows]
    for thread in threads:
        delete_thread(connection, thread)
    connection.execute("DELETE FROM inbox WHERE thread IS NULL AND received_at < :before", until)
    connection.execute("DELETE FROM pairing_codes WHERE expires_at < :before", until)
    usage.merge(connection, before)
    return threads
