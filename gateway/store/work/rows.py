"""Units of work for stored entries of work folders, earlier ones included.

An entry that a turn changes or removes is kept as an earlier one: it was in the folder at the ends
of the turns from `since` on, and before `until`. So a version costs what its turn has changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gateway.errors import LeaseLost
from gateway.store.connection import Connection
from gateway.store.work.contents import WorkLimits
from gateway.store.work.entries import Entry
from gateway.store.work.scan import MB, FolderDiff

_COLUMNS = "path, mode, size, changed, sha256"
_KEEP = f"""
    INSERT INTO work_versions (thread, {_COLUMNS}, since, until)
    SELECT thread, {_COLUMNS}, since, :n FROM work_files
    WHERE thread = :thread AND path = :path AND since < :n
"""
_PUT = f"""
    INSERT INTO work_files (thread, {_COLUMNS}, since)
    VALUES (:thread, :path, :mode, :size, :changed, :sha256, :n)
    ON CONFLICT (thread, path) DO UPDATE SET mode = excluded.mode, size = excluded.size,
     changed = excluded.changed, sha256 = excluded.sha256, since = excluded.since
"""
_REMOVE = "DELETE FROM work_files WHERE thread = :thread AND path = :path"
_DROP = "DELETE FROM work_versions WHERE thread = :thread AND until <= :oldest"
_SET_FOLDER = """
    INSERT INTO work_folders (thread, version, kept_from) VALUES (:thread, :version, :oldest)
    ON CONFLICT (thread) DO UPDATE SET version = excluded.version, kept_from = excluded.kept_from
"""
_SIZES = """
    SELECT until, SUM(size) AS size FROM work_versions WHERE thread = :thread
    GROUP BY until ORDER BY until DESC
"""
_AT = f"""
    SELECT {_COLUMNS} FROM work_versions
    WHERE thread = :thread AND since <= :n AND until > :n
    UNION ALL SELECT {_COLUMNS} FROM work_files WHERE thread = :thread AND since <= :n
"""
"""The entries at the end of a turn."""
FORGET = """
    INSERT INTO work_folders (thread, version, kept_from)
    SELECT thread, '', MAX(n) + 1 FROM turns GROUP BY thread
    ON CONFLICT DO NOTHING
"""
"""Lets no turn so far count as one whose folder is known."""


def version(connection: Connection, thread: str) -> str:
    """Version of the stored folder; "" if nothing was stored."""
    row = _folder(connection, thread)
    return row[0] if row else ""


def entries(connection: Connection, thread: str) -> dict[str, Entry]:
    """The stored entries by their paths."""
    query = f"SELECT {_COLUMNS} FROM work_files WHERE thread = :thread"
    return _entries(connection, query, {"thread": thread})


def entries_at(connection: Connection, thread: str, n: int) -> dict[str, Entry] | None:
    """The entries at the end of a turn; None if unknown."""
    row = _folder(connection, thread)
    if row and row[1] > n:
        return None
    return _entries(connection, _AT, {"thread": thread, "n": n})


def _entries(connection: Connection, query: str, of: Mapping[str, str | int]) -> dict[str, Entry]:
    return {
        path: Entry(mode=mode, size=size, changed=changed, sha256=sha256 or "")
        for path, mode, size, changed, sha256 in connection.fetch(query, of)
    }


def hashes(connection: Connection, thread: str) -> set[str]:
    """Hashes of all contents that the folder's versions name."""
    rows = connection.fetch(
        "SELECT sha256 FROM work_files WHERE thread = :thread AND sha256 IS NOT NULL"
        " UNION SELECT sha256 FROM work_versions WHERE thread = :thread AND sha256 IS NOT NULL",
        {"thread": thread},
    )
    return {row["sha256"] for row in rows}


def fork(
    connection: Connection, thread: str, n: int, new: str, *, version: str, kept: bool
) -> None:
    """Give a new thread the entries of then (`kept`) or now."""
    of = {"thread": thread, "n": n, "new": new, "version": version}
    entries = _AT if kept else f"SELECT {_COLUMNS} FROM work_files WHERE thread = :thread"
    connection.execute(
        f"INSERT INTO work_files (thread, {_COLUMNS}, since)"
        f" SELECT :new, {_COLUMNS}, :n FROM ({entries}) AS found",
        of,
    )
    connection.execute(_SET_FOLDER, {"thread": new, "version": version, "oldest": n})


def untold(connection: Connection, thread: str) -> list[str]:
    """Files of a turn that people were not told of yet."""
    rows = connection.fetch(
        "SELECT f.path FROM work_files f JOIN threads t ON t.id = f.thread"
        " WHERE f.thread = :thread AND f.changed > t.files_at",
        {"thread": thread},
    )
    return [row["path"] for row in rows]


def store_entries(
    connection: Connection,
    thread: str,
    changes: FolderDiff,
    version: str,
    before: Collection[str],
    limits: WorkLimits,
) -> None:
    """Store changed entries as the next version, of the thread's last turn.

    Raises LeaseLost if the stored version is none of those `before`.
    """
    row = _folder(connection, thread)
    stored, oldest = row or ("", 0)
    if stored not in before:
        raise LeaseLost(thread)
    last = "SELECT COALESCE(MAX(n), 0) FROM turns WHERE thread = :thread"
    n: int = connection.fetch(last, {"thread": thread})[0][0]
    of_turn = {"thread": thread, "n": n}
    at_paths = [{**of_turn, "path": path} for path in (*changes.put, *changes.removed)]
    connection.many(_KEEP, at_paths)
    put = [
        {
            **of_turn,
            "path": path,
            "mode": each.mode,
            "size": each.size,
            "changed": each.changed,
            "sha256": each.sha256 or None,
        }
        for path, each in sorted(changes.put.items())
    ]
    connection.many(_PUT, put)
    connection.many(_REMOVE, [{"thread": thread, "path": path} for path in changes.removed])
    oldest = max(oldest, n - limits.fork_turns, _fitting(connection, thread, limits))
    connection.execute(_DROP, {"thread": thread, "oldest": oldest})
    connection.execute(_SET_FOLDER, {"thread": thread, "version": version, "oldest": oldest})


def _fitting(connection: Connection, thread: str, limits: WorkLimits) -> int:
    """The oldest turn whose version is within the limit."""
    left = int(limits.work_mb * MB)
    for row in connection.fetch(_SIZES, {"thread": thread}):
        left -= int(row["size"])
        if left < 0:
            return row["until"]
    return 0


def _folder(connection: Connection, thread: str) -> tuple[str, int] | None:
    """The stored version, and the first turn whose folder is known."""
    rows = connection.fetch(
        "SELECT version, kept_from FROM work_folders WHERE thread = :thread", {"thread": thread}
    )
    return (rows[0]["version"], rows[0]["kept_from"]) if rows else None
