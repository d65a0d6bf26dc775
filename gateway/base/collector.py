"""Garbage collection that stays out of the turns of a serving process."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

THRESHOLDS = (10_000, 10, 10)
"""New objects between two looks at them; looks at the young ones between two at older ones."""


@contextmanager
def rare_collections() -> Generator[None]:
    """Make the garbage collector's work rare and small.

    What a turn makes goes as soon as nobody refers to it; the collector is there for the rare
    cycles. With Python's own settings it takes an eighth of a turn's time, which it spends on
    modules, classes and teams at rest. What it was kept off before, it is kept off afterwards.
    """
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:
            gc.unfreeze()
