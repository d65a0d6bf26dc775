"""A cache of a bounded number of recent entries."""

from __future__ import annotations

from collections import OrderedDict
from math import inf
from time import monotonic
from typing import Generic, TypeVar

V = TypeVar("V")


class BoundedCache(Generic[V]):
    """Values by their names; with more than `most`, the oldest are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[str, tuple[float, V]] = OrderedDict()

    def get(self, name: str, within: float = inf) -> V | None:
        """The value, None if it was not put in the last seconds."""
        at, value = self._values.get(name, (-inf, None))
        return value if monotonic() - at < within else None

    def put(self, name: str, value: V) -> None:
        """Remember a value, instead of an earlier one of this name."""
        self._values[name] = monotonic(), value
        self._values.move_to_end(name)
        while len(self._values) > self._most:
            self._values.popitem(last=False)

    def forget(self, name: str) -> None:
        """Forget a value, if there is one."""
        self._values.pop(name, None)
