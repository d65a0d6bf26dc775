"""Buckets: tokens go round among people and threads, urgent calls first."""

import asyncio
from collections.abc import Awaitable

import pytest

from gateway.pacing.bucket import Bucket
from gateway.pacing.limits import Caller, Limit, Rank
from gateway.pacing.pacer import Pacer
from gateway.surface import OwnPace, RateLimited
from tests.fakes.hand_clock import HandClock


def caller(person: str, thread: str = "1") -> Caller:
    return Caller(thread=f"{person}{thread}", person=person)


class Queue:
    """Callers waiting for tokens, and the order they got them."""

    def __init__(self, group: asyncio.TaskGroup, clock: HandClock) -> None:
        self.served: list[str] = []
        self._group = group
        self._clock = clock

    async def wait(self, name: str, token: Awaitable[None]) -> asyncio.Task[None]:
        async def waiting() -> None:
            await token
            self.served.append(name)

        task = self._group.create_task(waiting())
        await settle()
        return task

    async def after(self, seconds: float) -> list[str]:
        self._clock.advance(seconds)
        await settle()
        return self.served


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def spent(limit: Limit, clock: HandClock) -> Bucket:
    bucket = bucket_of(limit, clock)
    while await bucket.take(0.001):
        pass
    return bucket


def bucket_of(limit: Limit, clock: HandClock) -> Bucket:
    return Pacer(clock=clock).bucket("some", limit)


async def test_people_take_turns_and_so_do_the_threads_of_each() -> None:
    clock = HandClock()
    bucket = await spent(Limit(per_minute=60, burst=1), clock)
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        for name in ("a1", "a1", "a2", "a3", "b1", "b1", "c1"):
            await queue.wait(name, bucket.acquire(caller(name[0], name[1]), Rank.LATER))
        for _ in range(7):
            await queue.after(1)
    assert queue.served == ["a1", "b1", "c1", "a2", "b1", "a3", "a1"]


async def test_what_is_urgent_comes_first_and_has_a_reserve() -> None:
    clock = HandClock()
    bucket = await spent(Limit(per_minute=60, burst=4, reserve=3), clock)
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        await queue.wait("edit", bucket.acquire(caller("a"), Rank.LATER))
        await queue.wait("final", bucket.acquire(caller("b"), Rank.URGENT))
        assert await queue.after(1) == ["final"]
        assert await queue.after(3) == ["final"]
        await queue.wait("card", bucket.acquire(caller("a"), Rank.URGENT))
        assert await queue.after(0) == ["final", "card"]
        assert await queue.after(2) == ["final", "card", "edit"]


async def test_a_closed_bucket_opens_when_the_platform_said_and_not_with_a_heap() -> None:
    clock = HandClock()
    bucket = bucket_of(Limit(per_minute=60, burst=30), clock)
    bucket.close(30)
    assert bucket.level == 0
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        for name in "abc":
            await queue.wait(name, bucket.acquire(caller(name), Rank.URGENT))
        assert await queue.after(29) == []
        assert await queue.after(1) != []
        await queue.after(5)
    assert queue.served == ["a", "b", "c"]


async def test_one_who_gives_up_leaves_the_token_to_the_next() -> None:
    clock = HandClock()
    bucket = await spent(Limit(per_minute=60, burst=1), clock)
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        first = await queue.wait("a", bucket.acquire(caller("a"), Rank.LATER))
        await queue.wait("b", bucket.acquire(caller("b"), Rank.LATER))
        first.cancel()
        await settle()
        assert await queue.after(1) == ["b"]


async def test_patience_ends_with_the_time_to_wait() -> None:
    clock = HandClock()
    bucket = bucket_of(Limit(per_minute=60, burst=9), clock)
    async with asyncio.TaskGroup() as group:
        bucket.close(4)
        taking = group.create_task(bucket.acquire(caller("a"), Rank.URGENT, 5))
        await settle()
        clock.advance(4)
        await settle()
        assert taking.done()
    bucket.close(60)
    with pytest.raises(RateLimited) as limited:
        await bucket.acquire(caller("a"), Rank.URGENT, 5)
    assert limited.value.retry_after == 60


async def test_who_waits_behind_others_gives_up_in_time() -> None:
    clock = HandClock()
    bucket = await spent(Limit(per_minute=6, burst=1), clock)
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        await queue.wait("a", bucket.acquire(caller("a"), Rank.POST))
        late = asyncio.ensure_future(bucket.acquire(caller("b"), Rank.POST, 12))
        await settle()
        assert await queue.after(12) == ["a"]
        with pytest.raises(OwnPace):
            await late
        await queue.wait("c", bucket.acquire(caller("c"), Rank.POST))
        assert await queue.after(8) == ["a", "c"]
