"""Units of work for requests to people, with their audit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateway.client import Answer
from gateway.conversation import Author, ConversationKey
from gateway.events import InputResolved, InputSupported, SessionEvent
from gateway.store.connection import Connection
from gateway.store.decisions import RequestAnswer, RequestSupport
from gateway.store.operations import writes
from gateway.store.records import Request, RequestState
from gateway.store.units import audit
from gateway.store.units.events import add_events
from gateway.store.units.events import request as existing_request
from gateway.store.units.grants import grant
from gateway.store.units.known_texts import accept_meant
from gateway.store.units.rows import REQUEST_COLUMNS, first, request_of
from gateway.store.value_rows import Table, insert, put

UNSHOWN = "closed: it could not be shown here"
TOOL_CHANGED = "closed: the tool has changed since this was asked"

REMIND_AFTER = (3600.0, 4 * 3600.0, 24 * 3600.0)
"""Seconds after which people are reminded of a request that is still open."""

REQUESTS = Table(
    "requests",
    Request,
    without=["asker", "supporters", "support_kinds", "awaited"],
    columns={"asked_at": "created_at"},
)


def ask(connection: Connection, request: Request, *, shown: int = 0) -> None:
    """Note a new request; the event `shown` has the call's arguments."""
    due_at = due(request.asked_at, 0, request.expires_at)
    insert(connection, REQUESTS, request, due_at=due_at, taken=request.awaited)
    note(connection, request, "asked", person="", agent="".join(request.agent[-1:]), shown=shown)


def resolve(
    connection: Connection,
    decision: RequestAnswer,
    author: Author,
    place: ConversationKey,
) -> tuple[Request, tuple[SessionEvent, ...]]:
    """Answer a request; it, and the events this adds. Raises NotFound."""
    request = existing_request(connection, decision.request)
    settle(connection, request, "answered", decision.outcome, decision.answer, author.id)
    if decision.grant is not None:
        grant(connection, request, decision.grant, author, place)
    if decision.answer.kind == "approve_new":
        accept_meant(connection, request, author.id)
    outcome = decision.outcome if request.kind == "approval" else ""
    note(connection, request, "answered", person=author.id, outcome=outcome, place=str(place))
    event = resolved(request, decision.outcome, author.name)
    return request, add_events(connection, request.thread, [event])


def support(
    connection: Connection,
    decision: RequestSupport,
    author: Author,
    place: ConversationKey,
) -> tuple[Request, tuple[SessionEvent, ...]]:
    """Note one of several approvals; the request and the events this adds.

    Raises NotFound.
    """
    request = existing_request(connection, decision.request)
    put(
        connection,
        "supports",
        request=request.id,
        person=author.id,
        always=decision.kind != "approve",
        kind=decision.kind,
        at=connection.now,
    )
    outcome = f"approved, {decision.approved} of {decision.quorum}"
    note(connection, request, "supported", person=author.id, outcome=outcome, place=str(place))
    event = InputSupported(
        thread=request.thread,
        turn=request.turn,
        request=request.id,
        by=author.name,
        approved=decision.approved,
        quorum=decision.quorum,
    )
    return request, add_events(connection, request.thread, [event])


def close(connection: Connection, turn: str, outcome: str) -> list[SessionEvent]:
    """Close the turn's open requests; the events to add."""
    rows = connection.fetch(
        f"SELECT {REQUEST_COLUMNS} WHERE r.turn = :turn AND r.state = 'open'", {"turn": turn}
    )
    return _closed(connection, [request_of(row) for row in rows], outcome)


def withdraw(connection: Connection, requests: Iterable[str], outcome: str) -> list[SessionEvent]:
    """Close those of these requests that are open; the events to add."""
    found = [existing_request(connection, request) for request in requests]
    return _closed(connection, [each for each in found if each.state == "open"], outcome)


@writes
def close_unshown(
    connection: Connection, thread: str, request: str = ""
) -> tuple[SessionEvent, ...]:
    """Close requests within calls of a thread that can't be shown.

    All such requests without one's id; the events this adds.
    """
    connection.lock(thread)
    rows = connection.fetch(
        f"SELECT {REQUEST_COLUMNS} WHERE r.thread = :thread AND r.state = 'open' AND r.taken"
        " AND (:request = '' OR r.id = :request)",
        {"thread": thread, "request": request},
    )
    events = _closed(connection, [request_of(row) for row in rows], UNSHOWN)
    return add_events(connection, thread, events)


def _closed(
    connection: Connection, requests: Sequence[Request], outcome: str
) -> list[SessionEvent]:
    for request in requests:
        settle(connection, request, "closed", outcome)
        note(connection, request, "closed", person="", outcome=outcome)
    return [resolved(request, outcome) for request in requests]


def close_anew(connection: Connection, request: Request) -> SessionEvent:
    """Close an approval of a changed tool; its turn asks anew."""
    denied = Answer(kind="deny", text=TOOL_CHANGED.removeprefix("closed: "))
    settle(connection, request, "expired", TOOL_CHANGED, denied)
    note(connection, request, "closed", person="", outcome=TOOL_CHANGED)
    return resolved(request, TOOL_CHANGED)


def mark_ready(connection: Connection, turn: str) -> bool:
    """Let a turn go on once one agent has all its answers.

    True if its lane can go on now.
    """
    of_turn = {"turn": turn}
    connection.execute(
        "UPDATE turns SET ready = TRUE WHERE id = :turn AND EXISTS (SELECT 1 FROM requests"
        " WHERE turn = :turn AND NOT taken AND state <> 'closed'"
        " GROUP BY agent HAVING SUM(CASE WHEN state = 'open' THEN 1 ELSE 0 END) = 0)",
        of_turn,
    )
    row = first(connection, "SELECT status, ready FROM turns WHERE id = :turn", of_turn)
    return row is not None and row["status"] == "waiting" and bool(row["ready"])


def settle(
    connection: Connection,
    request: Request,
    state: RequestState,
    outcome: str,
    answer: Answer | None = None,
    by: str = "",
) -> None:
    """Let a request that is open have its outcome."""
    connection.execute(
        "UPDATE requests SET state = :state, answer_kind = :kind, answer_text = :text,"
        " answered_by = :by, outcome = :outcome, resolved_at = :now, due_at = NULL"
        " WHERE id = :request AND state = 'open'",
        {
            "state": state,
            "kind": answer.kind if answer else "",
            "text": answer.text if answer else "",
            "by": by,
            "outcome": outcome,
            "now": connection.now,
            "request": request.id,
        },
    )


def note(connection: Connection, asked: Request, what: str, **columns: str | int) -> None:
    """Add to the audit of a request."""
    names = ("thread", "turn", "kind", "tool", "call", "arguments_hash")
    of_request = {name: getattr(asked, name) for name in names}
    audit.note(connection, what, **{**of_request, "request": asked.id, **columns})


def resolved(request: Request, outcome: str, by: str = "") -> InputResolved:
    """The event that shows a request's outcome."""
    return InputResolved(
        thread=request.thread, turn=request.turn, request=request.id, outcome=outcome, by=by
    )


def due(created: float, sent: int, expires: float | None) -> float | None:
    """Time of the request's next reminder or expiry."""
    remind = created + REMIND_AFTER[sent] if sent < len(REMIND_AFTER) else None
    times = [time for time in (remind, expires) if time is not None]
    return min(times, default=None)
