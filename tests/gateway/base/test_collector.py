"""Garbage collection that stays out of the turns of a serving process."""

import gc
import subprocess
import sys

from gateway.base.collector import rare_collections

# In a process that begins: among all tests, the collector looks at a million objects.
BEGINNING = """
import gc
from gateway.base.collector import THRESHOLDS, rare_collections

class Ring:
    def __init__(self, gone):
        self._itself = self  # only the collector finds it
        self._gone = gone

    def __del__(self):
        self._gone.append("ring")

before = gc.get_threshold()
gone = []
there = [[each] for each in range(10_000)]
assert gc.get_freeze_count() == 0
with rare_collections():
    assert gc.get_freeze_count() > len(there)
    assert gc.get_threshold() == THRESHOLDS
    Ring(gone)
    gc.collect()
    assert gone == ["ring"]
assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
"""


def test_what_was_there_is_not_looked_at_and_rings_made_later_still_go():
    done = subprocess.run(
        [sys.executable, "-c", BEGINNING], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_was_kept_off_before_is_kept_off_afterwards():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with rare_collections():
        pass
    assert gc.get_freeze_count() >= frozen
