"""Time that can be trusted although clocks are set."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

LOG = logging.getLogger("gateway")

JUMP = 300.0
"""Seconds that a clock may be set forward by without a doubt."""

DOUBT = 6 * 3600.0
"""Seconds for which a clock that jumped ahead is not believed: somebody may put it right."""

HOUR, DAY = 3600.0, 86400.0

LONGEST_PAUSE = DAY
"""Seconds between two processes that need no proof."""


def steadily() -> float:
    """Seconds that never jump.

    Where the system allows it, they go on while the machine sleeps.
    """
    if sys.platform == "linux":
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTime:
    """The time of day that one process leaves to the next."""

    at: float
    jumped: float = 0.0
    """Seconds by which the clock was set meanwhile, if believed."""
    doubted: float | None = None
    """Seconds of running with a clock that is doubted, or None."""
    denied: str = ""
    """The platform that tells an earlier time."""


class ClockTrust:
    """A reliable time of day, although clocks are wrong, or set.

    Periods that `now` measures last as long as was said, and `holds` says whether to delete by a
    date. A clock is doubted that jumps, that is not at most a day ahead of the last known time at
    the start, or that is ahead of the time that a platform tells. It is believed again once it is
    put right, once a platform tells the same time, or, if none denies it, after hours of running.

    `clock` is the time of day, `steady` never jumps; both in seconds.
    """

    def __init__(self, clock: Callable[[], float], steady: Callable[[], float] = steadily) -> None:
        self._clock = clock
        self.steady = steady
        """Seconds that never jump."""
        self._offset = clock() - steady()
        self._began_at = steady()
        self._jumped = self._believed = 0.0
        self._tolerance = JUMP
        self._doubted_at: float | None = None
        self._denied = ""
        self.lag = 0.0
        """Seconds by which earlier requests are dated too early."""

    def began(self) -> float:
        """The time when this process began, by the present clock."""
        return self._clock() - (self.steady() - self._began_at)

    def begin(self, known: KnownTime | None) -> None:
        """Compare the clock with what an earlier process knew, if any did."""
        self._began_at = self.steady()
        if known is None:
            return
        ahead = self._clock() - known.at
        if -JUMP <= ahead <= LONGEST_PAUSE:
            # With a clock that was doubted, what was asked is dated as if there had been no pause.
            self.lag = 0.0 if known.doubted is None else max(0.0, ahead)
            if known.denied:
                self._deny(known.denied)
            return
        ran = known.doubted or 0.0
        LOG.warning(
            "the clock differs by %+.1f days from the last known time: nothing is deleted or "
            "expires by it until a platform tells the same time, or for %.1f more hours of running",
            ahead / DAY,
            max(0.0, DOUBT - ran) / HOUR,
        )
        self._jumped, self._tolerance = ahead, LONGEST_PAUSE
        self._doubted_at = self.steady() - ran
        if known.denied and ahead > 0:
            self._deny(known.denied)

    def now(self) -> float:
        """The time of day, without jumps of more than some minutes.

        Ask now and then: what lies between two questions is what a jump is seen by.
        """
        steady = self.steady()
        offset = self._clock() - steady
        jump = offset - self._offset
        self._offset = offset
        if abs(jump) > JUMP:
            self._jump(jump, steady)
        return offset + steady - self._jumped

    def _jump(self, jump: float, steady: float) -> None:
        self._jumped += jump
        LOG.warning("the clock was set by %+.0f s: what is asked of people lasts on", jump)
        if jump < 0:
            self._denied = ""
        if -JUMP <= self._jumped - self._believed <= self._tolerance:
            self._believe()
        else:
            LOG.warning(
                "nothing is deleted by its age until a platform tells the same time, or "
                "for %.0f hours",
                DOUBT / HOUR,
            )
            self._doubted_at = steady

    def _believe(self) -> None:
        self._doubted_at, self._denied = None, ""
        self._believed, self._tolerance = self._jumped, JUMP

    def _deny(self, by: str) -> None:
        self._denied = by
        if self._doubted_at is None:
            self._doubted_at = self.steady()

    def compare(self, told: float, by: str) -> None:
        """Compare the clock with the time that a platform tells."""
        self.now()
        ahead = self._clock() - told
        if abs(ahead) <= JUMP:
            if self._doubted_at is not None:
                LOG.info("the clock is believed: %s tells the same time", by)
            self._believe()
        elif ahead > 0 and not self._denied:
            LOG.error(
                "the clock is %.0f s ahead of the time that %s tells: nothing is deleted by its "
                "age until it is put right",
                ahead,
                by,
            )
            self._deny(by)

    def holds(self) -> bool:
        """True while the time of day is reliable enough for deletions."""
        self.now()
        if self._doubted_at is None:
            return True
        if self._denied or self.steady() - self._doubted_at < DOUBT:
            return False
        self._believe()
        return True

    def believed(self) -> float:
        """The time of day; while it is doubted, `now`."""
        return self._clock() if self.holds() else self.now()

    def known(self) -> KnownTime:
        """The time for the next process."""
        self.holds()
        return KnownTime(
            at=self.now() + self._believed,
            jumped=self._believed,
            doubted=None if self._doubted_at is None else self.steady() - self._doubted_at,
            denied=self._denied,
        )

    @property
    def doubt(self) -> str:
        """Why the clock is doubted, for operators; "" while it holds."""
        if self.holds():
            return ""
        assert self._doubted_at is not None
        if self._denied:
            return (
                f"The clock is ahead of the time that {self._denied} tells. Parley "
                "deletes no old data until the clock is right."
            )
        hours = (DOUBT - (self.steady() - self._doubted_at)) / HOUR
        return (
            "The clock differs from the last known time. Parley deletes no old data until a "
            f"platform tells the same time, or for {hours:.1f} more hours of running."
        )


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


class SteadyClock(WallClock):
    """Seconds that never jump, from any beginning."""

    def time(self) -> float:
        """The time now."""
        return steadily()


async def sleep(clock: Clock, seconds: float) -> None:
    """Wait until a clock has moved by `seconds`."""
    due = asyncio.Event()
    timer = clock.call_later(seconds, due.set)
    try:
        await due.wait()
    finally:
        timer.cancel()
