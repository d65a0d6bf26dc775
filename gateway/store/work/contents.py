"""Interface to the contents of work folders, and their limits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from gateway.store.connection import Connection
from gateway.store.work.entries import Contents
from gateway.values import value


@value
class WorkLimits:
    """Limits of what a store keeps of work folders."""

    file_mb: float = 25.0
    """Megabytes of one file; larger ones are on the machine alone."""
    work_mb: float = 200.0
    """Megabytes of a thread's work folder, and again of all its earlier versions."""
    fork_turns: int = 20
    """Turns from whose ends a thread can be forked: state and folder are kept."""


class WorkContents(Protocol):
    """Contents of the files of all work folders, by their hashes."""

    def taken(self, thread: str) -> Contents:
        """Where contents go while a thread's folder is looked through."""
        ...

    def store(self, connection: Connection, taken: Contents, hashes: Collection[str]) -> None:
        """Store what was taken, within the transaction that names it."""
        ...

    def read(
        self, connection: Connection, thread: str, sizes: Mapping[str, int]
    ) -> Iterable[tuple[str, bytes]]:
        """Contents with their hashes, as far as they are stored."""
        ...

    def drop(self, connection: Connection, thread: str) -> None:
        """Remove what no version of the folder names, where the database can't."""
        ...

    def forget(self, thread: str) -> None:
        """Remove a deleted thread's contents, where the database can't."""
        ...
