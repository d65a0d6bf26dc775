"""A platform's limits, published or told by its answers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from enum import IntEnum

from gateway.surface import Place
from gateway.values import value

STEADY = 20
"""Calls without a refusal after which a rate that was learned is doubled."""
GROWS = 10.0
"""Seconds after its last piece for which a text counts as growing."""
MOST_KEPT = 3
"""Calls of a window that are left to what must not wait; at most half of them all."""


class Rank(IntEnum):
    """The priority of a call.

    `LATER` is what nobody waits for: a further piece of a text, a page of what was missed.
    """

    URGENT = 0
    POST = 1
    LATER = 2


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller: turns go round among people, then among a person's threads."""

    person: str
    thread: str

    @classmethod
    def at(cls, place: Place) -> Caller:
        """The caller that writes at a place."""
        key = place.key
        return cls(person=place.asker or key.user or key.channel, thread=str(key))


@value
class Limit:
    """Calls that a platform takes: `burst` of them at once, and `per_minute`."""

    per_minute: float
    burst: float
    reserve: float = 0.0
    """Tokens that calls leave which can wait."""
    slowest: float = 0.0
    """Calls a minute that it may take instead, as its refusals tell; 0 if it is known."""
    alone: tuple[int, float] | None = None
    """Without other nodes: so many calls in each so many seconds instead."""

    def times(self, pace: float) -> Limit:
        """This limit, so many times."""
        return replace(
            self,
            per_minute=self.per_minute * pace,
            burst=max(1.0, self.burst * pace),
            reserve=self.reserve * pace,
        )


class Source:
    """The rest of a limit.

    `now` is in seconds and never goes back.
    """

    def missing(self, rank: Rank, now: float) -> float:
        """Seconds until there is a token for such a call."""
        raise NotImplementedError

    def take(self, now: float) -> None:
        """Take one."""

    def give_back(self, now: float) -> None:
        """Give back one that was not used."""

    def close(self, now: float, seconds: float) -> None:
        """Note that the platform takes no call for so long."""

    def level(self, now: float) -> float:
        """The fill level, from 0 to 1."""
        return 1.0

    def note(self, thread: str, now: float) -> None:
        """Note that a text of a thread grows."""


def source_of(limit: Limit, now: float) -> Source:
    """The tokens of a known limit."""
    return _Filling(limit, now) if limit.alone is None else _Returning(*limit.alone)


class _Filling(Source):
    """Tokens that come in at a known rate."""

    def __init__(self, limit: Limit, now: float) -> None:
        self._limit = limit
        self._tokens = limit.burst
        self._counted = now

    def missing(self, rank: Rank, now: float) -> float:
        wanted = 1.0 + (self._limit.reserve if rank is Rank.LATER else 0.0)
        return (wanted - self._count(now)) * 60 / self._limit.per_minute

    def take(self, now: float) -> None:
        self._tokens = self._count(now) - 1

    def give_back(self, now: float) -> None:
        self._tokens = min(self._limit.burst, self._count(now) + 1)

    def close(self, now: float, seconds: float) -> None:
        self._tokens = min(self._count(now), 1.0)

    def level(self, now: float) -> float:
        return max(0.0, self._count(now) / self._limit.burst)

    def _count(self, now: float) -> float:
        gained = (now - self._counted) * self._limit.per_minute / 60
        self._tokens, self._counted = min(self._limit.burst, self._tokens + gained), now
        return self._tokens


class _Returning(Source):
    """Tokens that come back so many seconds after their use."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._used: deque[float] = deque()

    def missing(self, rank: Rank, now: float) -> float:
        while self._used and self._used[0] <= now - self._seconds:
            self._used.popleft()
        return self._used[0] + self._seconds - now if len(self._used) >= self._most else 0.0

    def take(self, now: float) -> None:
        self._used.append(now)


class Told(Source):
    """A limit that only answers tell of, until its reset.

    Calls that can wait are spread over that time and leave room for others; where nothing is told,
    there are `spacing` seconds between them.
    """

    def __init__(self, spacing: float) -> None:
        self._spacing = spacing
        self._limit = self._left = 1
        self._reset_at = self._next_later = 0.0
        self._growing: dict[str, float] = {}
        """Threads whose texts grow, with the time of their last piece."""

    def learn(self, limit: int, left: int, seconds: float, now: float) -> None:
        """Learn what an answer has told."""
        self._limit, self._left, self._reset_at = limit, left, now + seconds
        self._next_later = now + seconds / (max(left - self._kept(now), 0) + 1)

    def learn_nothing(self, now: float) -> None:
        """Note that an answer has told no limit."""
        self._reset_at, self._next_later = 0.0, now + self._spacing

    def missing(self, rank: Rank, now: float) -> float:
        """Seconds until such a call is due."""
        can_wait = rank is Rank.LATER
        if now < self._reset_at and self._left <= (self._kept(now) if can_wait else 0):
            return self._reset_at - now
        return self._next_later - now if can_wait else 0.0

    def close(self, now: float, seconds: float) -> None:
        """Nothing is left for so long."""
        self._left, self._reset_at = 0, now + seconds

    def note(self, thread: str, now: float) -> None:
        """Note that a text of a thread grows."""
        self._growing[thread] = now

    def _kept(self, now: float) -> int:
        """Calls that are left to others: one for each text that grows."""
        for thread in [each for each, at in self._growing.items() if now - at > GROWS]:
            del self._growing[thread]
        return min(max(len(self._growing), 1), MOST_KEPT, self._limit // 2)


class LearnedPace:
    """A slower rate than the published one, learned from refusals.

    A single call between two refusals tells the rate.
    """

    def __init__(self, limit: Limit) -> None:
        self._longest = 60 / limit.slowest
        self._shortest = 60 / limit.per_minute
        self._every = 0.0
        """Seconds between two calls; 0 as long as nothing is learned."""
        self._calls = 0
        """Calls since a refusal."""
        self._last = self._before = 0.0
        """The times of the last two calls."""

    def missing(self, now: float) -> float:
        """Seconds until the next call is due."""
        return self._last + self._every - now if self._every else 0.0

    def note(self, now: float) -> None:
        """Note a call; after many without a refusal, more are tried."""
        self._before, self._last = self._last, now
        self._calls += 1
        if self._every and self._calls > STEADY:
            self._calls = 0
            self._every = self._every / 2 if self._every > 2 * self._shortest else 0.0

    def close(self, now: float, seconds: float) -> None:
        """Learn from the refusal of the last call."""
        taken, self._calls, self._last = self._calls - 1, 0, self._before
        if taken == 1 or (self._every and taken > 0):
            gap = now + seconds - self._last
            self._every = min(self._longest, max(self._every, gap))
