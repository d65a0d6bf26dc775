"""The time that servers tell with their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

CLOSE = 30.0
"""Seconds by which an answer's time may differ from ours: it was under way, and is rounded."""


def told_time(headers: Mapping[str, str]) -> float | None:
    """Seconds since the epoch in an answer's Date; None without one.

    A server with a clock sends it with every answer (RFC 9110, 6.6.1).
    """
    try:
        return parsedate_to_datetime(headers["Date"]).timestamp()
    except (KeyError, ValueError):
        return None


class OutsideClock:
    """The time of a server: this machine's, put right by answers."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._ahead = 0.0

    def note(self, told: float) -> None:
        """Learn the time that an answer tells."""
        ahead = self._clock() - told
        self._ahead = ahead if abs(ahead) > CLOSE else 0.0

    def __call__(self) -> float:
        """The time there, in seconds since the epoch."""
        return self._clock() - self._ahead
