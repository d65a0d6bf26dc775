"""Slack's refusals tell how fast the app may read."""

from __future__ import annotations

import pytest

from adapters.slack.inbound.read_rates import BURST, MINUTE, STEADY, Pace
from gateway.missed import DAY


def calls_until(pace: Pace, end: float, *, every: float = 0.0) -> list[float]:
    """Times of granted calls; Slack grants one in `every` seconds."""
    now, granted = 0.0, list[float]()
    while now < end:
        free = granted[-1] + every if granted else 0.0
        if wait := pace.wait(now):
            now += wait
        elif now < free:
            pace.refused(now, free - now)
        else:
            pace.granted(now)
            granted.append(now)
    return granted


def test_most_apps_read_in_bursts_and_never_use_all_of_their_rate() -> None:
    times = calls_until(Pace(), 10 * MINUTE)
    assert sum(at == 0 for at in times) == BURST
    assert max(sum(at <= other < at + MINUTE for other in times) for at in times) <= 50


def test_an_app_that_may_read_once_a_minute_learns_it_from_one_refusal() -> None:
    pace = Pace()
    times = calls_until(pace, 10 * MINUTE, every=MINUTE)
    assert times == [n * MINUTE for n in range(10)]
    assert pace.every == MINUTE
    assert pace.closed == MINUTE  # no other call was refused


def test_a_rate_that_was_learned_is_tried_again() -> None:
    pace = Pace()
    pace.granted(0.0)
    pace.refused(0.0, MINUTE)
    pace.granted(MINUTE)
    pace.refused(MINUTE, MINUTE)
    assert pace.every == MINUTE
    for n in range(STEADY):
        pace.granted((n + 2) * MINUTE)
    assert pace.every == MINUTE / 2


@pytest.mark.parametrize("every", [0.0, MINUTE])
@pytest.mark.parametrize("closed", [0.0, 30.0])
def test_a_clock_that_is_put_right_makes_nobody_wait_for_longer(
    every: float, closed: float
) -> None:
    right, wrong = 1.8e9, 1.8e9 + 100 * DAY
    paces = [Pace(every=every), Pace(every=every)]
    for pace, now in zip(paces, (right, wrong), strict=True):
        pace.wait(now)
        for _ in range(BURST):
            pace.granted(now)
        if closed:
            pace.refused(now, closed)
    assert paces[1].wait(right) == pytest.approx(paces[0].wait(right))
    assert paces[1].is_closed(right) == bool(closed)
