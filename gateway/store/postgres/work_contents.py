"""Contents of work folders in the database, which drops unnamed ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from gateway.store.connection import Connection
from gateway.store.postgres.contents import contents_of, missing, put_missing
from gateway.store.work.entries import Contents, Spool


class StoredContents:
    """A WorkContents; what is taken lies in `folder` until it is stored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def taken(self, thread: str) -> Spool:
        """Where contents go while a thread's folder is looked through.

        A transaction that is tried again sends the same bytes.
        """
        return Spool(self._folder)

    def store(self, connection: Connection, taken: Contents, hashes: Collection[str]) -> None:
        """Store contents that the database does not have.

        It comes first in a transaction: nobody waits for the thread's lock while a large file is
        sent.
        """
        assert isinstance(taken, Spool)
        if wanted := missing(connection, hashes):
            put_missing(connection, {each: taken.sizes[each] for each in wanted}, taken.content)

    def read(
        self, connection: Connection, thread: str, sizes: Mapping[str, int]
    ) -> Iterable[tuple[str, bytes]]:
        """Contents with their hashes, as far as they are stored."""
        return contents_of(connection, sizes)

    def drop(self, connection: Connection, thread: str) -> None:
        """Leave it to the database."""

    def forget(self, thread: str) -> None:
        """Leave it to the database."""
