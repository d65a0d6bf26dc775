"""Interface to a database, over which all units of work are written.

A unit is a plain function of a `Connection`, run by a driver in one transaction. Statements take
named parameters alone (`:name`) and keep to what SQLite and PostgreSQL both understand; of
functions, a driver's database must know `instr`, `json_array_length`, `json_extract`,
`json_group_array` and `json_valid`, and of columns `rowid` (the order in which rows were added).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, overload

T = TypeVar("T")

Parameters: TypeAlias = Mapping[str, Any]
NO_PARAMETERS: dict[str, Any] = {}


class Row(Protocol):
    """Values by the names of their columns, or by their places."""

    @overload
    def __getitem__(self, key: str | int, /) -> Any: ...

    @overload
    def __getitem__(self, key: slice, /) -> tuple[Any, ...]: ...

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the values."""
        ...

    def keys(self) -> Sequence[str]:
        """The names of the columns, in their order."""
        ...


class Connection(Protocol):
    """A database inside a transaction, or one that is only read."""

    def execute(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> int:
        """Carry out a statement; how many rows it has changed."""
        ...

    def fetch(self, query: str, parameters: Parameters = NO_PARAMETERS, /) -> Sequence[Row]:
        """All rows of a query, or of a statement that returns some."""
        ...

    def insert(self, statement: str, parameters: Parameters, /) -> int:
        """Add a row to a numbered table; the row's number."""
        ...

    def many(self, statement: str, each: Sequence[Parameters], /) -> None:
        """Carry out a statement once for each set of parameters."""
        ...


Unit: TypeAlias = Callable[[Connection], T]
