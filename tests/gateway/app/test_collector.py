"""Garbage collection that stays out of the turns of a serving process."""

import gc
from collections.abc import Iterator

import pytest

from gateway.app.serve import THRESHOLDS, rare_collections


class Ring:
    """Refers to itself, so that only the collector finds it."""

    def __init__(self, gone: list[str]) -> None:
        self._itself = self
        self._gone = gone

    def __del__(self) -> None:
        self._gone.append("ring")


@pytest.fixture
def nothing_frozen() -> Iterator[None]:
    """Nothing is kept off the collector, as in a process that begins."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_what_was_there_is_not_looked_at_and_rings_made_later_still_go():
    before = gc.get_threshold()
    gone: list[str] = []
    there = [[each] for each in range(10_000)]
    with rare_collections():
        assert gc.get_freeze_count() > len(there)
        assert gc.get_threshold() == THRESHOLDS
        Ring(gone)
        gc.collect()
        assert gone == ["ring"]
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


@pytest.mark.usefixtures("nothing_frozen")
def test_what_was_kept_off_before_is_kept_off_afterwards():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with rare_collections():
        pass
    assert gc.get_freeze_count() >= frozen
