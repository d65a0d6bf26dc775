"""The simulated workspace's time: rates, deadlines, retries and expiry all read it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.base.clock import Clock as Clock
from gateway.base.clock import Timer, WallClock
from gateway.base.clock import sleep as sleep


@dataclass(order=True)
class _Call:
    due: float
    number: int
    callback: Callable[[], object] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.cancelled = True


class VirtualClock:
    """Time stands still until `advance`."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._calls: list[_Call] = []
        self._numbers = itertools.count()

    def time(self) -> float:
        """The time now."""
        return self._now

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer:
        """Make a call once time was moved by `delay` seconds."""
        call = _Call(self._now + delay, next(self._numbers), callback)
        heapq.heappush(self._calls, call)
        return call

    def advance(self, seconds: float) -> None:
        """Move time on, making the calls that become due in their order."""
        end = self._now + seconds
        while self._calls and self._calls[0].due <= end:
            call = heapq.heappop(self._calls)
            self._now = max(self._now, call.due)
            if not call.cancelled:
                call.callback()
        self._now = end


RealClock = WallClock
"""The time of the machine, for a simulator that people use."""
