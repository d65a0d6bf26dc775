"""The unit of work that judges what a crash left behind."""

from __future__ import annotations

from gateway.conversation import ConversationKey
from gateway.events import MessageFinished, Notice, SessionEvent, TurnFinished
from gateway.store.connection import Connection
from gateway.store.records import lane_groups_of
from gateway.store.rulebook import RecoveryWords
from gateway.store.turn_records import MAX_RESUMES, Lease, RecoveredThread
from gateway.store.units.events import add_events
from gateway.store.units.expiry import date_anew
from gateway.store.units.files import expect_anew
from gateway.store.units.rows import OPEN_STATUSES, find_thread, open_messages
from gateway.store.units.turns import close_requests


def recover(
    connection: Connection, now: float, boot: str, words: RecoveryWords
) -> list[RecoveredThread]:
    """Count attempts of turns that an earlier boot left; park frequent failures."""
    left = connection.fetch("SELECT id, thread, attempts FROM turns WHERE status = 'running'")
    for row in left:
        epoch = _fence(connection, row["thread"], boot)
        lease = Lease(thread=row["thread"], turn=row["id"], epoch=epoch)
        if row["attempts"] < MAX_RESUMES:
            connection.execute(
                "UPDATE turns SET attempts = attempts + 1 WHERE id = :turn", {"turn": lease.turn}
            )
            notice = Notice(
                thread=lease.thread, turn=lease.turn, text=words.interrupted, level="warning"
            )
            add_events(connection, lease.thread, [notice], now)
        else:
            _park(connection, lease, words.parked, now)
    expect_anew(connection, now)
    date_anew(connection, now)
    return _to_do(connection)


def _to_do(connection: Connection) -> list[RecoveredThread]:
    rows = connection.fetch(
        "SELECT w.thread, w.author, t.team, t.key FROM ("
        "SELECT thread, author FROM turns WHERE status IN ('running', 'paused')"
        " OR status = 'waiting' AND ready"
        " UNION SELECT thread, author FROM inbox AS i WHERE outcome = 'queued' AND NOT EXISTS"
        f" (SELECT 1 FROM turns WHERE thread = i.thread AND status IN {OPEN_STATUSES})"
        ") AS w JOIN threads t ON t.id = w.thread"
    )
    return [
        RecoveredThread(
            thread=row["thread"],
            person=row["author"],
            groups=lane_groups_of(row["team"], ConversationKey.parse(row["key"])),
            open_messages=open_messages(connection, row["thread"]),
        )
        for row in rows
    ]


def _fence(connection: Connection, thread: str, boot: str) -> int:
    connection.execute(
        "UPDATE threads SET epoch = epoch + 1, owner = :boot WHERE id = :thread",
        {"boot": boot, "thread": thread},
    )
    return find_thread(connection, thread).epoch


def _park(connection: Connection, lease: Lease, notice: str, now: float) -> None:
    """End the turn as it stands, with its messages as shown."""
    events: list[SessionEvent] = [
        MessageFinished(
            thread=lease.thread,
            turn=lease.turn,
            agent=shown.agent,
            message=shown.message,
            text=shown.text,
        )
        for shown in open_messages(connection, lease.thread)
    ]
    events.append(Notice(thread=lease.thread, turn=lease.turn, text=notice, level="error"))
    of_thread = {"thread": lease.thread}
    connection.execute("DELETE FROM open_messages WHERE thread = :thread", of_thread)
    connection.execute(
        "UPDATE turns SET status = 'interrupted', reason = 'interrupted too often',"
        " finished_at = :now WHERE id = :turn",
        {"now": now, "turn": lease.turn},
    )
    connection.execute("UPDATE threads SET state = 'parked' WHERE id = :thread", of_thread)
    add_events(connection, lease.thread, events, now)
    closed = close_requests(connection, lease, "the turn was interrupted too often", now)
    add_events(connection, lease.thread, closed, now)
    finished = TurnFinished(
        thread=lease.thread,
        turn=lease.turn,
        outcome="interrupted",
        reason="interrupted too often",
    )
    add_events(connection, lease.thread, [finished], now)
