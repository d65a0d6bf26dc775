"""Interface to a database's tables, over which a store is copied."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

from gateway.errors import StoreError
from gateway.store.connection import Unit

ROW_NUMBER = "rowid"
"""The column with the order in which rows were added."""
NOTES = "copying"
"""The table of a copy's notes, by their names; a whole store has none."""
DERIVED = (
    *("tallies", "used_days", "word_threads", "searched", "unsearched"),
    *("nodes", "leases", "rates", "budget_shares", "reloads", "reload_votes"),
    *("work_folders", "work_files", "work_versions"),
)
DERIVED_COLUMNS = {"threads": ("number",)}
"""Kept figures and the index of words, made anew from the rows that are copied, and processes.

Work folders are copied as they are, without earlier versions.
"""
NOT_COPIED = {"marks": "platform = 'gateway' AND name = 'written'"}
"""Rows that stay: the mark by which a database knows itself."""

T = TypeVar("T")

StoredRow: TypeAlias = tuple[Any, ...]
"""Values as SQLite has them: int, float, str, bytes or None."""


class Tables(Protocol):
    """The tables of a store or of a new copy."""

    keeps_nul: bool
    """Texts may hold the character NUL."""

    @property
    def name(self) -> str:
        """Where the database is, without secrets."""
        ...

    def run(self, unit: Unit[T]) -> T:
        """Run a unit, while no rows are read."""
        ...

    def read(
        self, table: str, columns: Sequence[str], after: StoredRow | None = None
    ) -> Generator[StoredRow]:
        """Rows, streamed, as one may be large. Raises StoreError.

        With `after` they begin with the columns by which they are ordered, and are those behind it.
        """
        ...

    def last_numbers(self) -> Mapping[str, int]:
        """The highest number that each numbered table has given."""
        ...

    def interrupt(self) -> None:
        """Let a statement that another worker waits for fail."""
        ...

    def transaction(self, table: str = "") -> AbstractContextManager[None]:
        """A transaction. Raises StoreError where a row of the table is refused."""
        ...

    def is_begun(self) -> bool:
        """True if a copy was begun here, and is not complete."""
        ...

    def begin(self) -> Sequence[str]:
        """Put triggers, indexes and references aside; statements that restore all.

        Nobody can use the database as a store from here on.
        """
        ...

    def add(self, table: str, columns: Sequence[str], rows: Iterable[StoredRow]) -> None:
        """Add rows."""
        ...

    def complete(self, aside: Sequence[str], numbers: Mapping[str, int]) -> None:
        """Make a store of the tables, with what was put aside.

        Numbered ones go on behind these numbers.
        """
        ...


def copied(table: str) -> str:
    """The condition for rows that are copied."""
    return f"NOT ({NOT_COPIED.get(table, 'FALSE')})"


def refused(table: str, tables: Tables, why: str) -> StoreError:
    """The error of a row that a database does not take."""
    return StoreError(f"A row of {table!r} can't be stored in {tables.name}: {why}.")
