"""Discord's rate limits, and the order of calls within them.

Each route and channel (or guild, or webhook) counts in a bucket that only the headers of answers
tell of. One call of a bucket is under way at a time, so that a limit that shrinks is known before
the next call. Edits of growing texts are spread over the bucket's window and leave room for urgent
calls.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from time import monotonic

from gateway.rates import LIFE, RateLimit, SharedRate

EDIT_SECONDS = 1.25
"""Between two edits where Discord says nothing of its limits."""

PROMISE_SECONDS = 0.5
"""Seconds for which a place in the bucket is kept for an announced call."""

MARGIN = 0.1
"""Seconds added to a bucket's end: its clock is not ours."""

STREAM_SECONDS = 10.0
"""After which a text counts as no longer growing."""

MOST_RESERVED = 3
"""Calls of a bucket that edits leave to what must not wait; at most half of them all."""

MOST_BUCKETS = 1000

HELD_SECONDS = 1.0
"""A wait of all nodes so long means that Discord has refused one of them."""

PER_SECOND = 45
"""Calls of a bot in all; Discord takes 50."""


def of_all_nodes(account: str) -> RateLimit:
    """The rate of a bot on all nodes.

    With what is drawn and used later, that is less than 50 in each second.
    """
    return RateLimit(name=account, per_minute=34 * 60, burst=6)


class Rank(IntEnum):
    """The priority of a call."""

    URGENT = 0
    POST = 1
    EDIT = 2


@dataclass(slots=True)
class Bucket:
    """One rate limit. Times are those of `monotonic`."""

    limit: int = 1
    remaining: int = 1
    reset_at: float = 0.0
    streams: dict[str, float] = field(default_factory=dict[str, float])
    """Streams that edit here, with the time of their last request."""
    _next_edit: float = 0.0
    _busy: bool = False
    _promised: asyncio.TimerHandle | None = None
    _queue: list[tuple[Rank, int]] = field(default_factory=list[tuple[Rank, int]])
    _tickets: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def promise(self, rank: Rank, stream: str = "") -> None:
        """Wait for the next call's time, and reserve its place."""
        if rank is Rank.EDIT:
            self.streams[stream] = monotonic()
        await self._acquire(rank)
        loop = asyncio.get_running_loop()
        self._promised = loop.call_later(PROMISE_SECONDS, self._release)

    @asynccontextmanager
    async def call(self, rank: Rank) -> AsyncGenerator[None]:
        """Make a call, at its reserved place or when it is due."""
        if self._promised is not None:
            self._promised.cancel()
            self._promised = None
        else:
            await self._acquire(rank)
        try:
            yield
        finally:
            self._release()

    def delay(self, rank: Rank) -> float:
        """Estimated seconds until a call of this rank is due."""
        now = monotonic()
        if now >= self.reset_at:
            return 0.0 if rank is not Rank.EDIT else self._next_edit - now
        if self.remaining <= (self._reserve() if rank is Rank.EDIT else 0):
            return self.reset_at - now
        return self._next_edit - now if rank is Rank.EDIT else 0.0

    @property
    def is_idle(self) -> bool:
        """True if the bucket can be forgotten."""
        return not (self._busy or self._queue) and monotonic() > self.reset_at + 60

    def learn(self, headers: Mapping[str, str]) -> None:
        """Learn the limit from the headers of an answer."""
        now = monotonic()
        try:
            self.limit = int(headers["X-RateLimit-Limit"])
            self.remaining = int(headers["X-RateLimit-Remaining"])
            self.reset_at = now + float(headers["X-RateLimit-Reset-After"]) + MARGIN
        except (KeyError, ValueError):
            self.reset_at, self._next_edit = 0.0, now + EDIT_SECONDS
            return
        left = max(self.remaining - self._reserve(), 0) + 1
        self._next_edit = now + (self.reset_at - now) / left

    def hold(self, seconds: float) -> None:
        """Nothing may be called for so long."""
        self.remaining, self.reset_at = 0, monotonic() + seconds + MARGIN

    def _reserve(self) -> int:
        """Calls that edits leave free: one for each text that grows."""
        now = monotonic()
        for stream in [name for name, at in self.streams.items() if now - at > STREAM_SECONDS]:
            del self.streams[stream]
        return min(max(len(self.streams), 1), MOST_RESERVED, self.limit // 2)

    async def _acquire(self, rank: Rank) -> None:
        self._tickets += 1
        place = (rank, self._tickets)
        self._queue.append(place)
        try:
            while True:
                wait = None
                if not self._busy and min(self._queue) == place:
                    wait = self.delay(rank)
                    if wait <= 0:
                        break
                await self._change(wait)
        finally:
            self._queue.remove(place)
            self._wake()
        self._busy = True

    def _release(self) -> None:
        self._promised, self._busy = None, False
        self._wake()

    async def _change(self, seconds: float | None) -> None:
        """Wait until something changes, at most so long."""
        changed = self._changed
        try:
            async with asyncio.timeout(seconds):
                await changed.wait()
        except TimeoutError:
            return

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Buckets:
    """All rate limits of a bot.

    `shared` is that of all its calls, on all nodes.
    """

    def __init__(self, shared: SharedRate | None = None) -> None:
        self._shared = shared
        self._drawing = asyncio.Lock()
        self._drawn = 0
        self._good_until = 0.0
        self._hashes: dict[str, str] = {}
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self._held_until = 0.0
        self._calls: deque[float] = deque()

    def bucket_of(self, route: str, major: str) -> Bucket:
        """The bucket of a route for a channel, guild or webhook."""
        key = (self._hashes.get(route, route), major)
        if key not in self._buckets:
            self._forget_idle()
            self._buckets[key] = Bucket()
        return self._buckets[key]

    def learn(self, route: str, major: str, bucket: Bucket, headers: Mapping[str, str]) -> None:
        """Learn a bucket's limit and name from the headers of an answer."""
        bucket.learn(headers)
        name = headers.get("X-RateLimit-Bucket")
        if name and self._hashes.get(route) != name:
            self._hashes[route] = name
            self._buckets.setdefault((name, major), bucket)

    def hold_all(self, seconds: float) -> None:
        """Nothing at all may be called for so long."""
        self._held_until = max(self._held_until, monotonic() + seconds + MARGIN)

    def hold_all_nodes(self, seconds: float) -> None:
        """Nothing at all may be called for so long, on any node."""
        self.hold_all(seconds)
        if self._shared is not None and self._shared.is_shared:
            self._shared.close(seconds)

    @property
    def held_seconds(self) -> float:
        """Seconds for which nothing at all may be called."""
        return max(self._held_until - monotonic(), 0.0)

    async def spread(self) -> None:
        """Keep the bot below Discord's limit for all calls together."""
        while True:
            if (wait := self._wait()) > 0:
                await asyncio.sleep(wait)
            elif await self._take():
                break
        self._calls.append(monotonic())

    async def _take(self) -> bool:
        """Take a token of all nodes, in turn; False if held."""
        shared = self._shared
        if shared is None or not shared.is_shared:
            return True
        async with self._drawing:
            while self._drawn < 1 or monotonic() > self._good_until:
                asked_at = monotonic()
                drawn = await shared.draw(PER_SECOND)
                self._drawn, self._good_until = drawn.tokens, asked_at + LIFE
                if drawn.tokens:
                    break  # the first one is good at once, however long it took
                if drawn.wait > HELD_SECONDS:
                    self.hold_all(drawn.wait)
                    return False
                await asyncio.sleep(drawn.wait)
            if self.held_seconds > 0:
                return False
            self._drawn -= 1
            return True

    def _wait(self) -> float:
        now = monotonic()
        while self._calls and self._calls[0] <= now - 1 - MARGIN:
            self._calls.popleft()
        full = self._calls[0] + 1 + MARGIN - now if len(self._calls) >= PER_SECOND else 0.0
        return max(full, self.held_seconds)

    def _forget_idle(self) -> None:
        if len(self._buckets) >= MOST_BUCKETS:
            for key in [key for key, bucket in self._buckets.items() if bucket.is_idle]:
                del self._buckets[key]
