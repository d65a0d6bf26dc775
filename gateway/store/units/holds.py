"""Units of work about turns that a limit holds at their start."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from gateway.events import SessionEvent, TurnHeld
from gateway.store.connection import Connection
from gateway.store.operations import writes
from gateway.store.turn_records import SAME_HOLD, Hold
from gateway.store.units.events import add_events
from gateway.store.units.rows import first, scalar
from gateway.store.value_rows import update

_WAITS = """
    NOT EXISTS (SELECT 1 FROM turns WHERE thread = t.id AND status = 'running')
    AND (EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued')
     OR EXISTS (SELECT 1 FROM turns WHERE thread = t.id
      AND (status = 'paused' OR status = 'waiting' AND ready)))
"""
_HELD = f"SELECT held, held_until, last_seq FROM threads t WHERE id = :thread AND {_WAITS}"
_OVER = """
    SELECT last_seq FROM threads t WHERE id = :thread AND held <> ''
    AND NOT EXISTS (SELECT 1 FROM inbox WHERE thread = t.id AND outcome = 'queued')
"""
_QUEUED_AT = "SELECT MIN(received_at) FROM inbox WHERE thread = :thread AND outcome = 'queued'"


@writes
def tell_hold(connection: Connection, thread: str, hold: Hold) -> tuple[SessionEvent, ...]:
    """Tell the thread that its next turn is held, unless it knows."""
    connection.lock(thread)
    row = first(connection, _HELD, {"thread": thread})
    until = None if hold.seconds == inf else connection.now + hold.seconds
    if row is None or (row["held"] == hold.limit and _same(row["held_until"], until)):
        return ()
    update(connection, "threads", thread, held=hold.limit, held_until=until)
    told = TurnHeld(thread=thread, limit=hold.limit, most=hold.most, until=until)
    return add_events(connection, thread, [told], after=row["last_seq"])


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= SAME_HOLD


def hold_over(connection: Connection, thread: str) -> list[SessionEvent]:
    """The event to add once nothing waits there any more, if any."""
    if first(connection, _OVER, {"thread": thread}) is None:
        return []
    update(connection, "threads", thread, held="", held_until=None)
    return [TurnHeld(thread=thread, limit="")]


def waits_since(connection: Connection, thread: str) -> float:
    """When the first message that waits in the thread was received."""
    return scalar(connection, _QUEUED_AT, {"thread": thread}) or 0.0


def held_threads(connection: Connection) -> Mapping[str, int]:
    """Numbers of threads whose next turn is held, by the limit."""
    rows = connection.fetch(
        "SELECT held, COUNT(*) AS n FROM threads WHERE held <> '' GROUP BY held ORDER BY held"
    )
    return {row["held"]: row["n"] for row in rows}
