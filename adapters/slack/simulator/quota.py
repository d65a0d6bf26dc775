"""The hourly event quota; above it, Slack leaves events out.

https://docs.slack.dev/apis/events-api#rate-limiting
"""

from __future__ import annotations

from collections import defaultdict, deque

from adapters.slack.simulator.clock import Clock

MOST = 30_000
HOUR, MINUTE = 3600, 60


class EventQuota:
    """Events of the last hour, by workspace; `most` of them are delivered."""

    def __init__(self, clock: Clock) -> None:
        self.most = MOST
        self._clock = clock
        self._sent: dict[str, deque[float]] = defaultdict(deque)
        self._told: dict[str, int] = {}

    def admits(self, workspace: str) -> bool:
        """Count an event; True if it is delivered."""
        now, sent = self._clock.time(), self._sent[workspace]
        while sent and sent[0] <= now - HOUR:
            sent.popleft()
        if len(sent) >= self.most:
            return False
        sent.append(now)
        return True

    def news(self, workspace: str) -> int:
        """The minute in which events were left out, once; otherwise 0."""
        minute = int(self._clock.time()) // MINUTE * MINUTE
        if self._told.get(workspace) == minute:
            return 0
        self._told[workspace] = minute
        return minute
