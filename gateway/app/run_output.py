"""Output of `parley run`: texts, the answer alone, or JSON lines."""

from __future__ import annotations

import os
from typing import Literal, Protocol, TextIO, TypeAlias

from gateway.app.plain_text import PlainText
from gateway.base.redaction import REDACTION
from gateway.events import (
    InputRequested,
    MessageFinished,
    ModelSilent,
    Notice,
    SessionEvent,
    SpeakerStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnHeld,
    TurnStarted,
    Usage,
    dump_event,
)
from gateway.render.sanitize import sanitize, sanitize_json

OutputStyle: TypeAlias = Literal["text", "final", "json"]
"""All agents' texts as they are written, the answer alone, or every event."""

LONGEST = 200
"""Characters of a line about an agent or a tool call."""

_CLEAR_LINE = "\r\x1b[K"


class Output(Protocol):
    """Where the events of a run go. Each method may raise BrokenPipeError."""

    def show(self, event: SessionEvent) -> None:
        """Write what the event has to say."""
        ...

    def pause(self) -> None:
        """End the text and leave the terminal to somebody else."""
        ...

    def finish(self) -> None:
        """Write what is known only once the task is done."""
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

    def finish(self) -> None:
        """Nothing: the last event said it."""


class TextOutput:
    """The agents' texts on the output; remarks on `err`."""

    def __init__(self, out: TextIO, err: TextIO, *, names: bool, verbose: bool = False) -> None:
        self._out = out
        self._text = PlainText(names=names)
        self._remarks = _Remarks(err, verbose=verbose)

    def show(self, event: SessionEvent) -> None:
        """Write what the event adds."""
        if text := self._text.append(event):
            self._remarks.clear()
            self._write(text)
        self._remarks.show(event, mid_message=self._text.mid_message)

    def pause(self) -> None:
        """End the text."""
        self._remarks.clear()
        self._write(self._text.close())

    def finish(self) -> None:
        """Nothing: the text is complete."""

    def _write(self, text: str) -> None:
        self._out.write(sanitize(text))
        self._out.flush()


class FinalOutput:
    """The team's last message, once the task is done; remarks on `err`."""

    def __init__(self, out: TextIO, err: TextIO, *, verbose: bool = False) -> None:
        self._out = out
        self._last = ""
        self._remarks = _Remarks(err, verbose=verbose)

    def show(self, event: SessionEvent) -> None:
        """Keep the message, and write remarks."""
        match event:
            case TurnStarted(messages=(_, *_)):  # a turn before it was somebody else's
                self._last = ""
            case MessageFinished(text=text, broken=False) if text.strip():
                self._last = text
            case _:
                pass
        self._remarks.show(event, mid_message=False)

    def pause(self) -> None:
        """Leave the terminal."""
        self._remarks.clear()

    def finish(self) -> None:
        """Write the answer."""
        if self._last:
            self._out.write(f"{sanitize(self._last).rstrip()}\n")
            self._out.flush()


class _Remarks:
    """Errors, warnings and progress.

    Progress goes away again, and is shown if `err` is a terminal. If `verbose`, each agent and tool
    call has a line that stays.
    """

    def __init__(self, err: TextIO, *, verbose: bool) -> None:
        self._err = err
        self._verbose = verbose
        self._progress = Progress(err)
        self._used = [0, 0]

    def show(self, event: SessionEvent, *, mid_message: bool) -> None:
        match event:
            case ModelSilent(over=True) | TurnHeld(limit=""):
                self.clear()
            case ModelSilent() | TurnHeld():
                self._progress.show(event.text)
            case Notice(level="info") if not self._verbose:
                self._progress.note(event.text)
            case Notice():
                self.clear()
                incident = f" (parley log {event.incident})" if event.incident else ""
                told = sanitize(event.for_operator or event.text)
                self._err.write(f"parley: {told}{incident}\n")
            case SpeakerStarted() | ToolStarted() | ToolFinished() | Usage() if self._verbose:
                self._tell(event)
            case SpeakerStarted() | ToolStarted() if not mid_message:
                self._progress.show(_doing(event))
            case TurnFinished():
                self.clear()
                self._tell_usage()
            case InputRequested():
                self.clear()
            case _:
                pass

    def clear(self) -> None:
        """Show no progress."""
        self._progress.clear()

    def _tell(self, event: SpeakerStarted | ToolStarted | ToolFinished | Usage) -> None:
        match event:
            case Usage():
                self._used[0] += event.prompt_tokens
                self._used[1] += event.completion_tokens
                return
            case SpeakerStarted():
                said = f"{event.agent}{f' ({event.model})' if event.model else ''}"
            case ToolStarted():
                said = f"{event.agent}: {event.tool} {event.arguments}"
            case ToolFinished():
                how = event.ending if event.stopped else f"{event.ending} in {event.duration:.1f} s"
                said = f"{event.agent}: {event.tool} {how}: {event.result}"
        self._line(said)

    def _tell_usage(self) -> None:
        if any(self._used):
            self._line(f"{self._used[0]:,} tokens in, {self._used[1]:,} tokens out")
            self._used = [0, 0]

    def _line(self, text: str) -> None:
        shown = " ".join(sanitize(REDACTION.known(text)).split())
        short = f"{shown[:LONGEST]}..." if len(shown) > LONGEST else shown
        self._err.write(f"parley: {short}\n")
        self._err.flush()


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
