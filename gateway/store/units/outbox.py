"""Units of work of the outbox: what stands on the platforms, and how far each thread is told
there.
"""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, fields

from gateway.errors import NotFound
from gateway.outbox import OutboxRow

_COLUMNS = tuple(field.name for field in fields(OutboxRow))
_FLAGS = ("closed", "open", "unsure")

UNTOLD = (
    "SELECT t.id FROM threads AS t LEFT JOIN deliveries AS d ON d.thread = t.id"
    " WHERE substr(t.key, 1, length(:prefix)) = :prefix AND t.last_seq > COALESCE(d.told, 0)"
    " ORDER BY t.updated_at"
)
"""The threads of a platform of which something is not told."""

PUT = (
    f"INSERT INTO outbox ({', '.join(_COLUMNS)}) VALUES ({', '.join(f':{c}' for c in _COLUMNS)})"
    f" ON CONFLICT (key) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in _COLUMNS)}"
)


def outbox_row_of(row: sqlite3.Row) -> OutboxRow:
    """A row of outbox."""
    values = {name: row[name] for name in _COLUMNS}
    for flag in _FLAGS:
        values[flag] = bool(values[flag])
    return OutboxRow(**values)


def put(connection: sqlite3.Connection, row: OutboxRow) -> None:
    """Write a row. Raises NotFound once its thread is gone."""
    _must_exist(connection, row.thread)
    connection.execute(PUT, asdict(row))


def told(connection: sqlite3.Connection, thread: str, seq: int) -> int:
    """Note that all up to `seq` is told; the thread's last seq. Raises NotFound.

    Rows of what was told before are removed, but for questions that are open and what failed.
    """
    last = _must_exist(connection, thread)
    before = connection.execute(
        "SELECT told FROM deliveries WHERE thread = ?", (thread,)
    ).fetchone()
    if before is None or before["told"] < seq:
        connection.execute(
            "DELETE FROM outbox WHERE thread = ? AND seq <= ? AND status <> 'failed' AND NOT open",
            (thread, before["told"] if before else 0),
        )
        connection.execute(
            "INSERT INTO deliveries (thread, told) VALUES (?, ?)"
            " ON CONFLICT (thread) DO UPDATE SET told = excluded.told",
            (thread, seq),
        )
    return last


def give_up(connection: sqlite3.Connection, thread: str, seq: int, why: str) -> None:
    """Nothing up to `seq` is told any more, for this reason. Raises NotFound."""
    _must_exist(connection, thread)
    connection.execute(
        "UPDATE outbox SET status = 'failed', reason = ?"
        " WHERE thread = ? AND status IN ('pending', 'attempting')",
        (why, thread),
    )
    connection.execute(
        "INSERT INTO deliveries (thread, told, gone) VALUES (?, ?, ?)"
        " ON CONFLICT (thread) DO UPDATE SET told = MAX(told, excluded.told), gone = excluded.gone",
        (thread, seq, why),
    )


def take_up(connection: sqlite3.Connection, thread: str) -> None:
    """The thread can be written to again."""
    connection.execute("UPDATE deliveries SET gone = '' WHERE thread = ?", (thread,))


def _must_exist(connection: sqlite3.Connection, thread: str) -> int:
    row = connection.execute("SELECT last_seq FROM threads WHERE id = ?", (thread,)).fetchone()
    if row is None:
        raise NotFound(f"There is no thread {thread!r}.")
    return row["last_seq"]
