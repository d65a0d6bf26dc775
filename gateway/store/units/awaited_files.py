"""Units of work for files that are fetched after their message.

Its turn waits for them, and begins without those that can't be had.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from gateway.conversation import (
    AWAITED_SECONDS,
    AwaitedFile,
    ConversationKey,
    MessageAwaitingFiles,
    MissingFile,
)
from gateway.events import Notice, SessionEvent
from gateway.store.connection import Connection, Row, first, scalar
from gateway.store.decisions import FileArrival
from gateway.store.records import Thread
from gateway.store.rulebook import FileRules, MissingFileWords
from gateway.store.units.attachments import attach
from gateway.store.units.events import add_events
from gateway.store.units.queue import open_turn
from gateway.store.units.rows import MessageRow, find_thread


def expect(connection: Connection, inbox: int, files: Sequence[AwaitedFile], now: float) -> None:
    """Note the files that a message's turn waits for."""
    connection.execute(
        "UPDATE inbox SET awaits = :awaits, awaits_until = :until WHERE id = :inbox",
        {
            "inbox": inbox,
            "awaits": json.dumps([asdict(file) for file in files]),
            "until": now + AWAITED_SECONDS,
        },
    )


def expect_anew(connection: Connection, now: float) -> None:
    """Give the files time that nobody has fetched while no process ran."""
    connection.execute(
        "UPDATE inbox SET awaits_until = :until WHERE awaits IS NOT NULL",
        {"until": now + AWAITED_SECONDS},
    )


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


def wait(connection: Connection, first_of_all: MessageRow, thread: Thread, now: float) -> float:
    """Seconds that a turn beginning with this message waits."""
    until = first_of_all.awaits_until if first_of_all.awaits is not None else None
    if thread.takes_all:
        until = scalar(
            connection,
            "SELECT MAX(awaits_until) FROM inbox"
            " WHERE thread = :thread AND outcome = 'queued' AND awaits IS NOT NULL",
            {"thread": thread.id},
        )
    # A clock that was set back must not hold a turn up for longer than it was meant to wait.
    return 0.0 if until is None else min(AWAITED_SECONDS, until - now)


def bring(connection: Connection, now: float, inbox: int, files: FileRules) -> FileArrival | None:
    """Give a message its files; None if it awaits none."""
    row = first(
        connection,
        "SELECT * FROM inbox WHERE id = :inbox AND outcome = 'queued' AND awaits IS NOT NULL",
        {"inbox": inbox},
    )
    if row is None:
        return None
    thread = find_thread(connection, row["thread"])
    taken, missing = files.sort(thread.attached)
    attach(connection, inbox, taken)
    events = _complete(connection, row, missing, files.words, now)
    steer = open_turn(connection, thread.id) if thread.mode == "steer" else ""
    return FileArrival(thread=thread.id, events=events, steer=steer)


def give_up(
    connection: Connection, turn: str, words: MissingFileWords, now: float
) -> tuple[SessionEvent, ...]:
    """Let a turn begin without what did not come in time."""
    rows = connection.fetch(
        "SELECT * FROM inbox WHERE turn = :turn AND awaits IS NOT NULL", {"turn": turn}
    )
    told: list[SessionEvent] = []
    for row in rows:
        late = [MissingFile(name=file.name, why=words.too_late) for file in _files(row)]
        told += _complete(connection, row, late, words, now)
    return tuple(told)


def _complete(
    connection: Connection,
    row: Row,
    missing: Sequence[MissingFile],
    words: MissingFileWords,
    now: float,
) -> tuple[SessionEvent, ...]:
    """Let a message wait for nothing, and report what is missing.

    The team and its author are told.
    """
    lines = [words.to_team.format(name=each.name, why=each.why) for each in missing]
    connection.execute(
        "UPDATE inbox SET awaits = NULL, text = :text, untrusted = quotes <> '[]'"
        " OR EXISTS (SELECT 1 FROM attachments WHERE inbox = inbox.id) WHERE id = :inbox",
        {"inbox": row["id"], "text": "\n".join(filter(None, [row["text"], *lines]))},
    )
    told = "\n".join(words.to_people.format(name=each.name, why=each.why) for each in missing)
    notices = [Notice(thread=row["thread"], text=told, level="warning")] if told else []
    return add_events(connection, row["thread"], notices, now)


def _files(row: Row) -> tuple[AwaitedFile, ...]:
    return tuple(AwaitedFile(**file) for file in json.loads(row["awaits"]))
