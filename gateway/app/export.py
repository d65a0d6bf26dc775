"""Export of a thread as a Markdown document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gateway.base.calendar import local_time
from gateway.client import ThreadInfo
from gateway.events import (
    BROKE_OFF,
    HumanText,
    InputRequested,
    InputResolved,
    InputSupported,
    MessageFinished,
    MessageJoined,
    Notice,
    SessionEvent,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnHeld,
    TurnStarted,
    WorkHandedOff,
    dump_event,
)
from gateway.render.sanitize import sanitize

_PLACE = {"thread", "seq", "at", "turn", "kind"}

LONGEST = 200
"""Characters that are shown of what an event says."""


def markdown(
    thread: ThreadInfo, events: Iterable[SessionEvent], feedback: Mapping[str, int] | None = None
) -> str:
    """The transcript.

    Messages keep their own Markdown; what the gateway adds is in quotes.

    `feedback`: how many have called an answer "good" or "bad".
    """
    title = " ".join(thread.title.split()) or thread.id
    parts = [f"# {title}", f"Team: {thread.team}"]
    if feedback:
        rated = ", ".join(f"{count} {word}" for word, count in sorted(feedback.items()))
        parts.append(f"Rated answers: {rated}")
    for event in events:
        parts += _parts(event)
    return "\n\n".join(parts) + "\n"


def _parts(event: SessionEvent) -> list[str]:
    match event:
        case TurnStarted():
            return [part for message in event.messages for part in _human(message)]
        case MessageJoined():
            return _human(event.message)
        case MessageFinished() if event.text:
            end = [_quote(BROKE_OFF)] if event.broken else []
            return [f"## {event.agent}", event.text, *end]
        case ToolFinished():
            ending = event.ending if event.failed else "answered"
            return [_quote(f"{event.tool} {ending}:"), _fenced(event.result)]
        case _:
            line = _line(event)
            return [_quote(line)] if line else []


def _line(event: SessionEvent) -> str:
    line = ""
    match event:
        case ToolStarted():
            line = f"{event.agent} uses {event.tool}: {_one_line(event.arguments)}"
        case WorkHandedOff():
            line = f"{event.agent} hands off to {event.target}"
        case InputRequested():
            line = f"{event.agent or 'the team'} asks: {event.prompt}"
        case InputResolved():
            line = f"{event.by or 'nobody'}: {event.outcome}"
        case InputSupported():
            line = f"{event.by}: approved, {event.approved} of {event.quorum}"
        case Notice() | TurnHeld():
            line = event.text
        case TurnFinished(outcome="failed" | "stopped" | "interrupted"):
            line = f"the turn was {event.outcome}"
        case _:
            pass
    return line


def _human(message: HumanText) -> list[str]:
    return [f"## {message.author or 'user'}", message.text]


def _quote(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


def _fenced(text: str) -> str:
    """A code block whose fence the text can't close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _one_line(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return " ".join(arguments.split())


class Replay:
    """Lines for events, in their order, with times in the zone.

    "" is this machine's zone.
    """

    def __init__(self, zone: str = "") -> None:
        self._zone = zone
        self._before: float | None = None

    def line(self, event: SessionEvent) -> str:
        """One line for the event.

        Time of day, seconds since the one before, its number, turn, kind and rest.
        """
        gap = 0.0 if self._before is None else event.at - self._before
        self._before = event.at
        at = local_time(event.at, self._zone)
        clock = at.strftime("%Y-%m-%d %H:%M:%S.") + f"{at.microsecond // 1000:03}"
        head = f"{clock} {gap:+9.3f}s {event.seq:>5} {event.turn or '-':12} {event.kind:16}"
        return f"{head} {_fields(event)}".rstrip()


def _fields(event: SessionEvent) -> str:
    fields: dict[str, Any] = json.loads(dump_event(event))
    said = " ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in fields.items()
        if name not in _PLACE and value not in ("", [], None, False)
    )
    text = " ".join(sanitize(said).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\u2026"
