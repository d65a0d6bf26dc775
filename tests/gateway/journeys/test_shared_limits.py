"""A bucket with the tokens of all nodes, while there are others."""

from __future__ import annotations

import asyncio

import pytest

from gateway.pacing.limits import Caller, Limit, Rank
from gateway.pacing.pacer import Pacer
from gateway.rates import LIFE
from gateway.surface import RateLimited
from tests.fakes.hand_clock import HandClock
from tests.fakes.scripted_rate import ScriptedRate

LIMIT = Limit(per_minute=60, burst=10, reserve=3)


def caller(person: str) -> Caller:
    return Caller(person=person, thread=person)


class Calls:
    """Calls that wait for a bucket's tokens, and those that were made."""

    def __init__(self, group: asyncio.TaskGroup, *, shared: bool = True) -> None:
        self.clock = HandClock()
        self.rate = ScriptedRate(shared=shared)
        self.bucket = Pacer(lambda _: self.rate, self.clock).bucket("x", LIMIT)
        self.made: list[str] = []
        self._group = group

    async def call(self, name: str, *, urgent: bool = False) -> asyncio.Task[None]:
        async def call() -> None:
            await self.bucket.acquire(caller(name), Rank.URGENT if urgent else Rank.LATER)
            self.made.append(name)

        task = self._group.create_task(call())
        await self.after(0)
        return task

    async def after(self, seconds: float) -> None:
        self.clock.advance(seconds)
        for _ in range(10):
            await asyncio.sleep(0)


async def test_nothing_is_asked_without_other_nodes() -> None:
    async with asyncio.TaskGroup() as group:
        calls = Calls(group, shared=False)
        for name in "abcdefg":
            await calls.call(name)
        assert await calls.bucket.take(0.25)
        calls.bucket.close(5)
    assert calls.made == [*"abcdefg"]
    assert (calls.rate.asked, calls.rate.closed) == ([], [])


async def test_each_call_waits_for_a_token_of_all_nodes() -> None:
    async with asyncio.TaskGroup() as group:
        calls = Calls(group)
        for name in "ab":
            await calls.call(name)
        assert (calls.made, calls.rate.asked) == ([], [3])
        await calls.rate.answer(1, level=5)
        assert (calls.made, calls.rate.asked) == (["a"], [3, 3])
        await calls.rate.answer(0, wait=4)
        await calls.after(3.9)
        assert len(calls.rate.asked) == 2
        await calls.after(0.2)
        assert len(calls.rate.asked) == 3
        await calls.rate.answer(1)
    assert calls.made == ["a", "b"]


async def test_what_is_urgent_asks_at_once_for_the_reserve() -> None:
    async with asyncio.TaskGroup() as group:
        calls = Calls(group)
        await calls.call("edit")
        await calls.rate.answer(0, wait=3)
        await calls.call("final", urgent=True)
        assert calls.rate.asked == [3, 0]
        await calls.rate.answer(1)
        assert calls.made == ["final"]
        await calls.after(3)
        await calls.rate.answer(1)
    assert calls.made == ["final", "edit"]


async def test_a_token_that_nobody_takes_lapses() -> None:
    async with asyncio.TaskGroup() as group:
        calls = Calls(group)
        left = await calls.call("a")
        left.cancel()
        await calls.after(0)
        await calls.rate.answer(1)
        await calls.after(LIFE + 0.01)
        await calls.call("b")
        assert (calls.made, len(calls.rate.asked)) == ([], 2)
        await calls.rate.answer(1)
    assert calls.made == ["b"]


async def test_the_burst_of_one_node_is_gone_when_another_joins() -> None:
    async with asyncio.TaskGroup() as group:
        calls = Calls(group, shared=False)
        calls.rate.is_shared = True
        await calls.call("a")
        assert calls.made == []
        await calls.rate.answer(0, wait=9)
        calls.rate.is_shared = False  # it has left again
        await calls.after(9)
    assert calls.made == ["a"]


async def test_a_refusal_closes_the_bucket_for_all_nodes() -> None:
    async with asyncio.TaskGroup() as group:
        calls = Calls(group)
        calls.bucket.close(30)
        assert (calls.bucket.level, calls.rate.closed) == (0, [30])
        assert not await calls.bucket.take(0.25)
        await calls.call("a", urgent=True)
        await calls.after(29)
        assert calls.rate.asked == []
        await calls.after(1)
        await calls.rate.answer(1)
    assert calls.made == ["a"]


async def test_a_short_refusal_is_waited_for_no_longer_than_it_lasts() -> None:
    async with asyncio.TaskGroup() as group:
        calls = Calls(group)
        calls.bucket.close(0.2)
        await calls.call("a")
        await calls.after(0.3)
        assert len(calls.rate.asked) == 1
        await calls.rate.answer(1)
    assert calls.made == ["a"]


async def test_a_bucket_that_another_node_has_closed_is_not_waited_for_too_long() -> None:
    clock, rate = HandClock(), ScriptedRate()
    bucket = Pacer(lambda _: rate, clock).bucket("x", LIMIT)
    asking = asyncio.ensure_future(bucket.acquire(caller("a"), Rank.URGENT, 5))
    await asyncio.sleep(0.001)
    await rate.answer(0, wait=30)
    clock.advance(5)
    with pytest.raises(RateLimited) as limited:
        await asking
    assert limited.value.retry_after == 25
    with pytest.raises(RateLimited):
        await bucket.acquire(caller("a"), Rank.URGENT, 5)
    assert bucket.wait() == 25


async def test_who_waits_for_nothing_gets_a_token_that_is_there() -> None:
    clock, rate = HandClock(), ScriptedRate()
    bucket = Pacer(lambda _: rate, clock).bucket("x", LIMIT)
    for tokens in (1, 0):
        asking = asyncio.ensure_future(bucket.acquire(caller("a"), Rank.URGENT, 0))
        await asyncio.sleep(0.001)
        clock.advance(0)
        await asyncio.sleep(0.001)
        await rate.answer(tokens, wait=0 if tokens else 30)
        if tokens:
            await asking
    clock.advance(1)
    with pytest.raises(RateLimited):
        await asking
    with pytest.raises(RateLimited):  # at once
        await bucket.acquire(caller("a"), Rank.URGENT, 0)


async def test_the_level_is_as_told_and_rises_from_there() -> None:
    async with asyncio.TaskGroup() as group:
        calls = Calls(group)
        assert calls.bucket.level == 1
        taking = group.create_task(calls.bucket.take(0.5))
        await calls.after(0)
        assert calls.rate.asked == [4]
        await calls.rate.answer(0, wait=2, level=3)
        assert not await taking
        await calls.after(2)
        assert calls.bucket.level == 0.5
        await calls.after(60)
        assert calls.bucket.level == 1
