"""Group commit: units that wait share a transaction."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from gateway.errors import GatewayClosed, StoreTaken, StoreUnreachable
from gateway.store.operations import hand_on
from gateway.store.postgres.connection import PostgresConnection
from gateway.store.postgres.errors import is_gone
from gateway.store.postgres.running import Running

T = TypeVar("T")

GROUP = 64
"""At most this many units share a commit."""
OF_ALL = (GatewayClosed, StoreTaken, StoreUnreachable)
"""Errors that no unit of a group has caused."""


class _Waiting(NamedTuple):
    unit: Callable[[PostgresConnection], Any]
    then: Callable[[Any], None] | None
    now: float
    until: float
    future: asyncio.Future[Any]
    alone: bool = False
    """It is run again, after a group in which one has failed."""


class Group:
    """Runs units in their order, those that wait in one transaction.

    If one of them fails, each is run again in a transaction of its own: a savepoint around each
    would cost as much as many a unit. If the database does, all have failed.
    """

    def __init__(self, running: Running, patience: float) -> None:
        self._running = running
        self._patience = patience
        self._waiting: deque[_Waiting] = deque()
        self._busy = False

    async def write(
        self,
        unit: Callable[[PostgresConnection], T],
        then: Callable[[T], None] | None,
        now: float,
    ) -> T:
        """Run the unit, asked for `now`; its result once committed."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(unit, then, now, monotonic() + self._patience, future))
        if not self._busy:
            self._go_on()
        return await future

    def _go_on(self) -> None:
        self._busy = bool(self._waiting)
        if not self._waiting:
            return
        taken = [self._waiting.popleft()]
        while not taken[0].alone and self._waiting and len(taken) < GROUP:
            taken.append(self._waiting.popleft())
        units = [(each.now, each.unit) for each in taken]

        def all_of(connection: PostgresConnection) -> list[Any]:
            results: list[Any] = []
            for now, unit in units:
                connection.now = now
                results.append(unit(connection))
            return results

        patience = max(0.0, taken[0].until - monotonic())
        try:
            running = self._running.write(all_of, taken[0].now, patience=patience)
        except GatewayClosed as error:
            self._refuse([*taken, *self._waiting], error)
            return
        running.add_done_callback(lambda done: self._answer(taken, done))

    def _refuse(self, units: Sequence[_Waiting], error: GatewayClosed) -> None:
        self._waiting.clear()
        self._busy = False
        for each in units:
            if not each.future.done():
                each.future.set_exception(error)

    def _answer(self, taken: Sequence[_Waiting], done: asyncio.Future[list[Any]]) -> None:
        error = GatewayClosed() if done.cancelled() else done.exception()
        if error is None:
            for each, result in zip(taken, done.result(), strict=True):
                hand_on(each.then, result)  # also if its caller has left
                if not each.future.done():
                    each.future.set_result(result)
        elif len(taken) > 1 and not (is_gone(error) or isinstance(error, OF_ALL)):
            self._waiting.extendleft(each._replace(alone=True) for each in reversed(taken))
        else:
            for each in taken:
                if not each.future.done():
                    each.future.set_exception(error)
        self._go_on()
