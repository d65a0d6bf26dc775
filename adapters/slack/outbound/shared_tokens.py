"""Tokens of a bucket that all nodes have together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateway.base.clock import Clock
from gateway.rates import DrawnTokens, RateLimit, SharedRate


class SharedTokens:
    """Draws tokens one by one, and estimates how many are left.

    With the rates of Slack's methods, a portion is one token.
    """

    def __init__(self, rate: SharedRate, limit: RateLimit, clock: Clock) -> None:
        self._rate = rate
        self._limit = limit
        self._clock = clock
        self._left = limit.burst
        self._told_at = self._seen_at = clock.time()
        self._wait = 0.0
        """Seconds to wait, from `told_at` on."""
        self._reserve = 0.0
        """The reserve of the last question."""
        self._asked: asyncio.Future[DrawnTokens] | None = None

    @property
    def is_on(self) -> bool:
        """True while there are other nodes."""
        return self._rate.is_shared

    @property
    def level(self) -> float:
        """Fill level, from 0 to 1, if nobody has drawn since."""
        left = self._left + self._passed() * self._limit.per_minute / 60
        return min(1.0, left / self._limit.burst)

    def _passed(self) -> float:
        """Seconds since all of this was told.

        When the clock is set back, the time at which that was goes back with it.
        """
        now = self._clock.time()
        self._told_at -= max(0.0, self._seen_at - now)
        self._seen_at = now
        return now - self._told_at

    @property
    def wait(self) -> float:
        """Seconds until the next question, whatever the clock says."""
        return self._wait - self._passed()

    def ask(self, reserve: float, then: Callable[[int], None]) -> float:
        """Draw a token for `then`, which is called later; 0.

        If it is too early for that, the seconds to wait instead.
        """
        if self._asked is not None:
            return 0.0
        if self.wait > 0 and reserve >= self._reserve:
            return max(self.wait, 0.001)
        self._reserve = reserve
        self._asked = self._rate.draw(1, reserve=reserve)
        self._asked.add_done_callback(lambda asked: self._answered(asked, then))
        return 0.0

    def _answered(self, asked: asyncio.Future[DrawnTokens], then: Callable[[int], None]) -> None:
        self._asked = None
        if not asked.cancelled():
            drawn = asked.result()
            self._learn(drawn.level, drawn.wait)
            then(drawn.tokens)

    async def take(self, reserve: float) -> bool:
        """Draw one token now; False if there is none above the reserve."""
        drawn = await self._rate.draw(1, reserve=reserve)
        self._learn(drawn.level, self.wait)
        return drawn.tokens > 0

    def close(self, seconds: float) -> None:
        """Let no node draw for so long."""
        self._rate.close(seconds)

    def _learn(self, left: float, wait: float) -> None:
        self._left, self._wait = left, wait
        self._told_at = self._seen_at = self._clock.time()
