"""Output of `parley run`: texts or JSON lines."""

from __future__ import annotations

import os
from typing import Protocol, TextIO

from gateway.app.plain_text import PlainText
from gateway.base.redaction import REDACTION
from gateway.events import (
    InputRequested,
    Notice,
    SessionEvent,
    SpeakerStarted,
    ToolStarted,
    TurnFinished,
    dump_event,
)
from gateway.render.sanitize import sanitize, sanitize_json

_CLEAR_LINE = "\r\x1b[K"


class Output(Protocol):
    """Where the events of a run go. Each method may raise BrokenPipeError."""

    def show(self, event: SessionEvent) -> None:
        """Write what the event has to say."""
        ...

    def pause(self) -> None:
        """End the text and leave the terminal to somebody else."""
        ...


class JsonOutput:
    """Every event as one line of JSON."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: SessionEvent) -> None:
        """Write the event."""
        line = sanitize_json(REDACTION.known(dump_event(event).decode()))
        self._out.write(f"{line}\n")
        self._out.flush()

    def pause(self) -> None:
        """Nothing: each line is complete."""


class TextOutput:
    """The agents' texts on the output; errors and progress on `err`.

    Progress is shown if `err` is a terminal.
    """

    def __init__(self, out: TextIO, err: TextIO, *, names: bool) -> None:
        self._out = out
        self._err = err
        self._text = PlainText(names=names)
        self._progress = Progress(err)

    def show(self, event: SessionEvent) -> None:
        """Write what the event adds."""
        if text := self._text.append(event):
            self._progress.clear()
            self._write(text)
        match event:
            case Notice(level="info"):
                self._progress.note(event.text)
            case Notice():
                self._progress.clear()
                incident = f" (parley log {event.incident})" if event.incident else ""
                told = sanitize(event.for_operator or event.text)
                self._err.write(f"parley: {told}{incident}\n")
            case SpeakerStarted() | ToolStarted() if not self._text.mid_message:
                self._progress.show(_doing(event))
            case InputRequested() | TurnFinished():
                self._progress.clear()
            case _:
                pass

    def pause(self) -> None:
        """End the text."""
        self._progress.clear()
        self._write(self._text.close())

    def _write(self, text: str) -> None:
        self._out.write(sanitize(text))
        self._out.flush()


class Progress:
    """A line on a terminal that shows progress and goes away again."""

    def __init__(self, err: TextIO) -> None:
        self._err = err
        self._shown = False
        self._on = err.isatty() and os.environ.get("TERM", "dumb") != "dumb"

    def show(self, text: str) -> None:
        """Show the text instead of what was shown."""
        if self._on:
            self._err.write(f"{_CLEAR_LINE}{_one_line(text)}")
            self._err.flush()
            self._shown = True

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._on:
            self.clear()
            self._err.write(f"{sanitize(text)}\n")
            self._err.flush()

    def clear(self) -> None:
        """Show nothing."""
        if self._shown:
            self._err.write(_CLEAR_LINE)
            self._err.flush()
            self._shown = False


def _doing(event: SpeakerStarted | ToolStarted) -> str:
    match event:
        case SpeakerStarted():
            return f"{event.agent}{f' ({event.model})' if event.model else ''} ..."
        case ToolStarted():
            return f"{event.agent}: {event.tool} ..."


def _one_line(text: str) -> str:
    """The text cut to one line, which can be cleared."""
    return " ".join(sanitize(text).split())[:70]
