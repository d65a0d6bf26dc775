"""Discord's limit of all calls, kept by all nodes together."""

from __future__ import annotations

import asyncio

import pytest

from adapters.discord.connection import rate_limits
from adapters.discord.connection.rate_limits import Buckets, of_all_nodes
from gateway.rates import LIFE
from tests.fakes.scripted_rate import ScriptedRate


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, which stands still."""
    time = [1000.0]
    monkeypatch.setattr(rate_limits, "monotonic", lambda: time[0])
    return time


async def called(buckets: Buckets, group: asyncio.TaskGroup) -> asyncio.Task[None]:
    task = group.create_task(buckets.spread())
    for _ in range(5):
        await asyncio.sleep(0)
    return task


async def test_nothing_is_asked_without_other_nodes() -> None:
    rate = ScriptedRate(shared=False)
    buckets = Buckets(rate)
    for _ in range(10):
        await buckets.spread()
    buckets.hold_all_nodes(5)
    assert (rate.asked, rate.closed) == ([], [])
    assert buckets.held_seconds > 4


async def test_a_portion_is_for_the_next_calls_and_lapses(now: list[float]) -> None:
    rate = ScriptedRate()
    buckets = Buckets(rate)
    async with asyncio.TaskGroup() as group:
        first = await called(buckets, group)
        assert not first.done()
        await rate.answer(3)
        assert first.done()
        assert (await called(buckets, group)).done()
        now[0] += LIFE + 0.01
        last = await called(buckets, group)  # the third token is no longer good
        assert (last.done(), len(rate.asked)) == (False, 2)
        await rate.answer(1)


async def test_tokens_that_come_late_are_good_for_the_call_that_waits(now: list[float]) -> None:
    rate = ScriptedRate()
    buckets = Buckets(rate)
    async with asyncio.TaskGroup() as group:
        await called(buckets, group)
        second = await called(buckets, group)
        now[0] += 5
        await rate.answer(2)
        assert (second.done(), len(rate.asked)) == (False, 2)
        await rate.answer(1)


async def test_a_refusal_of_everything_closes_all_nodes() -> None:
    rate = ScriptedRate()
    refused, other = Buckets(rate), Buckets(rate)
    refused.hold_all_nodes(5)
    assert rate.closed == [5]
    async with asyncio.TaskGroup() as group:
        waiting = await called(other, group)
        await rate.answer(0, wait=5)
        assert other.held_seconds > 4
        waiting.cancel()


async def test_a_token_that_was_drawn_before_a_refusal_of_everything_is_not_used() -> None:
    rate = ScriptedRate()
    buckets = Buckets(rate)
    async with asyncio.TaskGroup() as group:
        waiting = await called(buckets, group)
        buckets.hold_all_nodes(5)
        await rate.answer(2)
        assert not waiting.done()
        waiting.cancel()


def test_all_nodes_stay_below_what_discord_takes_in_a_second() -> None:
    limit = of_all_nodes("discord")
    assert limit.burst + limit.per_minute / 60 * (1 + LIFE) < 50
