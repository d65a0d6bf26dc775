"""Interface to a database, over which all units of work are written.

A unit is a plain function of a `Connection`, run by a driver in one transaction, and run again if
that was undone. Statements take named parameters alone (`:name`) and keep to what SQLite and
PostgreSQL both understand; of functions, a driver's database must know `instr`,
`json_array_length`, `json_extract`, `json_group_array` and `json_valid`, and of columns `rowid`
(the order in which rows were added). Flags are booleans: compared with nothing, set by TRUE, FALSE
or a bool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, overload

from pydantic_core import PydanticSerializationError

from gateway.store.jobs import LaneJob

NO_COLUMN = (OverflowError, UnicodeError, PydanticSerializationError)
"""Errors of a value that can't become one of a column's."""

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

    now: float
    """The time at which the running unit was asked for, in seconds since the epoch."""

    def execute(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> None:
        """Carry out a statement, before the next that returns something."""
        ...

    def change(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> int:
        """Carry out a statement; how many rows it has changed."""
        ...

    def fetch(self, query: str, parameters: Parameters = NO_PARAMETERS, /) -> Sequence[Row]:
        """All rows of a query, or of a statement that returns some."""
        ...

    def fetch_each(self, *queries: tuple[str, Parameters]) -> Sequence[Sequence[Row]]:
        """All rows of each query, asked for together."""
        ...

    def insert(self, statement: str, parameters: Parameters, /) -> int:
        """Add a row to a numbered table; the row's number."""
        ...

    def many(self, statement: str, each: Sequence[Parameters], /) -> None:
        """Carry out a statement once for each set of parameters."""
        ...

    def put_contents(self, sha256: str, data: bytes, /) -> None:
        """Keep the contents of a file, unless they are there."""
        ...

    def contents(self, sha256: str, longest: int | None = None, /) -> bytes:
        """The contents of a file, or their beginning, without reading the rest."""
        ...

    def lock(self, name: str, /) -> None:
        """Wait until no other transaction has this name, and keep it.

        A unit takes the name of the conversation, and then those of people and threads, whose rows
        it looks at before it changes them: several by `lock_found`, which knows an order.
        """
        ...

    def lock_found(self, query: str, parameters: Parameters, /) -> None:
        """Do so for all names that a query finds."""
        ...

    def defer(self, job: LaneJob, /) -> bool:
        """Let a node run a thread, which this transaction has locked.

        False where its only process sees to that by itself.
        """
        ...

    def hasten(self, thread: str | None = None, /, *, person: str = "") -> None:
        """Let a later thread, a person's next, or each, run now."""
        ...


Unit: TypeAlias = Callable[[Connection], T]


class NoConnection:
    """A Connection to a store that does not exist yet: no rows."""

    now = 0.0

    def execute(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> None:
        """Change nothing."""

    def change(self, statement: str, parameters: Parameters = NO_PARAMETERS, /) -> int:
        """Change nothing."""
        return 0

    def fetch(self, query: str, parameters: Parameters = NO_PARAMETERS, /) -> Sequence[Row]:
        """Find nothing."""
        return ()

    def fetch_each(self, *queries: tuple[str, Parameters]) -> Sequence[Sequence[Row]]:
        """Find nothing."""
        return [()] * len(queries)

    def insert(self, statement: str, parameters: Parameters, /) -> int:
        """Add nothing."""
        return 0

    def many(self, statement: str, each: Sequence[Parameters], /) -> None:
        """Change nothing."""

    def put_contents(self, sha256: str, data: bytes, /) -> None:
        """Change nothing."""

    def contents(self, sha256: str, longest: int | None = None, /) -> bytes:
        """Find nothing."""
        return b""

    def lock(self, name: str, /) -> None:
        """Keep nobody away."""

    def lock_found(self, query: str, parameters: Parameters, /) -> None:
        """Keep nobody away."""

    def defer(self, job: LaneJob, /) -> bool:
        """Wake nobody."""
        return False

    def hasten(self, thread: str | None = None, /, *, person: str = "") -> None:
        """Wake nobody."""
