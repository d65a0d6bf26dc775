"""Units of work for claimed turns: adding to one, and ending it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from gateway.client import ThreadState
from gateway.errors import LeaseLost
from gateway.events import Notice, SessionEvent, ToolStarted, TurnFinished
from gateway.store.connection import Connection
from gateway.store.operations import writes
from gateway.store.records import CallRow, Checkpoint, OpenMessage
from gateway.store.turn_records import Lease, StoredUpdate, TurnEnd, TurnUpdate
from gateway.store.units import audit, queue, usage
from gateway.store.units import requests as asked
from gateway.store.units.damage import mend_thread
from gateway.store.units.events import add_events, untold
from gateway.store.units.rows import fence, first
from gateway.store.value_rows import Table, insert, update


class _TurnStatus(NamedTuple):
    """State of a turn, and the content of its thread."""

    delivered: int
    stop_requested: int
    reason: str
    author: str
    last_seq: int
    asks: int
    waits: int
    shown: int
    holds_up: int


CALL_IS_OVER = "closed: the call that asked is over"
UNBEGUN = "its turn could not be begun"

_STANDS = """
    SELECT u.delivered, u.stop_requested, u.reason, u.author, t.last_seq,
     EXISTS (SELECT 1 FROM requests WHERE turn = u.id AND state = 'open'),
     EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued'),
     EXISTS (SELECT 1 FROM open_messages WHERE thread = t.id),
     FALSE /*pg OR EXISTS (SELECT 1 FROM inbox WHERE author = u.author AND outcome = 'queued')
      OR EXISTS (SELECT 1 FROM inbox WHERE author = u.author AND outcome = 'command'
       AND turn IS NOT NULL AND taken_at IS NULL)*/
    FROM threads t JOIN turns u ON u.id = :turn AND u.status = 'running'
    WHERE t.id = :thread AND t.epoch = :epoch
"""
"""A turn that runs, for who holds its lease."""

OPEN_MESSAGES = Table("open_messages", OpenMessage, key=("thread", "message"))
CALLS = Table("tool_calls", CallRow, without=["outcome"])
_WRITE_CALL = """
    INSERT INTO tool_calls (key, thread, turn, agent, tool, arguments_hash, status, result,
     started_at, finished_at)
    VALUES (:key, :thread, :turn, :agent, :tool, :arguments_hash, :status, :result, :now, :ended)
    ON CONFLICT (key) DO UPDATE SET status = excluded.status, result = excluded.result,
     tool = excluded.tool, arguments_hash = excluded.arguments_hash, agent = excluded.agent,
     finished_at = excluded.finished_at
"""


_FORGET_STATES = """
    UPDATE turns SET state = NULL WHERE thread = :thread AND state IS NOT NULL
     AND n <= (SELECT MAX(n) FROM turns WHERE thread = :thread) - :states
"""
_DROP_CHECKPOINTS = """
    DELETE FROM checkpoints WHERE thread = :thread AND n < COALESCE(
     (SELECT MAX(n) FROM checkpoints WHERE thread = :thread AND kind = 'snapshot'
      AND n <= (SELECT MIN(state) FROM turns WHERE thread = :thread)),
     (SELECT MAX(n) + 1 FROM checkpoints WHERE thread = :thread))
"""
_KEEP_STATE = """
    UPDATE turns SET state = (SELECT MAX(n) FROM checkpoints WHERE thread = :thread),
     handoff_from = (SELECT handoff_from FROM threads WHERE id = :thread) WHERE id = :turn
"""


def record(
    connection: Connection, lease: Lease, record: TurnUpdate, *, states: int = 0
) -> StoredUpdate:
    """Add to a running turn, all of it or nothing. Raises LeaseLost.

    The states of the team at the ends of so many turns are kept.
    """
    connection.lock(lease.thread)
    row = first(
        connection,
        _STANDS,
        {"turn": lease.turn, "thread": lease.thread, "epoch": lease.epoch},
    )
    if row is None:
        raise LeaseLost(lease.thread)
    stands = _TurnStatus._make(row)
    if record.withdrawn:
        closed = asked.withdraw(connection, record.withdrawn, CALL_IS_OVER)
        record = replace(record, events=(*record.events, *closed))
    _save_state(connection, lease, record, stands, states)
    _keep_shown(connection, lease.thread, record, stands)
    if record.calls or record.requests:
        _write_calls(connection, lease, record, stands)
    if record.files_at is not None:
        update(connection, "threads", lease.thread, files_at=record.files_at)
    if record.uses:
        usage.add(connection, lease, record.uses, connection.now)
    if record.handoff_from is not None:
        update(connection, "threads", lease.thread, handoff_from=record.handoff_from)
    if record.end is None:
        return StoredUpdate(events=_add(connection, lease, record.events, stands))
    if record.end.is_over and states:
        connection.execute(_KEEP_STATE, {"thread": lease.thread, "turn": lease.turn})
    return _end(connection, lease, record, record.end, stands)


def _save_state(
    connection: Connection, lease: Lease, record: TurnUpdate, stands: _TurnStatus, states: int
) -> None:
    """Keep the team's state, and which messages it holds by now."""
    for checkpoint in record.checkpoints:
        add_checkpoint(connection, lease, checkpoint, states)
    if record.checkpoints and not stands.delivered and record.end is None:
        update(connection, "turns", lease.turn, delivered=True)
    if record.end is not None and record.end.status == "done":
        return  # nobody asks for the messages of a turn that is done
    for inbox in record.joined:
        update(connection, "inbox", inbox, joined=True)


def _keep_shown(
    connection: Connection, thread: str, record: TurnUpdate, stands: _TurnStatus
) -> None:
    """Keep the text of growing messages, and drop finished ones."""
    for message in record.shown:
        insert(connection, OPEN_MESSAGES, message, thread=thread)
    if stands.shown or record.shown:
        connection.many(
            "DELETE FROM open_messages WHERE thread = :thread AND message = :message",
            [{"thread": thread, "message": message} for message in record.sealed],
        )


def _add(
    connection: Connection,
    lease: Lease,
    events: Sequence[SessionEvent],
    stands: _TurnStatus,
    *,
    state: ThreadState | None = None,
) -> tuple[SessionEvent, ...]:
    after = stands.last_seq
    return add_events(connection, lease.thread, events, after=after, state=state)


def add_checkpoint(
    connection: Connection, lease: Lease, checkpoint: Checkpoint, states: int = 0
) -> None:
    """Add to the team's chain of checkpoints, or begin a new one.

    A new one leaves what the states at the ends of so many turns need.
    """
    if checkpoint.kind == "snapshot":
        of_thread = {"thread": lease.thread, "states": states}
        for statement in (_FORGET_STATES, _DROP_CHECKPOINTS):
            connection.execute(statement, of_thread)
    if checkpoint.data:
        connection.execute(
            "INSERT INTO checkpoints (thread, n, kind, data) VALUES (:thread,"
            " COALESCE((SELECT MAX(n) FROM checkpoints WHERE thread = :thread), 0) + 1,"
            " :kind, :data)",
            {"thread": lease.thread, "kind": checkpoint.kind, "data": checkpoint.data},
        )


def _write_calls(
    connection: Connection, lease: Lease, record: TurnUpdate, stands: _TurnStatus
) -> None:
    """Write the journal and new requests, with their audit."""
    shown = {
        event.call: seq
        for seq, event in enumerate(record.events, stands.last_seq + 1)
        if isinstance(event, ToolStarted)
    }
    for call in record.calls:
        _write_call(connection, lease, call)
        seq = shown.get(call.key, 0)
        audit.note_call(connection, lease, call, person=stands.author, shown=seq)
    for request in record.requests:
        asked.ask(connection, request, shown=shown.get(request.call, 0))


def _write_call(connection: Connection, lease: Lease, call: CallRow) -> None:
    connection.execute(
        _WRITE_CALL,
        {
            **CALLS.row(call),
            "thread": lease.thread,
            "turn": lease.turn,
            "now": connection.now,
            "ended": connection.now if call.status in ("finished", "settled", "unknown") else None,
        },
    )


def _end(
    connection: Connection,
    lease: Lease,
    record: TurnUpdate,
    end: TurnEnd,
    stands: _TurnStatus,
) -> StoredUpdate:
    """Write how the turn leaves its lane, with the events this adds."""
    over = end.is_over
    if stands.holds_up:
        connection.hasten(person=stands.author)
    reason = end.reason
    if end.status in ("stopped", "paused", "waiting") and stands.stop_requested:
        reason = stands.reason or reason
    update(
        connection,
        "turns",
        lease.turn,
        status=end.status,
        reason=reason,
        finished_at=connection.now if over else None,
        delivered=bool(stands.delivered or record.checkpoints),
        **({"attempts": 0} if end.status == "waiting" else {}),
    )
    if end.status == "paused":
        return StoredUpdate(events=_add(connection, lease, record.events, stands))
    asks = bool(stands.asks or record.requests)
    closed = close_requests(connection, lease, reason) if over and asks else []
    outcome = "waiting" if end.status == "waiting" else end.status
    finished = TurnFinished(
        thread=lease.thread, turn=lease.turn, outcome=outcome, reason=reason, fill=end.fill
    )
    added = [*record.events, *closed, finished]
    state = "idle" if over else "waiting"
    events = _add(connection, lease, added, stands, state=state)
    again = bool(stands.waits) if over else asked.mark_ready(connection, lease.turn)
    return StoredUpdate(events=events, again=again)


def park(connection: Connection, lease: Lease, events: Sequence[SessionEvent], reason: str) -> None:
    """End the turn where it stands, and park its thread."""
    of_thread = {"thread": lease.thread}
    connection.execute("DELETE FROM open_messages WHERE thread = :thread", of_thread)
    ended = {"status": "interrupted", "reason": reason, "finished_at": connection.now}
    update(connection, "turns", lease.turn, **ended)
    update(connection, "threads", lease.thread, state="parked")
    add_events(connection, lease.thread, events)
    closed = close_requests(connection, lease, f"the turn was {reason}")
    add_events(connection, lease.thread, closed)
    finished = TurnFinished(
        thread=lease.thread, turn=lease.turn, outcome="interrupted", reason=reason
    )
    add_events(connection, lease.thread, [finished])


@writes
def end_unbegun(connection: Connection, thread: str, boot: str, notice: Notice) -> StoredUpdate:
    """End work that could not begin; a notice says so once.

    Its open turn fails; without one, the message that waits first is refused. Neither is read.
    Raises LeaseLost unless the thread is there.
    """
    connection.lock(thread)
    mend_thread(connection, thread)
    if turn := queue.open_turn(connection, thread):
        update(connection, "turns", turn, status="running")
        lease = Lease(thread=thread, turn=turn, epoch=fence(connection, thread, boot))
        end = TurnEnd(status="failed", reason=notice.text)
        said = tuple(replace(each, turn=turn) for each in untold(connection, thread, notice))
        return record(connection, lease, TurnUpdate(events=said, end=end))
    refused = queue.refuse_first(connection, thread, UNBEGUN)
    told = untold(connection, thread, notice)
    events = add_events(connection, thread, [*refused, *told])
    return StoredUpdate(events=events, again=queue.waits(connection, thread))


def close_requests(connection: Connection, lease: Lease, reason: str) -> list[SessionEvent]:
    """Close the requests of an ended turn; the events to add."""
    outcome = f"closed: {reason}" if reason else "closed"
    return asked.close(connection, lease.turn, outcome)
