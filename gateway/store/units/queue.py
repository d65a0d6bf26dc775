"""Units of work around what waits: lists, taking back, changing what its author has edited, taking
it into a turn that runs.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.conversation import Attachment, ConversationKey, InboundMessage
from gateway.events import HumanText, MessageQueued, MessageWithdrawn, Notice, SessionEvent
from gateway.store.records import InboxKind, InboxOutcome, TurnStatus, WaitingMessage
from gateway.store.units.attachments import attach
from gateway.store.units.rows import OPEN_STATUSES, add_events

IN_ORDER = "ORDER BY place, order_key, id"

EDITED = "A message was edited after the team had got it."
RUN_AGAIN = "Run it again"
DELETED = "The message that the team works on was deleted."


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The message that a platform's event is about. `status` is that of its turn."""

    inbox: int
    thread: str
    author: str
    name: str
    kind: InboxKind
    outcome: InboxOutcome
    text: str
    turn: str
    status: TurnStatus | None

    @property
    def waits(self) -> bool:
        """Whether its turn has not begun."""
        return self.outcome == "queued"

    @property
    def is_worked_on(self) -> bool:
        """Whether the team is not done with it."""
        return self.status in ("running", "paused", "waiting")


def waiting(connection: sqlite3.Connection, thread: str) -> tuple[WaitingMessage, ...]:
    """What waits in the thread, in its order."""
    rows = connection.execute(
        "SELECT id, author, author_name, text FROM inbox"
        f" WHERE thread = ? AND outcome = 'queued' {IN_ORDER}",
        (thread,),
    )
    return tuple(
        WaitingMessage(
            inbox=row["id"], author=row["author"], name=row["author_name"], text=row["text"]
        )
        for row in rows.fetchall()
    )


def author_of_waiting(connection: sqlite3.Connection, thread: str, inbox: int) -> str | None:
    """Whose message waits in the thread under this number; None if none does."""
    row = connection.execute(
        "SELECT author FROM inbox WHERE id = ? AND thread = ? AND outcome = 'queued'",
        (inbox, thread),
    ).fetchone()
    return None if row is None else row["author"]


def withdraw(
    connection: sqlite3.Connection, thread: str, inbox: int, now: float
) -> tuple[str, list[SessionEvent]] | None:
    """Take back a message that still waits: its text and what this adds to the thread."""
    row = connection.execute(
        "SELECT text FROM inbox WHERE id = ? AND thread = ? AND outcome = 'queued'", (inbox, thread)
    ).fetchone()
    if row is None:
        return None
    connection.execute(
        "UPDATE inbox SET outcome = 'refused', reason = 'withdrawn', text = NULL, quotes = '[]',"
        " awaits = NULL WHERE id = ?",
        (inbox,),
    )
    connection.execute("DELETE FROM attachments WHERE inbox = ?", (inbox,))
    event = MessageWithdrawn(thread=thread, inbox=inbox)
    return row["text"], list(add_events(connection, thread, [event], now))


def put_first(connection: sqlite3.Connection, thread: str, inbox: int) -> None:
    """Let a waiting message come before the others."""
    connection.execute(
        "UPDATE inbox SET place = (SELECT MIN(place) - 1 FROM inbox WHERE thread = ?"
        " AND outcome = 'queued') WHERE id = ?",
        (thread, inbox),
    )


def find_target(connection: sqlite3.Connection, message: InboundMessage) -> Target | None:
    """The message of people that an edit or a deletion on a platform is about, the newest if it
    was run more than once; None for one that was never taken.
    """
    if not message.message_id:
        return None
    rows = connection.execute(
        "SELECT i.*, t.status FROM inbox i LEFT JOIN turns t ON t.id = i.turn"
        " WHERE i.message_id = ? AND i.kind <> 'command' AND i.kind <> 'edit'"
        " AND i.thread IS NOT NULL ORDER BY i.id DESC",
        (message.message_id,),
    )
    row = next((row for row in rows.fetchall() if _same_channel(row, message.key)), None)
    if row is None or row["outcome"] == "refused":
        return None
    return Target(
        inbox=row["id"],
        thread=row["thread"],
        author=row["author"],
        name=row["author_name"],
        kind=row["kind"],
        outcome=row["outcome"],
        text=row["text"] or "",
        turn=row["turn"] or "",
        status=row["status"],
    )


def _same_channel(row: sqlite3.Row, key: ConversationKey) -> bool:
    """Platforms number messages per channel; a thread's first message stands outside of it."""
    found = ConversationKey.parse(row["conversation"])
    mine, theirs = (
        (each.platform, each.workspace, each.channel, each.root if each.is_local else "")
        for each in (found, key)
    )
    return mine == theirs


def is_new(connection: sqlite3.Connection, target: Target, message: InboundMessage) -> bool:
    """Whether the message says something else than what is known of the target by now."""
    inbox, text = latest(connection, target)
    if text != message.text or message.keeps_files:
        return text != message.text
    return _files(connection, inbox) != sorted(
        hashlib.sha256(file.data).hexdigest() for file in message.attachments
    )


def _files(connection: sqlite3.Connection, inbox: int) -> list[str]:
    rows = connection.execute("SELECT sha256 FROM attachments WHERE inbox = ?", (inbox,))
    return sorted(row["sha256"] for row in rows.fetchall())


def latest(connection: sqlite3.Connection, target: Target) -> tuple[int, str]:
    """The number and the text of what the target says by now."""
    edit = newest_edit(connection, target.inbox)
    return (target.inbox, target.text) if edit is None else (edit["id"], edit["text"])


def copy_files(connection: sqlite3.Connection, source: int, inbox: int) -> None:
    """Let an edit have the files of another message."""
    connection.execute(
        "INSERT INTO attachments (inbox, n, name, media_type, sha256, size, thread)"
        " SELECT ?, n, name, media_type, sha256, size, thread FROM attachments WHERE inbox = ?",
        (inbox, source),
    )
    connection.execute(
        "UPDATE inbox SET untrusted = untrusted"
        " OR EXISTS (SELECT 1 FROM attachments WHERE inbox = inbox.id) WHERE id = ?",
        (inbox,),
    )


def replace_files(
    connection: sqlite3.Connection, target: Target, files: Sequence[Attachment]
) -> None:
    """Let a waiting message have these files; it waits for none any more."""
    connection.execute("DELETE FROM attachments WHERE inbox = ?", (target.inbox,))
    connection.execute("UPDATE inbox SET awaits = NULL WHERE id = ?", (target.inbox,))
    attach(connection, target.inbox, files)


def newest_edit(connection: sqlite3.Connection, target: int) -> sqlite3.Row | None:
    """The newest edit of the target that no turn has seen."""
    return connection.execute(
        "SELECT * FROM inbox WHERE edits = ? AND kind = 'edit' AND text IS NOT NULL"
        " ORDER BY id DESC LIMIT 1",
        (target,),
    ).fetchone()


def repeat(connection: sqlite3.Connection, target: int, edit: sqlite3.Row, inbox: int) -> None:
    """Let a new message have what the target was edited to; the edits have done their work."""
    connection.execute(
        "UPDATE inbox SET edits = ?, untrusted = ? WHERE id = ?",
        (target, edit["untrusted"], inbox),
    )
    connection.execute("UPDATE attachments SET inbox = ? WHERE inbox = ?", (inbox, edit["id"]))
    forget_edits(connection, target)


def forget_edits(connection: sqlite3.Connection, target: int, *, but: int = 0) -> None:
    """Drop what the target was edited to, but for one edit: nobody is going to ask for it."""
    old = "(SELECT id FROM inbox WHERE edits = ? AND kind = 'edit' AND id <> ?)"
    connection.execute(f"DELETE FROM attachments WHERE inbox IN {old}", (target, but))
    connection.execute(
        f"UPDATE inbox SET text = NULL, quotes = '[]' WHERE id IN {old}", (target, but)
    )


def offer(connection: sqlite3.Connection, target: Target, now: float) -> tuple[SessionEvent, ...]:
    """Offer, once, to run the target again as it is now."""
    offered = connection.execute(
        "UPDATE inbox SET reason = 'offered' WHERE id = ? AND reason = ''"
        " AND thread IN (SELECT id FROM threads WHERE current)",
        (target.inbox,),
    ).rowcount
    if not offered:
        return ()
    notice = Notice(
        thread=target.thread,
        text=EDITED,
        command=f"/again {target.inbox}",
        label=RUN_AGAIN,
    )
    return add_events(connection, target.thread, [notice], now)


def missed(connection: sqlite3.Connection, target: Target, now: float) -> tuple[SessionEvent, ...]:
    """Tell that the message which the team works on is gone."""
    notice = Notice(
        thread=target.thread, turn=target.turn, text=DELETED, command="/stop", label="Stop"
    )
    return add_events(connection, target.thread, [notice], now)


def shown(
    connection: sqlite3.Connection, target: Target, text: str, now: float
) -> tuple[SessionEvent, ...]:
    """Show a waiting message as it is now."""
    queued = MessageQueued(
        thread=target.thread, message=HumanText(inbox=target.inbox, author=target.name, text=text)
    )
    return add_events(connection, target.thread, [queued], now)


def open_turn(connection: sqlite3.Connection, thread: str) -> str:
    """The turn of the thread that is not over, "" if there is none."""
    row = connection.execute(
        f"SELECT id FROM turns WHERE thread = ? AND status IN {OPEN_STATUSES}", (thread,)
    ).fetchone()
    return "" if row is None else row["id"]
