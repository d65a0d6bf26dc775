"""Output of `parley run`: texts, the answer alone, or JSON lines."""

from __future__ import annotations

import os
from typing import Literal, TextIO, TypeAlias

from adapters.terminal.plain_text import PlainText
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
    """Agents' texts, or events, on `out`; errors, warnings and progress on `err`.

    Progress goes away again, and is shown if `err` is a terminal. If `verbose`, each agent and tool
    call has a line that stays. Each method may raise BrokenPipeError.
    """

    def __init__(
        self, style: OutputStyle, out: TextIO, err: TextIO, *, names: bool, verbose: bool
    ) -> None:
        self.told = ""
        """The last notice."""
        self.failure_told = False
        self._style = style
        self._out, self._err = out, err
        self._verbose = verbose
        self._text = PlainText(names=names)
        self._last = self._mark = ""
        self._passing = False
        """A line of progress stands there."""
        self._progress = err.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._used = (0, 0)

    def show(self, event: SessionEvent, picture: Picture) -> None:
        """Write the newest event, which the picture knows."""
        text = ""
        for item in picture.news:
            if isinstance(item, NoticeItem):
                self.told, self.failure_told = item.text, self.failure_told or item.level == "error"
            match item, self._style:
                case (_, "text"):
                    text += self._text.append(item)
                case (TurnItem(messages=(_, *_), outcome=""), _):  # before it, others were answered
                    self._last = ""
                case (AgentItem(text=said, open=False), _) if said.strip() and not item.broken:
                    self._last, self._mark = said, item.mark
                case _:
                    pass
        if self._style == "json":
            text = f"{sanitize_json(REDACTION.known(dump_event(event).decode()))}\n"
        self._write(text)
        for item in picture.news if self._style != "json" else ():
            self._remark(item)
            if isinstance(item, TurnItem) and item.outcome and self._verbose:
                self._tell_usage(picture.used.read, picture.used.written)

    def pause(self) -> None:
        """End the text and leave the terminal to somebody else."""
        self._clear()
        self._write(self._text.close())

    def finish(self) -> None:
        """Write what is known only once the task is done."""
        if self._style == "final" and self._last:
            self._write(f"{self._last.rstrip()}\n")
            if self._mark:  # not in the answer, which a program may read
                self._tell(f"parley: {self._mark}")

    def _write(self, text: str) -> None:
        if text:
            self._clear()
            self._out.write(text)
            self._out.flush()

    def _remark(self, item: News) -> None:
        match item:
            case WaitItem(over=False):
                self._pass(item.text)
            case NoticeItem(notice=None):
                pass
            case NoticeItem(level="info") if not self._verbose:
                if self._progress:
                    self._tell(sanitize(item.told))
            case NoticeItem():
                self._tell(f"parley: {item.text}{item.log}")
            case SpeakerItem() | ToolItem() if self._verbose:
                self._tell_shortly(_told(item))
            case SpeakerItem() | ToolItem(state="running") if not self._text.mid_message:
                self._pass(f"{_doing(item)} ...")
            case WaitItem() | RequestItem(outcome="") | TurnItem():
                self._clear()
            case _:
                pass

    def _tell_usage(self, prompt: int, completion: int) -> None:
        used, self._used = self._used, (prompt, completion)
        if used != self._used:
            told = f"{prompt - used[0]:,} tokens in, {completion - used[1]:,} tokens out"
            self._tell_shortly(told)

    def _tell_shortly(self, text: str) -> None:
        shown = one_line(sanitize(REDACTION.known(text)))
        self._tell(f"parley: {shown[:LONGEST]}{'...' if len(shown) > LONGEST else ''}")

    def _tell(self, line: str) -> None:
        self._clear()
        self._write_aside(f"{line}\n")

    def _pass(self, text: str) -> None:
        """Show a line until the next one, or until it is cleared."""
        if self._progress:
            self._write_aside(f"{_CLEAR_LINE}{one_line(sanitize(text))[:70]}")
            self._passing = True

    def _clear(self) -> None:
        if self._passing:
            self._write_aside(_CLEAR_LINE)
        self._passing = False

    def _write_aside(self, text: str) -> None:
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
