"""The unit of work that parks threads after a loss."""

from __future__ import annotations

from gateway.events import Notice, SessionEvent, TurnStarted
from gateway.store.connection import Connection, Row
from gateway.store.ids import next_id
from gateway.store.rulebook import DoubtWords
from gateway.store.turn_records import Lease
from gateway.store.units import outbox
from gateway.store.units.claims import first_asked_at, shown_of, take
from gateway.store.units.losses import untold_loss
from gateway.store.units.queue import IN_ORDER, waits
from gateway.store.units.rows import OPEN_STATUSES, fence
from gateway.store.units.turns import park


def park_unfinished(connection: Connection, boot: str, words: DoubtWords) -> None:
    """Park every thread with unfinished work, and say so there.

    The text that a platform shows of a message stays: it may be complete by now.
    """
    if loss := untold_loss(connection):
        outbox.doubt(connection, loss.since)
    open_turns = connection.fetch(
        f"SELECT id, thread FROM turns WHERE status IN {OPEN_STATUSES} ORDER BY started_at"
    )
    for row in open_turns:
        lease = _lease(connection, row["thread"], row["id"], boot)
        told = [] if waits(connection, lease.thread) else [_notice(lease, words)]
        park(connection, lease, told, words.reason)
    waiting = connection.fetch("SELECT DISTINCT thread FROM inbox WHERE outcome = 'queued'")
    for row in waiting:
        _park_waiting(connection, row["thread"], boot, words)


def _park_waiting(connection: Connection, thread: str, boot: str, words: DoubtWords) -> None:
    """Make waiting messages one turn that is interrupted before it began."""
    lease = _lease(connection, thread, next_id(), boot)
    (first, *others) = connection.fetch(
        f"SELECT id, author FROM inbox WHERE thread = :thread AND outcome = 'queued' {IN_ORDER}",
        {"thread": thread},
    )
    _open(connection, lease, first)
    take(connection, lease.turn, first["id"], "turn")
    for row in others:
        take(connection, lease.turn, row["id"], "merged")
    started = TurnStarted(
        thread=thread,
        turn=lease.turn,
        messages=shown_of(connection, lease.turn),
        asker=first["author"],
        asked_at=first_asked_at(connection, lease.turn) or connection.now,
    )
    told: list[SessionEvent] = [started, _notice(lease, words)]
    park(connection, lease, told, words.reason)


def _open(connection: Connection, lease: Lease, message: Row) -> None:
    connection.execute(
        "INSERT INTO turns (id, thread, n, status, author, destination, started_at)"
        " SELECT :turn, id, COALESCE((SELECT MAX(n) FROM turns WHERE thread = :thread), 0) + 1,"
        " 'running', :author, key, :now FROM threads WHERE id = :thread",
        {
            "turn": lease.turn,
            "thread": lease.thread,
            "author": message["author"],
            "now": connection.now,
        },
    )


def _lease(connection: Connection, thread: str, turn: str, boot: str) -> Lease:
    return Lease(thread=thread, turn=turn, epoch=fence(connection, thread, boot))


def _notice(lease: Lease, words: DoubtWords) -> Notice:
    return Notice(
        thread=lease.thread,
        turn=lease.turn,
        text=words.notice,
        level="error",
        command=words.command,
        label=words.label,
    )
