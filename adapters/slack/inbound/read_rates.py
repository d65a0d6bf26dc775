"""Rates at which Slack lets the app read, learned from its refusals.

Internal apps and those of the Marketplace may read fifty times a minute (Tier 3), other apps that
are sold once a minute, fifteen messages at a time. Nothing tells an app which one it is:
https://docs.slack.dev/apis/web-api/rate-limits and
https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from adapters.slack.connection.payload import Payload
from adapters.slack.connection.web_api import Calls
from gateway.base.clock import Clock, sleep
from gateway.surface import RateLimited

HISTORY, REPLIES = "conversations.history", "conversations.replies"
PAGE = 200
"""Messages of one call; Slack gives 15 at most to apps that may read once a minute."""
BURST = 20
PER_SECOND = 0.5
"""Calls that nobody waits for: the rest of Tier 3 is for those that a person waits for."""
MINUTE = 60.0
STEADY = 20
"""Calls without a refusal after which a rate that was learned is doubled."""


@dataclass(slots=True)
class Pace:
    """The pace of one method in one workspace. Times are in seconds.

    `every`: seconds between two calls as they were learned, 0 for Tier 3. `now` is a time of day:
    when it is set back, the times that were noted go back with it.
    """

    level: float = BURST
    counted: float = 0.0
    closed: float = 0.0
    every: float = 0.0
    last: float = 0.0
    calls: int = 0
    """Calls that Slack let through since it refused one."""
    seen: float = 0.0
    """The time of the latest question."""

    def wait(self, now: float) -> float:
        """Seconds until the next call may be made."""
        self._go_back(now)
        if now < self.closed:
            return self.closed - now
        if self.every:
            return max(0.0, self.last + self.every - now)
        self.level = min(BURST, self.level + (now - self.counted) * PER_SECOND)
        self.counted = now
        return max(0.0, (1 - self.level) / PER_SECOND)

    def granted(self, now: float) -> None:
        """Note that Slack has answered a call."""
        self._go_back(now)
        self.level, self.last, self.calls = max(0.0, self.level - 1), now, self.calls + 1
        if self.every and self.calls >= STEADY:
            self.calls = 0
            self.every = self.every / 2 if self.every > 1 / PER_SECOND else 0.0

    def refused(self, now: float, seconds: float) -> None:
        """Note that Slack takes no call for so long.

        A single call between two refusals tells the rate.
        """
        self._go_back(now)
        self.closed = now + seconds
        if self.calls == 1 or (self.every and self.calls):
            self.every = min(MINUTE, max(self.every, self.closed - self.last))
        self.calls = 0

    def is_closed(self, now: float) -> bool:
        """True while Slack takes no call."""
        self._go_back(now)
        return now < self.closed

    def _go_back(self, now: float) -> None:
        back = max(0.0, self.seen - now)
        self.seen = now
        self.counted -= back
        self.closed -= back
        self.last -= back


class ReadRates:
    """Reads of all workspaces, each method at its pace."""

    def __init__(self, calls: Calls, clock: Clock) -> None:
        self.calls = calls
        self._clock = clock
        self._paces: defaultdict[tuple[str, str], Pace] = defaultdict(Pace)

    def is_closed(self, team: str, method: str) -> bool:
        """True while Slack takes no call of the method."""
        return self._paces[team, method].is_closed(self._clock.time())

    def scopes(self, team: str) -> frozenset[str]:
        """The scopes of a workspace's token."""
        workspace = self.calls.clients.workspace(team)
        return workspace.scopes if workspace else frozenset()

    async def read(self, team: str, method: str, **arguments: Any) -> Payload:
        """Read now. Raises GatewayError, RateLimited, too."""
        pace = self._paces[team, method]
        try:
            answer = await self.calls.read(team, method, **arguments)
        except RateLimited as error:
            pace.refused(self._clock.time(), error.retry_after)
            raise
        pace.granted(self._clock.time())
        return answer

    async def read_in_turn(self, team: str, method: str, **arguments: Any) -> Payload:
        """Read when the pace lets it. Raises GatewayError."""
        while True:
            while (wait := self._paces[team, method].wait(self._clock.time())) > 0:
                await sleep(self._clock, wait)
            try:
                return await self.read(team, method, **arguments)
            except RateLimited:
                continue  # the pace has learned
