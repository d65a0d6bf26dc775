"""Growth of a function's time, for texts of a grammar's tokens."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

LARGEST = 200_000
"""Characters of the longest text that is measured."""
ENOUGH = 0.005
"""Seconds of thread time from which on a measurement says something."""
RATIO = 3.0
"""The most that twice the text may cost: n log n costs a little more than 2, n**2 costs 4."""

Function = Callable[[str], object]


@dataclass(frozen=True)
class Shape:
    """A text of any length: a beginning, then a repeated part."""

    begin: str
    again: str
    end: str = ""
    half: bool = False
    """True if the first half repeats the beginning (nesting, for an opener and its closer)."""

    def text(self, length: int) -> str:
        if self.half:
            count = length // 2
            return _repeated(self.begin, count) + _repeated(self.again, count)
        return self.begin + _repeated(self.again, length) + self.end


def shapes(tokens: Sequence[str]) -> Iterator[Shape]:
    """Each token repeated, and each pair in every arrangement."""
    for token in tokens:
        yield Shape("", token)
    for one, other in permutations(tokens, 2):
        yield Shape(one, other)
        yield Shape("", one + other)
        yield Shape(one, other, half=True)
        yield Shape("", one, end=other)


def growth(function: Function, shape: Shape) -> tuple[float, int]:
    """Ratio of the costs of a doubled text, and its length.

    The text is the largest that is affordable. The ratio is 0 where nothing is worth measuring.
    What grows does so at the next doubling, too: a step (a cache that is full, a bound that is
    reached) is no growth.
    """
    length = 500
    while (cost := _seconds(function, shape.text(length))) < ENOUGH:
        length *= 2
        if length > LARGEST:
            return 0.0, length
    ratio = _seconds(function, shape.text(2 * length)) / cost
    if ratio > RATIO:  # perhaps only somebody else's noise
        one, two, four = (_best(function, shape.text(times * length)) for times in (1, 2, 4))
        ratio = min(two / one, four / two)
    return ratio, length


def _best(function: Function, text: str) -> float:
    return min(_seconds(function, text) for _ in range(5))


def _seconds(function: Function, text: str) -> float:
    start = time.thread_time()
    function(text)
    return time.thread_time() - start


def _repeated(part: str, length: int) -> str:
    return (part * (length // len(part) + 1))[:length]
