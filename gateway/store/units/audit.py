"""Units of work for the audit: who did what, over all threads.

A row is written in the transaction of what it tells, by the one writer there is: its position is
behind all that were committed before. A driver with several writers has to see to that with a lock.

No row holds a text of people or models: arguments and notes are read where they stand, and go with
their thread.
"""

from __future__ import annotations

from math import inf
from typing import Any, TypedDict, Unpack, cast, get_args

from gateway.conversation import LOCAL_OPERATOR
from gateway.store.connection import Connection, Row
from gateway.store.records import AuditAction, AuditEntry, CallRow, LossCause, RequestAction
from gateway.store.turn_records import Lease

DELETED_PERSON = "deleted"
"""Stands in the place of a person who was deleted."""
AT_ONCE = 10_000
"""Rows among which old ones are dropped in one transaction."""
PER_COMMIT = 1_000_000
"""Positions that are left out for a lost commit: more than one has rows."""
UNCOUNTED = 1_000
"""Commits that may be lost besides those that are known to be."""
DECISIONS: tuple[str, ...] = get_args(RequestAction)


class AuditColumns(TypedDict, total=False):
    """Columns of a row besides its action and its time."""

    thread: str
    turn: str
    person: str
    agent: str
    object: str
    outcome: str
    tool: str
    call: str
    request: str
    kind: str
    arguments_hash: str
    place: str
    shown: int


AUDIT_VIEW = """
    CREATE TEMP VIEW audit AS SELECT *, '' AS turn, '' AS agent, '' AS call, 0 AS shown,
     '' AS object FROM main.audit
"""
"""Stands in for the audit of a store that knows requests and grants alone."""
_EMPTY: dict[str, Any] = dict.fromkeys(AuditColumns.__annotations__, "") | {"shown": 0}
_NOTE = f"""
    INSERT INTO audit (at, what, {", ".join(_EMPTY)})
    VALUES (:now, :what, {", ".join(f":{name}" for name in _EMPTY)})
"""
_ENTRIES = """
    SELECT a.id, a.at, a.thread, a.turn, a.person, a.agent, a.what, a.object, a.tool, a.kind,
     a.request, a.call, a.arguments_hash, a.place,
     CASE WHEN a.what = 'answered' THEN COALESCE(r.answer_kind, a.outcome) ELSE a.outcome END,
     CASE WHEN a.what = 'answered' AND r.kind = 'approval'
      THEN substr(r.answer_text, 1, :longest) ELSE '' END,
     substr(COALESCE(NULLIF(r.arguments, ''), json_extract(e.body, '$.arguments'), ''),
      1, :longest)
    FROM audit a LEFT JOIN requests r ON r.id = a.request
     LEFT JOIN events e ON e.thread = a.thread AND e.seq = CASE WHEN a.call <> '' THEN
      (SELECT MAX(shown) FROM audit WHERE thread = a.thread AND call = a.call) END
    WHERE a.id > :after AND a.at >= :since AND a.at < :until ORDER BY a.id LIMIT :limit
"""


def note(
    connection: Connection,
    now: float,
    what: AuditAction | RequestAction,
    **columns: Unpack[AuditColumns],
) -> None:
    """Add a row; without a person or an agent the gateway itself did it."""
    connection.execute(_NOTE, {**_EMPTY, **columns, "now": now, "what": what})


def note_operator(
    connection: Connection,
    now: float,
    action: AuditAction,
    *,
    thread: str = "",
    object: str = "",
    outcome: str = "",
) -> None:
    """Note what the operator did, beyond the store."""
    by = LOCAL_OPERATOR.id
    note(connection, now, action, person=by, thread=thread, object=object, outcome=outcome)


def note_call(
    connection: Connection, now: float, lease: Lease, call: CallRow, *, person: str, shown: int
) -> None:
    """Note that a call begins, or how it ended; `shown` is its event."""
    action: AuditAction
    match call.status:
        case "started":
            action = "tool.started"
        case "finished" | "settled" | "unknown":
            unrun = call.outcome in ("refused", "not run")
            action = "tool.refused" if unrun else "tool.finished"
        case "shown" | "suspended":  # the row of its request tells
            return
    note(
        connection,
        now,
        action,
        thread=lease.thread,
        turn=lease.turn,
        person=person,
        agent=call.agent[-1],
        tool=call.tool,
        call=call.key,
        arguments_hash=call.arguments_hash,
        outcome=call.outcome or call.status,
        shown=shown,
    )


def audit_entries(
    connection: Connection,
    *,
    after: int = 0,
    since: float = 0.0,
    until: float = inf,
    limit: int = 500,
    longest: int = 4000,
) -> list[AuditEntry]:
    """The first `limit` rows after a position, of these times.

    Texts are cut at so many characters.
    """
    rows = connection.fetch(
        _ENTRIES,
        {"after": after, "since": since, "until": until, "limit": limit, "longest": longest},
    )
    return [_entry(row) for row in rows]


def _entry(row: Row) -> AuditEntry:
    position, at, thread, turn, person, agent, what, object_, tool, kind, *others = row
    request, call, arguments_hash, place, outcome, note_, arguments = others
    about = "grant" if what == "revoked" else "request"
    return AuditEntry(
        position=position,
        at=at,
        thread=thread,
        turn=turn,
        person=person,
        agent=agent,
        action=cast("AuditAction", f"{about}.{what}" if what in DECISIONS else what),
        object=object_ or tool or kind,
        outcome=outcome,
        request=request,
        call=call,
        arguments=arguments,
        arguments_hash=arguments_hash,
        note=note_,
        place=place,
    )


_FORGET = """
    UPDATE audit SET place = '', arguments_hash = '', outcome = CASE WHEN request = '' THEN outcome
     WHEN what = 'answered' THEN COALESCE((SELECT answer_kind FROM requests
      WHERE id = audit.request), '') ELSE '' END
"""
TELLS_OF_GONE = """
    WHERE place || arguments_hash <> '' AND thread <> '' AND thread NOT IN (SELECT id FROM threads)
"""
"""Condition of rows that should have been forgotten with their thread."""
FORGET_GONE = f"{_FORGET} {TELLS_OF_GONE}"


def forget_thread(connection: Connection, thread: str) -> None:
    """Take from a thread's rows what people said; before it is deleted."""
    connection.execute(f"{_FORGET} WHERE thread = :thread", {"thread": thread})


def forget_person(connection: Connection, person: str) -> None:
    """Take a person out of all rows."""
    of_person = {"person": person, "deleted": DELETED_PERSON}
    connection.execute(
        "UPDATE audit SET person = :deleted, place = '' WHERE person = :person", of_person
    )
    connection.execute("UPDATE audit SET object = :deleted WHERE object = :person", of_person)


def drop_audit(connection: Connection, before: float) -> int:
    """Drop rows from before this time, the first ones; their number."""
    return connection.execute(
        "DELETE FROM audit WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT :most)"
        " AND at < :before",
        {"before": before, "most": AT_ONCE},
    )


def note_loss(connection: Connection, now: float, cause: LossCause, commits: int) -> None:
    """Note that commits are lost, behind all positions that they may have had."""
    told = {"now": now, "what": f"store.{cause}", "outcome": f"{commits} commits are missing"}
    lost = connection.insert(_NOTE, {**_EMPTY, **told})
    connection.execute(
        "INSERT INTO audit (id, at, what, outcome) VALUES (:id, :now, :what, :outcome)",
        {**told, "id": lost + (commits + UNCOUNTED) * PER_COMMIT},
    )
    connection.execute("DELETE FROM audit WHERE id = :id", {"id": lost})
