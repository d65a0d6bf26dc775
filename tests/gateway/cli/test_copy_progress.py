"""Progress of a copy on standard error."""

from __future__ import annotations

import io
import sys

import pytest

from gateway.cli.copy_progress import BETWEEN, CopyProgress
from gateway.store.copying import Step

HALF = Step(table="events", done=1_000, total=2_000)
WHOLE = Step(table="events", done=2_000, total=2_000)
COMPARED = Step(table="events", done=2_000, total=2_000, checking=True)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_a_line_for_each_table_and_now_and_then(capsys):
    now = [0.0]
    with CopyProgress(clock=lambda: now[0]) as progress:
        progress.tell(Step(table="blobs", done=0, total=0))
        progress.tell(HALF)
        now[0] = BETWEEN
        progress.tell(HALF)
        progress.tell(WHOLE)
        progress.tell(COMPARED)
    assert capsys.readouterr().err.splitlines() == [
        "copying events: 1,000 of 2,000 rows",
        "copying events: 2,000 of 2,000 rows",
        "comparing events: 2,000 of 2,000 rows",
    ]


def test_a_terminal_gets_a_bar_for_each_table(monkeypatch: pytest.MonkeyPatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with CopyProgress() as progress:
        for step in (HALF, WHOLE, COMPARED):
            progress.tell(step)
    copying, comparing, *_ = screen.getvalue().split("\n")
    assert "copying events" in copying
    assert "1000/2000" in copying
    assert "2000/2000" in copying
    assert "comparing events" in comparing
