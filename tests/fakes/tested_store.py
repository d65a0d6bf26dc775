"""Stores as tests see them, whichever database they are on."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from gateway.store import units
from gateway.store.connection import Connection, Unit
from gateway.store.operations import OPERATIONS, Call, Operation
from gateway.store.sqlite.writer import SqliteConnection
from tests.fakes.new_store import new_store

if TYPE_CHECKING:
    from typing import Self

    # The driver that is mixed in derives from the same class.
    from gateway.store.sqlite.store import SqliteStore as UnitWriter
else:
    from gateway.store.operations import UnitWriter

T = TypeVar("T")
C = TypeVar("C", bound=Connection)


@runtime_checkable
class UnitStore(Protocol):
    """Units of work of a store, and its commits."""

    @property
    def commits(self) -> int:
        """Number of transactions that this owner has committed."""
        ...

    async def probe(self) -> None:
        """Write what stands there already."""
        ...

    async def clear(self, threads: Collection[str], *, person: bool = False) -> None:
        """Remove from the disk what the database deleted with these threads."""
        ...

    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that only reads."""
        ...

    async def write(
        self, unit: Unit[T], then: Callable[[T], None] | None = None, *, alone: bool = False
    ) -> T:
        """Run a unit as one transaction."""
        ...

    async def write_in_group(self, unit: Unit[T], then: Callable[[T], None]) -> T:
        """Run a unit in a transaction that it may share with others."""
        ...


class ChangedStore(UnitWriter):
    """Base of a store with changed operations."""

    @classmethod
    def of(cls, folder: Path, **options: Any) -> Self:
        """The store in `folder` with these changes."""
        store = new_store(folder, **options)
        store.__class__ = type(cls.__name__, (cls, type(store)), {})
        return cast("Self", store)

    async def around(self, name: str, args: tuple[Any, ...], go: Callable[[], Awaitable[T]]) -> T:
        """Run the operation of this name by `go`, or do something else."""
        return await go()

    async def _run(self, call: Call[T]) -> T:
        run = super()._run
        return await self.around(call.unit.__qualname__, call.args, lambda: run(call))

    async def write_in_group(self, unit: Callable[[Any], T], then: Callable[[T], None] | None) -> T:
        """Run a unit as `write` does, which may be changed."""
        return await self.write(unit, then)


class NamedOperations:
    """Base of a fake store whose methods are called as the operations."""

    async def run(self, unit: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call the method of the operation's name."""
        return await getattr(self, unit.__name__)(*args, **kwargs)


def at(connection: C, now: float) -> C:
    """The connection at this time."""
    connection.now = now
    return connection


def all_operations() -> Mapping[Callable[..., Any], Operation]:
    """The table of operations, with those of all units."""
    for module in pkgutil.iter_modules(units.__path__, f"{units.__name__}."):
        importlib.import_module(module.name)
    return OPERATIONS


def rows_in(folder: Path, query: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """All rows of a query, whoever owns the store."""
    return _away(rows_of(new_store(folder), query, **parameters))


def change_in(folder: Path, *statements: str, **parameters: Any) -> None:
    """Change rows of the store in `folder`, which nobody owns."""

    async def change() -> None:
        store = new_store(folder)
        async with store.own():
            for statement in statements:
                await store.write(
                    lambda connection, each=statement: connection.execute(each, parameters)
                )

    _away(change())


def all_rows_in(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the store in `folder`, by table."""
    return _away(new_store(folder).read(_all_rows))


def _all_rows(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: [tuple(row) for row in connection.fetch(f"SELECT * FROM {name}")]
        for name in tables_of(connection)
    }


def everything_in(folder: Path) -> bytes:
    """Everything in files below `folder`, and in its store's rows."""
    rows = chain(*all_rows_in(folder).values())
    values = [each if isinstance(each, bytes) else str(each).encode() for each in chain(*rows)]
    return b"\n".join(
        [*(path.read_bytes() for path in folder.rglob("*") if path.is_file()), *values]
    )


def new_audit(connection: Connection, after: int) -> str:
    """Condition on rows of the audit that this transaction has added.

    `after` is the last position before. On PostgreSQL they have none yet, but negative numbers.
    """
    return f"id > {after}" if isinstance(connection, SqliteConnection) else "id < 0"


def tables_of(connection: Connection) -> list[str]:
    """Names of all tables of a store."""
    query = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if isinstance(connection, SqliteConnection)
        else "SELECT tablename FROM pg_tables WHERE schemaname = ANY (current_schemas(false))"
    )
    return [name for (name,) in connection.fetch(query)]


def _away(work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is done on another loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def rows_of(store: UnitStore, query: str, **parameters: Any) -> list[tuple[Any, ...]]:
    """All rows of a query, as plain tuples."""
    return await store.read(
        lambda connection: [tuple(row) for row in connection.fetch(query, parameters)]
    )


UNWRITTEN = """
    SELECT (SELECT COUNT(*) FROM inbox WHERE outcome = 'queued')
     + (SELECT COUNT(*) FROM turns WHERE status = 'running')
     + (SELECT COUNT(*) FROM threads t LEFT JOIN deliveries d ON d.thread = t.id
        WHERE COALESCE(d.told, 0) < t.last_seq)
"""


def is_written(folder: Path) -> bool:
    """True if nothing is left to do, and all is shown."""
    return rows_in(folder, UNWRITTEN) == [(0,)]
