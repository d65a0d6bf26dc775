"""The simulator's time: the wall clock plus what a test added."""

from __future__ import annotations

import time
from datetime import UTC, datetime

DISCORD_EPOCH = 1_420_070_400_000
"""The first millisecond of 2015, where Discord's ids begin."""


class SimulatorClock:
    """Seconds since 1970, never going back.

    `advance` makes what waits for hours testable.
    """

    def __init__(self) -> None:
        self._start = time.time() - time.monotonic()
        self._ahead = 0.0

    def now(self) -> float:
        """The time, in seconds."""
        return self._start + time.monotonic() + self._ahead

    def advance(self, seconds: float) -> None:
        """Push the time on."""
        self._ahead += seconds


class Ids:
    """Snowflakes: growing ids that hold their creation time."""

    def __init__(self, clock: SimulatorClock) -> None:
        self._clock = clock
        self._last = 0

    def new(self) -> int:
        """The next id."""
        made = (int(self._clock.now() * 1000) - DISCORD_EPOCH) << 22
        self._last = max(self._last + 1, made)
        return self._last


def creation_time(snowflake: int) -> float:
    """When an id was made, in seconds since 1970."""
    return ((snowflake >> 22) + DISCORD_EPOCH) / 1000


def format_time(at: float) -> str:
    """A time as Discord writes it."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")
