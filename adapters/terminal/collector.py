"""The garbage collector in a chat: long looks only while nobody waits.

A look at all objects of a chat takes up to 0.2 seconds, in which no key and no word is shown.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

THRESHOLDS = (5_000, 5, 2_000)
"""New objects between two looks at them; looks at the young between two at the older, at all."""
MANY = 4
"""Looks at the older after which all may be looked at in a quiet moment."""
EVERY = 5.0


def collect_rarely() -> None:
    """Look at all objects once in fifty million new ones."""
    gc.set_threshold(*THRESHOLDS)


async def collect_while_quiet(is_quiet: Callable[[], bool]) -> None:
    """Look at all objects in quiet moments, until cancelled."""
    while True:
        await asyncio.sleep(EVERY)
        collect_if(quiet=is_quiet())


def collect_if(*, quiet: bool) -> None:
    """Look at all objects now if many are new."""
    if quiet and gc.get_count()[2] >= MANY:
        gc.collect()
