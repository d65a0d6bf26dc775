"""How much of the gateway each person has at a time."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice

from gateway.store.decisions import PersonLimits

WINDOW = 600.0
"""Seconds for which a turn counts after it began."""


class PersonRateLimiter:
    """Counts each person's turns. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._running: Counter[str] = Counter()
        self._begun: dict[str, list[float]] = {}

    def wait(self, person: str, limits: PersonLimits | None, now: float) -> float:
        """Seconds until a turn of the person's may begin: 0 for now, infinity for once another of
        theirs has ended.
        """
        if limits is None:
            return 0.0
        if self._running[person] >= limits.parallel:
            return math.inf
        begun = self._begun.get(person, ())
        if len(begun) < limits.turns:
            return 0.0
        return max(0.0, begun[len(begun) - limits.turns] + WINDOW - now)

    def began(self, person: str, limits: PersonLimits | None, now: float) -> None:
        """A turn of the person's has begun."""
        self._forget(now)
        self._running[person] += 1
        if limits is not None:
            begun = self._begun.setdefault(person, [])
            begun.append(now)
            del begun[: -limits.turns]  # no more are ever looked at

    def ended(self, person: str) -> None:
        """A turn of the person's has ended."""
        self._running[person] -= 1
        if not self._running[person]:
            del self._running[person]

    def _forget(self, now: float) -> None:
        """Drop people of whom nothing counts any more: two at a time, everybody in rotation."""
        for person in list(islice(self._begun, 2)):
            begun = self._begun.pop(person)
            if begun[-1] > now - WINDOW:
                self._begun[person] = begun
