"""A list that knows whether it only grew, so that saving it costs what was added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, SupportsIndex, TypeVar, overload

T = TypeVar("T")


class History(list[T], Generic[T]):
    """A list whose `generation` changes whenever anything but growth at the end happens to it.

    Whoever saved `n` items at generation `g` needs only `history[n:]` as long as the generation is
    still `g`.
    """

    __slots__ = ("generation",)

    def __init__(self, items: Iterable[T] = ()) -> None:
        super().__init__(items)
        self.generation = 0

    def clear(self) -> None:
        if self:
            self.generation += 1
            super().clear()

    def replace(self, items: Iterable[T]) -> None:
        """Hold these items instead."""
        self.generation += 1
        super().clear()
        super().extend(items)

    def precede_by(self, items: Iterable[T]) -> None:
        """Put items before these that always belonged there, which is no change."""
        super().__setitem__(slice(0, 0), items)

    def insert(self, index: SupportsIndex, item: T) -> None:
        self.generation += 1
        super().insert(index, item)

    def pop(self, index: SupportsIndex = -1) -> T:
        self.generation += 1
        return super().pop(index)

    def remove(self, item: T) -> None:
        self.generation += 1
        super().remove(item)

    def reverse(self) -> None:
        self.generation += 1
        super().reverse()

    def sort(self, **kwargs: Any) -> None:
        self.generation += 1
        super().sort(**kwargs)

    @overload
    def __setitem__(self, key: SupportsIndex, value: T) -> None: ...
    @overload
    def __setitem__(self, key: slice, value: Iterable[T]) -> None: ...
    def __setitem__(self, key: Any, value: Any) -> None:
        self.generation += 1
        super().__setitem__(key, value)

    def __delitem__(self, key: SupportsIndex | slice) -> None:
        self.generation += 1
        super().__delitem__(key)

    def __imul__(self, value: SupportsIndex) -> Any:
        self.generation += 1
        return super().__imul__(value)
