"""A long collection is seen to go on."""

import pytest

from tests.collection_progress import EVERY, CollectionProgress
from tests.fakes.hand_clock import HandClock


def report(nodeid: str) -> pytest.CollectReport:
    return pytest.CollectReport(nodeid, "passed", None, [])


def test_a_line_now_and_then_says_how_far_it_is():
    lines: list[str] = []
    clock = HandClock()
    progress = CollectionProgress(lines.append, clock.time)
    for file in range(4):
        progress.pytest_collectreport(report(f"tests/test_{file}.py"))
        progress.pytest_collectreport(report(f"tests/test_{file}.py::TestClass"))
        clock.advance(EVERY / 2)
    assert lines == ["collecting: 3 files of tests so far"]
