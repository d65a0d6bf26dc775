"""Units of work for due requests: expiry and reminders."""

from __future__ import annotations

from collections import defaultdict

from gateway.events import InputReminded, SessionEvent
from gateway.store.connection import Connection
from gateway.store.jobs import LaneJob
from gateway.store.operations import writes
from gateway.store.records import Request
from gateway.store.rulebook import RequestDating, RequestRules
from gateway.store.turn_records import ExpiryResult
from gateway.store.units.clock import take_jump
from gateway.store.units.events import add_events
from gateway.store.units.events import request as existing_request
from gateway.store.units.requests import (
    REMIND_AFTER,
    due,
    mark_ready,
    note,
    resolved,
    settle,
)
from gateway.store.units.rows import scalar
from gateway.store.value_rows import update

AT_ONCE = 100
"""Requests that are settled in one transaction."""


@writes(alone=True)
def settle_due(
    connection: Connection,
    rules: RequestRules,
    by: float,
) -> ExpiryResult:
    """Let overdue requests expire, and remind of those open for long.

    They are dated as if no clock had been set since this boot: `by` is the time in their terms.
    """
    events: defaultdict[str, tuple[SessionEvent, ...]] = defaultdict(tuple)
    ready: dict[str, str] = {}
    rows = connection.fetch(
        "SELECT id, created_at FROM requests WHERE state = 'open' AND due_at <= :by"
        " ORDER BY due_at LIMIT :most",
        {"by": by, "most": AT_ONCE},
    )
    for row in rows:
        request = existing_request(connection, row["id"])
        if request.expires_at is not None and request.expires_at <= by:
            event = _expire(connection, request, rules)
            connection.lock(request.thread)
            job = LaneJob(thread=request.thread, person=request.asker)
            if mark_ready(connection, request.turn) and not connection.defer(job):
                ready[request.thread] = request.asker
        else:
            event = _remind(connection, request, row["created_at"], rules, by)
        events[request.thread] += add_events(connection, request.thread, [event])
    next_at = scalar(
        connection,
        "SELECT MIN(due_at) FROM requests WHERE state = 'open' AND due_at IS NOT NULL",
    )
    return ExpiryResult(events=events, ready=[*ready.items()], next_at=next_at)


def _remind(
    connection: Connection,
    request: Request,
    created: float,
    rules: RequestRules,
    by: float,
) -> SessionEvent:
    age = by - created
    sent = sum(after <= age for after in REMIND_AFTER)
    due_at = due(created, sent, request.expires_at)
    update(connection, "requests", request.id, reminders=sent, due_at=due_at)
    return InputReminded(
        thread=request.thread,
        turn=request.turn,
        request=request.id,
        text=rules.reminder(request, age),
        mentions=rules.who_may_answer(request),
    )


def _expire(connection: Connection, request: Request, rules: RequestRules) -> SessionEvent:
    outcome, answer = rules.expired(request)
    settle(connection, request, "expired", outcome, answer)
    note(connection, request, "expired", person="", outcome=outcome)
    return resolved(request, outcome)


def date_anew(connection: Connection, asked: RequestDating) -> None:
    """Adjust open requests to the clock when a boot begins.

    They also move by the seconds that the clock was set during the last boot; none is dated later
    than now.
    """
    jumped = take_jump(connection) + asked.lag
    for row in connection.fetch("SELECT id, created_at FROM requests WHERE state = 'open'"):
        change = min(jumped, asked.by - row["created_at"])
        if change:
            connection.execute(
                "UPDATE requests SET created_at = created_at + :by, expires_at = expires_at + :by,"
                " due_at = due_at + :by WHERE id = :id",
                {"by": change, "id": row["id"]},
            )
