"""Units of work that gather a turn's messages, people and earlier results."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.conversation import Author, Quote
from gateway.events import HumanText
from gateway.store.connection import Connection, scalar
from gateway.store.records import CallRow, Request
from gateway.store.turn_records import QueuedMessage
from gateway.store.units.files import images, text_files
from gateway.store.units.queue import IN_ORDER
from gateway.store.units.rows import (
    MESSAGE_COLUMNS,
    REQUEST_COLUMNS,
    SUPERSEDED,
    MessageRow,
    author,
    call_of,
    quotes_of,
    request_of,
)

_SINCE = "t.n > COALESCE((SELECT MAX(n) FROM turns WHERE thread = :thread AND status = 'done'), 0)"
"""The turns whose run the team may still be in: a new message joins a run that failed."""

_MESSAGES = f"""
    SELECT {MESSAGE_COLUMNS} FROM inbox i JOIN turns t ON t.id = i.turn
    WHERE i.outcome IN ('turn', 'merged')
     AND (t.id = :turn OR t.thread = :thread AND NOT i.joined
     AND (t.status IN ('failed', 'interrupted')
     OR t.status = 'stopped' AND (t.reason = :newer OR i.outcome = 'merged'))
     AND {_SINCE}) ORDER BY t.n, i.taken_at, i.place, i.order_key, i.id
"""
_REQUESTS = f"SELECT {REQUEST_COLUMNS} WHERE t.thread = :thread AND {_SINCE} ORDER BY t.n"
_CALLS = f"""
    SELECT c.* FROM tool_calls c JOIN turns t ON t.id = c.turn
    WHERE t.thread = :thread AND {_SINCE}
"""


def messages_of(connection: Connection, thread: str, turn: str) -> tuple[QueuedMessage, ...]:
    """The turn's messages, after undelivered ones of earlier turns.

    These came to their end before the team got them.
    """
    rows = connection.fetch(_MESSAGES, {"thread": thread, "turn": turn, "newer": SUPERSEDED})
    return tuple(queued(connection, MessageRow._make(row)) for row in rows)


def queued(connection: Connection, row: MessageRow) -> QueuedMessage:
    """A message with everything that came with it."""
    found: tuple[tuple[str, bytes], ...] = ()
    quotes: tuple[Quote, ...] = ()
    if row.untrusted:
        found = images(connection, row.id)
        quotes = (*quotes_of(row.quotes), *text_files(connection, row.id))
    return QueuedMessage(
        inbox=row.id,
        author=author(
            row.author, row.author_name, row.timezone, row.author_kind, row.author_groups
        ),
        text=row.text,
        message_id=row.message_id,
        link=row.link,
        images=found,
        quotes=quotes,
        untrusted=bool(row.untrusted),
        joined=bool(row.joined),
    )


def human_text(message: QueuedMessage) -> HumanText:
    """A message as events show it."""
    return HumanText(inbox=message.inbox, author=message.author.name, text=message.text)


def shown_of(connection: Connection, turn: str) -> tuple[HumanText, ...]:
    """The messages that the turn is about, as events show them."""
    rows = connection.fetch(
        "SELECT id, author_name, text FROM inbox"
        f" WHERE turn = :turn AND outcome IN ('turn', 'merged') {IN_ORDER}",
        {"turn": turn},
    )
    return tuple(
        HumanText(inbox=row["id"], author=row["author_name"], text=row["text"]) for row in rows
    )


def asked_at(connection: Connection, turn: str) -> float | None:
    """When the turn's first message was received."""
    return scalar(
        connection, "SELECT MIN(received_at) FROM inbox WHERE turn = :turn", {"turn": turn}
    )


def untrusted_at(connection: Connection, thread: str) -> float | None:
    """When the team was last shown foreign text."""
    return scalar(
        connection,
        "SELECT MAX(taken_at) FROM inbox WHERE thread = :thread AND untrusted",
        {"thread": thread},
    )


def requests_of_run(connection: Connection, thread: str) -> tuple[Request, ...]:
    """The requests of the run that the team may still be in."""
    return tuple(map(request_of, connection.fetch(_REQUESTS, {"thread": thread})))


def calls_of_run(connection: Connection, thread: str) -> tuple[CallRow, ...]:
    """Tool calls of the run that the team may still be in."""
    return tuple(map(call_of, connection.fetch(_CALLS, {"thread": thread})))


def people_of(messages: Sequence[QueuedMessage], author: str) -> tuple[Author, tuple[Author, ...]]:
    """The person for whom the team works, and the other authors."""
    found = {message.author.id: message.author for message in reversed(messages)}
    asker = found.pop(author, Author(id=author))
    return asker, tuple(found.values())
