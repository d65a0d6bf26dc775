"""The monkey: seeded events at the terminal of a live team."""

from __future__ import annotations

import pytest

from tests.chaos.monkey.report import explain
from tests.chaos.monkey.run import violation_of
from tests.chaos.monkey.steps import steps_of

EVENTS, FEWER = 1_000, 130
SOAKED = 50


async def _check(seed: int, burst: int, seconds: float, events: int = EVENTS) -> None:
    steps = list(steps_of(seed, events, burst=burst))
    violation = await violation_of(steps)
    if violation is not None:
        pytest.fail(await explain(steps, violation, seconds=seconds), pytrace=False)


@pytest.mark.chaos
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("seed", "events"),
    [
        *((seed, FEWER) for seed in (0, 1, 3)),
        *(pytest.param(seed, EVENTS, marks=pytest.mark.nightly) for seed in (0, 1)),
    ],
)
async def test_no_events_end_the_terminal_or_lose_a_draft(seed: int, events: int) -> None:
    await _check(seed, burst=20, seconds=90, events=events)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(2, 2 + SOAKED))
async def test_no_long_run_of_events_ends_the_terminal_or_loses_a_draft(seed: int) -> None:
    await _check(seed, burst=12, seconds=600)
