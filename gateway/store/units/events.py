"""Units of work that add to a thread's history, and read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache, lru_cache
from itertools import groupby
from operator import attrgetter
from typing import Any

from gateway.client import ThreadState
from gateway.errors import LeaseLost, NotFound
from gateway.events import (
    ContextFill,
    MessageFinished,
    MessageJoined,
    Notice,
    SessionEvent,
    SourcesFound,
    TurnFinished,
    TurnStarted,
    dump_event,
    load_event,
)
from gateway.store.connection import Connection
from gateway.store.operations import reads, writes
from gateway.store.records import Checkpoint, OldState, Request
from gateway.store.units.rows import find_request, scalar

TOGETHER = 100
"""Events that one statement stores: SQLite may have been built to take 999 values in one."""

LATE = 50
"""Events among which an incident is looked for: it is told within few tries."""

NEWEST = "n >= (SELECT MAX(n) FROM checkpoints WHERE thread = :thread AND kind = 'snapshot')"
"""Condition that a checkpoint is one of the team's state of now."""

LONG = 5_000
"""Events among which a cut answer, or the end of a turn, is looked for."""
ENDS = 5
"""Ends of turns, one of which tells how full contexts are: not where a turn could not begin."""

PREVIEW = 160
"""Characters of a thread's last message that lists show."""

_CHANGES = {
    "preview": "preview = :preview",
    "state": "state = :state",
    "owner": "owner = :owner, epoch = epoch + 1, held = ''",
}
_HOLDER = "/*pg , owner = COALESCE(lane_holder(owner, id, key), owner) */"


def add_events(
    connection: Connection,
    thread: str,
    events: Sequence[SessionEvent],
    *,
    after: int | None = None,
    state: ThreadState | None = None,
    owner: str | None = None,
) -> tuple[SessionEvent, ...]:
    """Give the events their place in the thread.

    It is in this `state` with them, and claimed by an `owner`. Raises LeaseLost unless the thread
    is there; without events nothing is looked at.

    `after`: the thread's last seq, where it was read in the same unit of work: so it is there.
    """
    if not events:
        return ()
    if after is None:
        after = _last_seq(connection, thread)
    placed = [
        _placed(event, thread, after + n, connection.now) for n, event in enumerate(events, 1)
    ]
    changed = {"preview": _last_preview(events), "state": state, "owner": owner}
    changed = {name: each for name, each in changed.items() if each is not None}
    counted = {"thread": thread, "last_seq": after + len(placed), "now": connection.now}
    connection.execute(_count(*changed), counted | changed)
    for begin in range(0, len(placed), TOGETHER):
        _insert(connection, thread, placed[begin : begin + TOGETHER])
    return tuple(placed)


@writes
def add_notice(connection: Connection, thread: str, notice: Notice) -> tuple[SessionEvent, ...]:
    """Add a notice of no turn's, unless its incident is told.

    Raises LeaseLost unless the thread is there.
    """
    connection.lock(thread)
    return add_events(connection, thread, untold(connection, thread, notice))


def untold(connection: Connection, thread: str, notice: Notice) -> list[Notice]:
    """The notice, unless a late event of the thread tells its incident."""
    late = connection.fetch(
        "SELECT body FROM events WHERE thread = :thread AND seq > :after AND kind = 'notice'",
        {"thread": thread, "after": _last_seq(connection, thread) - LATE},
    )
    incident = f'"incident":"{notice.incident}"'.encode()
    told = notice.incident and any(incident in bytes(row["body"]) for row in late)
    return [] if told else [notice]


def cut_answer(connection: Connection, thread: str, *, back: int) -> MessageFinished | None:
    """The last answer of the newest turn that was cut.

    `back`: of the turn so many before it.
    """
    rows = connection.fetch(
        "SELECT body FROM events WHERE thread = :thread AND seq > :after"
        " AND kind = 'message_finished' AND turn = (SELECT id FROM turns WHERE thread = :thread"
        " AND n = (SELECT MAX(n) FROM turns WHERE thread = :thread) - :back) ORDER BY seq DESC",
        {"thread": thread, "after": _last_seq(connection, thread) - LONG, "back": back},
    )
    last: dict[str, MessageFinished] = {}
    for row in rows:
        event = load_event(row["body"])
        if isinstance(event, MessageFinished):
            last.setdefault(event.message, event)
    return next((each for each in last.values() if each.ending == "cut"), None)


def sources_found(connection: Connection, thread: str, turn: str) -> tuple[SourcesFound, ...]:
    """The passages that the agents of a turn were told."""
    rows = connection.fetch(
        "SELECT body FROM events WHERE thread = :thread AND seq > :after AND turn = :turn"
        " AND kind = 'sources_found' ORDER BY seq",
        {"thread": thread, "after": _last_seq(connection, thread) - LONG, "turn": turn},
    )
    found = [load_event(row["body"]) for row in rows]
    return tuple(each for each in found if isinstance(each, SourcesFound))


def _last_seq(connection: Connection, thread: str) -> int:
    last = scalar(connection, "SELECT last_seq FROM threads WHERE id = :thread", {"thread": thread})
    if last is None:
        raise LeaseLost(thread)
    return last


@cache
def _count(*names: str) -> str:
    """Change these columns alone: indexes of unchanged ones would be written, too."""
    changes = ", ".join(
        ["last_seq = :last_seq", "updated_at = :now", *(_CHANGES[name] for name in names)]
    )
    holder = "" if "owner" in names else _HOLDER
    return f"UPDATE threads SET {changes} {holder} WHERE id = :thread"


def _insert(connection: Connection, thread: str, events: Sequence[SessionEvent]) -> None:
    parameters: dict[str, Any] = {"thread": thread}
    for n, event in enumerate(events):
        parameters[f"seq{n}"] = event.seq
        parameters[f"turn{n}"] = event.turn
        parameters[f"kind{n}"] = event.kind
        parameters[f"body{n}"] = dump_event(event)
    connection.execute(_insert_events(len(events)), parameters)


@lru_cache(maxsize=16)
def _insert_events(count: int) -> str:
    """Insert all of them with one statement: each has its price."""
    rows = ", ".join(f"(:thread, :seq{n}, :turn{n}, :kind{n}, :body{n})" for n in range(count))
    return f"INSERT INTO events (thread, seq, turn, kind, body) VALUES {rows}"


def _placed(event: SessionEvent, thread: str, seq: int, at: float) -> SessionEvent:
    """The event at its place; a faster `replace`."""
    names, values = _others(type(event))
    others = zip(names, values(event), strict=True)
    return type(event)(thread=thread, seq=seq, at=at, **dict(others))


@lru_cache(maxsize=64)
def _others(kind: type[SessionEvent]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Names of an event's own fields, and a reader of their values."""
    names = {each.name for each in fields(kind)} - {"thread", "seq", "at"}
    return (*names,), attrgetter(*names)


def _last_preview(events: Sequence[SessionEvent]) -> str | None:
    for event in reversed(events):
        if text := _preview(event):
            return text
    return None


def _preview(event: SessionEvent) -> str:
    match event:
        case MessageFinished(text=text):
            pass
        case TurnStarted(messages=(*_, last)):
            text = last.text
        case MessageJoined(message=joined):
            text = joined.text
        case _:
            return ""
    return " ".join(text[: 4 * PREVIEW].split())[:PREVIEW]


@reads
def events(
    connection: Connection, thread: str, *, after: int = 0, limit: int = 500
) -> list[SessionEvent]:
    """The first `limit` events after a seq."""
    rows = connection.fetch(
        "SELECT body FROM events WHERE thread = :thread AND seq > :after ORDER BY seq LIMIT :limit",
        {"thread": thread, "after": after, "limit": limit},
    )
    return [load_event(row["body"]) for row in rows]


@reads
def of_turn(connection: Connection, thread: str, turn: str) -> list[SessionEvent]:
    """All events of a turn."""
    rows = connection.fetch(
        "SELECT body FROM events WHERE thread = :thread AND turn = :turn ORDER BY seq",
        {"thread": thread, "turn": turn},
    )
    return [load_event(row["body"]) for row in rows]


@reads
def fill(connection: Connection, thread: str) -> tuple[ContextFill, ...]:
    """The fill of its agents' contexts when a turn last ended."""
    rows = connection.fetch(
        "SELECT body FROM events WHERE thread = :thread AND kind = 'turn_finished'"
        " AND seq > :after ORDER BY seq DESC LIMIT :ends",
        {"thread": thread, "after": _last_seq(connection, thread) - LONG, "ends": ENDS},
    )
    ends = (load_event(row["body"]) for row in rows)
    return next((each.fill for each in ends if isinstance(each, TurnFinished) and each.fill), ())


@reads
def request(connection: Connection, request: str) -> Request:
    """One request. Raises NotFound."""
    found = find_request(connection, request)
    if found is None:
        raise NotFound(f"There is no request {request!r}.")
    return found


@reads
def checkpoints(connection: Connection, thread: str) -> list[Checkpoint]:
    """The newest snapshot and the deltas after it."""
    rows = connection.fetch(
        f"SELECT kind, data FROM checkpoints WHERE thread = :thread AND {NEWEST} ORDER BY n",
        {"thread": thread},
    )
    return [Checkpoint(kind=row["kind"], data=row["data"]) for row in rows]


@reads
def old_states(connection: Connection, thread: str) -> list[OldState]:
    """Memories of teams that were replaced in this thread, oldest first."""
    rows = connection.fetch(
        "SELECT * FROM old_states WHERE thread = :thread ORDER BY replaced_at, n",
        {"thread": thread},
    )
    return [
        OldState(
            definition=definition,
            replaced_at=replaced_at,
            checkpoints=tuple(Checkpoint(kind=r["kind"], data=r["data"]) for r in found),
        )
        for (replaced_at, definition), found in groupby(
            rows, key=lambda row: (row["replaced_at"], row["definition"])
        )
    ]
