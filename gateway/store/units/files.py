"""Units of work for files of messages, the awaited ones included.

Each content is stored once; what no message has any more is removed by the database itself (see
triggers.sql). A message's turn waits for the files that are fetched after it, and begins without
those that can't be had.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gateway.conversation import (
    AWAITED_SECONDS,
    Attachment,
    AwaitedFile,
    ConversationKey,
    MessageAwaitingFiles,
    MissingFile,
    Quote,
)
from gateway.events import HumanText, Notice, SessionEvent
from gateway.store.connection import Connection, Row
from gateway.store.decisions import FileArrival
from gateway.store.operations import reads, writes
from gateway.store.records import Thread
from gateway.store.rulebook import FileRules, MissingFileWords
from gateway.store.units.events import add_events
from gateway.store.units.queue import open_turn
from gateway.store.units.rows import find_thread, first, scalar
from gateway.store.value_rows import rows_as, update

LONGEST_TEXT_FILE = 400_000
"""Bytes that are read of a text file: more than the team is shown."""

LEFT_OUT = "application/vnd.parley.left-out"
"""Media type in the row of a file that is missing: its contents are the reason."""
UNREAD_PART = "application/vnd.parley.unread-part"
"""Media type in the row of a part that can't be read, and is no file: it has a name alone."""
NOT_THERE = f"media_type IN ('{LEFT_OUT}', '{UNREAD_PART}')"
"""Condition that a row names what the team does not get."""

IS_FOREIGN = f"EXISTS (SELECT 1 FROM attachments WHERE inbox = inbox.id AND NOT {NOT_THERE})"
"""Condition that a message came with a file that the team gets."""

_IS_TEXT = "(media_type LIKE 'text/%' OR media_type = 'application/json')"


def attach(
    connection: Connection,
    inbox: int,
    files: Sequence[Attachment],
    missing: Sequence[MissingFile] = (),
) -> None:
    """Keep the files of a message, and the names of missing ones."""
    query = "SELECT COALESCE(MAX(n) + 1, 0) FROM attachments WHERE inbox = :inbox"
    begin: int = scalar(connection, query, {"inbox": inbox})
    for n, file in enumerate([*files, *map(_left_out, missing)], begin):
        sha256 = hashlib.sha256(file.data).hexdigest()
        connection.put_contents(sha256, file.data)
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
                "size": 0 if file.media_type in (LEFT_OUT, UNREAD_PART) else file.size,
            },
        )


def images(connection: Connection, inbox: int) -> tuple[tuple[str, bytes], ...]:
    """Media type and data of each image that came with a message."""
    rows = connection.fetch(
        "SELECT media_type, sha256 FROM attachments"
        " WHERE inbox = :inbox AND media_type LIKE 'image/%' ORDER BY n",
        {"inbox": inbox},
    )
    return tuple((row["media_type"], connection.contents(row["sha256"])) for row in rows)


def text_files(connection: Connection, inbox: int) -> tuple[Quote, ...]:
    """Text of the message's files, which its sender need not have written."""
    rows = connection.fetch(
        f"SELECT name, sha256 FROM attachments WHERE inbox = :inbox AND {_IS_TEXT} ORDER BY n",
        {"inbox": inbox},
    )
    return tuple(
        Quote(
            text=connection.contents(row["sha256"], LONGEST_TEXT_FILE).decode(errors="replace"),
            author=row["name"],
            kind="file",
        )
        for row in rows
    )


def missing(connection: Connection, inbox: int) -> tuple[MissingFile, ...]:
    """The message's files of which the team gets nothing."""
    rows = connection.fetch(
        "SELECT name, media_type, sha256 FROM attachments WHERE inbox = :inbox"
        f" AND media_type NOT LIKE 'image/%' AND NOT {_IS_TEXT} ORDER BY n",
        {"inbox": inbox},
    )
    return tuple(
        MissingFile(
            name=row["name"], why=_why(connection, row), part=row["media_type"] == UNREAD_PART
        )
        for row in rows
    )


def names(connection: Connection, inbox: int) -> tuple[str, ...]:
    """The names of the message's files."""
    rows = connection.fetch(
        f"SELECT name FROM attachments WHERE inbox = :inbox AND media_type <> '{UNREAD_PART}'"
        " ORDER BY n",
        {"inbox": inbox},
    )
    return tuple(row["name"] for row in rows)


def shown(connection: Connection, which: str, values: Mapping[str, Any]) -> tuple[HumanText, ...]:
    """Messages as events show them, with the names of their files."""
    rows = connection.fetch(
        "SELECT id, author, author_name, text, COALESCE(edits, 0) AS again FROM inbox"
        f" WHERE {which}",
        values,
    )
    fields = {"inbox": "id", "author": "author_name", "author_id": "author"}
    read = rows_as(HumanText, without=("files",), **fields)
    return tuple(replace(text, files=names(connection, text.inbox)) for text in map(read, rows))


def _why(connection: Connection, row: Row) -> str:
    """The reason why a file is missing, "" if unknown."""
    is_reason = row["media_type"] == LEFT_OUT
    return connection.contents(row["sha256"]).decode() if is_reason else ""


def _left_out(file: MissingFile) -> Attachment:
    kind = UNREAD_PART if file.part else LEFT_OUT
    return Attachment(name=file.name, media_type=kind, data=file.why.encode())


def expect(connection: Connection, inbox: int, files: Sequence[AwaitedFile]) -> None:
    """Note the files that a message's turn waits for."""
    awaits, until = json.dumps([*map(asdict, files)]), connection.now + AWAITED_SECONDS
    update(connection, "inbox", inbox, awaits=awaits, awaits_until=until)


def expect_anew(connection: Connection) -> None:
    """Give the files time that nobody has fetched while no process ran."""
    connection.execute(
        "UPDATE inbox SET awaits_until = :until WHERE awaits IS NOT NULL",
        {"until": connection.now + AWAITED_SECONDS},
    )


@reads
def awaiting(connection: Connection, platform: str) -> list[MessageAwaitingFiles]:
    """The messages from a platform that wait for their files."""
    rows = connection.fetch(
        "SELECT id, conversation, awaits FROM inbox"
        " WHERE awaits IS NOT NULL AND outcome = 'queued' ORDER BY id"
    )
    found = [
        MessageAwaitingFiles(
            inbox=row["id"], key=ConversationKey.parse(row["conversation"]), files=_files(row)
        )
        for row in rows
    ]
    return [each for each in found if each.key.platform == platform]


def wait(connection: Connection, thread: Thread, due: Collection[float]) -> float:
    """Seconds that a turn waits for files due at these times."""
    until = max(due, default=None)
    if thread.takes_all:
        until = scalar(
            connection,
            "SELECT MAX(awaits_until) FROM inbox"
            " WHERE thread = :thread AND outcome = 'queued' AND awaits IS NOT NULL",
            {"thread": thread.id},
        )
    # A clock that was set back must not hold a turn up for longer than it was meant to wait.
    return 0.0 if until is None else min(AWAITED_SECONDS, until - connection.now)


@writes
def bring(connection: Connection, inbox: int, files: FileRules) -> FileArrival | None:
    """Give a message its files; None if it awaits none."""
    connection.lock_found("SELECT thread FROM inbox WHERE id = :inbox", {"inbox": inbox})
    row = first(
        connection,
        "SELECT * FROM inbox WHERE id = :inbox AND outcome = 'queued' AND awaits IS NOT NULL",
        {"inbox": inbox},
    )
    if row is None:
        return None
    thread = find_thread(connection, row["thread"])
    found = files.sort(thread.attached)
    attach(connection, inbox, found.taken, found.missing)
    events = _complete(connection, row, found.notice)
    connection.hasten(thread.id)
    steer = open_turn(connection, thread.id) if thread.mode == "steer" else ""
    return FileArrival(thread=thread.id, events=events, steer=steer)


def give_up(connection: Connection, turn: str, words: MissingFileWords) -> tuple[SessionEvent, ...]:
    """Let a turn begin without what did not come in time."""
    rows = connection.fetch(
        "SELECT * FROM inbox WHERE turn = :turn AND awaits IS NOT NULL", {"turn": turn}
    )
    told: list[SessionEvent] = []
    for row in rows:
        late = [MissingFile(name=file.name, why=words.too_late) for file in _files(row)]
        attach(connection, row["id"], (), late)
        notice = "\n".join(words.to_people.format(name=each.name, why=each.why) for each in late)
        told += _complete(connection, row, notice)
    return tuple(told)


def _complete(connection: Connection, row: Row, notice: str) -> tuple[SessionEvent, ...]:
    """Await nothing more; tell the author what is missing."""
    connection.execute(
        f"UPDATE inbox SET awaits = NULL, untrusted = quotes <> '[]' OR {IS_FOREIGN}"
        " WHERE id = :inbox",
        {"inbox": row["id"]},
    )
    notices = [Notice(thread=row["thread"], text=notice, level="warning")] if notice else []
    return add_events(connection, row["thread"], notices)


def _files(row: Row) -> tuple[AwaitedFile, ...]:
    return tuple(AwaitedFile(**file) for file in json.loads(row["awaits"]))
