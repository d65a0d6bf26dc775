"""Work folders of a copied store: to a database, and back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gateway.errors import StoreError
from gateway.store.connection import Connection, Unit
from gateway.store.operations import hand_on
from gateway.store.postgres.copying import PostgresTables
from gateway.store.postgres.database import Database
from gateway.store.postgres.work_contents import StoredContents
from gateway.store.units.threads import thread_ids
from gateway.store.work.folder import NOTES, WorkFolders
from gateway.store.work.note import left_out_before
from gateway.store.work.rows import FORGET

_FORGET = ("DELETE FROM work_files", "DELETE FROM work_folders", FORGET)
_OTHER = """
    SELECT sha256 FROM contents c WHERE sha256 <> encode(sha256(COALESCE(
     (SELECT string_agg(data, '' ORDER BY n) FROM content_parts p WHERE p.sha256 = c.sha256), '')),
     'hex') LIMIT 1
"""
_STORED = "SELECT thread FROM work_folders ORDER BY thread"

Step = Callable[[int, int], None]
T = TypeVar("T")


async def store_folders(tables: PostgresTables, folder: Path, limits: Database, step: Step) -> int:
    """Store the work folders below `folder`; number of files left out.

    `step` is told how many are done, and of how many. Raises StoreError where other contents are
    stored than were sent.
    """

    async def read(unit: Unit[T]) -> T:
        return tables.run(unit)

    async def write(unit: Unit[T], then: Callable[[T], None] | None) -> T:
        with tables.transaction():
            result = tables.run(unit)
        hand_on(then, result)
        return result

    # An earlier try may have stored what has changed since; its contents are not sent again.
    with tables.transaction():
        tables.run(_forget)
    shutil.rmtree(folder / NOTES, ignore_errors=True)
    work = WorkFolders(folder, limits.work, StoredContents(folder), copies=True)
    threads = [each for each in tables.run(thread_ids) if work.path(each).is_dir()]
    for done, thread in enumerate(threads, 1):
        await work.commit(thread, _nothing, read, write)
        step(done, len(threads))
    if found := tables.run(lambda connection: connection.fetch(_OTHER)):
        raise StoreError(f"The file {found[0]['sha256']} was changed on its way to {tables.name}.")
    return sum(len(left_out_before(folder / NOTES / thread)) for thread in threads)


async def load_folders(
    tables: PostgresTables, node: Path, folder: Path, limits: Database, step: Step
) -> int:
    """Write stored work folders below `folder`; number of files left out.

    Those are on this machine alone, below `node`.
    """

    async def read(unit: Unit[T]) -> T:
        return tables.run(unit)

    work = WorkFolders(folder, limits.work, StoredContents(folder), copies=True)
    stored = tables.run(lambda connection: connection.fetch(_STORED))
    threads = [row["thread"] for row in stored]
    for done, thread in enumerate(threads, 1):
        await work.bring(thread, read)
        step(done, len(threads))
    shutil.rmtree(folder / NOTES, ignore_errors=True)
    return sum(len(left_out_before(node / NOTES / thread)) for thread in threads)


def _forget(connection: Connection) -> None:
    for statement in _FORGET:
        connection.execute(statement)


def _nothing(connection: Connection) -> None:
    """Change nothing but the folder."""
