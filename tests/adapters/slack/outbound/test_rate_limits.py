"""Pacing: tokens go round among people and threads, urgent calls first."""

import asyncio
from collections.abc import Awaitable

import pytest

from adapters.slack.outbound.rate_limits import APPEND, POST, STOP, UPDATE, Pacer
from adapters.slack.outbound.token_bucket import Bucket, Caller, Rate
from gateway.surface import OwnPace, RateLimited
from tests.fakes.hand_clock import HandClock


def caller(person: str, thread: str = "1", channel: str = "C1") -> Caller:
    return Caller(team="T1", channel=channel, thread=f"{person}{thread}", person=person)


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


def spent(rate: Rate, clock: HandClock) -> Bucket:
    bucket = Bucket(rate, clock)
    for _ in range(int(rate.burst)):
        bucket.spend()
    return bucket


async def test_people_take_turns_and_so_do_the_threads_of_each() -> None:
    clock = HandClock()
    bucket = spent(Rate(per_minute=60, burst=1), clock)
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        for name in ("a1", "a1", "a2", "a3", "b1", "b1", "c1"):
            await queue.wait(name, bucket.acquire(caller(name[0], name[1]), urgent=False))
        for _ in range(7):
            await queue.after(1)
    assert queue.served == ["a1", "b1", "c1", "a2", "b1", "a3", "a1"]


async def test_what_is_urgent_comes_first_and_has_a_reserve() -> None:
    clock = HandClock()
    bucket = spent(Rate(per_minute=60, burst=4, reserve=3), clock)
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        await queue.wait("edit", bucket.acquire(caller("a"), urgent=False))
        await queue.wait("final", bucket.acquire(caller("b"), urgent=True))
        assert await queue.after(1) == ["final"]
        assert await queue.after(3) == ["final"]
        await queue.wait("card", bucket.acquire(caller("a"), urgent=True))
        assert await queue.after(0) == ["final", "card"]
        assert await queue.after(2) == ["final", "card", "edit"]


async def test_a_closed_bucket_opens_when_slack_said_and_not_with_a_heap() -> None:
    clock = HandClock()
    bucket = Bucket(Rate(per_minute=60, burst=30), clock)
    bucket.close(30)
    assert bucket.level == 0
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        for name in "abc":
            await queue.wait(name, bucket.acquire(caller(name), urgent=True))
        assert await queue.after(29) == []
        assert await queue.after(1) != []
        await queue.after(5)
    assert queue.served == ["a", "b", "c"]


async def test_a_clock_that_is_set_back_keeps_no_bucket_closed() -> None:
    clock = HandClock()
    bucket = Bucket(Rate(per_minute=60, burst=30), clock)
    bucket.close(30)
    clock.advance(-86_400)
    assert bucket.reopens() == 30
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        await queue.wait("a", bucket.acquire(caller("a"), urgent=True))
        assert await queue.after(30) == ["a"]


async def test_one_who_gives_up_leaves_the_token_to_the_next() -> None:
    clock = HandClock()
    bucket = spent(Rate(per_minute=60, burst=1), clock)
    async with asyncio.TaskGroup() as group:
        queue = Queue(group, clock)
        first = await queue.wait("a", bucket.acquire(caller("a"), urgent=False))
        await queue.wait("b", bucket.acquire(caller("b"), urgent=False))
        first.cancel()
        await settle()
        assert await queue.after(1) == ["b"]


async def test_new_messages_are_counted_for_each_channel() -> None:
    clock = HandClock()
    pacer = Pacer(clock)
    for channel in ("C1", "C2"):
        for _ in range(3):
            await pacer.acquire(POST, caller("a", channel=channel), patience=0.1)
    with pytest.raises(RateLimited) as limited:
        await pacer.acquire(POST, caller("a", channel="C1"), patience=0.1)
    assert 1 <= limited.value.retry_after < 1.1


async def test_patience_ends_with_the_time_to_wait() -> None:
    clock = HandClock()
    pacer = Pacer(clock)
    async with asyncio.TaskGroup() as group:
        pacer.bucket(STOP, caller("a")).close(4)
        taking = group.create_task(pacer.acquire(STOP, caller("a"), urgent=True, patience=5))
        await settle()
        clock.advance(4)
        await settle()
        assert taking.done()
    pacer.bucket(STOP, caller("a")).close(60)
    with pytest.raises(RateLimited) as limited:
        await pacer.acquire(STOP, caller("a"), urgent=True, patience=5)
    assert limited.value.retry_after == 60


@pytest.mark.parametrize(("method", "tier"), [(APPEND, 100), (UPDATE, 50), (STOP, 20)])
async def test_no_minute_after_the_first_has_more_calls_than_its_tier(
    method: str, tier: int
) -> None:
    clock = HandClock()
    pacer = Pacer(clock)
    made: list[float] = []

    async def call() -> None:
        while True:
            await pacer.acquire(method, caller("a"), urgent=True)
            made.append(clock.time())

    async with asyncio.TaskGroup() as group:
        calling = group.create_task(call())
        for _ in range(1800):
            clock.advance(0.1)
            await asyncio.sleep(0)
        calling.cancel()
    begun = made[0]
    assert sum(at < begun + 0.1 for at in made) <= tier  # what a bucket of Slack's holds
    for start in range(60, 120):
        assert sum(begun + start <= at < begun + start + 60 for at in made) <= tier


def test_pieces_come_further_apart_the_more_messages_grow_and_the_less_is_left() -> None:
    clock = HandClock()
    pacer = Pacer(clock)
    assert pacer.gap(caller("a"), 20) == 0.7
    for _ in range(35):
        pacer.bucket(APPEND, caller("a")).spend()
    assert pacer.gap(caller("a"), 1) == 0.7
    assert 2 < pacer.gap(caller("a"), 10) < 5
    for _ in range(14):
        pacer.bucket(APPEND, caller("a")).spend()
    assert pacer.gap(caller("a"), 10) > 6


@pytest.mark.parametrize(("pace", "calls"), [(1.0, 18), (3.0, 54), (0.01, 1)])
async def test_a_workspace_that_was_granted_more_is_called_so_much_more(
    pace: float, calls: int
) -> None:
    clock = HandClock()
    pacer, ann = Pacer(clock, pace=pace), caller("ann")
    for _ in range(calls):
        await pacer.acquire("chat.startStream", ann, patience=0.0)
    with pytest.raises(OwnPace, match=r"It waits .* for its turn"):
        await pacer.acquire("chat.startStream", ann, patience=0.0)
