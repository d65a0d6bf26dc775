"""Rate limits of methods: a token bucket per method and workspace."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from adapters.slack.simulator.clock import Clock

POSTING = frozenset({"chat.postMessage", "chat.postEphemeral"})
POSTS_PER_MINUTE = 300
"""Posts of one app in one workspace, over all channels."""


@dataclass
class _Bucket:
    capacity: float
    per_second: float
    level: float
    at: float

    def spend(self, now: float) -> float:
        """Spend a token; otherwise return the seconds to wait."""
        self.level = min(self.capacity, self.level + (now - self.at) * self.per_second)
        self.at = now
        if self.level >= 1:
            self.level -= 1
            return 0.0
        return (1 - self.level) / self.per_second


@dataclass
class RateLimits:
    """The limits of one app.

    `burst` posts may go to one channel at once, then one a second. Source of the tiers: the
    documentation of each method.
    """

    clock: Clock
    enforced: bool = True
    burst: int = 5
    _buckets: dict[tuple[str, ...], _Bucket] = field(default_factory=dict)

    def wait(self, method: str, workspace: str, channel: str, per_minute: int) -> int:
        """Whole seconds to wait; 0 if the call may proceed."""
        if not self.enforced:
            return 0
        if method in POSTING:
            seconds = max(
                self._spend(("posts", workspace), POSTS_PER_MINUTE, POSTS_PER_MINUTE / 60),
                self._spend(("posts", workspace, channel), self.burst, 1.0),
            )
        else:
            seconds = self._spend((method, workspace), per_minute, per_minute / 60)
        return math.ceil(seconds)

    def _spend(self, key: tuple[str, ...], capacity: float, per_second: float) -> float:
        now = self.clock.time()
        bucket = self._buckets.setdefault(key, _Bucket(capacity, per_second, capacity, now))
        return bucket.spend(now)
