"""Units of work for a changed config: new definitions and replaced teams."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from gateway.errors import LeaseLost
from gateway.events import Notice, SessionEvent, TurnFinished
from gateway.store.connection import Connection
from gateway.store.operations import writes
from gateway.store.turn_records import Lease, Succession
from gateway.store.units.audit import note
from gateway.store.units.events import NEWEST, add_events
from gateway.store.units.requests import close
from gateway.store.units.rows import first
from gateway.store.units.turns import add_checkpoint
from gateway.store.value_rows import update


@writes
def succeed(
    connection: Connection, lease: Lease, succession: Succession
) -> tuple[SessionEvent, ...]:
    """Note the definition of the thread's team, or of a new one.

    Returns the events this adds. Raises LeaseLost.
    """
    connection.lock(lease.thread)
    changed = connection.change(
        "UPDATE threads SET definition = :definition, participants = :participants"
        " WHERE id = :thread AND epoch = :epoch",
        {
            "definition": succession.definition,
            "participants": json.dumps(succession.participants),
            "thread": lease.thread,
            "epoch": lease.epoch,
        },
    )
    if not changed:
        raise LeaseLost(lease.thread)
    if succession.notice:
        what = "thread.model_changed" if succession.own_models else "thread.team_changed"
        place = {"thread": lease.thread, "turn": lease.turn, "person": ""}
        note(connection, what, **place, object=succession.definition)
    events: list[SessionEvent] = []
    if succession.own_models:
        update(connection, "threads", lease.thread, model="")
        update(connection, "turns", lease.turn, model="")
    if succession.replaces:
        _put_away(connection, lease.thread, succession.replaces)
        if succession.stands is not None:
            add_checkpoint(connection, lease, succession.stands)
        update(connection, "turns", lease.turn, delivered=False)
        # The new team knows nothing of what this turn is about.
        unjoin = "UPDATE inbox SET joined = FALSE WHERE turn = :turn"
        connection.execute(unjoin, {"turn": lease.turn})
        events += close(connection, lease.turn, f"closed: {succession.reason}")
    if succession.notice:
        events.append(Notice(thread=lease.thread, turn=lease.turn, text=succession.notice))
    return add_events(connection, lease.thread, events)


@writes(alone=True)
def withdraw_questions(
    connection: Connection, threads: Collection[str], *, reason: str, notice: str
) -> Mapping[str, tuple[SessionEvent, ...]]:
    """End waiting turns of these threads, whose teams are gone.

    `reason` is why they end, `notice` what each thread is told. Returns what this adds to each.
    """
    added: dict[str, tuple[SessionEvent, ...]] = {}
    for thread in threads:
        row = first(
            connection,
            "SELECT id FROM turns WHERE thread = :thread AND status = 'waiting'",
            {"thread": thread},
        )
        if row is not None:
            added[thread] = _withdraw(connection, thread, row["id"], reason, notice)
    return added


def _withdraw(
    connection: Connection, thread: str, turn: str, reason: str, notice: str
) -> tuple[SessionEvent, ...]:
    stopped = {"status": "stopped", "reason": reason, "finished_at": connection.now}
    update(connection, "turns", turn, **stopped)
    connection.execute(
        "UPDATE threads SET state = 'idle', epoch = epoch + 1 WHERE id = :thread",
        {"thread": thread},
    )
    events = [
        *close(connection, turn, f"closed: {reason}"),
        Notice(thread=thread, turn=turn, text=notice, level="warning"),
        TurnFinished(thread=thread, turn=turn, outcome="stopped", reason=reason),
    ]
    return add_events(connection, thread, events)


def _put_away(connection: Connection, thread: str, definition: str) -> None:
    connection.execute(
        "INSERT INTO old_states (thread, definition, n, kind, data, replaced_at)"
        " SELECT thread, :definition, n, kind, data, :now FROM checkpoints"
        f" WHERE thread = :thread AND {NEWEST} ORDER BY n",
        {"definition": definition, "now": connection.now, "thread": thread},
    )
    for forget in ("DELETE FROM checkpoints", "UPDATE turns SET state = NULL"):
        connection.execute(f"{forget} WHERE thread = :thread", {"thread": thread})
    update(connection, "threads", thread, handoff_from="")
