"""How many events an app is told: above that, Slack leaves events out and says for which minute.

https://docs.slack.dev/apis/events-api#rate-limiting
"""

from __future__ import annotations

from collections import defaultdict, deque

from adapters.slack.simulator.clock import Clock

MOST = 30_000
HOUR, MINUTE = 3600, 60


class EventQuota:
    """The events of the last hour, by workspace. `most` of them are delivered."""

    def __init__(self, clock: Clock) -> None:
        self.most = MOST
        self._clock = clock
        self._sent: dict[str, deque[float]] = defaultdict(deque)
        self._told: dict[str, int] = {}

    def admits(self, workspace: str) -> bool:
        """Whether one more event is delivered, which is counted."""
        now, sent = self._clock.time(), self._sent[workspace]
        while sent and sent[0] <= now - HOUR:
            sent.popleft()
        if len(sent) >= self.most:
            return False
        sent.append(now)
        return True

    def news(self, workspace: str) -> int:
        """The minute in which events are left out, once; 0 where it was told."""
        minute = int(self._clock.time()) // MINUTE * MINUTE
        if self._told.get(workspace) == minute:
            return 0
        self._told[workspace] = minute
        return minute
