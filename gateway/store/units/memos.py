"""Units of work for memos, which teams remember beyond a thread."""

from __future__ import annotations

from gateway.errors import LeaseLost
from gateway.store.connection import Connection, Row
from gateway.store.records import Memo, MemoPlace
from gateway.store.turn_records import Lease, NewMemo
from gateway.store.units.rows import first

_IN_PLACE = "team = :team AND scope = :scope AND key = :key"
_INSERT = """
    INSERT INTO memos (call, team, scope, key, person, name, thread, text, at)
    VALUES (:call, :team, :scope, :key, :person, :name, :thread, :text, :now)
"""


def memos(connection: Connection, place: MemoPlace) -> list[Memo]:
    """Memos of a place, the oldest first."""
    query = f"SELECT * FROM memos WHERE {_IN_PLACE} ORDER BY id"
    return [_memo(row) for row in connection.fetch(query, _place(place))]


def memos_of(connection: Connection, person: str) -> list[Memo]:
    """Memos written on the person's behalf, by any team, newest first."""
    query = "SELECT * FROM memos WHERE person = :person ORDER BY id DESC"
    return [_memo(row) for row in connection.fetch(query, {"person": person})]


def add_memo(connection: Connection, now: float, lease: Lease, memo: NewMemo, most: int) -> int:
    """Add a call's memo once; its number, 0 if there are `most`.

    A text that stands there has the number that it has. Raises LeaseLost.
    """
    _check_lease(connection, lease)
    place = _place(memo.place)
    known = first(
        connection,
        f"SELECT id FROM memos WHERE call = :call OR ({_IN_PLACE} AND text = :text)",
        {**place, "call": memo.call, "text": memo.text},
    )
    if known is not None:
        return known["id"]
    query = f"SELECT COUNT(*) FROM memos WHERE {_IN_PLACE}"
    if connection.fetch(query, place)[0][0] >= most:
        return 0
    return connection.insert(
        _INSERT,
        {
            **place,
            "call": memo.call,
            "person": memo.author.id,
            "name": memo.author.name,
            "thread": lease.thread if memo.place.scope == "thread" else None,
            "text": memo.text,
            "now": now,
        },
    )


def delete_memo(
    connection: Connection, lease: Lease, place: MemoPlace, person: str, memo: int
) -> bool:
    """Delete the person's memo from a place; False if none. Raises LeaseLost."""
    _check_lease(connection, lease)
    statement = f"DELETE FROM memos WHERE id = :memo AND person = :person AND {_IN_PLACE}"
    return connection.execute(statement, {**_place(place), "memo": memo, "person": person}) > 0


def delete_memos(connection: Connection, person: str, memo: int | None = None) -> int:
    """Delete a memo of the person, or all; how many were deleted."""
    return connection.execute(
        "DELETE FROM memos WHERE person = :person AND (:memo IS NULL OR id = :memo)",
        {"person": person, "memo": memo},
    )


def _check_lease(connection: Connection, lease: Lease) -> None:
    row = first(
        connection,
        "SELECT 1 FROM threads t JOIN turns u ON u.id = :turn AND u.status = 'running'"
        " WHERE t.id = :thread AND t.epoch = :epoch",
        {"turn": lease.turn, "thread": lease.thread, "epoch": lease.epoch},
    )
    if row is None:
        raise LeaseLost(lease.thread)


def _memo(row: Row) -> Memo:
    names = ("id", "team", "scope", "person", "name", "text")
    return Memo(**{name: row[name] for name in names})


def _place(place: MemoPlace) -> dict[str, str]:
    return {"team": place.team, "scope": place.scope, "key": place.key}
