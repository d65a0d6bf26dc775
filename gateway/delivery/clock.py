"""Clocks and waits of deliveries: races of two, and growing delays."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Coroutine
from typing import Any, Protocol

FIRST_DELAY, LONGEST_DELAY = 1.0, 300.0
"""Seconds until something is tried again that the platform did not take."""
LONGEST = 6 * 3600.0
"""Seconds after which a platform that can't be reached is given up for a thread."""
MOST_ASKED = 900.0
"""Seconds that a platform may ask to wait at a time."""


class Clock(Protocol):
    """Seconds since the epoch."""

    def time(self) -> float:
        """Now."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's."""

    def time(self) -> float:
        """Now."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


async def comes_first(this: Coroutine[Any, Any, Any], other: Coroutine[Any, Any, Any]) -> bool:
    """Wait for either and end the other; True if `this` came.

    Raises what they raise.
    """
    async with asyncio.TaskGroup() as group:
        first = group.create_task(this)
        second = group.create_task(other)
        await asyncio.wait([first, second], return_when=asyncio.FIRST_COMPLETED)
        came = first.done()
        first.cancel()
        second.cancel()
    return came


class Backoff:
    """Waits between the tries of one thread, jittered, longer and longer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._delay = 0.0
        self._since: float | None = None

    def renewed(self) -> None:
        """Something was taken."""
        self._delay, self._since = 0.0, None

    async def as_asked(self, seconds: float) -> None:
        """Wait as long as the platform wants it."""
        if seconds:
            await self._clock.sleep(min(seconds, MOST_ASKED) * random.uniform(1.0, 1.1))

    async def once_more(self) -> bool:
        """Wait for the next try; False if it has been long enough."""
        now = self._clock.time()
        self._since = now if self._since is None else self._since
        if now - self._since > LONGEST:
            return False
        self._delay = min(LONGEST_DELAY, max(FIRST_DELAY, self._delay * 2))
        await self._clock.sleep(self._delay * random.uniform(0.8, 1.2))
        return True
