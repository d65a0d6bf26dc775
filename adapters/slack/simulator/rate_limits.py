"""Rate limits of methods, and the hourly quota of events."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field

from adapters.slack.simulator.clock import Clock

POSTING = frozenset({"chat.postMessage", "chat.postEphemeral"})
POSTS_PER_MINUTE = 300
"""Posts of one app in one workspace, over all channels."""
MOST_EVENTS = 30_000
HOUR, MINUTE = 3600, 60


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
    always: frozenset[str] = frozenset()
    """Methods that are limited although others are not."""
    burst: int = 5
    _buckets: dict[tuple[str, ...], _Bucket] = field(default_factory=dict)

    def wait(self, method: str, workspace: str, channel: str, per_minute: int) -> int:
        """Whole seconds to wait; 0 if the call may proceed."""
        if not self.enforced and method not in self.always:
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


class EventQuota:
    """Events of the last hour, by workspace; `most` of them are delivered.

    Slack leaves out the others: https://docs.slack.dev/apis/events-api#rate-limiting
    """

    def __init__(self, clock: Clock) -> None:
        self.most = MOST_EVENTS
        self._clock = clock
        self._sent: dict[str, deque[float]] = defaultdict(deque)
        self._reported: dict[str, int] = {}

    def admits(self, workspace: str) -> bool:
        """Count an event; True if it is delivered."""
        now, sent = self._clock.time(), self._sent[workspace]
        while sent and sent[0] <= now - HOUR:
            sent.popleft()
        if len(sent) >= self.most:
            return False
        sent.append(now)
        return True

    def unreported_minute(self, workspace: str) -> int:
        """The minute in which events were left out, once; otherwise 0."""
        minute = int(self._clock.time()) // MINUTE * MINUTE
        if self._reported.get(workspace) == minute:
            return 0
        self._reported[workspace] = minute
        return minute
