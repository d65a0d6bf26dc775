"""Units of work for the audit: who did what, over all threads.

A row is written in the transaction of what it tells, by the one writer there is: its position is
behind all that were committed before. A driver with several writers has to see to that with a lock.

No row holds the text of a model: arguments are read where they stand, and go with their thread.
"""

from __future__ import annotations

from typing import Any

from gateway.conversation import LOCAL_OPERATOR
from gateway.store.connection import Connection
from gateway.store.operations import reads, writes
from gateway.store.records import AuditRow, CallRow, LossCause
from gateway.store.turn_records import Lease
from gateway.store.value_rows import add, put, rows_as

DELETED_PERSON = "deleted"
"""Stands in the place of a person who was deleted."""
PERSON_DELETED = "person deleted"
"""Outcome of the deletion of a deleted person's thread."""
AT_ONCE = 2_000
"""Rows among which old ones are dropped in one transaction."""
PER_COMMIT = 1_000_000
"""Positions left out for a lost commit: more than one has rows."""
UNCOUNTED = 1_000
"""Commits that may be lost besides those that are known to be."""

_ROWS = """
    SELECT a.id AS position, a.at, a.thread, a.turn, a.person, a.agent, a.what, a.object, a.tool,
     a.kind, a.outcome, a.request, a.call, a.arguments_hash, a.place,
     CASE WHEN a.what = 'answered' THEN COALESCE(r.answer_kind, '') ELSE '' END AS answer,
     substr(COALESCE(NULLIF(r.arguments, ''),
      CASE WHEN json_valid(e.body) THEN json_extract(e.body, '$.arguments') END, ''),
      1, :longest) AS arguments
    FROM audit a LEFT JOIN requests r ON r.id = a.request
     LEFT JOIN events e ON e.thread = a.thread AND e.seq = CASE WHEN a.call <> '' THEN
      (SELECT MAX(shown) FROM audit WHERE thread = a.thread AND call = a.call) END
"""
_DECISIONS = f"{_ROWS} WHERE a.thread = :thread AND a.what NOT LIKE '%.%' ORDER BY a.id"
_ALL = f"""{_ROWS}
    WHERE a.id > :after AND a.at >= :since AND a.at < :until ORDER BY a.id LIMIT :limit
"""
_FORGET = """
    UPDATE audit SET place = '', arguments_hash = '', outcome = CASE WHEN request = '' THEN outcome
     WHEN what = 'answered' THEN COALESCE((SELECT answer_kind FROM requests
      WHERE id = audit.request), '') ELSE '' END
"""
TELLS_OF_GONE = (
    "WHERE place || arguments_hash <> '' AND thread <> ''"
    " AND thread NOT IN (SELECT id FROM threads)"
)
"""Condition of rows that should have been forgotten with their thread."""
FORGET_GONE = f"{_FORGET} {TELLS_OF_GONE}"


@writes
def note(connection: Connection, what: str, **columns: str | int) -> None:
    """Add a row: the operator's, unless `person` says whose ("": the gateway's)."""
    by = {"person": LOCAL_OPERATOR.id}
    put(connection, "audit", **(by | columns), at=connection.now, what=what)


def deleted_threads(connection: Connection) -> dict[str, str]:
    """Threads that were deleted, with the outcomes."""
    rows = connection.fetch("SELECT thread, outcome FROM audit WHERE what = 'thread.deleted'")
    return {row["thread"]: row["outcome"] for row in rows}


def note_call(
    connection: Connection, lease: Lease, call: CallRow, *, person: str, shown: int
) -> None:
    """Note that a call began or ended; `shown` is its event."""
    if call.status in ("shown", "suspended"):
        return  # the row of its request tells
    ended = "refused" if call.outcome in ("refused", "not run") else "finished"
    action = f"tool.{'started' if call.status == 'started' else ended}"
    where = {"thread": lease.thread, "turn": lease.turn, "call": call.key, "person": person}
    done = {"tool": call.tool, "arguments_hash": call.arguments_hash, "agent": call.agent[-1]}
    outcome = call.outcome or call.status
    note(connection, action, **where, **done, outcome=outcome, shown=shown)


@reads
def audit(connection: Connection, thread: str) -> list[AuditRow]:
    """Decisions about the thread's requests and grants, with their people, in order."""
    return _rows(connection, _DECISIONS, {"thread": thread, "longest": 0})


@reads
def whole_audit(
    connection: Connection, *, after: int, since: float, until: float, limit: int, longest: int
) -> list[AuditRow]:
    """The first rows of all threads after a position; see SessionReader."""
    wanted = {"after": after, "since": since, "until": until, "limit": limit, "longest": longest}
    return _rows(connection, _ALL, wanted)


def _rows(connection: Connection, query: str, wanted: dict[str, Any]) -> list[AuditRow]:
    rows = connection.fetch(query, wanted)
    return [*map(rows_as(AuditRow), rows)]


def forget_thread(connection: Connection, thread: str) -> None:
    """Take from a thread's rows what people said; before it is deleted."""
    connection.execute(f"{_FORGET} WHERE thread = :thread", {"thread": thread})


def forget_person(connection: Connection, person: str) -> None:
    """Take a person out of all rows."""
    who = {"person": person, "gone": DELETED_PERSON}
    connection.execute("UPDATE audit SET person = :gone, place = '' WHERE person = :person", who)
    connection.execute("UPDATE audit SET object = :gone WHERE object = :person", who)


@writes(alone=True)
def drop_audit(connection: Connection, before: float) -> None:
    """Drop rows from before this time, the first ones."""
    oldest = connection.fetch("SELECT at FROM audit ORDER BY id LIMIT 1")
    if oldest and oldest[0]["at"] < before:
        connection.execute(
            "DELETE FROM audit WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT :most)"
            " AND at < :before",
            {"before": before, "most": AT_ONCE},
        )


def note_loss(connection: Connection, cause: LossCause, commits: int) -> None:
    """Note that commits are lost, behind all positions they had."""
    told = {"what": f"store.{cause}", "outcome": f"{commits} commits are missing"}
    lost = add(connection, "audit", **told, at=connection.now)
    behind = lost + (commits + UNCOUNTED) * PER_COMMIT
    put(connection, "audit", id=behind, **told, at=connection.now)
    connection.execute("DELETE FROM audit WHERE id = :id", {"id": lost})
