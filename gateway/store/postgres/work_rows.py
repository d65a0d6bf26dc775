"""Units of work for the stored entries of threads' work folders."""

from __future__ import annotations

from collections.abc import Collection

from psycopg.types.numeric import Int8

from gateway.errors import LeaseLost
from gateway.store.connection import Connection
from gateway.store.postgres.contents import missing, put_missing
from gateway.store.postgres.work_entries import Entry
from gateway.store.postgres.work_scan import FolderDiff

_PUT = """
    INSERT INTO work_files (thread, path, mode, size, changed, sha256)
    SELECT :thread, * FROM unnest(
     :paths::text[], :modes::bigint[], :sizes::bigint[], :changed::bigint[], :hashes::text[]
    )
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
        "SELECT path, mode, size, changed, COALESCE(sha256, '') FROM work_files"
        " WHERE thread = :thread",
        {"thread": thread},
    )
    return {
        path: Entry(mode=mode, size=size, changed=changed, sha256=sha256)
        for path, mode, size, changed, sha256 in rows
    }


def untold(connection: Connection, thread: str) -> list[str]:
    """Files of a turn that people were not told of yet."""
    rows = connection.fetch(
        "SELECT f.path FROM work_files f JOIN threads t ON t.id = f.thread"
        " WHERE f.thread = :thread AND f.changed > t.files_at",
        {"thread": thread},
    )
    return [row["path"] for row in rows]


def store_contents(connection: Connection, changes: FolderDiff) -> None:
    """Store the contents of changed files that the database does not have.

    It comes first in a transaction: nobody waits for the thread's lock while a large file is sent.
    """
    sizes = changes.spool.sizes
    hashes = {each.sha256 for each in changes.put.values() if each.sha256}
    if wanted := missing(connection, hashes):
        put_missing(connection, {each: sizes[each] for each in wanted}, changes.spool.content)


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
        put = sorted(changes.put.items())
        rows = {
            "thread": thread,
            "paths": [path for path, _ in put],
            "modes": [Int8(each.mode) for _, each in put],
            "sizes": [Int8(each.size) for _, each in put],
            "changed": [Int8(each.changed) for _, each in put],
            "hashes": [each.sha256 or None for _, each in put],
        }
        connection.execute(_PUT, rows)
    if changes.removed:
        connection.execute(
            "DELETE FROM work_files WHERE thread = :thread AND path = ANY(:paths)",
            {"thread": thread, "paths": list(changes.removed)},
        )
