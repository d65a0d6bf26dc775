"""Interface to a database's tables, over which a store is copied."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

from gateway.store.connection import Unit

ROW_NUMBER = "rowid"
"""The column with the order in which rows were added."""
NOTES = "copying"
"""The table of a copy's notes, by their names; a whole store has none."""
DERIVED = (
    *("tallies", "used_days", "word_threads", "searched", "unsearched"),
    *("nodes", "leases", "rates", "budget_shares", "reloads", "reload_votes"),
)
DERIVED_COLUMNS = {"threads": ("number",)}
"""Kept figures and the index of words, made anew from the rows that are copied, and processes."""
SOURCE = "source"
"""The name of the note that says from where the rows are."""

T = TypeVar("T")

StoredRow: TypeAlias = tuple[Any, ...]
"""Values as SQLite has them: int, float, str, bytes or None."""


class Tables(Protocol):
    """The tables of a database, as a copy reads them."""

    @property
    def name(self) -> str:
        """Where the database is, without secrets."""
        ...

    def run(self, unit: Unit[T]) -> T:
        """Run a unit, while no rows are read."""
        ...

    def columns(self) -> Mapping[str, Sequence[str]]:
        """The columns of each table, with ROW_NUMBER where there is one."""
        ...

    def key(self, table: str) -> Sequence[str]:
        """The columns by which the table's rows are read in order."""
        ...

    def read(
        self,
        table: str,
        columns: Sequence[str],
        *,
        by: Sequence[str] = (),
        after: Sequence[Any] = (),
    ) -> Generator[StoredRow]:
        """Rows in the order of `by`, behind the row `after`.

        They are streamed: a row may be large. Raises StoreError.
        """
        ...

    def count(self, table: str) -> int:
        """The number of rows that `read` gives."""
        ...

    def last_numbers(self) -> Mapping[str, int]:
        """The highest number that each numbered table has given."""
        ...

    def interrupt(self) -> None:
        """Let a statement that another thread waits for fail."""
        ...


class NewTables(Tables, Protocol):
    """The tables that a copy fills, in its own database."""

    keeps_nul: bool
    """Texts may hold the character NUL."""

    def notes(self) -> Mapping[str, str]:
        """The notes of a copy that was begun; empty before."""
        ...

    def begin(self, source: str) -> None:
        """Begin, with a note of the source.

        Nobody can use the database as a store until it is complete.
        """
        ...

    def put(self, table: str, columns: Sequence[str], rows: Sequence[StoredRow], note: str) -> None:
        """Add rows and change the table's note, in one commit. Raises StoreError."""
        ...

    def completion(self, numbers: Mapping[str, int]) -> AbstractContextManager[None]:
        """A transaction that makes a store of the tables.

        Numbered tables go on behind these numbers. Raises StoreError.
        """
        ...
