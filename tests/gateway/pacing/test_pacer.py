"""The pacer: reserved tokens, calls in turn, buckets by name."""

from __future__ import annotations

import asyncio

import pytest

from gateway.pacing import pacer as pacing
from gateway.pacing.limits import Caller, Limit, Rank
from gateway.pacing.pacer import KEPT, KEPT_PLACE, Pacer
from gateway.surface import OwnPace, RateLimited
from tests.fakes.hand_clock import HandClock

ANN, BOB = Caller(person="ann", thread="a"), Caller(person="bob", thread="b")
SCARCE = Limit(per_minute=60, burst=1)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_reserved_token_is_for_the_next_call_of_its_thread() -> None:
    pacer = Pacer(clock=HandClock())
    bucket = pacer.bucket("x", SCARCE)
    await pacer.reserve(bucket, ANN, Rank.POST)
    await pacer.reserve(bucket, ANN, Rank.POST)  # it has it already
    with pytest.raises(OwnPace):
        async with pacer.call(bucket, BOB, Rank.URGENT, patience=0):
            pass
    async with pacer.call(bucket, ANN, Rank.POST, patience=0):
        assert not pacer.has_reserved(bucket, ANN)


async def test_a_thread_that_reserves_another_token_gives_the_first_one_back() -> None:
    pacer = Pacer(clock=HandClock())
    first, second = pacer.bucket("x", SCARCE), pacer.bucket("y", SCARCE)
    await pacer.reserve(first, ANN, Rank.POST)
    assert await pacer.try_reserve(second, ANN, above=0.5)
    await pacer.reserve(first, BOB, Rank.POST)
    assert not await pacer.try_reserve(second, BOB, above=0.5)


async def test_an_unused_token_lapses() -> None:
    clock = HandClock()
    pacer = Pacer(clock=clock)
    known, told = pacer.bucket("x", Limit(per_minute=0.01, burst=1)), pacer.bucket("route")
    for bucket, seconds in ((known, KEPT), (told, KEPT_PLACE)):
        await pacer.reserve(bucket, ANN, Rank.POST)
        waiting = asyncio.ensure_future(bucket.acquire(BOB, Rank.POST))
        clock.advance(seconds - 0.1)
        await settle()
        assert not waiting.done()
        clock.advance(0.2)
        await waiting


async def test_of_a_bucket_that_answers_tell_one_call_is_under_way() -> None:
    clock = HandClock()
    pacer = Pacer(clock=clock)
    bucket = pacer.bucket("route")

    async def call(name: str) -> None:
        async with pacer.call(bucket, Caller(person=name, thread=name), Rank.POST, patience=9):
            made.append(name)

    made: list[str] = []
    async with asyncio.TaskGroup() as group, pacer.call(bucket, ANN, Rank.POST):
        for name in "bc":
            group.create_task(call(name))
        await settle()
        assert made == []
    assert made == ["b", "c"]


async def test_a_call_gives_up_its_place_where_all_calls_have_none() -> None:
    pacer = Pacer(clock=HandClock())
    bucket, everything = pacer.bucket("route"), pacer.bucket("all", SCARCE)
    everything.close(60)
    with pytest.raises(OwnPace) as late:
        async with pacer.call(bucket, ANN, Rank.POST, patience=5, below=everything):
            pass
    assert late.value.retry_after == 60
    async with pacer.call(bucket, BOB, Rank.POST, patience=0):
        pass


async def test_what_waits_for_all_calls_comes_in_its_order() -> None:
    clock = HandClock()
    pacer = Pacer(clock=clock)
    everything, made = pacer.bucket("all", SCARCE), list[str]()
    await everything.acquire(ANN, Rank.POST)

    async def call(name: str, rank: Rank) -> None:
        bucket = pacer.bucket(name)
        async with pacer.call(bucket, Caller(person=name, thread=name), rank, below=everything):
            made.append(name)

    async with asyncio.TaskGroup() as group:
        for name, rank in (("edit", Rank.LATER), ("post", Rank.POST), ("card", Rank.URGENT)):
            group.create_task(call(name, rank))
        for _ in range(3):
            await settle()
            clock.advance(1)
    assert made == ["card", "post", "edit"]


async def test_a_refusal_of_a_call_closes_its_bucket_and_one_of_its_own_does_not() -> None:
    pacer = Pacer(clock=HandClock())
    bucket = pacer.bucket("x", Limit(per_minute=60, burst=9))
    with pytest.raises(OwnPace):
        async with pacer.call(bucket, ANN, Rank.POST):
            raise OwnPace(30)
    assert bucket.wait() == 0
    with pytest.raises(RateLimited):
        async with pacer.call(bucket, ANN, Rank.POST):
            raise RateLimited(30)
    assert bucket.wait() == 30


async def test_unused_buckets_are_forgotten_and_closed_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "MOST", 3)
    clock = HandClock()
    pacer = Pacer(clock=clock)
    pacer._look_at = 3
    closed, waits = pacer.bucket("closed", SCARCE), pacer.bucket("route")
    closed.close(5000)
    await waits.acquire(ANN, Rank.POST)  # under way
    pacer.bucket("idle", SCARCE)
    clock.advance(1000)
    pacer.bucket("new", SCARCE)
    assert pacer.bucket("closed", SCARCE) is closed
    assert pacer.bucket("route") is waits
    assert len(pacer._buckets) == 3


async def test_a_clock_that_is_set_back_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket = Pacer().bucket("x", SCARCE)
    bucket.close(0.01)
    monkeypatch.setattr("time.time", lambda: 0.0)
    await bucket.acquire(ANN, Rank.URGENT, 1.0)
