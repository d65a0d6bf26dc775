"""Units of work around threads as such: making one, and giving it another title."""

from __future__ import annotations

import json
import sqlite3

from gateway.conversation import ConversationKey
from gateway.events import SessionEvent, ThreadRenamed
from gateway.store.decisions import NewThread
from gateway.store.records import Thread
from gateway.store.units.rows import add_events, find_thread


def create_thread(
    connection: sqlite3.Connection, new: NewThread, key: ConversationKey, title: str, now: float
) -> Thread:
    """Make a thread."""
    connection.execute(
        "INSERT INTO threads (id, key, title, team, definition, participants, mode, created_at,"
        " updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
        (
            new.id,
            str(key),
            title,
            new.team,
            new.definition,
            json.dumps(new.participants),
            new.mode,
            now,
        ),
    )
    return Thread(
        id=new.id,
        key=key,
        title=title,
        team=new.team,
        definition=new.definition,
        participants=new.participants,
        mode=new.mode,
        state="idle",
        updated_at=now,
    )


def rename_thread(
    connection: sqlite3.Connection, thread: str, title: str, now: float
) -> list[SessionEvent]:
    """Give a thread another title. Raises NotFound."""
    find_thread(connection, thread)
    connection.execute("UPDATE threads SET title = ? WHERE id = ?", (title, thread))
    return list(add_events(connection, thread, [ThreadRenamed(thread=thread, title=title)], now))
