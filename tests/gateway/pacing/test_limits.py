"""Limits that are published, and limits that are told."""

from __future__ import annotations

import asyncio

import pytest

from gateway.pacing.bucket import Bucket
from gateway.pacing.limits import Caller, Limit, Rank, Told
from gateway.pacing.pacer import Pacer
from tests.fakes.hand_clock import HandClock

MINUTE = 60.0
READS = Limit(per_minute=47.5, burst=45, reserve=25, slowest=1)
ANN = Caller(person="ann", thread="1")


async def calls_until(bucket: Bucket, clock: HandClock, end: float, *, every: float) -> list[float]:
    """Times of granted calls; the platform grants one in `every` seconds."""
    began, granted = clock.time(), list[float]()

    async def call() -> None:
        while True:
            await bucket.acquire(ANN, Rank.LATER)
            now = clock.time() - began
            if granted and now < granted[-1] + every:
                bucket.close(granted[-1] + every - now)
            else:
                granted.append(now)

    calling = asyncio.ensure_future(call())
    while clock.time() < began + end:
        await asyncio.sleep(0)
        clock.advance(0.25)
    calling.cancel()
    return granted


async def test_what_can_wait_leaves_the_reserve_and_no_minute_has_too_many() -> None:
    clock = HandClock()
    bucket = Pacer(clock=clock).bucket("reads", READS)
    times = await calls_until(bucket, clock, 5 * MINUTE, every=0)
    assert sum(at == 0 for at in times) == READS.burst - READS.reserve
    later = [at for at in times if at > MINUTE]
    assert max(sum(at <= other < at + MINUTE for other in later) for at in later) <= 50
    for _ in range(int(READS.reserve)):
        await bucket.acquire(ANN, Rank.URGENT, 0)


async def test_a_slower_rate_is_learned_from_one_refusal() -> None:
    clock = HandClock()
    bucket = Pacer(clock=clock).bucket("reads", READS)
    times = await calls_until(bucket, clock, 10 * MINUTE, every=MINUTE)
    assert times == pytest.approx([n * MINUTE for n in range(10)], abs=0.3)
    assert bucket.wait() == pytest.approx(MINUTE, abs=0.6)


async def test_a_rate_that_was_learned_is_tried_again() -> None:
    clock = HandClock()
    bucket = Pacer(clock=clock).bucket("reads", READS)
    await calls_until(bucket, clock, 2 * MINUTE, every=MINUTE)
    granted = await calls_until(bucket, clock, 60 * MINUTE, every=0)
    assert len(granted) > 500
    assert granted[20] - granted[19] == pytest.approx(MINUTE / 2, abs=0.3)


async def test_no_rate_is_learned_where_none_is_slower() -> None:
    clock = HandClock()
    bucket = Pacer(clock=clock).bucket("writes", Limit(per_minute=60, burst=2))
    for _ in range(3):
        await bucket.acquire(ANN, Rank.URGENT)
        bucket.close(30)
        clock.advance(30)
    for _ in range(2):
        await bucket.acquire(ANN, Rank.URGENT, 0)
    assert bucket.wait() == pytest.approx(1)


async def test_so_many_calls_in_each_so_many_seconds() -> None:
    clock = HandClock()
    bucket = Pacer(clock=clock).bucket("all", Limit(per_minute=60, burst=1, alone=(3, 1.1)))
    for _ in range(3):
        await bucket.acquire(ANN, Rank.POST, 0)
    assert bucket.wait() == pytest.approx(1.1)
    clock.advance(1.1)
    for _ in range(3):
        await bucket.acquire(ANN, Rank.POST, 0)
    assert bucket.wait() == pytest.approx(1.1)


class Answers:
    """A bucket of which only answers tell."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.bucket = Pacer(clock=self.clock, spacing=1.25).bucket("route")
        assert isinstance(self.bucket.source, Told)
        self.told = self.bucket.source

    async def call(self, rank: Rank = Rank.POST, thread: str = "1") -> None:
        """Make a call whose answer tells nothing new."""
        await self.bucket.acquire(Caller(person="ann", thread=thread), rank, 0)
        self.bucket.release()

    def learn(self, limit: int, left: int, seconds: float) -> None:
        self.told.learn(limit, left, seconds, self.clock.time())


async def test_pieces_are_spread_over_the_time_until_the_reset() -> None:
    answers = Answers()
    await answers.call(Rank.LATER)
    answers.learn(5, 4, 5.0)
    assert answers.bucket.wait(Rank.LATER) == pytest.approx(1.25)
    assert answers.bucket.wait(Rank.URGENT) == 0
    answers.learn(5, 1, 3.0)
    assert answers.bucket.wait(Rank.LATER) == pytest.approx(3)  # the last one is another's
    assert answers.bucket.wait(Rank.POST) == 0
    answers.learn(5, 0, 2.0)
    assert answers.bucket.wait(Rank.URGENT) == pytest.approx(2)
    answers.clock.advance(2)
    assert answers.bucket.wait(Rank.LATER) <= 0.5


async def test_each_growing_text_keeps_a_call_for_its_end() -> None:
    answers = Answers()
    for thread in "123":
        await answers.call(Rank.LATER, thread)
    answers.learn(10, 3, 5.0)
    assert answers.bucket.wait(Rank.LATER) == pytest.approx(5)
    answers.clock.advance(11)  # none of them grows any more
    answers.learn(10, 3, 6.0)
    assert answers.bucket.wait(Rank.LATER) == pytest.approx(2)


async def test_where_nothing_is_told_pieces_keep_a_distance() -> None:
    answers = Answers()
    await answers.call(Rank.LATER)
    answers.told.learn_nothing(answers.clock.time())
    assert answers.bucket.wait(Rank.LATER) == pytest.approx(1.25)
    assert answers.bucket.wait(Rank.POST) == 0


async def test_a_refusal_empties_what_was_told() -> None:
    answers = Answers()
    answers.learn(5, 4, 1.0)
    answers.bucket.close(7)
    assert answers.bucket.wait(Rank.URGENT) == pytest.approx(7)
    answers.clock.advance(7)
    await answers.call(Rank.URGENT)
