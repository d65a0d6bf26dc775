"""Slack's rate limits, by method and workspace; new messages also by channel.

The tiers are those of https://docs.slack.dev/apis/web-api/rate-limits and of the methods' pages.
"""

from __future__ import annotations

from collections.abc import Mapping

from adapters.slack.config import PLATFORM
from gateway.pacing.bucket import Bucket
from gateway.pacing.limits import Limit
from gateway.pacing.pacer import Pacer

START = "chat.startStream"
APPEND = "chat.appendStream"
STOP = "chat.stopStream"
UPDATE = "chat.update"
POST = "chat.postMessage"
DELETE = "chat.delete"
REPLIES = "conversations.replies"
HISTORY = "conversations.history"
CONVERSATIONS = "users.conversations"
UNREACT = "reactions.remove"


def _tier(per_minute: int, *, burst: float = 0.9, reserve: float = 0.0) -> Limit:
    # A little below what Slack says: its clock is not ours, and calls are not as long under way.
    return Limit(per_minute=per_minute * 0.95, burst=per_minute * burst, reserve=reserve)


# Tier 3. What nobody waits for reads at most 50 in any minute: 20 at once, and 30 more.
# Apps that are sold outside of the Marketplace may read once a minute, fifteen messages at a time.
# Nothing tells an app whether it is one of them:
# https://docs.slack.dev/changelog/2025/05/29/rate-limit-changes-for-non-marketplace-apps
_READ = Limit(per_minute=30, burst=45, reserve=25, slowest=1)

LIMITS: Mapping[str, Limit] = {
    START: _tier(20),
    APPEND: _tier(100, burst=0.5),
    STOP: _tier(20, reserve=8),
    UPDATE: _tier(50, reserve=15),
    POST: Limit(per_minute=57, burst=3),
    REPLIES: _READ,
    HISTORY: _READ,
    CONVERSATIONS: _READ,
    UNREACT: _tier(20),
}
OTHERS = _tier(50)
PER_CHANNEL = frozenset({POST})


class SlackLimits:
    """The buckets of the methods of an account's app.

    `pace` multiplies the rates, for a workspace that was granted more.
    """

    def __init__(
        self, pacer: Pacer | None = None, *, pace: float = 1.0, account: str = PLATFORM
    ) -> None:
        self.pacer = pacer or Pacer()
        self._account = account
        self._limits = {method: limit.times(pace) for method, limit in LIMITS.items()}
        self._others = OTHERS.times(pace)

    def limit(self, method: str) -> Limit:
        """The limit of a method."""
        return self._limits.get(method, self._others)

    def bucket(self, method: str, team: str, channel: str = "") -> Bucket:
        """The bucket that calls of a method come from."""
        where = f"{team} {channel}" if method in PER_CHANNEL else team
        return self.pacer.bucket(f"{self._account} {method} {where}", self.limit(method))
