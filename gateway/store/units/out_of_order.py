"""Units of work for events that come early, or come back.

A platform delivers messages again, late and out of order, and its history shows them for years. An
edit or a deletion may come before its message; what was deleted here must not come from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.conversation import ConversationKey, InboundMessage, Quote
from gateway.store.connection import Connection
from gateway.store.operations import reads
from gateway.store.units.rows import first, quotes_of, scalar
from gateway.store.value_rows import put
from gateway.values import value


@value
class EarlyEdit:
    """An edit that came before its message."""

    order_key: str
    text: str
    quotes: tuple[Quote, ...]


KEPT = 7 * 86_400.0
"""Seconds for which early edits and keys of deleted messages are kept: nothing comes so late."""

IS_DELETED = "EXISTS (SELECT 1 FROM deleted WHERE key = :key0)"
"""Condition that a message with this key of its own was deleted."""

IS_EDITED = "EXISTS (SELECT 1 FROM early_edits WHERE key = :created)"
"""Condition that an edit of the message with this key came before it."""

_REMEMBER = f"""
    INSERT INTO deleted (key, at)
    SELECT d.key, i.received_at FROM inbox i JOIN dedupe d ON d.inbox = i.id
    WHERE i.{{column}} = :value AND i.received_at > {{newest}} - {KEPT}
    ON CONFLICT (key) DO UPDATE SET at = excluded.at
"""
_OF_THREAD = _REMEMBER.format(
    column="thread", newest="(SELECT updated_at FROM threads WHERE id = :value)"
)
_OF_PERSON = _REMEMBER.format(column="author", newest="(SELECT MAX(updated_at) FROM threads)")


def note_deletion(connection: Connection, message: InboundMessage) -> None:
    """Note a deletion that came before its message."""
    drop_old(connection, connection.now - KEPT, ("deleted", "early_edits"))
    key = {"key": created(message)}
    connection.execute("DELETE FROM early_edits WHERE key = :key", key)
    put(connection, "deleted", ("key",), **key, at=connection.now)


def keep_edit(connection: Connection, message: InboundMessage, thread: str, quotes: str) -> None:
    """Keep an early edit, unless a newer one is kept."""
    drop_old(connection, connection.now - KEPT, ("deleted", "early_edits"))
    connection.execute(
        "INSERT INTO early_edits (key, thread, author, order_key, text, quotes, at)"
        " VALUES (:key, :thread, :author, :order_key, :text, :quotes, :now)"
        " ON CONFLICT (key) DO UPDATE SET text = excluded.text, quotes = excluded.quotes,"
        " order_key = excluded.order_key, author = excluded.author"
        " WHERE excluded.order_key >= early_edits.order_key",
        {
            "key": created(message),
            "thread": thread,
            "author": message.author.id,
            "order_key": message.order_key,
            "text": message.text,
            "quotes": quotes,
            "now": connection.now,
        },
    )


def take_edit(connection: Connection, message: InboundMessage) -> EarlyEdit | None:
    """Take the edit by its author that came before the message."""
    key = {"key": created(message)}
    edit = first(connection, "SELECT * FROM early_edits WHERE key = :key", key)
    if edit is None or edit["author"] != message.author.id:
        return None
    connection.execute("DELETE FROM early_edits WHERE key = :key", key)
    return EarlyEdit(
        order_key=edit["order_key"], text=edit["text"], quotes=quotes_of(edit["quotes"])
    )


def note_edit(connection: Connection, inbox: int, edit: EarlyEdit) -> None:
    """Note a message's edit, so that no older one changes it."""
    connection.execute(
        "INSERT INTO inbox (conversation, thread, order_key, kind, outcome, author, author_name,"
        " edits, received_at) SELECT conversation, thread, :order_key, 'edit', 'merged', author,"
        " author_name, id, received_at FROM inbox WHERE id = :inbox",
        {"inbox": inbox, "order_key": edit.order_key},
    )


def is_known(connection: Connection, message: InboundMessage) -> bool:
    """True if the message of an event has come, or never will."""
    query = (
        "SELECT EXISTS (SELECT 1 FROM dedupe WHERE key = :key)"
        " OR EXISTS (SELECT 1 FROM deleted WHERE key = :key)"
    )
    return bool(scalar(connection, query, {"key": created(message)}))


def remember_thread(connection: Connection, thread: str) -> None:
    """Remember a thread that is about to be deleted.

    The platform may bring its messages once more. Of a conversation that names a person there is no
    history to read, and so nothing is remembered.
    """
    connection.execute(_OF_THREAD, {"value": thread})
    connection.execute(
        "INSERT INTO forgotten (conversation, order_key, at)"
        " SELECT t.key, i.order_key, t.updated_at FROM threads t JOIN inbox i ON i.thread = t.id"
        " WHERE t.id = :thread AND t.key LIKE '%/' AND i.order_key > ''"
        " ORDER BY i.order_key DESC LIMIT 1"
        " ON CONFLICT (conversation) DO UPDATE SET at = excluded.at,"
        " order_key = CASE WHEN excluded.order_key > forgotten.order_key THEN excluded.order_key"
        " ELSE forgotten.order_key END",
        {"thread": thread},
    )


def remember_person(connection: Connection, person: str) -> None:
    """Remember the messages of a person, before they are deleted."""
    connection.execute(_OF_PERSON, {"value": person})


def drop_old(
    connection: Connection,
    before: float,
    tables: Sequence[str] = ("deleted", "early_edits", "forgotten"),
) -> None:
    """Drop what is older than anything that is kept."""
    for table in tables:
        connection.execute(f"DELETE FROM {table} WHERE at < :before", {"before": before})


@reads
def forgotten(connection: Connection, key: ConversationKey) -> str:
    """The order key up to which a conversation was deleted, or ""."""
    query = "SELECT order_key FROM forgotten WHERE conversation = :key"
    return scalar(connection, query, {"key": str(key)}) or ""


def created(message: InboundMessage) -> str:
    """The key of the message that this is, changes or deletes."""
    return message.key.dedupe("create", message.message_id)
