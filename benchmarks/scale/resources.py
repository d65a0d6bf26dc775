"""Things that messages wait for: servers, rates and places.

A process is a generator that yields the time at which it goes on, or None where something wakes it.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator, Hashable
from itertools import count
from typing import Generic, TypeAlias, TypeVar

Process: TypeAlias = Generator[float | None, None, None]


class Clock:
    """The simulated time, and the processes that live in it."""

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, int, Process]] = []
        self._order = count()
        self._current: Process | None = None

    @property
    def current(self) -> Process:
        """The process that runs."""
        assert self._current is not None
        return self._current

    def start(self, at: float, process: Process) -> None:
        """Let a process go on at this time.

        At the same time, first come, first served.
        """
        heapq.heappush(self._waiting, (at, next(self._order), process))

    def run(self) -> None:
        """Run until no process waits for a time."""
        while self._waiting:
            self.now, _, self._current = heapq.heappop(self._waiting)
            at = next(self._current, None)
            if at is not None:
                self.start(at, self._current)


class Servers:
    """Equal servers with one queue."""

    def __init__(self, number: int) -> None:
        self._free = [0.0] * number

    def use(self, now: float, seconds: float) -> float:
        """Time at which so many seconds of service are done."""
        done = max(now, self._free[0]) + seconds
        heapq.heapreplace(self._free, done)
        return done


class Rate:
    """A token bucket, in order of asking.

    At most `burst` tokens are saved.
    """

    def __init__(self, per_minute: float, burst: float) -> None:
        self._pause = 60 / per_minute
        self._burst = burst
        self._next = -burst * self._pause

    def take(self, now: float, tokens: float = 1.0) -> float:
        """Time at which the tokens can be had."""
        self._next = max(self._next, now - self._burst * self._pause) + tokens * self._pause
        return max(now, self._next)

    def tokens(self, now: float) -> float:
        """Tokens that can be had at once.

        Below 0 if others wait for theirs.
        """
        return min(self._burst, (now - self._next) / self._pause)

    def try_take(self, now: float, above: float = 0.0) -> bool:
        """Take a token if so many are left then."""
        if self.tokens(now) < 1 + above:
            return False
        self.take(now)
        return True


class Places:
    """Places that are held for a while, in order of asking."""

    def __init__(self, clock: Clock, number: int) -> None:
        self._clock = clock
        self._free = number
        self._queue: deque[Process] = deque()

    def enter(self) -> float | None:
        """To be yielded: the process goes on once it has a place."""
        if self._free:
            self._free -= 1
            return self._clock.now
        self._queue.append(self._clock.current)
        return None

    def leave(self) -> None:
        """Give the place to the next."""
        if self._queue:
            self._clock.start(self._clock.now, self._queue.popleft())
        else:
            self._free += 1


R = TypeVar("R")


class Each(Generic[R]):
    """Something of its own for each node, workspace, channel or thread."""

    def __init__(self, make: Callable[[], R]) -> None:
        self._make = make
        self._of: dict[Hashable, R] = {}

    def __getitem__(self, key: Hashable) -> R:
        if key not in self._of:
            self._of[key] = self._make()
        return self._of[key]
