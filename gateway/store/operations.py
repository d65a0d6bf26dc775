"""Operations of a store: units that it runs when they are named.

@writes
def rename_thread(connection, thread, title): ...

await store.run(threads.rename_thread, thread, title)

A decorator on the unit makes it an operation; nothing else has to know of it. `OPERATIONS` is the
table of all that were imported.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar, overload

from gateway.base.describe import describe
from gateway.errors import GatewayClosed
from gateway.store.connection import Connection, Unit

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

LOG = logging.getLogger("gateway.store")

PATIENCE = 3.0
"""Seconds for which a store that is closed waits for files to be removed."""


@dataclass(frozen=True, slots=True)
class Erased:
    """Threads of which nothing may be left on the disk."""

    threads: Collection[str] = ()
    person: bool = False
    """A person was deleted, who may have written in other threads, too."""


Erases: TypeAlias = Callable[..., Erased | None]
"""Tells by a unit's result and arguments what it has deleted."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A way to run a unit."""

    writes: bool = False
    alone: bool = False
    """No other transaction is open meanwhile. Units that go over many threads need it; the others
    lock what they look at.
    """
    grouped: bool = False
    """It may share its transaction with others."""
    erases: Erases | None = None


OPERATIONS: dict[Callable[..., Any], Operation] = {}


def reads(unit: F) -> F:
    """Make an operation of a unit that only reads."""
    OPERATIONS[unit] = Operation()
    return unit


@overload
def writes(unit: F, /) -> F: ...


@overload
def writes(
    *, alone: bool = False, grouped: bool = False, erases: Erases | None = None
) -> Callable[[F], F]: ...


def writes(
    unit: Callable[..., Any] | None = None,
    /,
    *,
    alone: bool = False,
    grouped: bool = False,
    erases: Erases | None = None,
) -> Callable[..., Any]:
    """Make an operation of a unit that writes; see `Operation`."""

    def decorate(unit: F) -> F:
        OPERATIONS[unit] = Operation(writes=True, alone=alone, grouped=grouped, erases=erases)
        return unit

    return decorate if unit is None else decorate(unit)


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """An operation that was asked for, with what it needs."""

    operation: Operation
    unit: Unit[T]
    args: tuple[Any, ...]
    then: Callable[[T], None] | None = None


class UnitReader(ABC):
    """Runs operations that read; see `SessionReader`."""

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        self._folder = folder.absolute()
        self.clock = clock

    @property
    def folder(self) -> Path:
        """Where this process keeps its socket, its lock and its files."""
        return self._folder

    @abstractmethod
    async def read(self, unit: Unit[T]) -> T:
        """Run a unit that only reads."""

    def run(
        self, unit: Callable[Concatenate[Connection, P], T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T]:
        """Run an operation."""
        return self._run(Call(OPERATIONS[unit], _bound(unit, *args, **kwargs), args))

    async def _run(self, call: Call[T]) -> T:
        if call.operation.writes:
            raise GatewayClosed
        return await self.read(call.unit)


class UnitWriter(UnitReader):
    """Runs all operations; see `SessionStore`."""

    _observe: Callable[[float], None] | None = None

    def __init__(self, folder: Path, clock: Callable[[], float]) -> None:
        super().__init__(folder, clock)
        self._clearing: set[asyncio.Task[None]] = set()

    def watch_commits(self, observe: Callable[[float], None]) -> None:
        """Call `observe` with the seconds of each transaction, once this is owned."""
        self._observe = observe

    @abstractmethod
    async def write(
        self, unit: Unit[T], then: Callable[[T], None] | None = None, *, alone: bool = False
    ) -> T:
        """Run a unit as one transaction; its result once committed.

        `then` is called with the result on the event loop even if the caller was cancelled.
        """

    async def write_in_group(self, unit: Unit[T], then: Callable[[T], None] | None) -> T:
        """Run a unit in a transaction that it may share with others."""
        return await self.write(unit, then)

    @abstractmethod
    async def clear(self, threads: Collection[str], *, person: bool = False) -> None:
        """Remove from the disk what the database deleted with these threads.

        `person`: a person was deleted, who may have written in others, too.
        """

    def run_then(
        self,
        then: Callable[[T], None],
        unit: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Coroutine[Any, Any, T]:
        """Run an operation; see `SessionStore`."""
        return self._run(Call(OPERATIONS[unit], _bound(unit, *args, **kwargs), args, then))

    async def _run(self, call: Call[T]) -> T:
        operation, clearing = call.operation, list[asyncio.Task[None]]()

        def committed(result: T) -> None:
            if erases and (erased := erases(result, *call.args)) is not None:
                clearing.append(self._begin_clearing(erased))
            if call.then is not None:
                call.then(result)

        if not operation.writes:
            return await self.read(call.unit)
        then = committed if (erases := operation.erases) else call.then
        if operation.grouped:
            result = await self.write_in_group(call.unit, then)
        else:
            result = await self.write(call.unit, then, alone=operation.alone)
        for task in clearing:
            await asyncio.shield(task)  # a caller that is cancelled leaves it to its end
        return result

    def _begin_clearing(self, erased: Erased) -> asyncio.Task[None]:
        clear = self.clear(erased.threads, person=erased.person)
        task = asyncio.get_running_loop().create_task(clear, name="deleted data leaves the disk")
        self._clearing.add(task)
        task.add_done_callback(self._cleared)
        return task

    def _cleared(self, task: asyncio.Task[None]) -> None:
        self._clearing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.warning("what was deleted may still be on the disk: %s", describe(error))

    async def _until_cleared(self) -> None:
        """Wait a while until what was deleted has left the disk."""
        if self._clearing:
            await asyncio.wait(self._clearing, timeout=PATIENCE)


def hand_on(then: Callable[[T], None] | None, result: T) -> None:
    """Tell what a unit has brought; others wait behind it."""
    try:
        if then is not None:
            then(result)
    except Exception:
        LOG.exception("what was stored is not told")


def _bound(
    unit: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> Unit[T]:
    """The unit with what it needs, under its own name."""

    def bound(connection: Connection) -> T:
        return unit(connection, *args, **kwargs)

    bound.__qualname__ = unit.__qualname__
    return bound
