"""Units of work for memos, which teams remember beyond a thread."""

from __future__ import annotations

from dataclasses import asdict

from gateway.conversation import Author
from gateway.errors import LeaseLost
from gateway.store.connection import Connection
from gateway.store.operations import Erased, reads, writes
from gateway.store.records import Memo, MemoPlace
from gateway.store.turn_records import Lease
from gateway.store.units.rows import first, scalar
from gateway.store.value_rows import add, rows_as

_IN_PLACE = "team = :team AND scope = :scope AND key = :key"


@reads
def memos(connection: Connection, place: MemoPlace) -> list[Memo]:
    """Memos of a place, the oldest first."""
    query = f"SELECT * FROM memos WHERE {_IN_PLACE} ORDER BY id"
    return [*map(rows_as(Memo), connection.fetch(query, _place(place)))]


def memos_of(connection: Connection, person: str) -> list[Memo]:
    """Memos written on the person's behalf, by any team, newest first."""
    query = "SELECT * FROM memos WHERE person = :person ORDER BY id DESC"
    return [*map(rows_as(Memo), connection.fetch(query, {"person": person}))]


def memo_ids(connection: Connection) -> list[int]:
    """All memos that there are."""
    return [row["id"] for row in connection.fetch("SELECT id FROM memos")]


@writes
def add_memo(
    connection: Connection,
    lease: Lease,
    place: MemoPlace,
    author: Author,
    text: str,
    *,
    call: str,
    most: int,
) -> int:
    """Add a call's memo once; its number, 0 if there are `most`.

    A text that stands there has the number that it has. Raises LeaseLost.
    """
    _check_lease(connection, lease)
    connection.lock(f"memos {place.team} {place.scope} {place.key}")
    row = {
        **_place(place),
        "call": call,
        "person": author.id,
        "name": author.name,
        "thread": lease.thread if place.scope == "thread" else None,
        "text": text,
        "at": connection.now,
    }
    query = f"SELECT id FROM memos WHERE call = :call OR ({_IN_PLACE} AND text = :text)"
    if (known := scalar(connection, query, row)) is not None:
        return known
    if scalar(connection, f"SELECT COUNT(*) FROM memos WHERE {_IN_PLACE}", row) >= most:
        return 0
    return add(connection, "memos", **row)


def _memo_erased(deleted: bool, *_: object) -> Erased | None:
    return Erased() if deleted else None


@writes(erases=_memo_erased)
def delete_memo(
    connection: Connection, lease: Lease, place: MemoPlace, person: str, memo: int
) -> bool:
    """Delete the person's memo from a place; False if none. Raises LeaseLost."""
    _check_lease(connection, lease)
    statement = f"DELETE FROM memos WHERE id = :memo AND person = :person AND {_IN_PLACE}"
    return connection.change(statement, {**_place(place), "memo": memo, "person": person}) > 0


def delete_memos(connection: Connection, person: str, memo: int) -> int:
    """Delete the person's memo, or all for 0; their number."""
    return connection.change(
        "DELETE FROM memos WHERE person = :person AND :memo IN (0, id)",
        {"person": person, "memo": memo},
    )


def _check_lease(connection: Connection, lease: Lease) -> None:
    connection.lock(lease.thread)
    row = first(
        connection,
        "SELECT 1 FROM threads t JOIN turns u ON u.id = :turn AND u.status = 'running'"
        " WHERE t.id = :thread AND t.epoch = :epoch",
        {"turn": lease.turn, "thread": lease.thread, "epoch": lease.epoch},
    )
    if row is None:
        raise LeaseLost(lease.thread)


def _place(place: MemoPlace) -> dict[str, str]:
    return asdict(place)
