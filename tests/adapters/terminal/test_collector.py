"""Garbage of a chat, collected while nobody waits."""

import gc

from adapters.terminal.collector import MANY, collect_if


class Ring:
    """Refers to itself, so that only the collector finds it."""

    def __init__(self, gone: list[str]) -> None:
        self._itself = self
        self._gone = gone

    def __del__(self) -> None:
        self._gone.append("ring")


def test_old_garbage_goes_in_a_quiet_moment_and_nothing_is_done_without_new_objects():
    gone: list[str] = []
    gc.collect()
    ring = Ring(gone)
    for _ in range(MANY):
        gc.collect(1)  # now it is old
    del ring
    collect_if(quiet=False)
    assert gone == []
    collect_if(quiet=True)
    assert gone == ["ring"]
    looks = gc.get_stats()[2]["collections"]
    collect_if(quiet=True)
    assert gc.get_stats()[2]["collections"] == looks
