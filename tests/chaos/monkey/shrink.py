"""The shortest sequence of steps that still fails."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from tests.chaos.monkey.steps import Step

Fails = Callable[[Sequence[Step]], Awaitable[bool]]


async def shortest(steps: Sequence[Step], fails: Fails, *, seconds: float) -> list[Step]:
    """Leave out ever smaller pieces while the rest still fails (delta debugging)."""
    left, pieces, end = list(steps), 2, time.monotonic() + seconds
    while len(left) > 1 and time.monotonic() < end:
        size = max(1, len(left) // pieces)
        for start in range(0, len(left), size):
            rest = left[:start] + left[start + size :]
            if rest and time.monotonic() < end and await fails(rest):
                left, pieces = rest, max(2, pieces - 1)
                break
        else:
            if size == 1:
                break
            pieces = min(len(left), 2 * pieces)
    return left
