"""Token buckets: tokens go round among people, then among a person's threads."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from adapters.slack.outbound.shared_tokens import SharedTokens
from gateway.base.clock import Clock, Timer


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A method's rate.

    `reserve` are the tokens for urgent calls alone.
    """

    per_minute: float
    burst: float
    reserve: float = 0.0
    per_channel: bool = False

    def times(self, pace: float) -> Rate:
        """This rate, so many times."""
        each = self.per_minute * pace, self.burst * pace, self.reserve * pace
        return replace(self, per_minute=each[0], burst=max(1.0, each[1]), reserve=each[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A caller: tokens go round among people, then among their threads."""

    team: str
    channel: str
    thread: str
    person: str


Waiter: TypeAlias = "asyncio.Future[None]"
_Threads: TypeAlias = OrderedDict[str, deque[Waiter]]


@dataclass(slots=True)
class _FairQueue:
    """Waiting callers, in the order in which they are served."""

    people: OrderedDict[str, _Threads] = field(default_factory=OrderedDict[str, _Threads])

    def add(self, caller: Caller, waiter: Waiter) -> None:
        threads = self.people.setdefault(caller.person, OrderedDict())
        threads.setdefault(caller.thread, deque()).append(waiter)

    def next(self) -> Waiter | None:
        """Remove and return the next waiter."""
        while self.people:
            person, threads = next(iter(self.people.items()))
            thread, waiters = next(iter(threads.items()))
            waiter = waiters.popleft()
            if waiters:
                threads.move_to_end(thread)
            else:
                del threads[thread]
            if threads:
                self.people.move_to_end(person)
            else:
                del self.people[person]
            if not waiter.done():
                return waiter
        return None

    def waits(self) -> bool:
        return any(
            not waiter.done()
            for threads in self.people.values()
            for waiters in threads.values()
            for waiter in waiters
        )


class Bucket:
    """The tokens of one method in one workspace (or channel).

    While there are other nodes, the tokens are those of all of them.
    """

    def __init__(self, rate: Rate, clock: Clock, shared: SharedTokens | None = None) -> None:
        self._rate = rate
        self._clock = clock
        self._shared = shared
        self._tokens = rate.burst
        self._counted = clock.time()
        self._closed = 0.0
        self._urgent = _FairQueue()
        self._others = _FairQueue()
        self._timer: Timer | None = None

    @property
    def level(self) -> float:
        """The fill level, from 0 to 1; 0 while it is closed."""
        self._count()
        if self._clock.time() < self._closed:
            return 0.0
        if self._shares is not None:
            return self._shares.level
        return max(0.0, self._tokens / self._rate.burst)

    @property
    def is_shared(self) -> bool:
        """True while its tokens are those of all nodes."""
        return self._shares is not None

    @property
    def _shares(self) -> SharedTokens | None:
        """The tokens of all nodes, if there are others."""
        return self._shared if self._shared is not None and self._shared.is_on else None

    def close(self, seconds: float) -> None:
        """Close the bucket after a refusal; it reopens without a burst."""
        self._count()
        self._closed = max(self._closed, self._clock.time() + seconds)
        self._tokens = min(self._tokens, 1.0)
        if (shares := self._shares) is not None:
            shares.close(seconds)

    def reopens(self) -> float:
        """Seconds until a token could be had, not counting others who wait."""
        self._count()
        if (shares := self._shares) is not None:
            missing = shares.wait
        else:
            missing = (1.0 - self._tokens) * 60 / self._rate.per_minute
        return max(self._closed - self._clock.time(), missing, 0.0)

    async def take(self, above: float) -> bool:
        """Take a token without waiting for one; False below the level `above`."""
        if (shares := self._shares) is not None:
            self._count()
            closed = self._clock.time() < self._closed
            return not closed and await shares.take(max(0.0, above * self._rate.burst - 1))
        if self.level < above:
            return False
        self.spend()
        return True

    def spend(self) -> None:
        """Use a token even if there is none; later callers wait."""
        self._count()
        self._tokens -= 1

    def refund(self) -> None:
        """Give back an unused token; one of all nodes lapses."""
        self._count()
        if self._shares is None:
            self._tokens = min(self._rate.burst, self._tokens + 1)
        self._serve()

    async def acquire(self, caller: Caller, *, urgent: bool) -> None:
        """Wait for a token, in turn."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._others).add(caller, waiter)
        self._serve()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.refund()
            raise

    def _serve(self) -> None:
        """Hand out what there is, and come again when there is more."""
        self._count()
        self._hand_out()

    def _hand_out(self) -> None:
        while self._clock.time() >= self._closed and (waiter := self._first()):
            self._tokens -= 1
            waiter.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._urgent.waits() or self._others.waits():
            wait = self._next()
            if wait > 0:
                self._timer = self._clock.call_later(wait, self._serve)

    def _first(self) -> Waiter | None:
        """The next caller: urgent ones first, others above the reserve."""
        # What was drawn with others has left the reserve where it was.
        reserve = 0.0 if self._shares is not None else self._rate.reserve
        waiter = self._urgent.next() if self._tokens >= 1 else None
        if waiter is None and self._tokens >= 1 + reserve:
            waiter = self._others.next()
        return waiter

    def _next(self) -> float:
        """Seconds until the next of those who wait may come on.

        0 while other nodes are asked, which tells by itself.
        """
        closed = self._closed - self._clock.time()
        if (shares := self._shares) is not None:
            if closed > 0:
                return closed
            reserve = 0.0 if self._urgent.waits() else self._rate.reserve
            return shares.ask(reserve, self._receive)
        wanted = 1.0 if self._urgent.waits() else 1.0 + self._rate.reserve
        missing = max(0.0, wanted - self._tokens) * 60 / self._rate.per_minute
        return max(closed, missing, 0.001)

    def _receive(self, tokens: int) -> None:
        """Hand out what was drawn; what nobody takes at once lapses."""
        self._count()
        self._tokens = max(self._tokens, 0.0) + tokens
        self._hand_out()

    def _count(self) -> None:
        """Add what has come in since the last time.

        When the clock is set back, the time at which the bucket opens goes back with it.
        """
        now = self._clock.time()
        self._closed -= max(0.0, self._counted - now)
        if self._shares is not None:
            self._tokens = min(self._tokens, 0.0)
        else:
            gained = max(0.0, now - self._counted) * self._rate.per_minute / 60
            self._tokens = min(self._rate.burst, self._tokens + gained)
        self._counted = now
