"""Units of work around what waits: lists, taking back, coming first."""

from __future__ import annotations

from gateway.events import MessageWithdrawn, SessionEvent
from gateway.store.connection import Connection
from gateway.store.operations import writes
from gateway.store.records import WaitingMessage
from gateway.store.units.audit import note
from gateway.store.units.events import add_events
from gateway.store.units.holds import hold_over
from gateway.store.units.rows import OPEN_STATUSES, first, scalar
from gateway.store.value_rows import rows_as, update

IN_ORDER = "ORDER BY place, order_key, id"

_WAITS = "FROM inbox WHERE id = :inbox AND thread = :thread AND outcome = 'queued'"


def waiting(connection: Connection, thread: str) -> tuple[WaitingMessage, ...]:
    """The messages that wait in the thread, in their order."""
    rows = connection.fetch(
        "SELECT id, author, author_name, text FROM inbox"
        f" WHERE thread = :thread AND outcome = 'queued' {IN_ORDER}",
        {"thread": thread},
    )
    return tuple(map(rows_as(WaitingMessage, inbox="id", name="author_name"), rows))


def waits(connection: Connection, thread: str) -> bool:
    """True if a message waits in the thread."""
    query = "SELECT EXISTS (SELECT 1 FROM inbox WHERE thread = :thread AND outcome = 'queued')"
    return bool(scalar(connection, query, {"thread": thread}))


def author_of_waiting(connection: Connection, thread: str, inbox: int) -> str | None:
    """Author of the message that waits under this number, or None."""
    return scalar(connection, f"SELECT author {_WAITS}", {"inbox": inbox, "thread": thread})


def withdraw(
    connection: Connection, thread: str, inbox: int
) -> tuple[str, list[SessionEvent]] | None:
    """Withdraw a waiting message: its text and the events it adds."""
    row = first(connection, f"SELECT text {_WAITS}", {"inbox": inbox, "thread": thread})
    if row is None:
        return None
    told = _refuse(connection, thread, inbox, "withdrawn")
    return row["text"], list(add_events(connection, thread, told))


def refuse_first(connection: Connection, thread: str, reason: str) -> list[SessionEvent]:
    """Refuse what waits first, unread; the events to add."""
    inbox = scalar(
        connection,
        f"SELECT id FROM inbox WHERE thread = :thread AND outcome = 'queued' {IN_ORDER} LIMIT 1",
        {"thread": thread},
    )
    return [] if inbox is None else _refuse(connection, thread, inbox, reason)


def _refuse(connection: Connection, thread: str, inbox: int, reason: str) -> list[SessionEvent]:
    gone = {"outcome": "refused", "text": None, "quotes": "[]", "awaits": None}
    update(connection, "inbox", inbox, **gone, reason=reason)
    connection.execute("DELETE FROM attachments WHERE inbox = :inbox", {"inbox": inbox})
    return [MessageWithdrawn(thread=thread, inbox=inbox), *hold_over(connection, thread)]


@writes
def withdraw_here(
    connection: Connection, thread: str, inbox: int
) -> tuple[str, list[SessionEvent]] | None:
    """Withdraw a waiting message for the operator."""
    connection.lock(thread)
    taken = withdraw(connection, thread, inbox)
    if taken is not None:
        note(connection, "message.withdrawn", thread=thread, object=str(inbox))
    return taken


def put_first(connection: Connection, thread: str, inbox: int) -> None:
    """Let a waiting message come before the others."""
    connection.execute(
        "UPDATE inbox SET place = (SELECT MIN(place) - 1 FROM inbox WHERE thread = :thread"
        " AND outcome = 'queued') WHERE id = :inbox",
        {"thread": thread, "inbox": inbox},
    )


def open_turn(connection: Connection, thread: str) -> str:
    """The turn of the thread that is not over; "" without one."""
    turn = scalar(
        connection,
        f"SELECT id FROM turns WHERE thread = :thread AND status IN {OPEN_STATUSES}",
        {"thread": thread},
    )
    return turn or ""
