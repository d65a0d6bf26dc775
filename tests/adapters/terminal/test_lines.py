"""The transcript of the line mode: plain lines, each printed once."""

from __future__ import annotations

from dataclasses import replace

from adapters.terminal.lines import LineTranscript
from gateway.events import (
    HumanText,
    InputRequested,
    MessageFinished,
    Notice,
    SessionEvent,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from gateway.picture import Picture
from tests.fakes.news import apply_all

HI = HumanText(inbox=1, author="Ann", text="Hi", author_id="x:ann")
BEGIN = TurnStarted(thread="t", messages=(HI,), asker="x:ann", asked_at=5.0)


class Screen:
    """A picture, and the lines that are printed of it."""

    def __init__(self) -> None:
        self.picture = Picture()
        self.lines = LineTranscript(self.picture)
        self._seq = 0

    def after(self, *events: SessionEvent) -> list[str]:
        for event in events:
            self._seq += 1
            apply_all(self.picture, [replace(event, seq=self._seq)])
        return self.lines.new_lines()


def test_a_text_is_printed_line_by_line() -> None:
    screen = Screen()
    assert screen.after(BEGIN) == ["Ann: Hi"]
    delta = TextDelta(thread="t", agent="a", message="m", text="One\nTw")
    assert screen.after(delta) == ["a: One"]
    said = MessageFinished(thread="t", agent="a", message="m", text="One\nTwo")
    assert screen.after(said) == ["  Two"]
    assert screen.after() == []


def test_calls_questions_and_notices_are_lines_of_their_own() -> None:
    screen = Screen()
    screen.lines.echo = False
    assert screen.after(BEGIN) == []
    call = ToolStarted(thread="t", agent="a", call="c", tool="look", arguments='{"at": 1}')
    [begun] = screen.after(call)
    assert begun.startswith("tool: a runs look")
    done = ToolFinished(thread="t", agent="a", call="c", tool="look", result="ok", duration=2.0)
    [ended] = screen.after(done)
    assert ended.startswith("tool: a look done in 2")
    asked = InputRequested(
        thread="t", request="r1", agent="a", request_kind="text", prompt="Where to?"
    )
    assert any("Where to?" in line for line in screen.after(asked))
    [note] = screen.after(Notice(thread="t", text="It failed.", level="error"))
    assert "It failed." in note


def test_what_stood_there_before_may_be_skipped() -> None:
    screen = Screen()
    said = [
        MessageFinished(thread="t", agent="a", message=str(n), text=f"line {n}") for n in range(3)
    ]
    for seq, event in enumerate(said, 1):
        apply_all(screen.picture, [replace(event, seq=seq)])
    screen.lines.skip(keep=1)
    assert screen.lines.new_lines() == ["a: line 2"]
