"""Limits of new sessions, by Discord's pages "Gateway" and "Get Gateway Bot".

Each bucket of shards (`shard % max_concurrency`) may identify once in five seconds; who is faster
gets Invalid Session. A bot may do so 1,000 times in a day; after that its sessions end, and its
token is reset.
"""

from __future__ import annotations

from collections import deque

from adapters.discord.simulator.clock import SimulatorClock
from adapters.discord.simulator.errors import Json

DAY = 86_400.0


class SessionStarts:
    """Counts identifies; `seconds` is the time between two of a bucket."""

    def __init__(self, clock: SimulatorClock) -> None:
        self._clock = clock
        self.seconds = 5.0
        self.max_concurrency = 1
        self.total = 1000
        self.refused = 0
        """Identifies that came too soon."""
        self._starts: deque[float] = deque()
        self._last: dict[int, float] = {}

    def admit(self, shard: int) -> bool:
        """Count an identify; False if it comes too soon after another one."""
        now = self._clock.now()
        bucket = shard % self.max_concurrency
        if now - self._last.get(bucket, -DAY) < self.seconds:
            self.refused += 1
            return False
        self._last[bucket] = now
        self._starts.append(now)
        return True

    @property
    def remaining(self) -> int:
        """Identifies that are left today."""
        return self.total - len(self._today())

    def limit(self) -> Json:
        """The object `session_start_limit`."""
        today = self._today()
        reset = today[0] + DAY - self._clock.now() if today else 0.0
        return {
            "total": self.total,
            "remaining": max(self.total - len(today), 0),
            "reset_after": int(reset * 1000),
            "max_concurrency": self.max_concurrency,
        }

    def _today(self) -> deque[float]:
        while self._starts and self._starts[0] <= self._clock.now() - DAY:
            self._starts.popleft()
        return self._starts
