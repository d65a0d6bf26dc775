"""Units of work around files that came with messages: each content is stored once, by its hash.

What no message has any more is removed by the database itself (see migration 8).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from gateway.conversation import Attachment, Quote

LONGEST_TEXT_FILE = 100_000
"""Bytes of a text file that the team is shown."""


def attach(connection: sqlite3.Connection, inbox: int, files: Sequence[Attachment]) -> None:
    """Keep the files of a message."""
    for n, file in enumerate(files):
        sha256 = hashlib.sha256(file.data).hexdigest()
        connection.execute(
            "INSERT OR IGNORE INTO blobs (sha256, data) VALUES (?, ?)", (sha256, file.data)
        )
        connection.execute(
            "INSERT INTO attachments (inbox, n, name, media_type, sha256, size, thread)"
            " SELECT id, ?, ?, ?, ?, ?, COALESCE(thread, '') FROM inbox WHERE id = ?",
            (n, file.name, file.media_type, sha256, len(file.data), inbox),
        )


def images(connection: sqlite3.Connection, inbox: int) -> tuple[tuple[str, bytes], ...]:
    """Media type and data of each image that came with a message."""
    rows = connection.execute(
        "SELECT a.media_type, b.data FROM attachments a JOIN blobs b ON b.sha256 = a.sha256"
        " WHERE a.inbox = ? AND a.media_type LIKE 'image/%' ORDER BY a.n",
        (inbox,),
    )
    return tuple((row["media_type"], row["data"]) for row in rows)


def text_files(connection: sqlite3.Connection, inbox: int) -> tuple[Quote, ...]:
    """What the message's files say, as far as they are text: whoever sent one need not have written
    it.
    """
    rows = connection.execute(
        "SELECT a.name, b.data FROM attachments a JOIN blobs b ON b.sha256 = a.sha256"
        " WHERE a.inbox = ? AND (a.media_type LIKE 'text/%' OR a.media_type = 'application/json')"
        " AND a.size <= ? ORDER BY a.n",
        (inbox, LONGEST_TEXT_FILE),
    )
    return tuple(
        Quote(text=row["data"].decode(errors="replace"), author=row["name"], kind="file")
        for row in rows
    )
