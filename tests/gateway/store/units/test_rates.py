"""One bucket for all nodes: never exceeded, little lost with one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from gateway.rates import LIFE, RateLimit
from gateway.store.units import rates
from tests.fakes.server_clock import ServerClock, timed_store
from tests.fakes.tested_store import rows_of

pytestmark = pytest.mark.usefixtures("database")

APPENDS = RateLimit(name="slack appendStream T1", per_minute=60, burst=10)
CALLS = RateLimit(name="discord", per_minute=2400, burst=6)


@pytest.fixture
async def clock(tmp_path: Path) -> AsyncIterator[ServerClock]:
    async with timed_store(tmp_path) as clock:
        yield clock


async def drained(clock: ServerClock, limit: RateLimit) -> int:
    """Draw until there is nothing left; how much there was."""
    total = 0
    while (drawn := await clock.store.run(rates.draw_tokens, limit, limit.portion)).tokens:
        total += drawn.tokens
    return total


async def test_a_bucket_holds_its_burst_and_fills_with_its_rate(clock: ServerClock) -> None:
    assert await drained(clock, APPENDS) == 10
    empty = await clock.store.run(rates.draw_tokens, APPENDS, 1)
    assert (empty.tokens, empty.wait, empty.level) == (0, pytest.approx(1), 0)
    await clock.advance(2.5)
    assert await drained(clock, APPENDS) == 2
    assert (await clock.store.run(rates.draw_tokens, APPENDS, 1)).wait == pytest.approx(0.5)
    await clock.advance(3600)
    assert (await clock.store.run(rates.draw_tokens, APPENDS, 1)).level == pytest.approx(9)


async def test_a_reserve_is_left_for_others(clock: ServerClock) -> None:
    drawn = [await clock.store.run(rates.draw_tokens, APPENDS, 1, reserve=7) for _ in range(4)]
    assert [each.tokens for each in drawn] == [1, 1, 1, 0]
    assert drawn[-1].wait == pytest.approx(1)
    assert (await clock.store.run(rates.draw_tokens, APPENDS, 1)).tokens == 1


async def test_nodes_that_draw_at_once_get_no_more_than_there_is(clock: ServerClock) -> None:
    asked = (clock.store.run(rates.draw_tokens, CALLS, 4) for _ in range(8))
    assert sum(each.tokens for each in await asyncio.gather(*asked)) == 6


async def test_a_closed_bucket_opens_for_all_with_one_token(clock: ServerClock) -> None:
    await clock.store.run(rates.close_rate, APPENDS, 30)
    await clock.store.run(rates.close_rate, APPENDS, 10)
    assert (await clock.store.run(rates.draw_tokens, APPENDS, 1)).wait == pytest.approx(30)
    await clock.advance(29.9)
    assert await drained(clock, APPENDS) == 0
    await clock.advance(0.2)
    assert await drained(clock, APPENDS) == 1


async def test_a_clock_that_is_set_back_closes_no_bucket(clock: ServerClock) -> None:
    assert await drained(clock, APPENDS) == 10
    await clock.advance(-86_400)
    assert await drained(clock, APPENDS) == 0
    await clock.advance(3)
    assert await drained(clock, APPENDS) == 3


async def test_after_a_node_has_joined_there_is_no_burst_that_another_may_have_spent(
    clock: ServerClock,
) -> None:
    await clock.store.run(rates.draw_tokens, APPENDS, 1)
    await clock.advance(3600)
    await clock.join("second")
    assert await drained(clock, APPENDS) == 0
    assert await drained(clock, CALLS) == 0
    await clock.advance(4)
    assert await drained(clock, APPENDS) == 4
    await clock.advance(3600)
    await clock.join("third")  # the two have known of each other
    assert await drained(clock, APPENDS) == 10


async def test_a_full_bucket_is_forgotten_after_a_while_and_nobody_is_named(
    clock: ServerClock,
) -> None:
    for channel in range(3):
        limit = RateLimit(name=f"slack post T1 D{channel}", per_minute=60, burst=3)
        await clock.store.run(rates.draw_tokens, limit, 1)
        await clock.advance(3700)
    rows = await rows_of(clock.store, "SELECT name FROM rates")
    assert len(rows) == 1
    assert "D2" not in str(rows)


@pytest.mark.parametrize("seed", range(2))
async def test_no_window_has_more_calls_than_the_rate_and_the_slack(
    clock: ServerClock, seed: int
) -> None:
    """Slack: the calls of a portion's life, however many nodes there are."""
    random, calls = Random(seed), list[float]()
    for _ in range(80):
        await clock.advance(random.choice([0, 0, 0.01, 0.05, 0.2, 1]))
        for _ in range(random.randint(1, 4)):  # nodes at the same time
            drawn = await clock.store.run(rates.draw_tokens, CALLS, CALLS.portion)
            # Each token is used at some time of its life; a node that dies uses none.
            if random.random() < 0.9:
                calls += [clock.now + random.uniform(0, LIFE) for _ in range(drawn.tokens)]
    calls.sort()
    per_second = CALLS.per_minute / 60
    for first, begin in enumerate(calls):
        for last in range(first, len(calls)):
            most = CALLS.burst + per_second * (calls[last] - begin + LIFE)
            assert last - first + 1 <= most + 1e-3


async def test_a_node_that_dies_delays_others_by_no_more_than_its_portion(
    clock: ServerClock,
) -> None:
    begun = clock.now
    lost = await clock.store.run(rates.draw_tokens, CALLS, CALLS.portion)
    taken = await drained(clock, CALLS)
    while clock.now < begun + 2:
        await clock.advance(0.1)
        taken += await drained(clock, CALLS)
    assert taken >= CALLS.burst + 2 * CALLS.per_minute / 60 - lost.tokens - 1
    assert lost.tokens <= CALLS.portion


def test_a_portion_is_what_comes_in_during_its_life() -> None:
    assert [each.portion for each in (APPENDS, CALLS)] == [1, 6]
    assert RateLimit(name="x", per_minute=2400, burst=100).portion == 2400 / 60 * LIFE
