"""Rate limits of the simulated Discord, as hidden as the real ones.

Nobody is told the numbers beforehand: the headers of each answer tell what is left in its bucket.
A refusal is *avoidable* where the caller had been told enough to know that it would come. It knows
what an answer on the same connection told it, and after a moment what any answer did: other
requests may have been on their way when that answer left.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.discord.simulator.clock import SimulatorClock

GLOBAL_LIMIT = 50
"""Requests a second of one application, all routes together; Discord documents this number."""

MESSAGES = "/channels/{channel_id}/messages"
MESSAGE = f"{MESSAGES}/{{message_id}}"
OWN_REACTION = f"{MESSAGE}/reactions/{{emoji_name}}/@me"
WEBHOOK = "/webhooks/{webhook_id}/{webhook_token}"


@dataclass(frozen=True, slots=True)
class Limit:
    """`count` requests in `seconds`; without `disclosed`, answers have no headers."""

    count: int
    seconds: float
    disclosed: bool = True


DEFAULT_LIMITS: dict[str, Limit] = {
    f"POST {MESSAGES}": Limit(5, 5.0),
    f"PATCH {MESSAGE}": Limit(5, 5.0),
    f"DELETE {MESSAGE}": Limit(5, 1.0),
    f"PUT {OWN_REACTION}": Limit(1, 0.25),
    f"DELETE {OWN_REACTION}": Limit(1, 0.25),
    "POST /channels/{channel_id}/typing": Limit(5, 5.0),
    "PATCH /channels/{channel_id}": Limit(5, 15.0),
    f"POST {WEBHOOK}": Limit(5, 2.0),
    f"PATCH {WEBHOOK}/messages/{{message_id}}": Limit(5, 2.0),
}
"""Numbers seen on Discord, which publishes none."""
FALLBACK_LIMIT = Limit(30, 1.0)
UNLIMITED = ("/interactions/",)


RENAMES = Limit(2, 600.0, disclosed=False)
"""Renames of one channel or thread, as libraries report; Discord documents none."""


TRANSIT_SECONDS = 0.25
"""Longest time between a request's sending and its arrival, in seconds."""


@dataclass(slots=True)
class Disclosure:
    """A fact that answers disclosed: a limit, or a time to wait."""

    value: float
    at: float
    connections: set[int] = field(default_factory=set[int])

    def is_known(self, connection: int, now: float) -> bool:
        """True if a request on this connection was sent knowing it."""
        return connection in self.connections or now - self.at > TRANSIT_SECONDS


@dataclass(slots=True)
class Bucket:
    """Use of a limit in its window, and callers' knowledge of it."""

    limit: Limit
    key: str
    used: int = 0
    until: float = 0.0
    refused_until: float = 0.0
    disclosed_limit: Disclosure | None = None
    disclosed_wait: Disclosure | None = None

    def avoidable(self, connection: int, now: float) -> bool:
        """True if the caller on this connection knew of the refusal beforehand."""
        limit, wait = self.disclosed_limit, self.disclosed_wait
        counted = limit is not None and limit.value <= self.limit.count <= self.used
        if counted and limit is not None and limit.is_known(connection, now):
            return True
        return wait is not None and now < wait.value and wait.is_known(connection, now)

    def disclose_limit(self, connection: int, now: float) -> None:
        """An answer on this connection shows the limit."""
        if self.disclosed_limit is None or self.disclosed_limit.value != self.limit.count:
            self.disclosed_limit = Disclosure(self.limit.count, now)
        self.disclosed_limit.connections.add(connection)

    def disclose_wait(self, connection: int, now: float) -> None:
        """An answer on this connection says until when nothing goes."""
        if self.disclosed_wait is None or self.disclosed_wait.value != self.refused_until:
            self.disclosed_wait = Disclosure(self.refused_until, now)
        self.disclosed_wait.connections.add(connection)


@dataclass(frozen=True, slots=True)
class RateDecision:
    """The decision about a request, and the headers of its answer."""

    headers: dict[str, str] = field(default_factory=dict[str, str])
    retry_after: float | None = None
    scope: str = "user"
    avoidable: bool = False


class RateLimits:
    """Counts requests by route and major parameter (channel, guild, webhook), and altogether."""

    def __init__(self, clock: SimulatorClock) -> None:
        self._clock = clock
        self._limits = dict(DEFAULT_LIMITS)
        self._hashes: dict[str, str] = {}
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._everything = Bucket(Limit(GLOBAL_LIMIT, 1.0), "global")

    def set(self, route: str, count: int, seconds: float, *, disclosed: bool = True) -> None:
        """Change a route's limit and its bucket's name; `route` is `"PATCH /..."`.

        What was used in the current window stays used. `disclosed=False` leaves the headers out.
        """
        self._limits[route] = Limit(count, seconds, disclosed)
        self._hashes.pop(route, None)
        for (name, _), bucket in self._buckets.items():
            if name == route:
                bucket.limit = self._limits[route]
                bucket.key = self._hash(route)

    def set_global(self, count: int) -> None:
        """From now on so many requests a second, all together."""
        self._everything.limit = Limit(count, 1.0)

    def admit(self, method: str, route: str, major: str, connection: int = 0) -> RateDecision:
        """Count a request that came on this connection."""
        if route.startswith(UNLIMITED):
            return RateDecision()
        now = self._clock.now()
        if not route.startswith(WEBHOOK) and not _count_request(self._everything, now):
            return self._refuse(self._everything, now, "global", connection)
        bucket = self.bucket(f"{method} {route}", major)
        if not _count_request(bucket, now):
            return self._refuse(bucket, now, "user", connection)
        return RateDecision(self._headers(bucket, now, connection))

    def bucket(self, route: str, major: str) -> Bucket:
        """The bucket of a route in a channel, guild or webhook."""
        key = (route, major)
        if key not in self._buckets:
            limit = self._limits.get(route, FALLBACK_LIMIT)
            self._buckets[key] = Bucket(limit, self._hash(route))
        return self._buckets[key]

    def refuse(
        self, bucket: Bucket | None, seconds: float, scope: str, connection: int
    ) -> RateDecision:
        """Refuse a request regardless of use; None refuses by the global limit."""
        now = self._clock.now()
        bucket = bucket or self._everything
        bucket.refused_until = max(bucket.refused_until, now + seconds)
        return self._refuse(bucket, now, scope, connection)

    def _refuse(self, bucket: Bucket, now: float, scope: str, connection: int) -> RateDecision:
        avoidable = bucket.avoidable(connection, now)
        exhausted = bucket.until if bucket.used >= bucket.limit.count else 0.0
        bucket.refused_until = max(bucket.refused_until, exhausted)
        bucket.disclose_wait(connection, now)
        headers = {"X-RateLimit-Scope": scope, **self._headers(bucket, now, connection)}
        return RateDecision(headers, _round_up(bucket.refused_until - now), scope, avoidable)

    def _headers(self, bucket: Bucket, now: float, connection: int) -> dict[str, str]:
        if not bucket.limit.disclosed or bucket is self._everything:
            return {}
        bucket.disclose_limit(connection, now)
        return {
            "X-RateLimit-Limit": str(bucket.limit.count),
            "X-RateLimit-Remaining": str(max(0, bucket.limit.count - bucket.used)),
            "X-RateLimit-Reset": f"{_round_up(bucket.until):.3f}",
            "X-RateLimit-Reset-After": f"{_round_up(max(0.0, bucket.until - now)):.3f}",
            "X-RateLimit-Bucket": bucket.key,
        }

    def _hash(self, route: str) -> str:
        return self._hashes.setdefault(route, secrets.token_hex(16))


def _count_request(bucket: Bucket, now: float) -> bool:
    if now >= bucket.until:
        bucket.used = 0
        bucket.until = now + bucket.limit.seconds
    if bucket.used >= bucket.limit.count or now < bucket.refused_until:
        return False
    bucket.used += 1
    return True


def major_parameter(parameters: Mapping[str, str]) -> str:
    """The channel, guild or webhook that a bucket is counted by."""
    names = ("channel_id", "guild_id", "webhook_id", "webhook_token")
    return "/".join(parameters[name] for name in names if name in parameters)


def _round_up(seconds: float) -> float:
    return math.ceil(seconds * 1000) / 1000
