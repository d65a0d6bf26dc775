"""Buckets: calls that share a limit, served in turn."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TypeAlias

from gateway.base.clock import Clock, Timer
from gateway.pacing.limits import Caller, LearnedPace, Limit, Rank, Source
from gateway.rates import LIFE, DrawnTokens, RateLimit, SharedRate
from gateway.surface import OwnPace

ASKING = 1.0
"""Seconds that the tokens of all nodes may take to be asked for, whatever a call's patience."""
SHORTEST = 0.001
"""Seconds until it is looked again, at least."""
AGAIN = 1.0
"""Seconds after which a call that was not made in its time may be tried again, at least."""

Waiter: TypeAlias = "asyncio.Future[None]"
_Threads: TypeAlias = OrderedDict[str, deque[Waiter]]


class FairQueue:
    """Waiting callers, in the order in which they are served."""

    def __init__(self) -> None:
        self._people: OrderedDict[str, _Threads] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._people)

    def add(self, caller: Caller, waiter: Waiter) -> None:
        """Add a caller, who may wait for several calls."""
        threads = self._people.setdefault(caller.person, OrderedDict())
        threads.setdefault(caller.thread, deque()).append(waiter)

    def next(self) -> Waiter | None:
        """Remove and return the next one who still waits."""
        while self._people:
            person, threads = next(iter(self._people.items()))
            thread, waiters = next(iter(threads.items()))
            waiter = waiters.popleft()
            if waiters:
                threads.move_to_end(thread)
            else:
                del threads[thread]
            if threads:
                self._people.move_to_end(person)
            else:
                del self._people[person]
            if not waiter.done():
                return waiter
        return None


class Drawn:
    """Tokens that this node has drawn of those of all nodes.

    `changed` is called when other nodes have answered.
    """

    def __init__(
        self, rate: SharedRate, limit: RateLimit, clock: Clock, changed: Callable[[], None]
    ) -> None:
        self._rate = rate
        self._limit = limit
        self._clock = clock
        self._changed = changed
        self._tokens = 0
        self._good_until = 0.0
        self._left = limit.burst
        """The level of all nodes, as it was told."""
        self._told_at = clock.time()
        self._next_at = 0.0
        """When it makes sense to ask again."""
        self._reserve = 0.0
        """The reserve of the last question."""
        self._asked: asyncio.Future[DrawnTokens] | None = None

    @property
    def is_on(self) -> bool:
        """True while there are other nodes."""
        return self._rate.is_shared

    def level(self, now: float) -> float:
        """The fill level, from 0 to 1, if nobody has drawn since."""
        gained = (now - self._told_at) * self._limit.per_minute / 60
        return min(1.0, (self._left + gained) / self._limit.burst)

    def missing(self, reserve: float, now: float) -> float:
        """Seconds until there is one, or it makes sense to ask."""
        asks = self._is_good(now) or reserve < self._reserve
        return 0.0 if asks else self._next_at - now

    def take(self, reserve: float, now: float) -> bool:
        """Take one; False if there is none yet, which is asked for."""
        if self._is_good(now):
            self._tokens -= 1
            return True
        if self._asked is None:
            self._reserve = reserve
            self._asked = self._rate.draw(self._limit.portion, reserve=reserve)
            self._asked.add_done_callback(lambda asked: self._answered(asked, now))
        return False

    async def take_now(self, reserve: float) -> bool:
        """Draw one; False if there is none above the reserve."""
        drawn = await self._rate.draw(1, reserve=reserve)
        self._left, self._told_at = drawn.level, self._clock.time()
        return drawn.tokens > 0

    def close(self, seconds: float) -> None:
        """Let no node draw for so long."""
        self._rate.close(seconds)

    def _is_good(self, now: float) -> bool:
        return self._tokens > 0 and now <= self._good_until

    def _answered(self, asked: asyncio.Future[DrawnTokens], asked_at: float) -> None:
        self._asked = None
        if asked.cancelled():
            return
        drawn, now = asked.result(), self._clock.time()
        # The first one is good at once, however long it took.
        self._tokens = drawn.tokens if now <= asked_at + LIFE else min(1, drawn.tokens)
        self._good_until = max(asked_at + LIFE, now + SHORTEST)
        self._left, self._told_at, self._next_at = drawn.level, now, now + drawn.wait
        self._changed()


class Bucket:
    """Calls that share a limit.

    While there are other nodes, the tokens of a `shared` rate are those of all of them. Of a
    `serial` bucket, one call is under way at a time.
    """

    def __init__(
        self,
        source: Source,
        clock: Clock,
        limit: Limit | None = None,
        shared: tuple[SharedRate, RateLimit] | None = None,
    ) -> None:
        self.source = source
        self.is_serial = limit is None
        """Without a known limit, each call waits for what the one before has been told."""
        self._clock = clock
        self._limit = limit
        self._reserve = limit.reserve if limit is not None else 0.0
        self._learned = LearnedPace(limit) if limit is not None and limit.slowest else None
        self._shared = Drawn(*shared, clock, self._serve) if shared is not None else None
        self._waiting = {rank: FairQueue() for rank in Rank}
        self._closed = 0.0
        self._is_busy = False
        self._timer: Timer | None = None
        self._used_at = clock.time()

    @property
    def level(self) -> float:
        """The fill level, from 0 to 1; 0 while it is closed."""
        now = self._clock.time()
        if now < self._closed:
            return 0.0
        shares = self._shares
        return self.source.level(now) if shares is None else shares.level(now)

    @property
    def idle_since(self) -> float:
        """The time of its last call; now if it is in use."""
        in_use = self._is_busy or any(self._waiting.values())
        return max(self._closed, self._clock.time() if in_use else self._used_at)

    @property
    def _shares(self) -> Drawn | None:
        """The tokens of all nodes, if there are others."""
        return self._shared if self._shared is not None and self._shared.is_on else None

    def wait(self, rank: Rank = Rank.URGENT) -> float:
        """Seconds until such a call, if nobody else waited."""
        now, shares = self._clock.time(), self._shares
        if shares is None:
            missing = self.source.missing(rank, now)
        else:
            missing = shares.missing(self._reserve_of(rank), now)
        learned = self._learned.missing(now) if self._learned is not None else 0.0
        return max(self._closed - now, learned, missing, 0.0)

    async def take(self, above: float) -> bool:
        """Take a token without waiting for one; False below the level `above`."""
        shares = self._shares
        if shares is None:
            if self.level < above:
                return False
            self._used_at = self._clock.time()
            self.source.take(self._used_at)
            return True
        reserve = max(0.0, above * (self._limit.burst if self._limit is not None else 0) - 1)
        return self._clock.time() >= self._closed and await shares.take_now(reserve)

    async def acquire(self, caller: Caller, rank: Rank, patience: float | None = None) -> None:
        """Wait for a token, in turn.

        Raises OwnPace if there is none within `patience` seconds.
        """
        if patience is not None and (wait := self.wait(rank)) > patience:
            raise OwnPace(wait)
        if rank is Rank.LATER:
            self.source.note(caller.thread, self._clock.time())
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting[rank].add(caller, waiter)
        self._serve()
        if waiter.done():
            return
        timer = self._give_up_after(patience, waiter, rank)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.refund()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def release(self) -> None:
        """Let the next one call: the answer has come."""
        self._is_busy = False
        self._serve()

    def refund(self) -> None:
        """Give back an unused token; one of all nodes lapses."""
        if self._shares is None:
            self.source.give_back(self._clock.time())
        self.release()

    def close(self, seconds: float, *, everywhere: bool = True) -> None:
        """Take no call for so long after a refusal, on any node."""
        now = self._clock.time()
        self._closed = max(self._closed, now + seconds)
        self.source.close(now, seconds)
        if self._learned is not None:
            self._learned.close(now, seconds)
        if everywhere and (shares := self._shares) is not None:
            shares.close(seconds)

    def _reserve_of(self, rank: Rank) -> float:
        return self._reserve if rank is Rank.LATER else 0.0

    def _give_up_after(self, patience: float | None, waiter: Waiter, rank: Rank) -> Timer | None:
        if patience is None:
            return None

        def give_up() -> None:
            if not waiter.done():
                waiter.set_exception(OwnPace(max(AGAIN, self.wait(rank))))

        if self._shares is not None:
            patience = max(patience, ASKING)
        return self._clock.call_later(patience, give_up)

    def _serve(self) -> None:
        """Hand out what there is, and come again when there is more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while not self._is_busy and (rank := self._first()) is not None:
            if (wait := self.wait(rank)) > 0:
                self._timer = self._clock.call_later(max(wait, SHORTEST), self._serve)
                return
            now, shares = self._clock.time(), self._shares
            if shares is None:
                self.source.take(now)
            elif not shares.take(self._reserve_of(rank), now):
                return  # it serves once the other nodes have answered
            waiter = self._waiting[rank].next()
            if waiter is None:
                self.refund()
                return
            if self._learned is not None:
                self._learned.note(now)
            self._used_at, self._is_busy = now, self.is_serial
            waiter.set_result(None)

    def _first(self) -> Rank | None:
        """The rank of who comes next."""
        return next((rank for rank in Rank if self._waiting[rank]), None)
