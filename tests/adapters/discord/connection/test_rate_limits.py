"""Discord's limits: buckets by their names, and all calls together."""

from __future__ import annotations

import asyncio

import pytest

from adapters.discord.connection.rate_limits import ALL, SPACING, Buckets
from gateway.pacing.bucket import Bucket
from gateway.pacing.limits import Caller, Rank
from gateway.pacing.pacer import Pacer
from gateway.rates import LIFE
from gateway.surface import OwnPace
from tests.fakes.hand_clock import HandClock
from tests.fakes.scripted_rate import ScriptedRate

ROUTE = "POST /channels/messages"


def told(limit: int, left: int, seconds: float, name: str = "abc") -> dict[str, str]:
    return {
        "X-RateLimit-Limit": f"{limit}",
        "X-RateLimit-Remaining": f"{left}",
        "X-RateLimit-Reset-After": f"{seconds}",
        "X-RateLimit-Bucket": name,
    }


class Calls:
    """Calls of one channel, with a clock that stands still."""

    def __init__(self, rate: ScriptedRate | None = None) -> None:
        self.clock = HandClock()
        shared = None if rate is None else lambda _: rate
        self.buckets = Buckets(Pacer(shared, self.clock, spacing=SPACING))

    @property
    def bucket(self) -> Bucket:
        return self.buckets.bucket_of(ROUTE, "/channels/1")

    async def call(self, n: int = 0, rank: Rank = Rank.POST) -> None:
        caller = Caller(person=f"{n}", thread=f"{n}")
        bucket = self.buckets.bucket_of(ROUTE, f"/channels/{n}")
        async with self.buckets.call(bucket, rank, caller):
            pass

    async def begin(self, group: asyncio.TaskGroup, n: int) -> asyncio.Task[None]:
        task = group.create_task(self.call(n))
        for _ in range(5):
            await asyncio.sleep(0)
        return task


async def test_routes_with_the_same_name_count_together_in_each_channel() -> None:
    calls = Calls()
    first, other = calls.bucket, "PATCH /channels/messages/{}"
    calls.buckets.learn(ROUTE, "/channels/1", first, told(5, 0, 3.0))
    second = calls.buckets.bucket_of(other, "/channels/1")
    assert second.wait() == 0
    calls.buckets.learn(other, "/channels/1", second, told(5, 4, 3.0))
    assert calls.buckets.bucket_of(other, "/channels/1") is calls.bucket is first
    assert first.wait() == pytest.approx(3.1)
    assert calls.buckets.bucket_of(ROUTE, "/channels/2").wait() == 0


async def test_answers_without_headers_leave_a_distance_between_edits() -> None:
    calls = Calls()
    calls.buckets.learn(ROUTE, "/channels/1", calls.bucket, {"X-RateLimit-Limit": "many"})
    assert calls.bucket.wait(Rank.LATER) == pytest.approx(SPACING)
    assert calls.bucket.wait(Rank.POST) == 0


async def test_alone_a_bot_makes_no_more_than_45_calls_in_a_second() -> None:
    calls, rate = Calls(), ScriptedRate(shared=False)
    calls = Calls(rate)
    for n in range(45):
        await calls.call(n)
    async with asyncio.TaskGroup() as group:
        late = await calls.begin(group, 99)
        calls.clock.advance(1.05)
        await asyncio.sleep(0)
        assert not late.done()
        calls.clock.advance(0.1)
    assert rate.asked == []


async def test_a_portion_is_for_the_next_calls_and_lapses() -> None:
    rate = ScriptedRate()
    calls = Calls(rate)
    async with asyncio.TaskGroup() as group:
        first = await calls.begin(group, 1)
        assert not first.done()
        await rate.answer(3)
        assert first.done()
        assert (await calls.begin(group, 2)).done()
        calls.clock.advance(LIFE + 0.01)
        last = await calls.begin(group, 3)  # the third token is no longer good
        assert (last.done(), len(rate.asked)) == (False, 2)
        await rate.answer(1)


async def test_tokens_that_come_late_are_good_for_the_call_that_waits() -> None:
    rate = ScriptedRate()
    calls = Calls(rate)
    async with asyncio.TaskGroup() as group:
        await calls.begin(group, 1)
        second = await calls.begin(group, 2)
        calls.clock.advance(5)
        await rate.answer(2)
        assert (second.done(), len(rate.asked)) == (False, 2)
        await rate.answer(1)


async def test_a_refusal_of_everything_closes_all_nodes() -> None:
    rate = ScriptedRate()
    refused, other = Calls(rate), Calls(rate)
    refused.buckets.all.close(5)
    assert rate.closed == [5]
    refused.buckets.all.close(5, everywhere=False)  # of the address
    assert rate.closed == [5]
    async with asyncio.TaskGroup() as group:
        waiting = await other.begin(group, 1)
        await rate.answer(0, wait=5)
        assert other.buckets.all.wait() == 5
        waiting.cancel()


async def test_a_token_that_was_drawn_before_a_refusal_of_everything_is_not_used() -> None:
    rate = ScriptedRate()
    calls = Calls(rate)
    async with asyncio.TaskGroup() as group:
        waiting = await calls.begin(group, 1)
        calls.buckets.all.close(5)
        await rate.answer(2)
        assert not waiting.done()
        waiting.cancel()


async def test_who_would_wait_too_long_is_told_at_once() -> None:
    calls = Calls()
    calls.buckets.all.close(60)
    with pytest.raises(OwnPace) as late:
        await calls.call()
    assert late.value.retry_after == 60


def test_all_nodes_stay_below_what_discord_takes_in_a_second() -> None:
    assert ALL.burst + ALL.per_minute / 60 * (1 + LIFE) < 50
