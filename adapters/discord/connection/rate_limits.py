"""Discord's rate limits, of which the headers of answers tell.

Each route and channel (or guild, or webhook) counts in a bucket. One call of a bucket is under way
at a time, so that a limit that shrinks is known before the next call.
https://docs.discord.com/developers/topics/rate-limits
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from adapters.discord.config import PLATFORM
from gateway.pacing.bucket import Bucket
from gateway.pacing.limits import Caller, Limit, Rank, Told
from gateway.pacing.pacer import Pacer
from gateway.surface import seconds_told

SPACING = 1.25
"""Seconds between two edits where Discord says nothing of its limits."""

MARGIN = 0.1
"""Seconds added to a bucket's end: its clock is not ours."""

PATIENCE = 10.0
"""Seconds that a call waits for its turn."""

ALL = Limit(per_minute=34 * 60, burst=6, alone=(45, 1 + MARGIN))
"""All calls of a bot: Discord takes 50 a second. With what nodes draw and use later, it is less."""

SESSIONS = Limit(per_minute=60 / 5.25, burst=1)
"""New sessions of a bucket of shards: one in five seconds, and some for the way.

https://docs.discord.com/developers/events/gateway#rate-limiting
"""


class Buckets:
    """All rate limits of a bot."""

    def __init__(self, pacer: Pacer | None = None, *, account: str = PLATFORM) -> None:
        self.pacer = pacer or Pacer(spacing=SPACING)
        self.all = self.pacer.bucket(account, ALL)
        self._hashes: dict[str, str] = {}

    def bucket_of(self, route: str, major: str) -> Bucket:
        """The bucket of a route for a channel, guild or webhook."""
        return self.pacer.bucket(f"{self._hashes.get(route, route)} {major}")

    def learn(self, route: str, major: str, bucket: Bucket, headers: Mapping[str, str]) -> None:
        """Learn a bucket's limit and name from the headers of an answer."""
        assert isinstance(bucket.source, Told)
        try:
            limit = int(headers["X-RateLimit-Limit"])
            left = int(headers["X-RateLimit-Remaining"])
            seconds = seconds_told(headers["X-RateLimit-Reset-After"], 0.0) + MARGIN
        except (KeyError, ValueError):
            bucket.source.learn_nothing(self.pacer.clock.time())
        else:
            bucket.source.learn(limit, left, seconds, self.pacer.clock.time())
        name = headers.get("X-RateLimit-Bucket")
        if name and self._hashes.get(route) != name:
            self._hashes[route] = name
            self.pacer.alias(f"{name} {major}", bucket)

    def call(
        self, bucket: Bucket, rank: Rank, caller: Caller
    ) -> AbstractAsyncContextManager[object]:
        """Make a call in its turn, below the limit of all.

        Raises OwnPace.
        """
        return self.pacer.call(bucket, caller, rank, patience=PATIENCE, below=self.all)
