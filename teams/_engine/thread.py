"""A team's conversation; of a loaded one, what was saved is made when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import overload

from teams._base.history import History
from teams._contract.turn_record import Item


class Thread(Sequence[Item]):
    """What was saved, so far as nobody has looked at it, and then what was added.

    `generation` is that of a `History`.
    """

    __slots__ = ("_added", "_saved", "append", "extend")

    def __init__(self) -> None:
        self._saved: Collection[Item] = ()
        self._added: History[Item] = History()
        # A turn adds twice, and should not pay for two more calls.
        self.append: Callable[[Item], None] = self._added.append
        self.extend: Callable[[Iterable[Item]], None] = self._added.extend

    @property
    def generation(self) -> int:
        """Changes whenever anything but growth at the end happens."""
        return self._added.generation

    @property
    def is_read(self) -> bool:
        """Whether all of it is in memory as messages."""
        return not self._saved

    def items(self) -> History[Item]:
        """All of it as a list."""
        if self._saved:
            self._added.precede_by(self._saved)
            self._saved = ()
        return self._added

    def replace(self, items: Iterable[Item]) -> None:
        """Hold these items instead."""
        self._saved = ()
        self._added.replace(items)

    def replace_by_saved(self, saved: Collection[Item]) -> None:
        """Hold saved items instead, which are made when somebody looks at one of them."""
        self._added.replace(())
        self._saved = saved

    def clear(self) -> None:
        """Hold nothing."""
        self.replace(())

    def __len__(self) -> int:
        return len(self._saved) + len(self._added)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items())

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if not self._saved:
            return self._added[index]
        before, length = len(self._saved), len(self)
        if isinstance(index, slice):
            start, stop, step = index.indices(length)
            if start >= before and step == 1:
                return self._added[start - before : max(stop - before, 0)]
        elif (place := index + length if index < 0 else index) >= before:
            return self._added[place - before]
        return self.items()[index]
