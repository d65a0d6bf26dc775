"""Delays between attempts at a platform that does not take something."""

from __future__ import annotations

import random

from gateway.delivery.clock import Clock

FIRST_DELAY, LONGEST_DELAY = 1.0, 300.0
"""Seconds until something is tried again that the platform did not take."""
LONGEST = 6 * 3600.0
"""Seconds after which a platform that can't be reached is given up for a thread."""
MOST_ASKED = 900.0
"""Seconds that a platform may ask to wait at a time."""


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
