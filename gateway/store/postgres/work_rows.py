"""Units of work for the stored entries of threads' work folders."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gateway.errors import LeaseLost
from gateway.store.connection import Connection
from gateway.store.postgres.contents import missing, put_parts
from gateway.store.postgres.work_entries import Entry
from gateway.store.postgres.work_scan import FolderDiff

_PUT = """
    INSERT INTO work_files (thread, path, mode, size, changed, sha256)
    VALUES (:thread, :path, :mode, :size, :changed, :sha256)
    ON CONFLICT (thread, path) DO UPDATE SET mode = excluded.mode, size = excluded.size,
     changed = excluded.changed, sha256 = excluded.sha256
"""

_SET_VERSION = """
    INSERT INTO work_folders (thread, version) VALUES (:thread, :version)
    ON CONFLICT (thread) DO UPDATE SET version = excluded.version
     WHERE work_folders.version = ANY(:before)
"""


def version(connection: Connection, thread: str) -> str:
    """Version of the stored folder; "" if nothing was stored."""
    rows = connection.fetch(
        "SELECT version FROM work_folders WHERE thread = :thread", {"thread": thread}
    )
    return rows[0]["version"] if rows else ""


def entries(connection: Connection, thread: str) -> dict[str, Entry]:
    """The stored entries by their paths."""
    rows = connection.fetch(
        "SELECT path, mode, size, changed, sha256 FROM work_files WHERE thread = :thread",
        {"thread": thread},
    )
    return {
        row["path"]: Entry(
            mode=row["mode"],
            size=row["size"],
            changed=row["changed"],
            sha256=row["sha256"] or "",
        )
        for row in rows
    }


def store_contents(connection: Connection, changes: FolderDiff) -> None:
    """Store the contents of changed files that the database does not have.

    It comes first in a transaction: nobody waits for the thread's lock while a large file is sent.
    """
    sizes = changes.spool.sizes
    hashes = {each.sha256 for each in changes.put.values() if each.sha256}
    # In one order everywhere: two transactions with the same contents wait, and do not deadlock.
    for sha256 in sorted(missing(connection, hashes)):
        put_parts(connection, sha256, sizes[sha256], changes.spool.parts(sha256))


def store_entries(
    connection: Connection,
    thread: str,
    changes: FolderDiff,
    version: str,
    before: Collection[str],
) -> None:
    """Store a folder's changed entries as its next version.

    Raises LeaseLost if the stored version is none of those `before`.
    """
    of_folder = {"thread": thread, "version": version, "before": sorted(before)}
    if not connection.change(_SET_VERSION, of_folder):
        raise LeaseLost(thread)
    if changes.put:
        connection.many(_PUT, [_row(thread, *each) for each in sorted(changes.put.items())])
    if changes.removed:
        connection.execute(
            "DELETE FROM work_files WHERE thread = :thread AND path = ANY(:paths)",
            {"thread": thread, "paths": list(changes.removed)},
        )


def _row(thread: str, path: str, entry: Entry) -> Mapping[str, object]:
    return {
        "thread": thread,
        "path": path,
        "mode": entry.mode,
        "size": entry.size,
        "changed": entry.changed,
        "sha256": entry.sha256 or None,
    }
