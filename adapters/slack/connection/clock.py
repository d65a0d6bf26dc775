"""The time that the outbound side goes by: its pace, the age of streams, and what is due later."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


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
