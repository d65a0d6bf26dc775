"""Units of work that claim a thread's next turn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from gateway.events import HumanText, SessionEvent, TurnStarted
from gateway.store.connection import Connection, first, scalar
from gateway.store.ids import next_id
from gateway.store.records import NOTHING_USED, Thread, TurnStatus
from gateway.store.rulebook import MissingFileWords
from gateway.store.turn_records import ClaimedTurn, Lease, QueuedMessage, TurnDelay
from gateway.store.units import files as file_units
from gateway.store.units import usage, work
from gateway.store.units.events import add_events
from gateway.store.units.grants import granted_to_all
from gateway.store.units.queue import IN_ORDER
from gateway.store.units.rows import (
    MESSAGE_COLUMNS,
    THREAD_COLUMNS,
    THREAD_WIDTH,
    MessageRow,
    open_messages,
    thread_of,
)

OPEN = ("running", "paused", "waiting")


class _ThreadStatus(NamedTuple):
    """State of a thread: its newest turn and its content.

    No other turn can be open.
    """

    turn: str | None
    n: int | None
    status: TurnStatus | None
    author: str
    delivered: int
    ready: int
    stop: int
    first_author: str | None
    last_author: str | None
    untrusted_at: float | None
    grants: int
    shown: int
    saved: int


_STANDS = f"""
    SELECT {THREAD_COLUMNS},
     u.id, u.n, u.status, u.author, u.delivered, u.ready, u.stop_requested,
     (SELECT MIN(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused'),
     (SELECT MAX(author) FROM inbox WHERE thread = t.id AND outcome <> 'refused'),
     (SELECT MAX(taken_at) FROM inbox WHERE thread = t.id AND untrusted),
     EXISTS (SELECT 1 FROM grants WHERE thread = t.id),
     EXISTS (SELECT 1 FROM open_messages WHERE thread = t.id),
     EXISTS (SELECT 1 FROM checkpoints WHERE thread = t.id),
     {MESSAGE_COLUMNS}
    FROM threads t
    LEFT JOIN turns u ON u.thread = t.id AND u.n = (SELECT MAX(n) FROM turns WHERE thread = t.id)
    LEFT JOIN inbox i ON i.id = (SELECT id FROM inbox
     WHERE thread = t.id AND outcome = 'queued' {IN_ORDER} LIMIT 1)
    WHERE t.id = :thread
"""
"""A thread, a _ThreadStatus, and the message that waits first."""

_FIRST = THREAD_WIDTH + len(_ThreadStatus._fields)


@dataclass(frozen=True, slots=True)
class _TurnRow:
    id: str
    author: str
    resumed: bool = False
    alone: bool = False
    """Its first message, as it was stored, is all it has: the turn before it, if any, was done."""


def begin(
    connection: Connection,
    now: float,
    thread: str,
    boot: str,
    *,
    words: MissingFileWords,
    quiet: float = 0.0,
) -> ClaimedTurn | TurnDelay | None:
    """Claim the thread's next turn: the open one, or the first message's.

    The open one is claimed if it can go on.
    """
    row = first(connection, _STANDS, {"thread": thread})
    if row is None:
        return None
    stands = _ThreadStatus._make(row[THREAD_WIDTH:_FIRST])
    begun = thread_of(row, begun=True)
    if stands.status in OPEN:
        goes_on = stands.status != "waiting" or stands.ready
        return _resume(connection, begun, stands, boot, now) if goes_on else None
    if row[_FIRST] is None:
        return None
    message = MessageRow._make(row[_FIRST:])
    wait = _still_collecting(connection, begun, now, quiet)
    wait = max(wait, file_units.wait(connection, message, begun, now))
    if wait > 0:
        return TurnDelay(seconds=wait)
    return _start(connection, begun, stands, message, boot, words, now)


def _resume(
    connection: Connection, thread: Thread, stands: _ThreadStatus, boot: str, now: float
) -> ClaimedTurn:
    assert stands.turn is not None  # it is open
    turn = _TurnRow(stands.turn, stands.author, resumed=True)
    of_turn = {"turn": turn.id}
    connection.execute(
        "UPDATE turns SET status = 'running', ready = FALSE WHERE id = :turn", of_turn
    )
    connection.execute(
        "UPDATE requests SET taken = TRUE WHERE turn = :turn AND state <> 'open'", of_turn
    )
    messages = work.messages_of(connection, thread.id, turn.id)
    if stands.stop:
        connection.execute(
            "UPDATE threads SET epoch = epoch + 1, owner = :boot, state = 'working'"
            " WHERE id = :thread",
            {"boot": boot, "thread": thread.id},
        )
        thread = replace(thread, last_seq=thread.last_seq - 1)
        return _work(connection, turn, thread, stands, messages, ())
    started = TurnStarted(
        thread=thread.id,
        turn=turn.id,
        resumed=True,
        asker=turn.author,
        asked_at=work.asked_at(connection, turn.id) or now,
    )
    events = _tell_of(connection, thread, started, boot, now)
    return _work(connection, turn, thread, stands, messages, events)


def _start(
    connection: Connection,
    thread: Thread,
    stands: _ThreadStatus,
    message: MessageRow,
    boot: str,
    words: MissingFileWords,
    now: float,
) -> ClaimedTurn:
    turn = _open(connection, thread, stands, message, now)
    late: tuple[SessionEvent, ...] = ()
    if turn.alone:
        messages, asked_at = (work.queued(connection, message),), message.received_at
        told: tuple[HumanText, ...] = (work.human_text(messages[0]),)
    else:
        late = file_units.give_up(connection, turn.id, words, now)
        messages = work.messages_of(connection, thread.id, turn.id)
        told = work.shown_of(connection, turn.id)
        asked_at = work.asked_at(connection, turn.id) or now
    started = TurnStarted(
        thread=thread.id, turn=turn.id, messages=told, asker=turn.author, asked_at=asked_at
    )
    if late:
        thread = replace(thread, last_seq=late[-1].seq + 1)
    events = late + _tell_of(connection, thread, started, boot, now)
    return _work(connection, turn, thread, stands, messages, events)


def _tell_of(
    connection: Connection, thread: Thread, started: TurnStarted, boot: str, now: float
) -> tuple[SessionEvent, ...]:
    """Claim the thread with the event that says so, its last one."""
    after = thread.last_seq - 1
    return add_events(
        connection, thread.id, [started], now, after=after, state="working", owner=boot
    )


def _open(
    connection: Connection, thread: Thread, stands: _ThreadStatus, message: MessageRow, now: float
) -> _TurnRow:
    turn = next_id()
    connection.execute(
        "INSERT INTO turns (id, thread, n, status, author, destination, started_at)"
        " VALUES (:turn, :thread, :n, 'running', :author, :destination, :now)",
        {
            "turn": turn,
            "thread": thread.id,
            "n": (stands.n or 0) + 1,
            "author": message.author,
            "destination": str(thread.key),
            "now": now,
        },
    )
    connection.execute(
        "UPDATE inbox SET outcome = 'turn', turn = :turn, taken_at = :now WHERE id = :inbox",
        {"turn": turn, "now": now, "inbox": message.id},
    )
    if thread.takes_all:
        connection.execute(
            "UPDATE inbox SET outcome = 'merged', turn = :turn, taken_at = :now"
            " WHERE thread = :thread AND outcome = 'queued'",
            {"turn": turn, "now": now, "thread": thread.id},
        )
    here = message.awaits is None
    alone = here and not thread.takes_all and stands.status in (None, "done")
    return _TurnRow(turn, message.author, alone=alone)


def _still_collecting(connection: Connection, thread: Thread, now: float, quiet: float) -> float:
    """Seconds until nobody has written for long enough.

    0 where messages are not collected.
    """
    if thread.mode != "collect":
        return 0.0
    newest = scalar(
        connection,
        "SELECT MAX(received_at) FROM inbox WHERE thread = :thread AND outcome = 'queued'",
        {"thread": thread.id},
    )
    # A clock that was set back must not hold a turn up for longer than it was meant to wait.
    return 0.0 if newest is None else min(quiet, newest + quiet - now)


def _work(
    connection: Connection,
    turn: _TurnRow,
    thread: Thread,
    stands: _ThreadStatus,
    messages: tuple[QueuedMessage, ...],
    events: tuple[SessionEvent, ...],
) -> ClaimedTurn:
    untrusted = stands.untrusted_at
    if not turn.alone or messages[0].untrusted:
        untrusted = work.untrusted_at(connection, thread.id)
    asker, others = work.people_of(messages, turn.author)
    return ClaimedTurn(
        lease=Lease(thread=thread.id, turn=turn.id, epoch=thread.epoch),
        thread=thread,
        messages=messages,
        resumed=turn.resumed,
        delivered=bool(stands.delivered and turn.resumed),
        saved=bool(stands.saved),
        stop=bool(stands.stop and turn.resumed),
        shared=stands.first_author != stands.last_author,
        asker=asker,
        others=others,
        untrusted=untrusted is not None,
        requests=() if turn.alone else work.requests_of_run(connection, thread.id),
        calls=() if turn.alone else work.calls_of_run(connection, thread.id),
        grants=granted_to_all(connection, thread.id, [asker, *others], untrusted or 0.0)
        if stands.grants
        else frozenset(),
        open_messages=open_messages(connection, thread.id) if stands.shown else (),
        events=events,
        used=usage.of_turn(connection, thread.id, turn.id) if turn.resumed else NOTHING_USED,
    )
