"""Units of work for files of messages: each content is stored once.

What no message has any more is removed by the database itself (see schema.sql).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from gateway.conversation import Attachment, Quote
from gateway.store.connection import Connection

LONGEST_TEXT_FILE = 100_000
"""Bytes of a text file that the team is shown."""


def attach(connection: Connection, inbox: int, files: Sequence[Attachment]) -> None:
    """Keep the files of a message."""
    for n, file in enumerate(files):
        sha256 = hashlib.sha256(file.data).hexdigest()
        connection.execute(
            "INSERT INTO blobs (sha256, data) VALUES (:sha256, :data) ON CONFLICT DO NOTHING",
            {"sha256": sha256, "data": file.data},
        )
        connection.execute(
            "INSERT INTO attachments (inbox, n, name, media_type, sha256, size, thread)"
            " SELECT id, :n, :name, :media_type, :sha256, :size, COALESCE(thread, '')"
            " FROM inbox WHERE id = :inbox",
            {
                "inbox": inbox,
                "n": n,
                "name": file.name,
                "media_type": file.media_type,
                "sha256": sha256,
                "size": len(file.data),
            },
        )


def images(connection: Connection, inbox: int) -> tuple[tuple[str, bytes], ...]:
    """Media type and data of each image that came with a message."""
    rows = connection.fetch(
        "SELECT a.media_type, b.data FROM attachments a JOIN blobs b ON b.sha256 = a.sha256"
        " WHERE a.inbox = :inbox AND a.media_type LIKE 'image/%' ORDER BY a.n",
        {"inbox": inbox},
    )
    return tuple((row["media_type"], row["data"]) for row in rows)


def text_files(connection: Connection, inbox: int) -> tuple[Quote, ...]:
    """Text of the message's files, which its sender need not have written."""
    rows = connection.fetch(
        "SELECT a.name, b.data FROM attachments a JOIN blobs b ON b.sha256 = a.sha256"
        " WHERE a.inbox = :inbox AND a.size <= :longest"
        " AND (a.media_type LIKE 'text/%' OR a.media_type = 'application/json') ORDER BY a.n",
        {"inbox": inbox, "longest": LONGEST_TEXT_FILE},
    )
    return tuple(
        Quote(text=row["data"].decode(errors="replace"), author=row["name"], kind="file")
        for row in rows
    )
