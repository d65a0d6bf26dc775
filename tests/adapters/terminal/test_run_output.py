"""Output of `parley run`: texts, the answer alone, or JSON lines."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO

import pytest

from adapters.terminal.run_output import Output, OutputStyle
from gateway.events import (
    HumanText,
    MessageFinished,
    ModelSilent,
    Notice,
    SessionEvent,
    TextDelta,
    TurnStarted,
)
from gateway.picture import Picture

HI = HumanText(inbox=1, author="Ann", text="Hi", author_id="x:ann")
BEGIN = TurnStarted(thread="t", messages=(HI,), asker="x:ann", asked_at=5.0)
DELTA = TextDelta(thread="t", agent="a", message="m", text="One")
SAID = MessageFinished(thread="t", agent="a", message="m", text="One two")


class Terminal(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


class Run:
    """A run, and what it writes."""

    def __init__(self, style: OutputStyle) -> None:
        self.out, self.err = StringIO(), Terminal()
        self.output = Output(style, self.out, self.err, names=False, verbose=False)
        self._picture = Picture()

    def show(self, *events: SessionEvent) -> None:
        for event in events:
            self._picture.apply(replace(event, seq=self._picture.last_seq + 1))
            self.output.show(event, self._picture)


def test_texts_are_written_as_they_grow() -> None:
    run = Run("text")
    run.show(BEGIN, DELTA)
    assert run.out.getvalue() == "One"
    run.output.pause()
    assert run.out.getvalue() == "One\n"


def test_the_answer_alone_is_written_at_the_end() -> None:
    run = Run("final")
    run.show(BEGIN, DELTA, SAID)
    assert run.out.getvalue() == ""
    run.output.finish()
    assert run.out.getvalue() == "One two\n"


def test_events_are_lines_of_json() -> None:
    run = Run("json")
    run.show(BEGIN, SAID)
    kinds = [json.loads(line)["kind"] for line in run.out.getvalue().splitlines()]
    assert kinds == ["turn_started", "message_finished"]


def test_progress_goes_away_and_errors_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    run = Run("final")
    run.show(BEGIN, ModelSilent(thread="t", seconds=30))
    assert "\x1b[K" in run.err.getvalue()
    run.output.pause()
    assert run.err.getvalue().endswith("\r\x1b[K")
    run.show(Notice(thread="t", text="It failed.", level="error"))
    assert run.err.getvalue().endswith("parley: It failed.\n")
    assert (run.output.told, run.output.failure_told) == ("It failed.", True)
