"""Output of `parley run`: texts, the answer alone, or JSON lines."""

from __future__ import annotations

import os
from typing import Literal, TextIO, TypeAlias

from gateway.app.plain_text import PlainText
from gateway.base.redaction import REDACTION
from gateway.events import SessionEvent, dump_event
from gateway.items import (
    AgentItem,
    News,
    NoticeItem,
    RequestItem,
    SpeakerItem,
    ToolItem,
    TurnItem,
    WaitItem,
)
from gateway.picture import Picture
from gateway.render.sanitize import one_line, sanitize, sanitize_json

OutputStyle: TypeAlias = Literal["text", "final", "json"]
"""All agents' texts as they are written, the answer alone, or every event."""

LONGEST = 200
"""Characters of a line about an agent or a tool call."""

_CLEAR_LINE = "\r\x1b[K"


class Output:
    """Where a run is shown. Each method may raise BrokenPipeError."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def show(self, event: SessionEvent, picture: Picture) -> None:
        """Write the newest event, which the picture knows."""
        raise NotImplementedError

    def pause(self) -> None:
        """End the text and leave the terminal to somebody else."""

    def finish(self) -> None:
        """Write what is known only once the task is done."""

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class JsonOutput(Output):
    """Every event as one line of JSON."""

    def show(self, event: SessionEvent, picture: Picture) -> None:
        """Write the event."""
        self._write(f"{sanitize_json(REDACTION.known(dump_event(event).decode()))}\n")


class TextOutput(Output):
    """The agents' texts on the output; remarks on `err`."""

    def __init__(self, out: TextIO, err: TextIO, *, names: bool, verbose: bool = False) -> None:
        super().__init__(out)
        self._text = PlainText(names=names)
        self._remarks = _Remarks(err, verbose=verbose)

    def show(self, event: SessionEvent, picture: Picture) -> None:
        """Write what the event adds."""
        if text := "".join(map(self._text.append, picture.news)):
            self._remarks.clear()
            self._write(text)
        self._remarks.show(picture, mid_message=self._text.mid_message)

    def pause(self) -> None:
        """End the text."""
        self._remarks.clear()
        self._write(self._text.close())


class FinalOutput(Output):
    """The team's last message, once the task is done; remarks on `err`."""

    def __init__(self, out: TextIO, err: TextIO, *, verbose: bool = False) -> None:
        super().__init__(out)
        self._last = ""
        self._remarks = _Remarks(err, verbose=verbose)

    def show(self, event: SessionEvent, picture: Picture) -> None:
        """Keep the message, and write remarks."""
        for item in picture.news:
            match item:
                case TurnItem(messages=(_, *_), outcome=""):  # one before it was somebody else's
                    self._last = ""
                case AgentItem(text=text, open=False, broken=False) if text.strip():
                    self._last = text
                case _:
                    pass
        self._remarks.show(picture, mid_message=False)

    def pause(self) -> None:
        """Leave the terminal."""
        self._remarks.clear()

    def finish(self) -> None:
        """Write the answer."""
        if self._last:
            self._write(f"{self._last.rstrip()}\n")


class _Remarks:
    """Errors, warnings and progress.

    Progress goes away again, and is shown if `err` is a terminal. If `verbose`, each agent and tool
    call has a line that stays.
    """

    def __init__(self, err: TextIO, *, verbose: bool) -> None:
        self._err = err
        self._verbose = verbose
        self._shown = False
        self._progress = err.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._used = (0, 0)

    def show(self, picture: Picture, *, mid_message: bool) -> None:
        for item in picture.news:
            self._show(item, mid_message=mid_message)
            if isinstance(item, TurnItem) and item.outcome:
                self._tell_usage(picture.prompt_tokens, picture.completion_tokens)

    def clear(self) -> None:
        """Show no progress."""
        if self._shown:
            self._write(_CLEAR_LINE)
        self._shown = False

    def _show(self, item: News, *, mid_message: bool) -> None:
        match item:
            case WaitItem(over=False):
                self._pass(item.text)
            case NoticeItem(notice=None):
                pass
            case NoticeItem(level="info") if not self._verbose:
                if self._progress:
                    self.clear()
                    self._write(f"{sanitize(item.told)}\n")
            case NoticeItem(incident=incident):
                self.clear()
                log = f" (parley log {incident})" if incident else ""
                self._write(f"parley: {item.text}{log}\n")
            case SpeakerItem() | ToolItem() if self._verbose:
                self._line(_told(item))
            case SpeakerItem() | ToolItem(state="running") if not mid_message:
                self._pass(f"{_doing(item)} ...")
            case WaitItem() | RequestItem(outcome="") | TurnItem():
                self.clear()
            case _:
                pass

    def _pass(self, text: str) -> None:
        """Show a line until the next one, or until `clear`."""
        if self._progress:
            self._write(f"{_CLEAR_LINE}{one_line(sanitize(text))[:70]}")
            self._shown = True

    def _tell_usage(self, prompt: int, completion: int) -> None:
        used, self._used = self._used, (prompt, completion)
        if self._verbose and used != self._used:
            told = f"{prompt - used[0]:,} tokens in, {completion - used[1]:,} tokens out"
            self._line(told)

    def _line(self, text: str) -> None:
        shown = one_line(sanitize(REDACTION.known(text)))
        short = f"{shown[:LONGEST]}..." if len(shown) > LONGEST else shown
        self._write(f"parley: {short}\n")

    def _write(self, text: str) -> None:
        self._err.write(text)
        self._err.flush()


def _doing(item: SpeakerItem | ToolItem) -> str:
    name = item.agent.name
    if isinstance(item, ToolItem):
        return f"{name}: {item.tool}"
    return f"{name} ({item.model})" if item.model else name


def _told(item: SpeakerItem | ToolItem) -> str:
    doing = _doing(item)
    if isinstance(item, SpeakerItem):
        return doing
    if item.state == "running":
        return f"{doing} {item.written}"
    how = item.ending if item.state == "stopped" else f"{item.ending} in {item.duration:.1f} s"
    return f"{doing} {how}: {item.result}"
