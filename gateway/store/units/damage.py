"""Rows of threads that can't be read, made readable again."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from gateway.conversation import ConversationKey
from gateway.store.connection import Connection
from gateway.store.units.audit import note
from gateway.store.units.rows import first, scalar
from gateway.store.value_rows import update

_ODD = "SELECT id FROM threads WHERE key NOT LIKE '%/%/%/%/%' OR participants NOT LIKE '[%]'"
_ROW = "SELECT key, participants, last_seq, epoch, current FROM threads WHERE id = :thread"
_PLACE = (
    "SELECT conversation FROM inbox WHERE thread = :thread AND copy_of IS NULL"
    " ORDER BY id DESC LIMIT 1"
)
_LAST = "SELECT COALESCE(MAX(seq), 0) FROM events WHERE thread = :thread"


def mend_threads(connection: Connection) -> None:
    """Mend all threads that look damaged: one would hold up every start."""
    for row in connection.fetch(_ODD):
        mend_thread(connection, row["id"])


def mend_thread(connection: Connection, thread: str) -> None:
    """Mend the thread's row, and mark that in the audit.

    Without its place, its conversation goes on in another thread.
    """
    if (row := first(connection, _ROW, {"thread": thread})) is None:
        return
    mended: dict[str, Any] = {name: row[name] for name in ("key", "current", "participants")}
    if not _is_key(row["key"]):
        place = scalar(connection, _PLACE, {"thread": thread})
        mended["key"] = place if _is_key(place) else str(ConversationKey.local(thread))
        mended["current"] = False
    if not _is_list(row["participants"]):
        mended["participants"] = "[]"
    is_counted = isinstance(row["last_seq"], int) and isinstance(row["epoch"], int)
    mended["last_seq"] = (
        row["last_seq"] if is_counted else scalar(connection, _LAST, {"thread": thread})
    )
    mended["epoch"] = row["epoch"] if is_counted else int(connection.now)  # above any that it had
    if any(mended[name] != row[name] for name in mended):
        update(connection, "threads", thread, **mended)
        note(connection, "thread.mended", person="", thread=thread)


def _is_key(text: object) -> bool:
    with suppress(ValueError):
        return isinstance(text, str) and bool(ConversationKey.parse(text))
    return False


def _is_list(text: object) -> bool:
    with suppress(ValueError, RecursionError):
        return isinstance(text, str | bytes) and isinstance(json.loads(text), list)
    return False
