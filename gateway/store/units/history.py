"""Units of work that read what a thread has been through."""

from __future__ import annotations

from itertools import groupby

from gateway.errors import NotFound
from gateway.events import SessionEvent, load_event
from gateway.store.connection import Connection
from gateway.store.records import AuditRow, Checkpoint, OldState, OpenMessage, Request
from gateway.store.units import rows
from gateway.store.units.rows import find_request


def events(
    connection: Connection, thread: str, *, after: int = 0, limit: int = 500
) -> list[SessionEvent]:
    """The first `limit` events after a seq."""
    rows = connection.fetch(
        "SELECT body FROM events WHERE thread = :thread AND seq > :after ORDER BY seq LIMIT :limit",
        {"thread": thread, "after": after, "limit": limit},
    )
    return [load_event(row["body"]) for row in rows]


def request(connection: Connection, request: str) -> Request:
    """One request. Raises NotFound."""
    found = find_request(connection, request)
    if found is None:
        raise NotFound(f"There is no request {request!r}.")
    return found


def audit(connection: Connection, thread: str) -> list[AuditRow]:
    """Decisions about the thread's requests and grants, with their people, in order."""
    rows = connection.fetch(
        "SELECT * FROM audit WHERE thread = :thread ORDER BY id", {"thread": thread}
    )
    return [
        AuditRow(
            at=row["at"],
            person=row["person"],
            what=row["what"],
            request=row["request"],
            kind=row["kind"],
            tool=row["tool"],
            arguments_hash=row["arguments_hash"],
            outcome=row["outcome"],
            place=row["place"],
        )
        for row in rows
    ]


def checkpoints(connection: Connection, thread: str) -> list[Checkpoint]:
    """The newest snapshot and the deltas after it."""
    rows = connection.fetch(
        "SELECT kind, data FROM checkpoints WHERE thread = :thread ORDER BY n", {"thread": thread}
    )
    return [Checkpoint(kind=row["kind"], data=row["data"]) for row in rows]


def old_states(connection: Connection, thread: str) -> list[OldState]:
    """Memories of teams that were replaced in this thread, oldest first."""
    rows = connection.fetch(
        "SELECT * FROM old_states WHERE thread = :thread ORDER BY replaced_at, n",
        {"thread": thread},
    )
    return [
        OldState(
            definition=definition,
            replaced_at=replaced_at,
            checkpoints=tuple(Checkpoint(kind=r["kind"], data=r["data"]) for r in found),
        )
        for (replaced_at, definition), found in groupby(
            rows, key=lambda row: (row["replaced_at"], row["definition"])
        )
    ]


def open_messages(connection: Connection, thread: str) -> list[OpenMessage]:
    """The text shown so far of messages that are not finished."""
    return list(rows.open_messages(connection, thread))
