"""A cache of a bounded number of recent entries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from math import inf
from time import monotonic
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by their names; with more than `most`, the oldest are forgotten."""

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._clock = clock
        self._values: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def get(self, name: K, within: float = inf) -> V | None:
        """The value, None if it was not put in the last seconds."""
        at, value = self._values.get(name, (-inf, None))
        return value if self._clock() - at < within else None

    def put(self, name: K, value: V) -> None:
        """Remember a value, instead of an earlier one of this name."""
        self._values[name] = self._clock(), value
        self._values.move_to_end(name)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def forget(self, name: K) -> None:
        """Forget a value, if there is one."""
        self._values.pop(name, None)
