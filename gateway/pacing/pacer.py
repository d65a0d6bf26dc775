"""A platform's buckets by their names, and tokens reserved for calls."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from gateway.base.clock import Clock, SteadyClock, Timer
from gateway.pacing.bucket import Bucket
from gateway.pacing.limits import Caller, Limit, Rank, Told, source_of
from gateway.rates import RateLimit, SharedRate
from gateway.surface import OwnPace, RateLimited

MOST = 1000
"""Buckets from which on it is looked for unused ones."""
FORGOTTEN = 900.0
"""Seconds after its last call for which a bucket is known."""
KEPT = 5.0
"""Seconds for which a token is kept for the call that it was reserved for."""
KEPT_PLACE = 0.5
"""The same in a bucket of which one call is under way at a time."""


@dataclass(frozen=True, slots=True)
class Permit:
    """A token reserved for a thread's next call."""

    bucket: Bucket
    lapses: Timer


class Pacer:
    """All buckets of a platform.

        pacer = Pacer(host.shared_rate)
        posts = pacer.bucket(f"{PLATFORM} post {room}", Limit(per_minute=60, burst=3))
        async with pacer.call(posts, Caller.at(place), Rank.POST): ...

    `shared` gives the rates that all nodes keep together.
    """

    def __init__(
        self,
        shared: Callable[[RateLimit], SharedRate] | None = None,
        clock: Clock | None = None,
        *,
        spacing: float = 0.0,
    ) -> None:
        self._shared = shared
        self.clock = clock or SteadyClock()
        """The clock of all its buckets."""
        self._spacing = spacing
        """Seconds between calls that can wait where a platform says nothing of its limits."""
        self._buckets: dict[str, Bucket] = {}
        self._look_at = MOST
        self._permits: dict[str, Permit] = {}

    def bucket(self, name: str, limit: Limit | None = None) -> Bucket:
        """The bucket of this name; without a limit, answers tell it."""
        found = self._buckets.get(name)
        if found is None:
            if len(self._buckets) >= self._look_at:
                self._forget_idle()
            found = self._buckets[name] = self._new(name, limit)
        return found

    def alias(self, name: str, bucket: Bucket) -> None:
        """Let a name mean a known bucket, if it means none yet."""
        self._buckets.setdefault(name, bucket)

    async def reserve(self, bucket: Bucket, caller: Caller, rank: Rank) -> None:
        """Wait for a token of a thread's next call."""
        if self.has_reserved(bucket, caller):
            return
        self.release(caller)
        await bucket.acquire(caller, rank)
        self._keep(bucket, caller)

    async def try_reserve(self, bucket: Bucket, caller: Caller, *, above: float) -> bool:
        """Reserve a token without waiting; False below the level `above`."""
        if self.has_reserved(bucket, caller):
            return True
        if not await bucket.take(above):
            return False
        self._keep(bucket, caller)
        return True

    def has_reserved(self, bucket: Bucket, caller: Caller) -> bool:
        """True if the thread's next call in this bucket has its token."""
        permit = self._permits.get(caller.thread)
        return permit is not None and permit.bucket is bucket

    def release(self, caller: Caller) -> None:
        """Give back what is reserved for a thread."""
        permit = self._permits.pop(caller.thread, None)
        if permit is not None:
            permit.lapses.cancel()
            permit.bucket.refund()

    @asynccontextmanager
    async def call(
        self,
        bucket: Bucket,
        caller: Caller,
        rank: Rank,
        *,
        patience: float | None = None,
        below: Bucket | None = None,
    ) -> AsyncGenerator[None]:
        """Make a call with a reserved token, or in turn.

        `below` limits all calls. A refusal closes a bucket with a known limit for as long as it
        asks. Raises OwnPace if it is not its turn within `patience` seconds.
        """
        until = self.clock.time() + (patience or 0.0)
        if self.has_reserved(bucket, caller):
            self._permits.pop(caller.thread).lapses.cancel()
        else:
            await bucket.acquire(caller, rank, patience)
        try:
            if below is not None:
                left = None if patience is None else max(0.0, until - self.clock.time())
                await below.acquire(caller, rank, left)
            yield
        except RateLimited as error:
            if not isinstance(error, OwnPace) and not bucket.is_serial:
                bucket.close(error.retry_after)
            raise
        finally:
            if bucket.is_serial:
                bucket.release()

    def _keep(self, bucket: Bucket, caller: Caller) -> None:
        self.release(caller)
        seconds = KEPT_PLACE if bucket.is_serial else KEPT
        lapses = self.clock.call_later(seconds, partial(self.release, caller))
        self._permits[caller.thread] = Permit(bucket, lapses)

    def _new(self, name: str, limit: Limit | None) -> Bucket:
        if limit is None:
            return Bucket(Told(self._spacing), self.clock)
        rate = RateLimit(name=name, per_minute=limit.per_minute, burst=limit.burst)
        shared = (self._shared(rate), rate) if self._shared is not None else None
        return Bucket(source_of(limit, self.clock.time()), self.clock, limit, shared)

    def _forget_idle(self) -> None:
        """Forget what was not used for long.

        It is looked again once there are twice as many.
        """
        before = self.clock.time() - FORGOTTEN
        kept = {name: each for name, each in self._buckets.items() if each.idle_since > before}
        self._buckets = kept
        self._look_at = max(MOST, 2 * len(kept))
