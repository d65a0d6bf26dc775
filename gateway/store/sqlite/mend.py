"""Mending of a saved store, so that it is sound again."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import groupby

from gateway.conversation import ConversationKey
from gateway.events import Notice, dump_event
from gateway.store.connection import Row
from gateway.store.records import StoreFault
from gateway.store.sqlite.writer import SqliteConnection
from gateway.store.units.audit import FORGET_GONE
from gateway.store.units.counts import count_anew
from gateway.store.units.invariants import is_event
from gateway.store.units.rows import OPEN_STATUSES
from gateway.store.units.search_index import index_anew
from gateway.store.value_rows import put, update

LOST = "Something that stood here was lost to damage."
"""The text in the place of a lost event."""
REASON = "its record was lost to damage"

Faults = dict[str, dict[str, None]]


def mend(raw: sqlite3.Connection) -> list[StoreFault]:
    """Make the saved rows a sound store; what is missing, by thread."""
    connection = SqliteConnection(raw)
    faults: Faults = defaultdict(dict)
    _drop_unreadable(connection)
    _drop_changed_files(connection, faults)
    _remake_threads(connection, faults)
    _remake_turns(connection, faults)
    _drop_without_parent(raw, faults)
    _fill_events(connection, faults)
    _cut_states(connection, faults)
    for statement in _SETTLE:
        connection.execute(statement)
    count_anew(connection)
    index_anew(connection)
    return [StoreFault(thread=thread, text=text) for thread in faults for text in faults[thread]]


def _drop_unreadable(connection: SqliteConnection) -> None:
    rows = connection.raw.execute("SELECT rowid, thread, seq, body FROM events")
    bad = [row["rowid"] for row in rows if not is_event(row["body"], row["thread"], row["seq"])]
    connection.many("DELETE FROM events WHERE rowid = :row", [{"row": row} for row in bad])


def _drop_changed_files(connection: SqliteConnection, faults: Faults) -> None:
    for row in connection.fetch("SELECT sha256 FROM blobs"):
        (blob,) = connection.fetch("SELECT data FROM blobs WHERE sha256 = :sha256", dict(row))
        if sha256(blob["data"]).hexdigest() != row["sha256"]:
            connection.execute("DELETE FROM blobs WHERE sha256 = :sha256", dict(row))
    for row in connection.fetch(
        "SELECT thread FROM attachments WHERE sha256 NOT IN (SELECT sha256 FROM blobs)"
    ):
        faults[row["thread"]]["a file is lost"] = None


def _remake_threads(connection: SqliteConnection, faults: Faults) -> None:
    """Give rows of a lost thread a thread again, in its place."""
    rows = connection.fetch(
        "SELECT thread, MAX(place) AS place, MIN(at) AS at FROM ("
        "SELECT thread, CASE WHEN copy_of IS NULL THEN conversation END AS place,"
        " received_at AS at FROM inbox UNION ALL"
        " SELECT thread, destination, started_at FROM turns UNION ALL"
        " SELECT DISTINCT thread, NULL, NULL FROM events)"
        " WHERE thread NOT IN (SELECT id FROM threads) GROUP BY thread"
    )
    for row in rows:
        key = row["place"] or str(ConversationKey.local(row["thread"]))
        connection.execute(
            "INSERT INTO threads (id, key, current, team, definition, created_at, updated_at)"
            " VALUES (:thread, :key,"
            " NOT EXISTS (SELECT 1 FROM threads WHERE key = :key AND current),"
            " COALESCE((SELECT team FROM threads GROUP BY team ORDER BY COUNT(*) DESC), ''), '',"
            " COALESCE(:at, 0), COALESCE(:at, 0))",
            {"thread": row["thread"], "key": key, "at": row["at"]},
        )
        faults[row["thread"]]["its title, its team and its settings are lost"] = None


def _remake_turns(connection: SqliteConnection, faults: Faults) -> None:
    """Remake threads whose rows are lost, in their places."""
    for row in connection.fetch(
        "SELECT thread FROM turns GROUP BY thread HAVING COUNT(*) <> MAX(n) OR MIN(n) <> 1"
    ):
        faults[row["thread"]]["the record of a turn is lost"] = None
    for row in connection.fetch(
        "SELECT i.turn, i.thread, MIN(i.author) AS author, MIN(i.received_at) AS at FROM inbox i"
        " WHERE i.thread IS NOT NULL AND i.turn NOT IN (SELECT id FROM turns) GROUP BY i.turn"
    ):
        _remake_turn(connection, row)
        faults[row["thread"]]["the record of a turn is lost"] = None
    for row in connection.fetch(
        "SELECT DISTINCT thread FROM turns WHERE id NOT IN"
        " (SELECT turn FROM inbox WHERE turn IS NOT NULL AND outcome IN ('turn', 'merged'))"
    ):
        faults[row["thread"]]["messages are lost"] = None
    for thread in faults:
        _number_turns(connection, thread)


def _number_turns(connection: SqliteConnection, thread: str) -> None:
    of_thread = {"thread": thread}
    query = "SELECT id FROM turns WHERE thread = :thread ORDER BY started_at, n"
    turns = [row["id"] for row in connection.fetch(query, of_thread)]
    connection.execute("UPDATE turns SET n = -n WHERE thread = :thread", of_thread)
    connection.many(
        "UPDATE turns SET n = :n WHERE id = :turn",
        [{"n": n, "turn": turn} for n, turn in enumerate(turns, 1)],
    )


def _remake_turn(connection: SqliteConnection, row: Row) -> None:
    ended = connection.fetch(
        "SELECT json_extract(CAST(body AS TEXT), '$.outcome') AS outcome FROM events"
        " WHERE thread = :thread AND turn = :turn AND kind = 'turn_finished'"
        " ORDER BY seq DESC LIMIT 1",
        {"thread": row["thread"], "turn": row["turn"]},
    )
    outcome = ended[0]["outcome"] if ended else ""
    connection.execute(
        "INSERT INTO turns (id, thread, n, status, author, destination, reason, started_at,"
        " finished_at) SELECT :turn, :thread, 1 + COALESCE((SELECT MAX(n) FROM turns"
        " WHERE thread = :thread), 0), :status, :author, key, :reason, :at, :at"
        " FROM threads WHERE id = :thread",
        {
            "turn": row["turn"],
            "thread": row["thread"],
            "status": outcome if outcome in ("done", "stopped", "failed") else "interrupted",
            "author": row["author"],
            "reason": REASON,
            "at": row["at"],
        },
    )


def _drop_without_parent(raw: sqlite3.Connection, faults: Faults) -> None:
    """Drop rows that refer to lost ones, until none is left."""
    keys = raw.execute(
        "SELECT m.name AS child, k.* FROM sqlite_master m, pragma_foreign_key_list(m.name) k"
        " WHERE m.type = 'table'"
    ).fetchall()
    while any(_drop_children(raw, key, faults) for key in keys):
        pass


def _drop_children(raw: sqlite3.Connection, key: Row, faults: Faults) -> bool:
    """True if rows without the parent of this key were dropped."""
    table, column = key["child"], key["from"]
    where = (
        f'"{column}" IS NOT NULL AND NOT EXISTS'
        f' (SELECT 1 FROM {key["table"]} p WHERE p."{key["to"]}" = {table}."{column}")'
    )
    _tell_of_dropped(raw, table, where, faults)
    if key["on_delete"] == "SET NULL":
        done = raw.execute(f'UPDATE {table} SET "{column}" = NULL WHERE {where}')
    else:
        done = raw.execute(f"DELETE FROM {table} WHERE {where}")
    return done.rowcount > 0


_PARTS = {
    "attachments": "a file is lost",
    "requests": "a question is lost",
    "tool_calls": "the record of a tool call is lost",
}


def _tell_of_dropped(raw: sqlite3.Connection, table: str, where: str, faults: Faults) -> None:
    if table in _PARTS:
        for row in raw.execute(f"SELECT DISTINCT thread FROM {table} WHERE {where}"):
            faults[row["thread"]][_PARTS[table]] = None


def _fill_events(connection: SqliteConnection, faults: Faults) -> None:
    """Put a notice in the place of each lost event."""
    for row in connection.fetch(
        "SELECT t.id, t.last_seq, t.updated_at, COALESCE(MAX(e.seq), 0) AS newest,"
        " COUNT(e.seq) AS n FROM threads t LEFT JOIN events e ON e.thread = t.id GROUP BY t.id"
    ):
        last = max(row["last_seq"], row["newest"])
        if row["n"] == last == row["last_seq"]:
            continue
        query = "SELECT seq FROM events WHERE thread = :thread"
        there = {each["seq"] for each in connection.fetch(query, {"thread": row["id"]})}
        missing = [seq for seq in range(1, last + 1) if seq not in there]
        for seq in missing:
            notice = Notice(
                thread=row["id"], seq=seq, at=row["updated_at"], text=LOST, level="warning"
            )
            body = dump_event(notice)
            put(connection, "events", thread=row["id"], seq=seq, kind=notice.kind, body=body)
        update(connection, "threads", row["id"], last_seq=last)
        if missing:
            what = "an event is" if len(missing) == 1 else "events are"
            faults[row["id"]][f"{what} lost: {_ranges(missing)}"] = None


def _ranges(numbers: list[int]) -> str:
    """Numbers in order as ranges, such as "3-5, 8"."""
    found: list[str] = []
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        found.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ", ".join(found)


def _cut_states(connection: SqliteConnection, faults: Faults) -> None:
    """Keep of each team's state what stands before a lost part."""
    for row in connection.fetch("SELECT DISTINCT thread FROM checkpoints"):
        thread = {"thread": row["thread"]}
        parts = connection.fetch(
            "SELECT n, kind FROM checkpoints WHERE thread = :thread ORDER BY n", thread
        )
        newest = max((at for at, part in enumerate(parts) if part["kind"] == "snapshot"), default=0)
        if _whole(parts[: newest + 1]) <= newest:  # only earlier states need what is before it
            _forget_states(connection, {**thread, "n": parts[newest]["n"]}, "<")
            parts = parts[newest:]
        if (kept := _whole(parts)) < len(parts):
            _forget_states(connection, {**thread, "n": parts[kept]["n"]}, ">=")
            text = (
                "the newest part of its team's state is lost"
                if kept
                else "its team's state is lost"
            )
            faults[row["thread"]][text] = None


def _whole(parts: Sequence[Row]) -> int:
    """Number of parts before the first that is missing."""
    if parts[0]["kind"] != "snapshot":
        return 0
    missing = (at for at, part in enumerate(parts) if part["n"] != parts[0]["n"] + at)
    return next(missing, len(parts))


def _forget_states(connection: SqliteConnection, at: Mapping[str, str | int], side: str) -> None:
    """Drop the parts on one side of `n`."""
    for forget, number in (
        ("UPDATE turns SET state = NULL", "state"),
        ("DELETE FROM checkpoints", "n"),
    ):
        connection.execute(f"{forget} WHERE thread = :thread AND {number} {side} :n", at)


_SETTLE = (
    "UPDATE inbox SET outcome = 'refused', reason = 'its record was lost to damage'"
    " WHERE outcome = 'queued' AND (text IS NULL OR thread IS NULL)",
    "UPDATE inbox SET outcome = 'refused', reason = 'its record was lost to damage', text = NULL"
    " WHERE outcome IN ('turn', 'merged') AND kind = 'message' AND turn IS NULL",
    f"UPDATE requests SET state = 'closed', outcome = 'closed: its turn is over'"
    f" WHERE state = 'open' AND turn NOT IN (SELECT id FROM turns WHERE status IN {OPEN_STATUSES})",
    "DELETE FROM blobs WHERE sha256 NOT IN (SELECT sha256 FROM attachments)",
    "UPDATE threads SET attached = COALESCE("
    "(SELECT SUM(size) FROM attachments WHERE thread = threads.id), 0)",
    "UPDATE threads SET state = 'idle' WHERE state IN ('working', 'waiting') AND id NOT IN"
    f" (SELECT thread FROM turns WHERE status IN {OPEN_STATUSES})",
    "UPDATE threads SET state = 'working' WHERE state IN ('idle', 'parked') AND id IN"
    f" (SELECT thread FROM turns WHERE status IN {OPEN_STATUSES})",
    FORGET_GONE,
    "UPDATE deliveries SET told = (SELECT last_seq FROM threads WHERE id = deliveries.thread)"
    " WHERE told > (SELECT last_seq FROM threads WHERE id = deliveries.thread)",
)
"""Statements that settle states, sums and counts by the rows that are there."""
