"""Units of work around requests to people: asking, answers, approvals by several, expiry,
reminders, grants, and the audit of all of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict

from gateway.client import Answer
from gateway.conversation import Author, ConversationKey
from gateway.errors import NotFound
from gateway.events import InputReminded, InputResolved, InputSupported, SessionEvent
from gateway.store.decisions import Resolve, Support
from gateway.store.records import AuditRow, Grant, Request, RequestState
from gateway.store.rulebook import Respondents
from gateway.store.turn_records import Settled
from gateway.store.units.rows import REQUEST_COLUMNS, add_events, find_request, request_of

REMIND_AFTER = (3600.0, 4 * 3600.0, 24 * 3600.0)
"""Seconds after which people are reminded of a request that is still open."""

AT_ONCE = 100
"""Requests that are settled in one transaction."""

EXPIRED = "expired: nobody decided in time"
EXPIRED_QUESTION = "expired: nobody answered in time"
UNANSWERED = "(Nobody has answered in time. Go on without the answer, or say that you can't.)"


def ask(connection: sqlite3.Connection, request: Request, now: float) -> None:
    """Note a new request."""
    connection.execute(
        "INSERT INTO requests (id, engine_id, thread, turn, kind, agent, prompt, options, tool,"
        " arguments, arguments_hash, call, approvers, always, quorum, created_at, expires_at,"
        f" due_at) VALUES ({', '.join('?' * 18)})",
        (
            request.id,
            request.engine_id,
            request.thread,
            request.turn,
            request.kind,
            json.dumps(request.agent),
            request.prompt,
            json.dumps(request.options),
            request.tool,
            request.arguments,
            request.arguments_hash,
            request.call,
            json.dumps(request.approvers),
            request.always,
            request.quorum,
            request.asked_at,
            request.expires_at,
            _due(request.asked_at, 0, request.expires_at),
        ),
    )
    _audit(connection, request, "asked", now)


def resolve(
    connection: sqlite3.Connection,
    decision: Resolve,
    author: Author,
    place: ConversationKey,
    now: float,
) -> tuple[Request, tuple[SessionEvent, ...]]:
    """Answer a request; what this adds to its thread. Raises NotFound."""
    request = _found(connection, decision.request)
    _settle(connection, request, "answered", decision.outcome, now, decision.answer, author.id)
    if decision.grant:
        connection.execute(
            "INSERT OR REPLACE INTO grants (thread, tool, person, granted_by, granted_at)"
            " VALUES (?, ?, ?, ?, ?)",
            (request.thread, request.tool, request.asker, author.id, now),
        )
    outcome = decision.outcome if request.kind == "approval" else ""
    _audit(connection, request, "answered", now, person=author.id, outcome=outcome, place=place)
    event = _resolved(request, decision.outcome, author.name)
    return request, add_events(connection, request.thread, [event], now)


def support(
    connection: sqlite3.Connection,
    decision: Support,
    author: Author,
    place: ConversationKey,
    now: float,
) -> tuple[Request, tuple[SessionEvent, ...]]:
    """Note one of several approvals; what this adds to the request's thread. Raises NotFound."""
    request = _found(connection, decision.request)
    connection.execute(
        "INSERT INTO supports (request, person, always, at) VALUES (?, ?, ?, ?)",
        (request.id, author.id, decision.always, now),
    )
    outcome = f"approved, {decision.approved} of {decision.quorum}"
    _audit(connection, request, "supported", now, person=author.id, outcome=outcome, place=place)
    event = InputSupported(
        thread=request.thread,
        turn=request.turn,
        request=request.id,
        by=author.name,
        approved=decision.approved,
        quorum=decision.quorum,
    )
    return request, add_events(connection, request.thread, [event], now)


def close(
    connection: sqlite3.Connection, turn: str, outcome: str, now: float
) -> list[SessionEvent]:
    """Close what the turn has asked and nobody waits for any more; what is to be shown of it."""
    rows = connection.execute(
        f"SELECT {REQUEST_COLUMNS} WHERE r.turn = ? AND r.state = 'open'", (turn,)
    ).fetchall()
    closed = [request_of(row) for row in rows]
    for request in closed:
        _settle(connection, request, "closed", outcome, now)
        _audit(connection, request, "closed", now, outcome=outcome)
    return [_resolved(request, outcome) for request in closed]


def settle_due(
    connection: sqlite3.Connection,
    respondents: Respondents,
    now: float,
    *,
    by: float,
    jumped: float,
) -> Settled:
    """Let requests expire whose time is over, and remind of those that are open for long.

    They are dated as if no clock had been set since this boot: `by` is the time in their terms, and
    `jumped` by how much it was.
    """
    _note_jump(connection, jumped)
    events: defaultdict[str, tuple[SessionEvent, ...]] = defaultdict(tuple)
    ready: dict[str, str] = {}
    rows = connection.execute(
        "SELECT id, created_at, reminders FROM requests WHERE state = 'open' AND due_at <= ?"
        " ORDER BY due_at LIMIT ?",
        (by, AT_ONCE),
    ).fetchall()
    for row in rows:
        request = _found(connection, row["id"])
        if request.expires_at is not None and request.expires_at <= by:
            event = _expire(connection, request, now)
            if mark_ready(connection, request.turn):
                ready[request.thread] = request.asker
        else:
            age = by - row["created_at"]
            event = InputReminded(
                thread=request.thread,
                turn=request.turn,
                request=request.id,
                text=f"Waiting for {_span(age)}: {request.prompt}",
                mentions=respondents.who_may_answer(request),
            )
            sent = sum(after <= age for after in REMIND_AFTER)
            due = _due(row["created_at"], sent, request.expires_at)
            connection.execute(
                "UPDATE requests SET reminders = ?, due_at = ? WHERE id = ?",
                (sent, due, request.id),
            )
        events[request.thread] += add_events(connection, request.thread, [event], now)
    next_at = connection.execute(
        "SELECT MIN(due_at) FROM requests WHERE state = 'open' AND due_at IS NOT NULL"
    ).fetchone()[0]
    return Settled(events=events, ready=[*ready.items()], next_at=next_at)


def date_anew(connection: sqlite3.Connection, now: float) -> None:
    """Date what is open by the clock as it is now, at the beginning of a boot: by how much it was
    set in the boot before is noted, and nothing was asked later than now.
    """
    jumped = _jumped(connection)
    connection.execute("DELETE FROM marks WHERE platform = ? AND name = ?", _JUMP)
    for row in connection.execute(
        "SELECT id, created_at FROM requests WHERE state = 'open'"
    ).fetchall():
        change = min(jumped, now - row["created_at"])
        if change:
            connection.execute(
                "UPDATE requests SET created_at = created_at + :by, expires_at = expires_at + :by,"
                " due_at = due_at + :by WHERE id = :id",
                {"by": change, "id": row["id"]},
            )


_JUMP = ("gateway", "clock jumped")
"""The mark that tells by how many seconds the clock was set since the boot."""


def _jumped(connection: sqlite3.Connection) -> float:
    query = "SELECT value FROM marks WHERE platform = ? AND name = ?"
    row = connection.execute(query, _JUMP).fetchone()
    return 0.0 if row is None else float(row["value"])


def _note_jump(connection: sqlite3.Connection, seconds: float) -> None:
    if seconds != _jumped(connection):
        connection.execute(
            "INSERT OR REPLACE INTO marks (platform, name, value) VALUES (?, ?, ?)",
            (*_JUMP, str(seconds)),
        )


def _expire(connection: sqlite3.Connection, request: Request, now: float) -> SessionEvent:
    approval = request.kind == "approval"
    outcome = EXPIRED if approval else EXPIRED_QUESTION
    answer = Answer(kind="deny") if approval else Answer(kind="text", text=UNANSWERED)
    _settle(connection, request, "expired", outcome, now, answer)
    _audit(connection, request, "expired", now, outcome=outcome)
    return _resolved(request, outcome)


def mark_ready(connection: sqlite3.Connection, turn: str) -> bool:
    """Let a turn go on once one of its agents has all its answers; says whether its lane can do so
    now.
    """
    connection.execute(
        "UPDATE turns SET ready = 1 WHERE id = :turn AND EXISTS (SELECT 1 FROM requests"
        " WHERE turn = :turn AND NOT taken AND state <> 'closed'"
        " GROUP BY agent HAVING SUM(state = 'open') = 0)",
        {"turn": turn},
    )
    row = connection.execute("SELECT status, ready FROM turns WHERE id = ?", (turn,)).fetchone()
    return row is not None and row["status"] == "waiting" and bool(row["ready"])


def grants(connection: sqlite3.Connection, thread: str) -> tuple[Grant, ...]:
    """What may run for the rest of the thread."""
    rows = connection.execute(
        "SELECT tool, person, granted_by, granted_at FROM grants WHERE thread = ?"
        " ORDER BY granted_at, tool",
        (thread,),
    )
    return tuple(
        Grant(
            tool=row["tool"],
            person=row["person"],
            granted_by=row["granted_by"],
            granted_at=row["granted_at"],
        )
        for row in rows.fetchall()
    )


def revoke(
    connection: sqlite3.Connection,
    thread: str,
    tool: str,
    author: Author,
    place: ConversationKey,
    now: float,
    *,
    anybody: bool,
) -> bool:
    """Take grants of a tool back: all of them, or those given by or for the author. Says whether
    there were any.
    """
    revoked = connection.execute(
        "DELETE FROM grants WHERE thread = ? AND tool = ? AND (? OR person = ? OR granted_by = ?)",
        (thread, tool, anybody, author.id, author.id),
    ).rowcount
    if revoked:
        connection.execute(
            "INSERT INTO audit (thread, at, person, what, tool, outcome, place)"
            " VALUES (?, ?, ?, 'revoked', ?, 'asked for again', ?)",
            (thread, now, author.id, tool, str(place)),
        )
    return revoked > 0


def audit_row_of(row: sqlite3.Row) -> AuditRow:
    """A row of audit."""
    names = ("at", "person", "what", "request", "kind", "tool", "arguments_hash", "outcome")
    return AuditRow(**{name: row[name] for name in names}, place=row["place"])


def _found(connection: sqlite3.Connection, request: str) -> Request:
    found = find_request(connection, request)
    if found is None:
        raise NotFound(f"There is no request {request!r}.")
    return found


def _settle(
    connection: sqlite3.Connection,
    request: Request,
    state: RequestState,
    outcome: str,
    now: float,
    answer: Answer | None = None,
    by: str = "",
) -> None:
    connection.execute(
        "UPDATE requests SET state = ?, answer_kind = ?, answer_text = ?, answered_by = ?,"
        " outcome = ?, resolved_at = ?, due_at = NULL WHERE id = ? AND state = 'open'",
        (
            state,
            answer.kind if answer else "",
            answer.text if answer else "",
            by,
            outcome,
            now,
            request.id,
        ),
    )


def _audit(
    connection: sqlite3.Connection,
    request: Request,
    what: str,
    now: float,
    *,
    person: str = "",
    outcome: str = "",
    place: ConversationKey | None = None,
) -> None:
    connection.execute(
        "INSERT INTO audit (thread, at, person, what, request, kind, tool, arguments_hash, outcome,"
        " place) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            request.thread,
            now,
            person,
            what,
            request.id,
            request.kind,
            request.tool,
            request.arguments_hash,
            outcome,
            str(place or ""),
        ),
    )


def _resolved(request: Request, outcome: str, by: str = "") -> InputResolved:
    return InputResolved(
        thread=request.thread, turn=request.turn, request=request.id, outcome=outcome, by=by
    )


def _due(created: float, sent: int, expires: float | None) -> float | None:
    """When to look at the request next: to remind of it, or to let it expire."""
    remind = created + REMIND_AFTER[sent] if sent < len(REMIND_AFTER) else None
    times = [time for time in (remind, expires) if time is not None]
    return min(times, default=None)


def _span(seconds: float) -> str:
    hours = round(seconds / 3600)
    if hours < 1:
        return "less than an hour"
    return f"{hours} hours" if hours > 1 else "an hour"
