"""Errors that the last writes of each kind met."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from gateway.errors import (
    GatewayError,
    StatementRefused,
    StoreError,
    StoreFull,
    StoreInUse,
    StoreTaken,
    StoreUnwritable,
)
from gateway.store.connection import Connection, Unit

T = TypeVar("T")

KEPT = 600.0
"""Seconds for which an error is told that no write of its kind was met by since."""
_ROOM = f"""
    CREATE TABLE parley_room AS
     WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10000)
     SELECT n, '{"room" * 25}' AS filler FROM numbers
"""
_LEAVE_ROOM = "DROP TABLE parley_room"


def take_room(connection: Connection) -> None:
    """Take about a megabyte more of the disk, and give it back."""
    connection.execute(_ROOM)
    connection.execute(_LEAVE_ROOM)


class _Met(NamedTuple):
    error: GatewayError
    at: float


class LastWrites:
    """The last writes of a store, by the names of their units.

    Errors of these types are the `whole` store's, whatever was to be written.
    """

    def __init__(self, *whole: type[GatewayError]) -> None:
        self._whole = whole
        self._met: dict[str, _Met] = {}

    async def watch(self, unit: Callable[..., Any], writing: Awaitable[T]) -> T:
        """The result of `writing`, which runs the unit."""
        kind = getattr(unit, "__qualname__", type(unit).__qualname__)
        try:
            result = await writing
        except (StoreTaken, StoreInUse):
            raise
        except (StoreError, StoreFull) as error:
            self._met[kind] = _Met(error, monotonic())
            raise
        self._met.pop(kind, None)
        return result

    async def probe(
        self, write: Callable[[Unit[None]], Awaitable[None]], little: Unit[None]
    ) -> None:
        """Write a `little`, or what takes room after a refusal.

        Raises what that meets, or what last writes met and this does not disprove: last of all
        StatementRefused.
        """
        met = dict(self._met)
        try:
            await write(take_room if met else little)
        except StatementRefused as error:  # this one is for no thread's rows
            raise StoreUnwritable(str(error)) from error
        for kind, each in met.items():
            is_over = isinstance(each.error, self._whole) or monotonic() - each.at > KEPT
            if is_over and self._met.get(kind) is each:
                del self._met[kind]
        errors = [each.error for each in self._met.values()]
        for error in sorted(errors, key=lambda error: isinstance(error, StatementRefused)):
            raise error.with_traceback(None)
