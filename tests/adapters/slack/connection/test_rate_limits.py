"""Slack's limits, by method, workspace and channel."""

from __future__ import annotations

import asyncio

import pytest

from adapters.slack.connection.rate_limits import APPEND, POST, STOP, UPDATE, SlackLimits
from gateway.pacing.limits import Caller, Rank
from gateway.pacing.pacer import Pacer
from gateway.surface import OwnPace
from tests.fakes.hand_clock import HandClock

ANN = Caller(person="ann", thread="a")


async def test_new_messages_are_counted_for_each_channel() -> None:
    limits = SlackLimits(Pacer(clock=HandClock()))
    for channel in ("C1", "C2"):
        for _ in range(3):
            await limits.bucket(POST, "T1", channel).acquire(ANN, Rank.POST, 0.1)
    with pytest.raises(OwnPace) as limited:
        await limits.bucket(POST, "T1", "C1").acquire(ANN, Rank.POST, 0.1)
    assert 1 <= limited.value.retry_after < 1.1
    assert limits.bucket(UPDATE, "T1", "C1") is limits.bucket(UPDATE, "T1", "C2")
    assert limits.bucket(UPDATE, "T1", "C1") is not limits.bucket(UPDATE, "T2", "C1")


@pytest.mark.parametrize(("method", "tier"), [(APPEND, 100), (UPDATE, 50), (STOP, 20)])
async def test_no_minute_after_the_first_has_more_calls_than_its_tier(
    method: str, tier: int
) -> None:
    clock = HandClock()
    bucket = SlackLimits(Pacer(clock=clock)).bucket(method, "T1")
    made: list[float] = []

    async def call() -> None:
        while True:
            await bucket.acquire(ANN, Rank.URGENT)
            made.append(clock.time())

    async with asyncio.TaskGroup() as group:
        calling = group.create_task(call())
        for _ in range(1800):
            await asyncio.sleep(0)
            clock.advance(0.1)
        calling.cancel()
    begun = made[0]
    assert sum(at < begun + 0.1 for at in made) <= tier  # what a bucket of Slack's holds
    for start in range(60, 120):
        assert sum(begun + start <= at < begun + start + 60 for at in made) <= tier


@pytest.mark.parametrize(("pace", "calls"), [(1.0, 18), (3.0, 54), (0.01, 1)])
async def test_a_workspace_that_was_granted_more_is_called_so_much_more(
    pace: float, calls: int
) -> None:
    limits = SlackLimits(Pacer(clock=HandClock()), pace=pace)
    bucket = limits.bucket("chat.startStream", "T1")
    for _ in range(calls):
        await bucket.acquire(ANN, Rank.POST, 0.0)
    with pytest.raises(OwnPace, match=r"It waits .* for its turn"):
        await bucket.acquire(ANN, Rank.POST, 0.0)
