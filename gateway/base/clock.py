"""Time that can be trusted although clocks are set."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from typing import Protocol

LOG = logging.getLogger("gateway")

JUMP = 300.0
"""Seconds that a clock may be set forward by without a doubt."""

DOUBT = 6 * 3600.0
"""Seconds for which a clock that jumped ahead is not believed: somebody may put it right."""


def steadily() -> float:
    """Seconds that never jump.

    Where the system allows it, they go on while the machine sleeps.
    """
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class ClockTrust:
    """A time of day that is reliable although clocks are set.

    Periods that `now` measures last as long as was said, and `holds` says whether to delete by a
    date.

    `clock` is the time of day, `steady` never jumps; both in seconds.
    """

    def __init__(self, clock: Callable[[], float], steady: Callable[[], float] = steadily) -> None:
        self._clock = clock
        self._steady = steady
        self._offset = clock() - steady()
        self._doubted_at: float | None = None
        self.jumped = 0.0
        """Seconds by which the clock was set ahead since the beginning, or back."""

    def now(self) -> float:
        """The time of day, without jumps of more than some minutes.

        Ask now and then: what lies between two questions is what a jump is seen by.
        """
        steady = self._steady()
        offset = self._clock() - steady
        jump = offset - self._offset
        self._offset = offset
        if abs(jump) > JUMP:
            self.jumped += jump
            LOG.warning("the clock was set by %+.0f s: what is asked of people lasts on", jump)
        if jump > JUMP:
            LOG.warning("for some hours, nothing is deleted by its age")
            self._doubted_at = steady
        return offset + steady - self.jumped

    def holds(self) -> bool:
        """True while the time of day is reliable enough for deletions."""
        self.now()
        if self._doubted_at is not None and self._steady() - self._doubted_at >= DOUBT:
            self._doubted_at = None
        return self._doubted_at is None


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Never make it."""
        ...


class Clock(Protocol):
    """A time in seconds since the epoch, and calls that become due."""

    def time(self) -> float:
        """The time now."""
        ...

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer:
        """Make a call once `delay` seconds have passed."""
        ...


class WallClock:
    """The time of the machine."""

    def time(self) -> float:
        """The time now."""
        return time.time()

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer:
        """Make a call once `delay` seconds have passed."""
        return asyncio.get_running_loop().call_later(delay, callback)


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait until a clock has moved by `seconds`."""
    due = asyncio.Event()
    timer = clock.call_later(seconds, due.set)
    try:
        await due.wait()
    finally:
        timer.cancel()
