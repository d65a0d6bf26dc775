"""Units of work for tools approved for the rest of a thread."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gateway.conversation import Author, ConversationKey
from gateway.events import ASK, Notice
from gateway.store.connection import Connection
from gateway.store.operations import reads
from gateway.store.records import Grant, Request
from gateway.store.turn_records import MODE, ApprovalMode
from gateway.store.units.audit import note
from gateway.store.units.events import add_events
from gateway.store.value_rows import put, rows_as


def grant(
    connection: Connection,
    request: Request,
    scope: str,
    by: Author,
    place: ConversationKey,
) -> None:
    """Let a request's tool run for its asker, with these arguments."""
    put(
        connection,
        "grants",
        ("thread", "tool", "person", "scope"),
        thread=request.thread,
        tool=request.tool,
        person=request.asker,
        scope=scope,
        granted_by=by.id,
        granted_at=connection.now,
    )
    where = {"thread": request.thread, "turn": request.turn, "place": str(place)}
    scoped = {"arguments_hash": request.arguments_hash, "outcome": scope.partition(":")[0] or "any"}
    note(connection, "grant.given", person=by.id, tool=request.tool, **where, **scoped)


def grants(connection: Connection, thread: str) -> tuple[Grant, ...]:
    """The tools that may run for the rest of the thread."""
    rows = connection.fetch(
        "SELECT tool, person, scope, granted_by, granted_at FROM grants WHERE thread = :thread"
        " ORDER BY granted_at, tool",
        {"thread": thread},
    )
    return tuple(map(rows_as(Grant), rows))


def granted_to_all(
    connection: Connection,
    thread: str,
    people: Collection[Author],
    since: float,
    others: Mapping[str, float],
) -> Mapping[tuple[str, str], float]:
    """Tools and scopes approved for each of the people, and the times.

    Who approved a tool before foreign text came did not know what it would do now. The same holds
    for words of others: they have the approval, too, or wrote last, at this time, before it. What
    seems to be approved later than `now` was so before the clock was set back: nobody knows what
    came before it.
    """
    rows = connection.fetch(
        "SELECT tool, person, scope, granted_at FROM grants WHERE thread = :thread"
        " AND granted_at > :since AND granted_at <= :now",
        {"thread": thread, "since": since, "now": connection.now},
    )
    given: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        given.setdefault((row["tool"], row["scope"]), {})[row["person"]] = row["granted_at"]
    persons = {person.id for person in people}
    found: dict[tuple[str, str], float] = {}
    for granted, times in given.items():
        if persons <= times.keys():
            at = min(times[person] for person in persons)
            if all(other in times or last < at for other, last in others.items()):
                found[granted] = at
    return found


def revoke(
    connection: Connection,
    thread: str,
    tool: str,
    author: Author,
    place: ConversationKey,
    *,
    anybody: bool,
) -> bool:
    """Revoke the author's grants of a tool, or all; True for any."""
    revoked = connection.change(
        "DELETE FROM grants WHERE thread = :thread AND tool = :tool"
        " AND (:anybody OR person = :author OR granted_by = :author)",
        {"thread": thread, "tool": tool, "anybody": anybody, "author": author.id},
    )
    if revoked:
        where = {"thread": thread, "place": str(place), "outcome": "asked for again"}
        note(connection, "revoked", person=author.id, tool=tool, **where)
    return revoked > 0


@reads
def approval_mode(connection: Connection, thread: str) -> ApprovalMode:
    """The thread's mode of approval."""
    query = "SELECT tool AS name, person FROM grants WHERE thread = :thread AND scope = :mode"
    rows = connection.fetch(query, {"thread": thread, "mode": MODE})
    return next(map(rows_as(ApprovalMode), rows), ApprovalMode())


def set_mode(
    connection: Connection, thread: str, mode: str, author: Author, place: ConversationKey
) -> None:
    """Give the thread the author's mode of approval; "" ends it."""
    if old := approval_mode(connection, thread).name:
        revoke(connection, thread, old, author, place, anybody=True)
    if mode:
        row = {"thread": thread, "tool": mode, "scope": MODE, "person": author.id}
        put(connection, "grants", **row, granted_by=author.id, granted_at=connection.now)
        where = {"thread": thread, "place": str(place), "outcome": MODE}
        note(connection, "grant.given", person=author.id, tool=mode, **where)


def end_modes(connection: Connection, notice: str) -> None:
    """End all modes of approval: no chat is open."""
    for row in connection.fetch("SELECT thread FROM grants WHERE scope = :mode", {"mode": MODE}):
        told = Notice(thread=row["thread"], text=notice, approval=ASK)
        add_events(connection, row["thread"], [told])
    connection.execute("DELETE FROM grants WHERE scope = :mode", {"mode": MODE})
